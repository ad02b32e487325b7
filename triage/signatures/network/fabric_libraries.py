"""UCX, libfabric and verbs tools: transports below NCCL and MPI, in a job's log.

A retry count that ran out names both ends and blames neither; a refused or reset
connection is the other end's; what cannot be reached from the start is set-up.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.signatures.load import load
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading

# Names of ibv_wc_status: no answer; flushed behind another error; protection, length
# or access, which are set-up or a bug; an adapter that gave up.
_SILENT = ("RETRY_EXC", "RNR_RETRY", "RESP_TIMEOUT")
_FLUSHED = ("WR_FLUSH",)
_BROKEN = ("FATAL", "GENERAL", "LOC_QP_OP", "TM_ERR")


def by_status(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """By the name or the number of the status of a completion."""
    name = (match["status_name"] or "").upper()
    number = match["status"]
    if name.startswith(_SILENT) or number in ("12", "13"):
        return Reading()
    if name.startswith(_FLUSHED) or number == "5":
        return Reading(
            role=CONSEQUENCE, category=None, blame=Blame.PAIR, signature="fabric.flushed"
        )
    if name.startswith(_BROKEN) or number in ("3", "11", "19", "20", "21"):
        return Reading(category=Category.NIC, also=(Category.NETWORK,))
    if name.startswith("SUCCESS") or number == "0":
        return None
    return Reading(
        role=CONSEQUENCE,
        category=Category.DEPENDENCY,
        also=(Category.SOFTWARE_FRAMEWORK, Category.NIC),
    )


SIGNATURES = load(
    __name__,
    ucx=lambda match, _after: (
        Reading(
            role=ROOT,
            category=Category.DEPENDENCY
            if "active messages transport" in match.string
            else Category.NETWORK,
            also=(Category.NETWORK, Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
        if match["route"] or "unreachable" in match.string
        else Reading()
    ),
    connection_event=lambda match, _after: (
        Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,), blame=Blame.SELF)
        if match["removed"]
        else Reading(
            role=ROOT,
            category=Category.NETWORK,
            also=(Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
        if match["route"]
        else Reading()
    ),
    hccl=lambda match, _after: (
        Reading(role=CONSEQUENCE)
        if match["what"].lower() == "remote"
        else Reading(category=Category.SOFTWARE_FRAMEWORK, also=(Category.NIC, Category.NETWORK))
    ),
)
