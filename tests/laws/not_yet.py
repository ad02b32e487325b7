"""Where a law of joining does not hold yet: (change, incident) -> what goes wrong."""

from typing import Final

import pytest

__all__ = ["NOT_YET", "trial"]

OLDER: Final = "rows of hours and days ago weigh on the places of the stop"
STRANGER: Final = "the job log of another job is held against this job's nodes"
NO_DUMP: Final = "a rank whose dump is lost is convicted"

NOT_YET: Final[dict[tuple[str, str], str]] = {
    ("old-faults", "logs-traceback-w16"): OLDER,
    ("old-links", "logs-traceback-w16"): OLDER,
    ("foreign-lines", "logs-traceback-w16"): "processes that are not the job's weigh on it",
    (
        "clocks-off",
        "hbm-job-only",
    ): "with clocks off, the only line of the cause is far from the stop",
    ("other-job", "hbm-job-only"): STRANGER,
    ("other-job", "ib-retries"): STRANGER,
    ("other-job", "user-error"): STRANGER,
    ("other-job", "user-error-all"): STRANGER,
    ("other-job", "watchdog-only"): STRANGER,
    ("dropped-files", "gloo-dtype-mismatch-w8"): NO_DUMP,
    ("dropped-files", "nccl-never-joins-w8"): NO_DUMP,
}


def trial(change: str, name: str) -> object:
    """A change and an incident as parameters of a test; an expected failure where it is known."""
    reason = NOT_YET.get((change, name))
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(change, name, id=f"{change}-{name}", marks=marks)
