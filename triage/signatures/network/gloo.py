"""Gloo's words: CPU collectives, and the barriers that run over them.

A closed pair is what the survivors see; only an address that cannot be reached,
or messages of another size than expected, say something of a cause.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.family import ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

PAIR = "gloo: transport/tcp/pair.cc"
UNREACHABLE = re.compile(r"no route to host|unreachable|connection timed out", re.IGNORECASE)


# The other end as gloo prints it: [10.2.0.3]:6120, [fe80::1]:6120, or without the brackets.
OTHER_END = re.compile(
    r"\[(?P<inside>[^\s\[\]]{1,128})\]:\d{1,5}|\bpeer (?P<bare>[\w.-]{3,128}):\d{1,5}"
)


def pair_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A route that is gone is the network's; a reset is the peer's end."""
    why = match["errno_text"] or match["mesh"] or ""
    end = OTHER_END.search(match.string, match.start())
    peer = None if end is None else end["inside"] or end["bare"]
    if UNREACHABLE.search(why) is None:
        return Reading(peer=peer)
    return Reading(
        peer=peer,
        role=ROOT,
        category=Category.NETWORK,
        also=(Category.NIC, Category.DEPENDENCY),
        blame=Blame.PAIR,
        weak=True,
    )


GLOO = Family("gloo", Kind.NCCL, source=PAIR)

GLOO.root(
    "size_mismatch",
    r"op\.preamble\.(?:length|nbytes) <= op\.nbytes",
    literals=("op.preamble.length", "preamble.nbytes"),
    matches=(
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <="
        " op.nbytes. 56 vs 8",
    ),
    near_misses=("op.preamble.length = 8",),
    category=Category.COLLECTIVE_MISMATCH,
    also=(Category.SOFTWARE_USER,),
)
GLOO.root(
    "no_address",
    r"Unable to find address for:? ?(?P<interface>\S{0,64})|Unable to resolve hostname to a",
    literals=("unable to find address for", "unable to resolve hostname to a", "ifa != nullptr"),
    matches=(
        "RuntimeError: [enforce fail at device.cc:83] ifa != nullptr. Unable to find address for:"
        " eth7",
    ),
    near_misses=("found the address for eth0",),
    source="gloo: transport/tcp/device.cc",
    category=Category.DEPENDENCY,
)
GLOO.consequence(
    "timeout",
    r"Application timeout caused pair closure"
    r"|Timed out waiting (?P<waited_ms>\d{1,12})ms for (?:recv|send) operation",
    literals=(
        "application timeout caused pair closure",
        "for recv operation to complete",
        "for send operation to complete",
        "timed out waiting",
    ),
    matches=(
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out"
        " waiting 1800000ms for recv operation to complete",
    ),
    near_misses=("timed out waiting for the lock",),
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
)
GLOO.consequence(
    "pair_error",
    r"Connection closed by peer \[?[^\s\]]{1,64}?\]?:\d{1,5}"
    r"|(?:\b(?:Read|Write) error|\b(?:readv|writev)) \[[^\s\[\]]{1,128}\]:\d{1,5}: "
    r"|gloo/transport/tcp/\w+\.cc:\d+\] .{0,100}?"
    r"(?P<errno_text>Connection (?:reset by peer|timed out|refused|closed)|Broken pipe"
    r"|No route to host|Network is unreachable|SO_ERROR)"
    r"|Gloo connectFullMesh failed with (?P<mesh>.{0,120})",
    literals=(
        "connection closed by peer",
        "gloo/transport/tcp",
        "gloo connectfullmesh failed",
        "read error [",
        "write error [",
        "readv [",
        "writev [",
    ),
    matches=(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer"
        " [10.2.0.3]:6120",
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error [10.2.0.4]:41230:"
        " Connection reset by peer",
        "Read error [10.0.0.9]:12345: Connection reset by peer",
        "Gloo connectFullMesh failed with [pair.cc:144] no error",
    ),
    near_misses=("gloo/transport/tcp/device.cc loaded",),
    blame=Blame.PEER,
    read=pair_error,
)

SIGNATURES = GLOO.signatures()
