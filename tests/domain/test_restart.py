"""Earlier starts of a job: what counts as known, whatever somebody writes."""

import pytest

from triage.domain.category import Category
from triage.domain.job import make_job
from triage.domain.restart import NO_STARTS, EarlierEnd, EarlierStarts, read_starts


def test_starts_come_back_as_they_were_written():
    starts = EarlierStarts(
        4, 61.5, (EarlierEnd(Category.GPU, ("n3",), 12.0), EarlierEnd(None, (), None))
    )

    assert read_starts(starts.to_dict()) == starts


@pytest.mark.parametrize(
    "raw",
    [
        {}, {"restarts": -1}, {"restarts": 1 << 60}, {"restarts": True}, {"restarts": "many"},
        {"ran_s": -5}, {"ran_s": float("nan")}, {"ran_s": float("inf")}, {"ran_s": 1e12},
        {"ends": "none"}, {"ends": [1, None, "x"]}, {"ends": {"category": "gpu"}},
    ],
)  # fmt: skip
def test_what_cannot_be_is_not_known(raw):
    assert read_starts(raw) == NO_STARTS


def test_an_unknown_category_and_foreign_nodes_are_left_out():
    ends = [{"category": "gremlins", "nodes": ["n1", 7, None], "ran_s": "long"}] * 100

    found = read_starts({"ends": ends}).ends

    assert set(found) == {EarlierEnd(None, ("n1",), None)}
    assert len(found) == 32


@pytest.mark.parametrize(
    ("raw", "restarts"),
    [
        ({"attempt": 2}, 2), ({"attempt": "2"}, 2), ({"SLURM_RESTART_COUNT": "3"}, 3),
        ({"restart_count": 1, "attempt": "a7"}, 1), ({"attempt": 0}, 0),
        ({"attempt": -1}, None), ({"attempt": 10**9}, None), ({"attempt": "9" * 400}, None),
        ({"attempt": 1.5}, None), ({"attempt": True}, None), ({"attempt": ["1"]}, None),
        ({"attempt": "second"}, None), ({}, None), ({"attempt": "²"}, None),
    ],
)  # fmt: skip
def test_a_job_file_may_count_its_restarts(raw, restarts):
    assert make_job(raw).restarts == restarts


@pytest.mark.parametrize(
    ("started_at", "failed_at", "ran_s"),
    [
        ("2026-11-21T03:00:00Z", "2026-11-21T03:02:30Z", 150.0),
        ("2026-11-21T03:00:00", "2026-11-21T04:00:00+01:00", 0.0),
        ("2026-11-21T03:02:30Z", "2026-11-21T03:00:00Z", None),
        ("1970-01-01T00:00:00Z", "2026-11-21T03:00:00Z", None),
        ("soon", "2026-11-21T03:00:00Z", None),
        (7, None, None),
    ],
    ids=["two minutes", "zones", "it ended before it began", "no such clock", "words", "no text"],
)
def test_how_long_it_ran_is_from_its_start_to_its_end(started_at, failed_at, ran_s):
    job = make_job({"started_at": started_at, "failed_at": failed_at})

    assert job.ran_s == ran_s


def test_no_job_file_can_say_how_earlier_starts_ended():
    raw = {"earlier_ends": [{"category": "gpu_oom"}], "triage.starts": {"ends": [{}]}, "ends": [1]}

    assert make_job(raw).earlier_ends == ()
