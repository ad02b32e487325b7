"""Storage behind a network: NFS, Lustre, GPFS, BeeGFS, Ceph, iSCSI, multipath, nbd.

A server that does not answer is nobody's fault among the nodes unless one node alone
says it: the server is the peer, the blame is shared. What comes back is said too.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.signatures.load import load
from triage.signatures.severity import ADVICE, NOISE, get_group_text
from triage.signatures.signature import Reading


def cleared(_match: re.Match[str], _after: Sequence[str]) -> Reading:
    """It answers again: nothing to blame, and the end of what was said before."""
    return Reading(fields={"cleared": "yes"})


def answers(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """``OK`` ends an outage, ``timed out`` gives up on a soft mount; else it is tried again."""
    state = get_group_text(match, "state")
    if state == "ok":
        return Reading(role=NOISE, category=Category.NONE, fields={"cleared": "yes"})
    if state.endswith("timed out"):
        return Reading()
    return Reading(weak=True, traits=frozenset({Trait.GENERIC}))


_IDLE = -103  # ECONNABORTED: what nobody used was closed


def state_or_connection(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A connection that was closed because it was idle comes back when it is used."""
    if match["why"] is not None and int(match["why"]) == _IDLE:
        return Reading(role=ADVICE, weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


def ceph_session(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Daemons close idle connections by the thousand; a session that is lost is a fault."""
    if "socket closed (con state open)" in match.string.lower():
        return Reading(role=ADVICE, weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A connection that is gone; a slow answer alone is every busy file system's."""
    if "slow reply" in (match["why"] or ""):
        return Reading(weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


SIGNATURES = load(__name__)
