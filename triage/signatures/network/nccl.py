"""NCCL's own warnings: InfiniBand completions, sockets, bootstrap, plugins, NVLS.

Most of them are the edge of somebody else's failure: a socket that a peer closed,
a queue pair whose other end is gone. A completion error names both ends and
blames neither; a port or an adapter that reports itself is a root.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import CONSEQUENCE, NOISE, ROOT
from triage.signatures.signature import Reading

LINK = (Category.NIC,)

_FABRIC = Reading(role=ROOT, category=Category.NETWORK, also=LINK, blame=Blame.PAIR, weak=True)
_CONFIGURED = Reading(
    role=CONSEQUENCE,
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_FRAMEWORK, Category.NIC),
    blame=Blame.PAIR,
)


def completion(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """By the status of the completion (IBV_WC_*).

    12 and 13: the other end does not answer, for want of a path or of a process.
    5: flushed, an echo of an earlier error. 1, 2, 4, 6, 7, 8, 9, 10: length,
    protection or access, so set-up or library. 11, 20, 21: an adapter gave up.
    """
    match int(match["status"]):
        case 12 | 13:
            return _FABRIC
        case 5:
            return Reading(role=CONSEQUENCE, blame=Blame.PAIR)
        case 1 | 2 | 4 | 6 | 7 | 8 | 9 | 10:
            return _CONFIGURED
        case 3 | 11 | 19 | 20 | 21:
            return Reading(
                role=ROOT,
                category=Category.NIC,
                also=(Category.NETWORK,),
                blame=Blame.PAIR,
                weak=True,
            )
        case 0:
            return None
    return Reading(role=CONSEQUENCE, blame=Blame.PAIR)


def async_event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By the event: ports down, adapters broken, and the many that mean nothing."""
    event = (match["event"] or "").strip().lower()
    if event.startswith("local catastrophic") or "device fatal" in event:
        return Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,))
    if re.search(r"port err|(?:link|port) (?:is )?down|active ?-> ?down", event):
        return Reading(role=ROOT, category=Category.NETWORK, also=LINK)
    if "violation" in event or "request error" in event or "invalid request" in event:
        return _CONFIGURED
    if "catastrophic" in event or "cq err" in event or "srq err" in event:
        return Reading(role=CONSEQUENCE, category=Category.NIC, also=(Category.NETWORK,))
    return Reading(role=NOISE, blame=Blame.NOBODY)


def verbs_call(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By the error of a verbs call; without one it is an echo."""
    why = (match["why"] or "").lower()
    if "no such device" in why or "input/output error" in why or match["call"] == "ibv_open_device":
        return Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,))
    if "connection timed out" in why or "no data available" in why:
        return Reading(
            role=ROOT,
            category=Category.NETWORK,
            also=(Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
    if "unreachable" in why or "no route to host" in why:
        return Reading(
            role=ROOT,
            category=Category.DEPENDENCY,
            also=(Category.NETWORK,),
            blame=Blame.PAIR,
        )
    if "allocate memory" in why:
        # Memory that the process may not lock, or queues that the adapter has no room for.
        return Reading(role=ROOT, category=Category.DEPENDENCY)
    if "invalid argument" in why or "not permitted" in why:
        return Reading(role=ROOT, category=Category.DEPENDENCY, also=LINK, weak=True)
    return Reading(role=CONSEQUENCE)


UNREACHABLE = compile_re(
    r"no route to host|network is unreachable|connection timed out|host is down", re.IGNORECASE
)


def connect_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A missing route is a root when nothing ran yet; a refusal or reset is a peer's end."""
    if UNREACHABLE.search(match.string, match.start()) is None:
        return Reading(role=CONSEQUENCE, blame=Blame.PEER)
    return Reading(
        role=ROOT,
        category=Category.NETWORK,
        also=(Category.DEPENDENCY, Category.NIC),
        blame=Blame.PAIR,
        weak=True,
    )


def cuda_failure(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What fits when a communicator is made fits later: a launch that fails is NCCL's own."""
    if "enqueue.cc" not in match.string[: match.start()]:
        return Reading()
    return Reading(category=Category.SOFTWARE_FRAMEWORK, also=(Category.DEPENDENCY, Category.GPU))


def plugin_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """EFA names both ends; one of them, or the path."""
    peer = re.search(r"Peer host id: ?(\S{1,64})", match.string)
    return Reading(peer=None if peer is None else peer[1].rstrip(".,)"))


SIGNATURES = load(
    __name__,
    bootstrap_count=lambda match, _after: (
        Reading(
            role=ROOT,
            category=Category.DEPENDENCY,
            also=(Category.SOFTWARE_USER,),
            blame=Blame.SELF,
            weak=True,
        )
        if match["twice"]
        else Reading()
    ),
)
