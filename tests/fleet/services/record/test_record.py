"""The record of a fleet: what is joined from runs, incidents, suspects, outages and evidence."""

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import select

from models import Incident
from tests.fleet.services.fleets import (
    AFFECTED,
    CULPRIT,
    POSSIBLE,
    answered,
    at,
    failed,
    imported,
    node_hours,
    record,
    resolved,
    row,
    service_on,
    stops,
    told,
)
from triage.domain.category import Category
from triage.fleet.report.report import fleet_report
from triage.services.context import Context
from triage.store.incidents import past


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def test_nothing_gives_an_empty_record(ctx: Context) -> None:
    for cluster in (None, "", "nowhere"):
        found = record(ctx, cluster=cluster)
        assert found.nodes == ()
        assert len(found.runs.start_ns) == len(found.interruptions.at_ns) == 0
        assert found.runs.node_at.tolist() == [0]
        assert found.gpus_per_node is None


def test_runs_become_exposure_and_failures_become_stops(ctx: Context) -> None:
    told(
        ctx,
        row("1", 0, 10, "failed"),
        row("2", 10, 20, "completed", nodes="n[2-5]"),
        row("3", 20, 25, "timeout", nodes="n[0-1]", gpus=16),
    )
    found = record(ctx)
    assert node_hours(found) == {"n0": 15, "n1": 15, "n2": 20, "n3": 20, "n4": 10, "n5": 10}
    assert stops(found) == [(10, None, False), (25, None, True)]
    assert found.runs.interrupted.tolist() == [True, False, False]
    assert found.runs.planned.tolist() == [False, False, True]
    assert found.interruptions.run.tolist() == [0, 2]
    assert found.interruptions.num_gpus.tolist() == [32, 16]
    assert found.gpus_per_node == 8
    assert found.notes == ()
    assert [note for note in fleet_report(found).notes if "triaged" in note] == [
        "1 interruption was not triaged, of 1: no cause is known"
    ]


def test_a_run_is_cut_to_the_time_that_is_asked_for(ctx: Context) -> None:
    told(ctx, row("1", 0, 10), row("2", 12, 30))
    found = record(ctx, 4, 20)
    assert node_hours(found)["n0"] == 6 + 8
    assert found.runs.interrupted.tolist() == [True, False]  # it fails later than that
    assert stops(found) == [(10, None, False)]
    assert stops(record(ctx, 10, 20)) == [(10, None, False)]
    assert stops(record(ctx, 4, 10)) == []


def test_an_incident_is_the_stop_of_its_run_and_says_the_cause(ctx: Context) -> None:
    told(ctx, row("1", 0, 10.1))
    incident = failed(ctx, "1", 10)
    assert stops(record(ctx)) == [(10.1, None, False)]  # not settled yet
    answered(ctx, incident, "crash", "gpu_hbm", ("n1", CULPRIT, 0.9), ("n2", POSSIBLE, 0.1))
    found = record(ctx)
    assert stops(found) == [(10, "gpu_hbm", False)]
    assert found.interruptions.incident_id == (incident,)
    assert found.interruptions.run.tolist() == [0]
    accused = found.accusations
    assert [found.nodes[node] for node in accused.node] == ["n1", "n2"]
    assert accused.convicted.tolist() == [True, False]
    assert accused.category == (Category.GPU_HBM, Category.GPU_HBM)


def test_an_incident_without_a_run_counts_and_is_noted(ctx: Context) -> None:
    answered(ctx, failed(ctx, "1", 10), "crash", "software_user")
    found = record(ctx)
    assert stops(found) == [(10, "software_user", False)]
    assert found.interruptions.run.tolist() == [-1]
    assert found.interruptions.num_gpus.tolist() == [0]
    assert fleet_report(found).notes[0].startswith("no run is known")
    told(ctx, row("2", 0, 5, "completed"))
    assert fleet_report(record(ctx)).notes[0].startswith("1 of 1 interruptions have no run")


@pytest.mark.parametrize(("kind", "category"), [("healthy", "none"), ("straggler", "straggler")])
def test_what_stopped_nothing_is_no_stop(ctx: Context, kind: str, category: str) -> None:
    answered(ctx, failed(ctx, "1", 10, nodes=["n1"]), kind, category, ("n1", CULPRIT, 0.9))
    found = record(ctx)
    assert stops(found) == []
    assert len(found.accusations.node) == 0
    hits = found.signals["n1"].straggler_hits if "n1" in found.signals else 0
    assert hits == (kind == "straggler")


def test_two_reports_of_one_failure_are_one_stop(ctx: Context) -> None:
    told(ctx, row("1", 0, 10))
    alert, epilogue = failed(ctx, "1", 9.95), failed(ctx, "1", 10)
    answered(ctx, alert, "inconclusive", "none")
    answered(ctx, epilogue, "crash", "nic", ("n1", CULPRIT, 0.9))
    found = record(ctx)
    assert [(cause, planned) for _, cause, planned in stops(found)] == [("nic", False)]
    assert len(found.accusations.node) == 1
    assert "incidents that tell of a stop which is counted already: 1" in found.notes


def test_a_job_that_goes_on_in_its_run_stops_more_than_once(ctx: Context) -> None:
    told(ctx, row("1", 0, 100, "failed"))
    for hours in (20, 50, 100):
        answered(ctx, failed(ctx, "1", hours), "crash", "gpu")
    assert [hours for hours, *_ in stops(record(ctx))] == [20, 50, 100]


def test_planned_and_unexpected_are_never_mixed(ctx: Context) -> None:
    told(ctx, row("1", 0, 10, "cancelled"), row("2", 0, 11, "cancelled", nodes="n[4-7]"))
    for job, hours, verdict in (("1", 10, ("inconclusive", "none")), ("2", 11, ("hang", "gpu"))):
        answered(ctx, failed(ctx, job, hours), *verdict, ("n4", CULPRIT, 0.9))
    found = record(ctx)
    assert stops(found) == [(10, None, True), (11, "gpu", False)]
    assert found.runs.planned.tolist() == [True, False]
    assert found.runs.interrupted.tolist() == [False, True]
    assert found.accusations.interruption.tolist() == [1]  # a planned end accuses nobody


def test_what_a_person_said_stands_above_the_ranking(ctx: Context) -> None:
    incidents = [failed(ctx, str(job), 10 + job, nodes=["n1", "n2", "n3"]) for job in range(4)]
    for incident in incidents:
        answered(ctx, incident, "crash", "gpu", ("n1", CULPRIT, 0.8), ("n2", POSSIBLE, 0.2))
    resolved(ctx, incidents[0], "software_user")  # no node at all
    resolved(ctx, incidents[1], "gpu_hbm", "n2")  # the other one
    resolved(ctx, incidents[2], "nic", "n3")  # one that was no suspect
    resolved(ctx, incidents[3], "none")  # a false alarm
    found = record(ctx)
    assert [cause for _, cause, _ in stops(found)] == ["software_user", "gpu_hbm", "nic"]
    assert found.interruptions.resolved.all()
    accused = found.accusations
    assert [found.nodes[node] for node in accused.node] == ["n2", "n3"]
    assert accused.score.tolist() == [1, 1]
    assert accused.convicted.all()
    assert accused.category == (Category.GPU_HBM, Category.NIC)


def test_who_is_only_affected_is_not_accused(ctx: Context) -> None:
    answered(
        ctx, failed(ctx, "1", 10, nodes=["n1", "n2"]), "hang", "network",
        ("n1", CULPRIT, 0.8), ("n2", AFFECTED, 0.8),
    )  # fmt: skip
    assert record(ctx).accusations.position.tolist() == [1]


def test_what_cannot_be_gives_no_negative_exposure(ctx: Context) -> None:
    told(
        ctx,
        row("1", 0, 30, "completed"),  # said to last into the next run of the same job
        row("1", 20, 40, "completed"),
        row("2", 5, None, "running", nodes="n9"),  # never heard of again
        row("2", 35, 36, "completed", nodes="n9"),
        row("3", 50, 50, "failed", nodes="n8"),
    )
    found = record(ctx)
    assert (found.runs.end_ns >= found.runs.start_ns).all()
    assert node_hours(found) == {"n0": 40, "n1": 40, "n2": 40, "n3": 40, "n8": 0, "n9": 31}
    assert found.notes[-1].endswith("into the next one of their job, and cut there: 1")


def test_a_run_without_an_end_counts_until_it_was_last_heard_of(ctx: Context) -> None:
    told(ctx, row("1", 0, None, "running"), row("2", 3, 8, "completed", nodes="n9"))
    found = record(ctx)
    assert node_hours(found)["n0"] == 8
    assert stops(found) == []
    answered(ctx, failed(ctx, "1", 8), "crash", "gpu")
    assert stops(record(ctx)) == [(8, "gpu", False)]


def test_the_same_run_told_under_no_cluster_is_not_counted_twice(ctx: Context) -> None:
    told(ctx, row("1", 0, 10))
    answered(
        ctx, failed(ctx, "1", 10, cluster="", started_at=at(0).isoformat(), nodes=["n0", "n1"]),
        "crash", "gpu", ("n1", CULPRIT, 0.9),
    )  # fmt: skip
    for cluster in (None, "a"):
        found = record(ctx, cluster=cluster)
        assert node_hours(found) == {"n0": 10, "n1": 10, "n2": 10, "n3": 10}
        assert stops(found) == [(10, "gpu", False)]
        assert [found.nodes[node] for node in found.accusations.node] == ["n1"]


def test_clusters_are_kept_apart(ctx: Context) -> None:
    told(ctx, row("1", 0, 10, nodes="n0"), row("1", 0, 20, nodes="n0", cluster="b"))
    assert node_hours(record(ctx, cluster="a")) == {"n0": 10}
    assert node_hours(record(ctx, cluster="b")) == {"n0": 20}
    assert node_hours(record(ctx)) == {"n0 (a)": 10, "n0 (b)": 20}
    assert len(stops(record(ctx))) == 2


def test_places_of_nodes_come_from_inventories_and_from_jobs(ctx: Context) -> None:
    told(ctx, row("1", 0, 10, nodes="n[0-1]"))
    imported(ctx, "node,generation,rack,cluster\nn0,H100,r1,a\n")
    failed(ctx, "1", 10, leaf_switch={"n1": "leaf7"}, nodes=["n0", "n1"])
    found = record(ctx)
    assert found.nodes == ("n0", "n1")
    assert found.generation == ("H100", None)
    assert found.rack == ("r1", None)
    assert found.leaf_switch == (None, "leaf7")


def test_outages_are_cut_and_joined(ctx: Context) -> None:
    imported(
        ctx,
        "node,from,to,reason,cluster\n"
        f"n0,{at(2):%FT%TZ},{at(8):%FT%TZ},HBM,a\n"
        f"n0,{at(6):%FT%TZ},{at(9):%FT%TZ},again,a\n"
        f"n1,{at(4):%FT%TZ},,down,a\n",
    )
    found = record(ctx, 3, 20).outages
    hours = [
        (end - start) / 3.6e12 for start, end in zip(found.start_ns, found.end_ns, strict=True)
    ]
    assert (found.node.tolist(), hours, found.reason) == ([0, 1], [6, 16], ("HBM", "down"))


def test_distinct_xids_of_a_node_are_signals(ctx: Context) -> None:
    from models import Artifact, Evidence, Upload

    incident = failed(ctx, "1", 10, nodes=["n1"])
    with ctx.database.writing() as session:
        session.add(Upload(id="u", incident_id=incident, stored_bytes=0, created_at=at(10)))
        session.flush()
        session.add(
            Artifact(
                id="f", incident_id=incident, upload_id="u", identity="i", kind="kernel_log",
                filename="k", name_hash="k", sha256="", size_bytes=0, position=0, stored_bytes=0,
                state="analysed", created_at=at(10),
            )
        )  # fmt: skip
        session.flush()
        for ordinal, (code, role, hours) in enumerate(
            [
                (79, "root", 9),
                (79, "root", 9.5),
                (48, "root", 9),
                (43, "consequence", 9),
                (94, "root", 99),
            ]
        ):
            session.add(
                Evidence(
                    incident_id=incident, artifact_id="f", ordinal=ordinal, artifact="k", line=1,
                    at=at(hours), clock="wall", node="n1", kind="xid", code=code, role=role,
                    signature="nvidia.xid", text="", count=1, extra={},
                )
            )  # fmt: skip
    assert record(ctx, 0, 50).signals["n1"].distinct_xids == (48, 79)


def test_two_thousand_nodes_are_kept_small(ctx: Context) -> None:
    from sqlalchemy import func, select

    from models import NodeSet

    told(
        ctx, *(row(str(run), run, run + 1, nodes="n[0000-2047]", gpus=16_384) for run in range(20))
    )
    told(ctx, row("x", 40, 41, nodes="n[0000-0999,1001-2047]"))
    with ctx.database.reading() as session:
        count, size = session.execute(
            select(func.count(), func.sum(func.length(NodeSet.spans)))
        ).one()
    assert (count, size) == (2, 8 + 16)
    assert len(record(ctx).runs.node) == 20 * 2048 + 2047


def test_a_stop_is_remembered_when_its_incident_is_removed(ctx: Context) -> None:
    told(ctx, row("1", 0, 10.1), row("2", 20, 30))
    gone, kept = failed(ctx, "1", 10), failed(ctx, "2", 30)
    answered(ctx, gone, "crash", "gpu_hbm", ("n1", CULPRIT, 0.9), ("n2", POSSIBLE, 0.1))
    answered(ctx, kept, "hang", "nic", ("n0", CULPRIT, 0.8))
    before = record(ctx)

    removed(ctx, gone)
    removed(ctx, gone)

    after = record(ctx)
    assert incident_ids(ctx) == {kept}
    assert stops(after) == stops(before) == [(10, "gpu_hbm", False), (30, "nic", False)]
    for name in ("interruption", "node", "position", "score", "convicted"):
        np.testing.assert_array_equal(
            getattr(after.accusations, name), getattr(before.accusations, name)
        )
    assert after.accusations.category == before.accusations.category
    assert after.accusations.part == before.accusations.part


def test_a_healthy_job_leaves_nothing_behind(ctx: Context) -> None:
    told(ctx, row("1", 0, 10, "completed"))
    incident = failed(ctx, "1", 10)
    answered(ctx, incident, "healthy", "none")

    removed(ctx, incident)

    assert stops(record(ctx)) == []


def removed(ctx: Context, incident_id: str) -> None:
    """As the daily round removes one that is old."""
    with ctx.database.writing() as session:
        past.remove(session, [incident_id])


def incident_ids(ctx: Context) -> set[str]:
    """Those that are there."""
    with ctx.database.reading() as session:
        return set(session.scalars(select(Incident.id)))
