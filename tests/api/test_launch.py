"""May a job start, and without whom: over HTTP, from incidents that were really analysed."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from models import Action, Cluster, Incident, Node, Repair
from tests.api.service import Service
from tests.services.whole_jobs import GPU_LOST, INCIDENTS, files_of, fresh_files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.services.tokens import create_token

LOST = fresh_files_of(GPU_LOST)
BUG = files_of(INCIDENTS / "logs-traceback-w16" / "files")


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    """A cluster of the test's own: what one convicts is out for all of its jobs."""
    return request.node.name


def failed(service: Service, job_id: str, cluster: str, files=LOST) -> str:
    """An incident of these files, with its answer."""
    incident = service.opened(job_id, cluster=cluster, expected_artifacts=len(files))
    path = f"/v1/jobs/{job_id}/bundle?incident={incident}"
    assert service.post(path, tar_of(files), token="ingest").status == 201
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    return incident


def launch(service: Service, job_id: str, cluster: str, more: str = "") -> dict:
    answer = service.get(f"/v1/jobs/{job_id}/launch?cluster={cluster}{more}", token="read")
    assert answer.status == 200, answer.body
    return answer.json()


def cordoned(service: Service, incident: str) -> str:
    [node] = service.get(f"/v1/incidents/{incident}").json()["verdict"]["cordon"]
    return node


def aged(service: Service, incident: str, by: timedelta) -> None:
    """Let the incident, and the failure that it is about, have happened earlier."""
    with service.ctx.database.writing() as session:
        made, told = session.execute(
            select(Incident.created_at, Incident.verdict).where(Incident.id == incident)
        ).one()
        at = datetime.fromisoformat(told["at"]) - by
        session.execute(
            update(Incident)
            .where(Incident.id == incident)
            .values(created_at=made - by, verdict={**told, "at": f"{at.replace(tzinfo=None)}Z"})
        )


def test_the_job_starts_without_the_convicted_node(service: Service, cluster: str) -> None:
    incident = failed(service, "1", cluster)
    node = cordoned(service, incident)

    found = launch(service, "1", cluster)

    assert (found["decision"], found["exclude"], found["incident_id"]) == (
        "start_without", [node], incident,
    )  # fmt: skip
    assert found["status"] == "completed"
    assert found["excluded"][0]["incident_id"] == incident


def test_other_jobs_of_the_cluster_leave_it_out_too_and_other_clusters_do_not(
    service: Service, cluster: str
) -> None:
    node = cordoned(service, failed(service, "1", cluster))

    assert launch(service, "2", cluster)["exclude"] == [node]
    found = launch(service, "1", f"{cluster}-b")
    assert (found["decision"], found["exclude"], found["incident_id"]) == ("start", [], None)


def test_who_is_mended_cleared_or_old_takes_part_again(service: Service, cluster: str) -> None:
    incident = failed(service, "1", cluster)
    node = cordoned(service, incident)
    with service.ctx.database.writing() as session:
        of_cluster = select(Node).where(Node.name == node).order_by(Node.id.desc()).limit(1)
        row = session.scalars(of_cluster).one()
        before = Repair(
            node_id=row.id,
            at=read_utc_now() - timedelta(days=1),
            action="reboot",
            text="",
            source="",
        )
        session.add(before)
    assert launch(service, "2", cluster)["exclude"] == [node]
    with service.ctx.database.writing() as session:
        session.add(
            Repair(
                node_id=row.id, at=read_utc_now() + timedelta(seconds=5), action="replace_gpu",
                text="", source="",
            )
        )  # fmt: skip
    assert launch(service, "2", cluster)["exclude"] == []

    again = failed(service, "3", f"{cluster}-b")
    assert launch(service, "4", f"{cluster}-b")["exclude"] == [node]
    aged(service, again, timedelta(hours=25))
    assert launch(service, "4", f"{cluster}-b")["exclude"] == []
    assert launch(service, "3", f"{cluster}-b")["decision"] == "start"

    last = failed(service, "5", f"{cluster}-c")
    assert launch(service, "6", f"{cluster}-c")["exclude"] == [node]
    said = {"category": "gpu", "node": "another"}
    assert service.post(f"/v1/incidents/{last}/resolution", said, token="read").status == 201
    assert launch(service, "6", f"{cluster}-c")["exclude"] == []
    # The job of the failure itself is told the same.
    assert launch(service, "5", f"{cluster}-c")["exclude"] == []
    assert launch(service, "1", cluster)["exclude"] == []


def test_a_node_that_a_person_gave_back_takes_part_again(service: Service, cluster: str) -> None:
    incident = failed(service, "1", cluster)
    node = cordoned(service, incident)
    with service.ctx.database.writing() as session:
        row = Action(
            id=f"act_{cluster}"[:60], incident_id=incident, node=node, verb="drain",
            cluster_id=session.scalar(select(Cluster.id).where(Cluster.name == cluster)),
            system="slurm", state="done", category="gpu", confidence=0.99, revision=1, why="",
            asked_by="automation", created_at=read_utc_now(),
        )  # fmt: skip
        session.add(row)
    for job in ("1", "2"):
        assert launch(service, job, cluster)["exclude"] == [node]
    with service.ctx.database.writing() as session:
        session.execute(update(Action).where(Action.node == node).values(state="undone"))
    for job in ("1", "2"):
        assert launch(service, job, cluster)["exclude"] == []


def test_a_bug_leaves_nobody_out_and_says_that_a_start_ends_alike(
    service: Service, cluster: str
) -> None:
    incident = failed(service, "1", cluster, BUG)
    # Its files are of a fixed day: let it be of the last hours.
    aged(service, incident, datetime(2026, 11, 21, 12, tzinfo=UTC) - read_utc_now())

    found = launch(service, "1", cluster)
    assert (found["decision"], found["exclude"]) == ("start", [])
    assert found["retries_left"] == 0
    assert "ends the same way" in found["why"]


def test_an_answer_that_is_still_made_is_said_and_waited_for(
    service: Service, cluster: str
) -> None:
    service.opened("1", cluster=cluster, expected_artifacts=3)

    began = time.monotonic()
    found = launch(service, "1", cluster, "&wait_s=1")

    assert time.monotonic() - began >= 0.9
    assert (found["status"], found["decision"]) == ("in_flight", "start")


def test_a_job_of_two_clusters_has_to_name_one(service: Service, cluster: str) -> None:
    for name in ("a", "b"):
        service.opened(f"two-{cluster}", cluster=f"{cluster}-{name}")

    problem = service.get(f"/v1/jobs/two-{cluster}/launch", token="read").problem()

    assert problem["status"] == 409
    assert f"{cluster}-a, {cluster}-b" in problem["detail"]
    # A token of one of them need not.
    token = create_token(service.ctx, "own", ["read"], "test", cluster=f"{cluster}-b")[1]
    own = service.get(f"/v1/jobs/two-{cluster}/launch", token=token)
    assert (own.status, own.json()["cluster"]) == (200, f"{cluster}-b")


@pytest.mark.parametrize(
    "path",
    ["/v1/jobs/%00/launch", "/v1/jobs/x/launch?cluster=", "/v1/jobs/x/launch?wait_s=-1",
     "/v1/jobs/x/launch?node=n1"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(service: Service, path: str) -> None:
    assert service.get(path, token="read").status == 422
