"""Blobs without rows: marked first, deleted a week later, and never many by themselves."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.services.incidents.test_incident_life import upload
from tests.services.retention.test_ownership import days_of_rounds, num_blobs, stored
from triage import clock
from triage.errors import Conflict
from triage.services.context import Context
from triage.services.retention.ownership import believe_clock, sweep


def day(number: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=number)


def kept(ctx: Context, num: int) -> None:
    """Blobs that rows refer to."""
    for number in range(num):
        upload(ctx, {"a.log": b"%d\n" % number}, job_id=f"job-{number}")


def test_a_blob_without_rows_goes_after_a_week_of_rounds(ctx: Context) -> None:
    kept(ctx, 2)
    stored(ctx, 1)

    days_of_rounds(ctx, 7)
    assert num_blobs(ctx) == 3
    assert sweep(ctx, day(7.01)).num_removed == 1

    assert num_blobs(ctx) == 2
    assert sweep(ctx, day(8)).num_marked == 0


def test_a_blob_that_has_just_come_is_not_marked(ctx: Context) -> None:
    kept(ctx, 1)
    stored(ctx, 1, days_ago=0.5)

    assert sweep(ctx, day(0)).num_marked == 0


def test_a_clock_that_jumps_ahead_is_no_week(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(ctx, 2)
    stored(ctx, 1)
    believe_clock(ctx)
    sweep(ctx, day(0))

    monkeypatch.setattr(clock, "read", lambda: day(100))
    with pytest.raises(Conflict, match="nothing is deleted by age"):
        believe_clock(ctx)


def test_what_was_marked_by_a_clock_that_was_ahead_begins_anew(ctx: Context) -> None:
    kept(ctx, 2)
    stored(ctx, 1)
    sweep(ctx, day(100))

    for number in range(1, 8):
        assert sweep(ctx, day(number)).num_removed == 0
    assert sweep(ctx, day(8.1)).num_removed == 1


@pytest.mark.parametrize(
    ("num_kept", "num_strange", "stops"),
    [(5, 5, False), (1, 20, False), (5, 21, True), (0, 1, True), (0, 5, True)],
)
def test_many_do_not_go_without_a_word_of_a_person(
    ctx: Context, num_kept: int, num_strange: int, stops: bool
) -> None:
    kept(ctx, num_kept)
    stored(ctx, num_strange)

    days_of_rounds(ctx, 8)

    assert num_blobs(ctx) == num_kept + (num_strange if stops else 0)
    done = sweep(ctx, day(9), any_number=True)
    assert done.num_removed == (num_strange if stops else 0)
    assert num_blobs(ctx) == num_kept


def test_what_has_a_row_again_is_not_marked_any_more(ctx: Context) -> None:
    kept(ctx, 2)
    stored(ctx, 1)
    days_of_rounds(ctx, 7)
    for key in list(ctx.blobs.keys()):
        if sweep(ctx, day(6)).num_marked:
            ctx.blobs.delete(key)

    assert sweep(ctx, day(9)).num_removed == 0
