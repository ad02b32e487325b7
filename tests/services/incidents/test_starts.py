"""Earlier starts of a job as the record has them: how each ended, how soon, and which count."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.services.incidents.test_incident_life import find, upload, work_off
from triage.domain.category import Category
from triage.domain.failure_match import Failure
from triage.domain.restart import EarlierEnd, EarlierStarts
from triage.render.data import wire
from triage.services.incidents.announce import announce
from triage.services.incidents.starts import count_starts
from triage.store.incidents import revisions, settling
from triage.store.incidents.facts import STARTS
from triage.store.incidents.starts import FailureOfJob

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def failure(minutes_ago, *, clock_ahead_s=0.0, opened_ago=None, **changes) -> FailureOfJob:
    at = NOW - timedelta(minutes=minutes_ago)
    opened = at if opened_ago is None else NOW - timedelta(minutes=opened_ago)
    values = {
        "incident_id": f"inc{minutes_ago}",
        "attempt": "",
        "announced": True,
        "failed_at": at + timedelta(seconds=clock_ahead_s),
        "opened_at": opened,
        "kind": "crash",
        "category": "host_stall",
        "nodes": (),
    }
    return FailureOfJob(**{**values, **changes})


def lengths(starts: EarlierStarts) -> list[float | None]:
    seconds = [starts.ran_s, *(end.ran_s for end in starts.ends)]
    return [None if one is None else round(one / 60, 2) for one in seconds]


def test_a_start_ran_no_longer_than_since_the_failure_before_it():
    starts = count_starts([failure(0), failure(3), failure(5)], [])

    assert lengths(starts) == [3, 2, None]
    assert starts.ends[0] == EarlierEnd(Category.HOST_STALL, (), 120)


def test_and_no_longer_than_since_its_run_began():
    began = [NOW - timedelta(minutes=one) for one in (1, 4, 300)]

    assert lengths(count_starts([failure(0), failure(3), failure(240)], began)) == [1, 1, 60]


def test_a_run_that_began_later_is_not_its_own():
    began = [NOW + timedelta(minutes=1)]

    assert count_starts([failure(0)], began).ran_s is None


@pytest.mark.parametrize(
    ("failures", "wanted"),
    [
        ([failure(0), failure(3, failed_at=None)], [3, None]),
        ([failure(0), failure(3, failed_at=None, announced=False)], [None]),
        ([failure(0), failure(3, failed_at=None, announced=False, attempt="1")], [None, None]),
        ([failure(0), failure(3, clock_ahead_s=120)], [3, None]),
        ([failure(0), failure(3, clock_ahead_s=600)], [None]),
        ([failure(0, opened_ago=0), failure(600, opened_ago=0.1)], [600, None]),
        ([failure(0, announced=False), failure(3)], [3, None]),
        ([failure(0), failure(0.2), failure(5)], [5, None]),
        ([failure(0), failure(15 * 24 * 60)], [None]),
        ([failure(0), failure(3, kind="healthy"), failure(6)], [6, None]),
        ([], []),
    ],
    ids=[
        "only our clock", "a folder that somebody sent", "a named attempt without a time",
        "a clock of theirs that is ahead", "clocks that contradict", "old ones sent at once",
        "without a hook", "told twice", "of another month", "a healthy look", "nothing",
    ],
)  # fmt: skip
def test_what_counts_and_how_long(failures, wanted):
    assert lengths(count_starts(failures, []))[: len(wanted) or None] == (wanted or [None])
    assert len(count_starts(failures, []).ends) == max(len(wanted) - 1, 0)


def test_what_nobody_answered_is_an_end_of_no_known_cause():
    ends = count_starts([failure(0), failure(3, kind=None, category=None)], []).ends

    assert ends == (EarlierEnd(None, (), None),)


def test_a_category_of_a_later_release_is_not_known():
    assert count_starts([failure(0), failure(3, category="gremlins")], []).ends[0].category is None


TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/app/train.py", line 7, in <module>\n'
    "    main()\n"
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
)
LOG = {"logs/rank_0.log": TRACEBACK.encode()}


def answered(ctx, readers, minutes_ago, job_id="4711", files=LOG, cluster="a", **facts):
    at = NOW - timedelta(minutes=minutes_ago)
    opened = announce(ctx, Failure(job_id, cluster, at, facts, expected_artifacts=len(files)))
    upload(ctx, files, job_id, incident=opened.id)
    work_off(ctx, readers)
    with ctx.database.reading() as session:
        newest = revisions.find_newest(session, opened.id)
    assert newest is not None
    return opened.id, wire.report(newest.reported())


@pytest.fixture
def on_time(monkeypatch):
    """Our clock shows the time of the failure."""

    def at(minutes_ago):
        moment = NOW - timedelta(minutes=minutes_ago)
        monkeypatch.setattr("triage.clock.read", lambda: moment)

    return at


def test_a_cause_that_ends_every_restart_at_once_is_stopped(ctx, readers, on_time):
    reports = []
    for minutes_ago in (9, 6, 3):
        on_time(minutes_ago)
        reports.append(answered(ctx, readers, minutes_ago)[1])

    first, second, third = (one["restart"] for one in reports)
    assert (first["decision"], first["retries_left"]) == ("restart", 1)
    assert second["decision"] == "stop"
    assert third["decision"] == "stop"
    assert "2 of 2 restarts within 3 minutes" in third["why"]
    same = [{**one, "restart": None, "coverage": None} for one in reports]
    assert same[0] == same[1] == same[2]


def test_a_start_that_its_own_run_dates_ran_no_longer(ctx, readers, on_time):
    """The hook of each failure says when its run began; an hour of waiting lies between them."""
    for minutes_ago in (130, 65, 0):
        on_time(minutes_ago)
        began = NOW - timedelta(minutes=minutes_ago + 4)
        incident_id, report = answered(ctx, readers, minutes_ago, started_at=began.isoformat())

    with ctx.database.reading() as session:
        progress = settling.find_progress(session, incident_id)
    assert progress is not None
    starts = progress.facts[STARTS]
    assert (starts["ran_s"], [end["ran_s"] for end in starts["ends"]]) == (240, [240, 240])
    assert report["restart"]["decision"] == "stop"
    assert "2 of 2 restarts within 4 minutes" in report["restart"]["why"]


def test_another_job_and_another_cluster_are_not_asked(ctx, readers, on_time):
    on_time(6)
    answered(ctx, readers, 6)
    on_time(3)

    for job_id, cluster in (("4712", "a"), ("4711", "b")):
        _, report = answered(ctx, readers, 3, job_id, cluster=cluster)
        assert report["restart"]["retries_left"] == 1


def test_a_revision_is_told_what_the_first_answer_was(ctx, readers, on_time):
    on_time(6)
    incident_id, first = answered(ctx, readers, 6)
    on_time(3)
    answered(ctx, readers, 3)

    upload(ctx, {"nodes/n009/kernel.log": b"[    1.0] usb 1-1: new device\n"}, incident=incident_id)
    work_off(ctx, readers)

    with ctx.database.reading() as session:
        progress = settling.find_progress(session, incident_id)
        newest = revisions.find_newest(session, incident_id)
    assert find(ctx, incident_id).revision == 2
    assert progress is not None
    assert newest is not None
    assert progress.facts[STARTS] == EarlierStarts().to_dict()
    assert wire.report(newest.reported())["restart"] == first["restart"]


def test_nobody_outside_can_say_how_a_job_ended_before(ctx, readers, on_time):
    on_time(3)
    forged = {STARTS: {"restarts": 9, "ran_s": 1, "ends": [{"category": "software_framework"}] * 9}}

    incident_id, report = answered(ctx, readers, 3, **forged)

    with ctx.database.reading() as session:
        progress = settling.find_progress(session, incident_id)
    assert progress is not None
    assert progress.facts[STARTS] == EarlierStarts().to_dict()
    assert report["restart"]["retries_left"] == 1


def test_counts_survive_a_word_of_the_scheduler(ctx, readers, on_time):
    on_time(3)
    _, report = answered(ctx, readers, 3, attempt="7", started_at="2026-11-21T11:55:00Z")

    assert report["restart"]["retries_left"] == 1
    assert "started again 7 times before" in report["restart"]["why"]
