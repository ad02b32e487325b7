"""Which incident of a job a hook or files belong to: hits and near misses."""

from datetime import UTC, datetime, timedelta

import pytest

from triage.domain.failure_match import Candidate, find_for_failure, find_for_files

T = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
QUIET = timedelta(seconds=30)


def after(minutes: float) -> datetime:
    return T + timedelta(minutes=minutes)


def one(
    name: str,
    at: float = 0,
    *,
    attempt: str = "",
    failed: float | None = None,
    files: int = 1,
    settled: float | None = None,
    announced: bool = True,
) -> Candidate:
    return Candidate(
        name,
        attempt,
        None if failed is None else after(failed),
        announced,
        files,
        after(at),
        None if settled is None else after(settled),
    )


FIRST = one("first", 1, failed=0, settled=2)
SECOND = one("second", 61, failed=60)


@pytest.mark.parametrize(
    ("there", "attempt", "written", "now", "wanted"),
    [
        pytest.param([], "", None, 0, None, id="nothing is there"),
        pytest.param([one("a")], "", None, 1, "a", id="unsettled"),
        pytest.param([one("a"), one("b", 1)], "", None, 2, "b", id="the newest"),
        pytest.param([one("a", settled=2)], "", 1, 9999, "a", id="late, written before it settled"),
        pytest.param([one("a", settled=2)], "", 2.4, 60, "a", id="within a quiet time"),
        pytest.param([one("a", settled=2)], "", 2.6, 60, None, id="written after it settled"),
        pytest.param([one("a", settled=2)], "", None, 61, "a", id="no times, an hour later"),
        pytest.param([one("a", settled=2)], "", None, 63, None, id="no times, too late"),
        pytest.param([one("a", settled=2)], "", 99, 2, "a", id="a clock ahead says nothing"),
        pytest.param([FIRST, SECOND], "", 0, 70, "first", id="late files of the first failure"),
        pytest.param([FIRST, SECOND], "", 60, 70, "second", id="files of the second"),
        pytest.param([FIRST], "", 60, 61, None, id="the second failure before its hook"),
        pytest.param([one("a", attempt="0")], "1", None, 1, None, id="another attempt"),
        pytest.param([one("a", attempt="0")], "0", None, 1, "a", id="the same attempt"),
        pytest.param([one("a", attempt="1")], "", None, 1, "a", id="an attempt nobody named here"),
        pytest.param([one("a", files=0)], "1", None, 1, "a", id="a hook named none, no file yet"),
        pytest.param([one("a", files=3)], "1", None, 1, None, id="files that named none"),
        pytest.param([one("a", attempt="1", settled=2), one("b", 1)], "1", None, 999, "a",
                     id="the attempt before the newest"),
    ],
)  # fmt: skip
def test_files_join_or_open(there, attempt, written, now, wanted) -> None:
    at = None if written is None else after(written)
    for order in (there, there[::-1]):
        assert find_for_files(order, attempt, at, QUIET, after(now)) == wanted


ORPHAN = one("orphan", 0, settled=2, announced=False)


@pytest.mark.parametrize(
    ("there", "attempt", "failed", "now", "wanted"),
    [
        pytest.param([], "", 0, 0, None, id="nothing is there"),
        pytest.param([one("a", failed=0, settled=2)], "", 0, 99, "a", id="the same time"),
        pytest.param([one("a", failed=0)], "", 1, 1, None, id="another time"),
        pytest.param([one("a")], "", 0, 1, "a", id="open, nobody said when"),
        pytest.param([one("a", failed=0)], "", None, 1, "a", id="no time, unsettled"),
        pytest.param([one("a", settled=2)], "", None, 3, None, id="no time, settled"),
        pytest.param([ORPHAN], "", 0, 9, "orphan", id="settled files nobody reported"),
        pytest.param([ORPHAN], "", 8, 9, None, id="a failure after they settled"),
        pytest.param([ORPHAN], "", 0, 1500, None, id="a day later"),
        pytest.param([one("a", attempt="1")], "2", 0, 1, None, id="another attempt"),
        pytest.param([one("a", failed=0, attempt="1")], "2", 0, 1, None, id="same time alone"),
        pytest.param([one("a", attempt="1")], "", 0, 1, "a", id="an attempt nobody named here"),
        pytest.param([one("a"), one("b", 60)], "", 60, 61, "b", id="the second hook"),
        pytest.param([one("a"), one("b", 60)], "", 0, 61, "a", id="the first hook, late"),
        pytest.param([one("a", attempt="1"), one("b", 1)], "1", None, 2, "a", id="the one named"),
    ],
)  # fmt: skip
def test_a_report_is_of_one_that_is_there_or_new(there, attempt, failed, now, wanted) -> None:
    at = None if failed is None else after(failed)
    for order in (there, there[::-1]):
        assert find_for_failure(order, attempt, at, after(now)) == wanted
