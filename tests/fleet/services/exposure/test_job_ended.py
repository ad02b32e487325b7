"""Hooks tell of runs: a job that failed, and one that ended, whatever the end."""

from collections.abc import Iterator

import pytest

from tests.fleet.services.fleets import (
    answered,
    at,
    failed,
    imported,
    node_hours,
    record,
    row,
    service_on,
    stamp,
    stops,
    told,
)
from triage.errors import Unprocessable
from triage.fleet.domain.exposure import Ending
from triage.fleet.services.exposure.job_ended import keep_job_end, parse_end
from triage.services.context import Context

NOW = at(500)


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def end(ctx: Context, job_id: object = "1", **body: object) -> dict:
    return keep_job_end(ctx, parse_end({"job_id": job_id, "cluster": "a", **body}, NOW)).to_dict()


def test_a_job_that_ended_is_a_run_and_no_incident(ctx: Context) -> None:
    body = {
        "started_at": stamp(0), "ended_at": stamp(10), "state": "COMPLETED",
        "nodes": ["n0", "n1"], "gpus_per_node": 8,
    }  # fmt: skip
    assert end(ctx, **body)["run"] == "new"
    assert end(ctx, **body)["run"] == "known"
    found = record(ctx)
    assert node_hours(found) == {"n0": 10, "n1": 10}
    assert found.runs.num_gpus.tolist() == [16]
    assert stops(found) == []


def test_what_slurm_calls_its_job_is_read(ctx: Context) -> None:
    answer = end(
        ctx, SLURM_JOB_START_TIME=str(int(at(0).timestamp())), nodelist="gpu[1-3]",
        SLURM_JOB_END_TIME=int(at(2).timestamp()), exit_code="1:0",
    )  # fmt: skip
    assert (answer["run"], answer["ending"]) == ("new", Ending.UNEXPECTED)
    assert node_hours(record(ctx)) == {"gpu1": 2, "gpu2": 2, "gpu3": 2}


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ({"state": "CANCELLED by 7"}, Ending.PLANNED),
        ({"state": "PREEMPTED"}, Ending.PLANNED),
        ({"state": "NODE_FAIL"}, Ending.UNEXPECTED),
        ({"state": "Succeeded"}, Ending.COMPLETED),
        ({"state": "COMPLETED", "exit_code": 1}, Ending.COMPLETED),
        ({"exit_code": 0}, Ending.COMPLETED),
        ({"exit_code": "0:9"}, Ending.UNEXPECTED),
        ({"exit_code": "0:15"}, Ending.UNKNOWN),
        ({}, Ending.UNKNOWN),
    ],
)
def test_the_state_decides_else_the_exit_code(said: dict, ending: Ending) -> None:
    assert parse_end({"job_id": 1, "ended_at": stamp(1), **said}, NOW).state.ending == ending


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"job_id": None}, "body/job_id"),
        ({"state": "RUNNING"}, "body/state"),
        ({"state": "exploded"}, "body/state"),
        ({"ended_at": "yesterday"}, "body/ended_at"),
        ({"started_at": "7"}, "body/started_at"),
        ({"nodelist": "n[3-1]"}, "body/nodelist"),
        ({"cluster": "a\n"}, "body/cluster"),
    ],
)
def test_what_is_wrong_is_named(body: dict, where: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        parse_end({"job_id": "1", **body}, NOW)
    assert [place.where for place in refused.value.places] == [where]


def test_a_start_that_slurm_does_not_know_refuses_no_failure(ctx: Context) -> None:
    from triage.services.hooks.job_failed import parse_failure

    assert "started_at" not in parse_failure({"job_id": 1, "SLURM_JOB_START_TIME": "0"}).facts
    assert end(ctx, SLURM_JOB_START_TIME="0", ended_at=stamp(3))["run"] == "unknown"


def test_an_end_without_a_start_ends_the_run_that_was_going_on(ctx: Context) -> None:
    assert end(ctx, ended_at=stamp(9), state="FAILED")["note"].startswith("nobody told when")
    told(ctx, row("1", 0, None, "running"), row("1", 20, None, "running"))
    assert end(ctx, ended_at=stamp(9), state="FAILED")["run"] == "changed"
    assert end(ctx, ended_at=stamp(9), state="FAILED")["run"] == "unknown"
    assert stops(record(ctx)) == [(9, None, False)]


def test_a_failure_is_a_run_where_its_start_is_told(ctx: Context) -> None:
    incident = failed(
        ctx, "1", 10, started_at=stamp(0), nodes=["n0", "n1"], gpus_per_node=8, world_size=16
    )
    answered(ctx, incident, "crash", "gpu")
    found = record(ctx)
    assert node_hours(found) == {"n0": 10, "n1": 10}
    assert stops(found) == [(10, "gpu", False)]
    assert found.runs.interrupted.tolist() == [True]
    failed(ctx, "1", 10, started_at=stamp(0), nodes=["n0", "n1"])
    assert len(record(ctx).runs.start_ns) == 1


@pytest.mark.parametrize("start", [stamp(20), "1999-01-01T00:00:00Z", "never", 7, None])
def test_a_start_that_cannot_be_is_no_exposure_and_the_failure_counts(
    ctx: Context, start: object
) -> None:
    answered(ctx, failed(ctx, "1", 10, started_at=start, nodes=["n0"]), "crash", "gpu")
    found = record(ctx)
    assert len(found.runs.start_ns) == 0
    assert stops(found) == [(10, "gpu", False)]


def test_the_scheduler_says_what_a_hook_cannot_know(ctx: Context) -> None:
    incident = failed(ctx, "1", 10, started_at=stamp(0), nodes=["n0"])
    answered(ctx, incident, "inconclusive", "none")
    assert stops(record(ctx)) == [(10, None, False)]
    imported(
        ctx,
        "JobIDRaw|Cluster|State|Start|End|NodeList\n"
        "1|a|CANCELLED by 7|2026-11-01T00:00:00|2026-11-01T10:00:20|n0\n",
    )
    assert [planned for *_, planned in stops(record(ctx))] == [True]
