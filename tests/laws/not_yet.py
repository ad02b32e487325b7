"""Where a law of joining does not hold yet: (change, incident) -> what goes wrong."""

from typing import Final

import pytest

__all__ = ["NOT_YET", "trial"]

STRANGER: Final = "the job log of another job is held against this job's nodes"

NOT_YET: Final[dict[tuple[str, str], str]] = {
    ("other-job", "hbm-job-only"): STRANGER,
    ("other-job", "user-error-all"): STRANGER,
}


def trial(change: str, name: str) -> object:
    """A change and an incident as parameters of a test; an expected failure where it is known."""
    reason = NOT_YET.get((change, name))
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(change, name, id=f"{change}-{name}", marks=marks)
