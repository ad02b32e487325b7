"""Severity: how loud a verdict may be, in the four words of PagerDuty and Alertmanager."""

from enum import StrEnum

from triage.domain.category import HARDWARE, Action
from triage.domain.report import Verdict
from triage.notify.suspects import is_healthy


class Severity(StrEnum):
    """The loudest first."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_BY_ACTION = {
    Action.DRAIN_NODE: Severity.CRITICAL,
    Action.REBOOT_NODE: Severity.CRITICAL,
    Action.RESET_GPU: Severity.ERROR,
    Action.CHECK_NETWORK: Severity.ERROR,
    Action.CHECK_STORAGE: Severity.ERROR,
    Action.INVESTIGATE: Severity.WARNING,
    Action.RESTART_JOB: Severity.WARNING,
    Action.FIX_CODE: Severity.WARNING,
    Action.NONE: Severity.INFO,
}


def choose_severity(verdict: Verdict) -> Severity:
    """By the action that the verdict asks for.

    ``critical`` only where a node is believed in as surely as a cordon asks for; a cause
    that is nobody's hardware is a ``warning`` at most, a healthy job ``info``.
    """
    if is_healthy(verdict):
        return Severity.INFO
    by_action = _BY_ACTION[verdict.action]
    if verdict.category not in HARDWARE:
        return Severity.INFO if by_action is Severity.INFO else Severity.WARNING
    if by_action is Severity.CRITICAL and not verdict.cordon:
        return Severity.ERROR
    return by_action
