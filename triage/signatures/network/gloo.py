"""Gloo's words: CPU collectives, and the barriers that run over them.

A closed pair is what the survivors see; only an address that cannot be reached,
or messages of another size than expected, say something of a cause.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import ROOT
from triage.signatures.signature import Reading

UNREACHABLE = compile_re(r"no route to host|unreachable|connection timed out", re.IGNORECASE)


# The other end as gloo prints it: [10.2.0.3]:6120, [fe80::1]:6120, or without the brackets.
_OTHER_END = compile_re(
    r"\[(?P<inside>[^\s\[\]]{1,128})\]:\d{1,5}|\bpeer (?P<bare>[\w.-]{3,128}):\d{1,5}"
)


def pair_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A route that is gone is the network's; a reset is the peer's end."""
    why = match["errno_text"] or match["mesh"] or ""
    end = _OTHER_END.search(match.string, match.start())
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


SIGNATURES = load(__name__)
