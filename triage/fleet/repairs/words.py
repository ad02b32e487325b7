"""How causes, repairs and probation are worded, and what to check after which cause."""

from typing import Final

from triage.domain.counts import count
from triage.domain.probation import Probation
from triage.fleet.domain.cause import OutageCause, RepairAction

_STRESS: Final = "dcgm.targeted_stress"
CHECK_AFTER: Final = {
    OutageCause.GPU: "dcgm.diagnostic",
    OutageCause.MEMORY: "host.stress",
    OutageCause.CPU: "host.stress",
    OutageCause.BOARD: "gpu.pcie_link",
    OutageCause.NIC: "ib.counters",
    OutageCause.CABLE: "ib.counters",
    OutageCause.SWITCH: "ib.counters",
    OutageCause.STORAGE: "host.stress",
    OutageCause.POWER: "dcgm.targeted_power",
    OutageCause.COOLING: "gpu.temperature",
}
"""The check that shows whether a cause is gone; after any other, a stress test of the node."""
_CAUSES: Final = {
    OutageCause.GPU: "a GPU fault",
    OutageCause.CPU: "a CPU fault",
    OutageCause.NIC: "a NIC fault",
    OutageCause.FAILED_TEST: "a failed test",
    OutageCause.HUMAN: "a human error",
    OutageCause.FACILITY: "trouble of the building",
    OutageCause.MAINTENANCE: "maintenance",
    OutageCause.SOFTWARE: "a software fault",
    OutageCause.UNKNOWN: "an unknown fault",
}
_ACTIONS: Final = {
    RepairAction.NONE: "no repair",
    RepairAction.RESET_GPU: "a GPU reset",
    RepairAction.CLEAN: "a cleaning",
    RepairAction.OTHER: "a repair",
}
_NAMES: Final = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU"}


def describe_repair_cause(cause: OutageCause) -> str:
    """``a cable fault``."""
    return _CAUSES.get(cause, f"a {cause} fault")


def describe_repair_action(action: RepairAction) -> str:
    """``a cable swap``, ``a reboot``."""
    if action in _ACTIONS:
        return _ACTIONS[action]
    verb, _, part = str(action).partition("_")
    return f"a {_NAMES.get(part, part)} {verb}" if part else f"a {verb}"


def check_after(cause: OutageCause) -> str:
    """The check to run on a node that came back after this cause."""
    return CHECK_AFTER.get(cause, _STRESS)


def describe_probation(found: Probation) -> str:
    """``returned 2 days ago after a cable swap; 42 % (35 to 49) of such returns fail ...``."""
    after = describe_repair_cause(OutageCause(found.cause))
    if found.action is not None:
        after = describe_repair_action(RepairAction(found.action))
    value, low, high = (f"{100 * one:.0f}" for one in (found.within_7, found.low_7, found.high_7))
    basis = "public records, no return of this fleet"
    if found.num_returns:
        basis = f"{found.num_returns:,} returns"
    until = found.until
    return (
        f"returned {_format_ago(found.days_back)} after {after}; {value} % ({low} to {high}) of"
        f" such returns fail again within a week, {100 * found.next_7:.0f} % in the week from now,"
        f" where {100 * found.usual_7:.1f} % is usual (by {basis}); run {found.check} until"
        f" {until:%A} {until.day} {until:%b}"
    )


def _format_ago(days: float) -> str:
    """``2 days ago``, ``5 hours ago``."""
    if days < 1:
        hours = max(1, round(24 * days))
        return f"{count(hours, 'hour')} ago"
    whole = round(days)
    return f"{count(whole, 'day')} ago"
