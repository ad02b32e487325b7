"""Tokens of two clusters against every route: what is of the other cluster is not there.

The table names every route of the OpenAPI file that takes a token, with a request about an object
of the other cluster. A new route without a row fails.
"""

import io
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy.orm import Session

from tests.api.service import Answer, Service
from tests.support.work import ReadersHere, do_all
from tests.web.site import Visit
from triage.actions.store import acts
from triage.clock import read_utc_now
from triage.domain.acting import ActionState, Verb
from triage.domain.states import WorkKind
from triage.services.tokens import create_token
from triage.store.incidents import problems
from triage.store.jobs import cluster_key

LOG = b"<6>[ 1.0] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"
TENANTS = ("a", "b")
CHECKS = b"nccl-tests\n"
EXPORT = (
    "job_id,start,end,state,nodes,cluster\n"
    "{job},2026-11-01T00:00:00Z,2026-11-01T01:00:00Z,FAILED,{node},{cluster}\n"
)


@dataclass(frozen=True)
class Tenant:
    """A cluster with an incident, a node, and tokens of its own by scope."""

    name: str
    incident: str
    node: str
    act: str
    tokens: Mapping[str, str]

    @property
    def problem(self) -> str:
        return f"prb_{self.name}"


def tar_of(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def add_act(session: Session, one: Tenant) -> None:
    acts.add(
        session, id=one.act, cluster_id=cluster_key(session, one.name), incident_id=one.incident,
        node=one.node, verb=Verb.DRAIN, system="none", state=ActionState.DONE, category="gpu",
        confidence=0.97, revision=1, why="because", asked_by="triage", created_at=read_utc_now(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def tenants(service: Service) -> Mapping[str, Tenant]:
    found = {}
    for name in TENANTS:
        tokens = {
            scope: create_token(service.ctx, name, [scope], "test", cluster=name)[1]
            for scope in ("ingest", "read")
        }
        node = f"node-{name}"
        told = {"job_id": f"job-{name}", "nodes": [node], "expected_artifacts": 1}
        incident = service.post("/v1/hooks/job-failed", told, token=tokens["ingest"]).json()["id"]
        path = f"/v1/jobs/job-{name}/artifacts?incident={incident}&node={node}&kind=kernel_log"
        assert service.post(path, LOG, token=tokens["ingest"]).status == 201
        rows = EXPORT.format(job=f"job-{name}", node=node, cluster=name).encode()
        assert service.post("/v1/fleet/import", rows, token=tokens["ingest"]).status == 200
        found[name] = Tenant(name, incident, node, f"act_{name}", tokens)
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    with service.ctx.database.writing() as session:
        for one in found.values():
            add_act(session, one)
            problems.assign(session, one.problem, [one.incident])
    return found


Row = Callable[[Tenant], tuple[str, Any]]


def bodyless(path: str) -> Row:
    return lambda other: (
        path.format(
            id=other.incident,
            node=other.node,
            cluster=other.name,
            act=other.act,
            problem=other.problem,
        ),
        b"",
    )


def with_body(path: str, body: Callable[[Tenant], Any]) -> Row:
    return lambda other: (
        path.format(
            id=other.incident,
            node=other.node,
            cluster=other.name,
            job=f"job-{other.name}",
        ),
        body(other),
    )


# Asked with the token of one cluster about what is of the other: 404, as what is not there.
READS: dict[tuple[str, str], Row] = {
    ("GET", f"/v1/incidents/{{id}}{part}"): bodyless(f"/v1/incidents/{{id}}{part}")
    for part in ("", "/report", "/suspects", "/artifacts", "/evidence", "/collectives", "/timeline")
} | {
    ("GET", "/v1/nodes/{node}"): bodyless("/v1/nodes/{node}"),
    ("POST", "/v1/incidents/{id}/resolution"): with_body(
        "/v1/incidents/{id}/resolution", lambda _: {"category": "gpu"}
    ),
    ("GET", "/v1/problems/{id}"): bodyless("/v1/problems/{problem}"),
    ("GET", "/v1/actions/{id}"): bodyless("/v1/actions/{act}"),
    ("GET", "/v1/jobs/{job_id}/launch"): bodyless(
        "/v1/jobs/job-{cluster}/launch?cluster={cluster}"
    ),
    **{
        ("GET", f"/v1/fleet{part}"): bodyless(f"/v1/fleet{part}?cluster={{cluster}}{more}")
        for part, more in {
            "": "", "/checks": "", "/nodes": "",
            "/runs": "", "/projection": "&gpus=8", "/checkpoint": "", "/spares": "",
            "/repairs": "", "/hardware": "&node=n1",
        }.items()
    },
}  # fmt: skip
# Asked with the ingest token of one cluster about what is of the other: 404.
ASKS: dict[tuple[str, str], Row] = {
    ("GET", "/v1/jobs/{job_id}/wanted"): with_body(
        "/v1/jobs/{job}/wanted?incident={id}&node={node}", lambda _: b""
    ),
}
# Sent with the token of one cluster about what is of the other: 403.
WRITES: dict[tuple[str, str], Row] = {
    ("POST", "/v1/hooks/job-failed"): with_body(
        "/v1/hooks/job-failed", lambda o: {"job_id": f"job-{o.name}", "cluster": o.name}
    ),
    ("POST", "/v1/hooks/job-ended"): with_body(
        "/v1/hooks/job-ended", lambda o: {"job_id": f"job-{o.name}", "cluster": o.name}
    ),
    ("POST", "/v1/hooks/alertmanager"): with_body(
        "/v1/hooks/alertmanager",
        lambda o: {
            "version": "4",
            "alerts": [
                {
                    "status": "firing",
                    "labels": {
                        "alertname": "SlurmJobFailed", "job_id": f"job-{o.name}",
                        "cluster": o.name,
                    },
                }
            ],
        },
    ),
    ("POST", "/v1/fleet/import"): with_body(
        "/v1/fleet/import",
        lambda o: EXPORT.format(job=f"job-{o.name}", node=o.node, cluster=o.name).encode(),
    ),
    ("POST", "/v1/fleet/checks"): with_body(
        "/v1/fleet/checks?cluster={cluster}&node={node}", lambda _: CHECKS
    ),
    ("POST", "/v1/fleet/telemetry"): with_body(
        "/v1/fleet/telemetry?cluster={cluster}&node={node}", lambda _: CHECKS
    ),
    ("POST", "/v1/jobs/{job_id}/artifacts"): with_body(
        "/v1/jobs/{job}/artifacts?incident={id}&node={node}", lambda _: LOG + b"\n"
    ),
    ("POST", "/v1/jobs/{job_id}/bundle"): with_body(
        "/v1/jobs/{job}/bundle?incident={id}&node={node}", lambda _: tar_of("x.log", LOG)
    ),
}  # fmt: skip
# Asked with the token of one cluster to change what is of the other: 404.
CHANGES = {
    ("POST", f"/v1/problems/{{id}}/{what}"): body
    for what, body in {"merge": {"problem": "{problem}"}, "split": {"incidents": []}}.items()
}
# Answered for the token's own cluster: nothing of the other may stand in the answer.
LISTS = {
    ("GET", "/v1/incidents"): "/v1/incidents",
    ("GET", "/v1/problems"): "/v1/problems",
    ("GET", "/v1/search"): "/v1/search?q=fallen",
    ("GET", "/v1/actions"): "/v1/actions",
    ("POST", "/v1/hooks/cloudevents"): "",
}
EVENT = {
    "specversion": "1.0", "id": "1", "source": "x", "type": "health",
    "data": {"healthEvent": {"nodeName": "{node}", "errorCode": ["79"], "message": "lost"}},
}  # fmt: skip


def others(name: str, tenants: Mapping[str, Tenant]) -> Tenant:
    return tenants["b" if name == "a" else "a"]


def scoped(service: Service) -> dict[tuple[str, str], str]:
    """Every route that takes a token, with its scope."""
    return {
        (method.upper(), path): operation["x-scope"]
        for path, operations in service.app.openapi()["paths"].items()
        for method, operation in operations.items()
        if "x-scope" in operation
    }


def test_every_route_has_its_row(service: Service) -> None:
    routes = scoped(service)
    admin = {route for route, scope in routes.items() if scope == "admin"}
    assert {*READS, *ASKS, *WRITES, *CHANGES, *LISTS} == routes.keys() - admin
    assert {route for route, scope in routes.items() if scope == "ingest"} == {
        *ASKS, *WRITES, ("POST", "/v1/hooks/cloudevents"),
    }  # fmt: skip


def call(service: Service, route: tuple[str, str], row: Row, about: Tenant, token: str) -> Answer:
    path, body = row(about)
    return service.call(route[0], path, body if route[0] == "POST" else None, token=token)


def test_what_is_of_the_other_cluster_is_not_there(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    wrong = []
    for name in TENANTS:
        own, other = tenants[name], others(name, tenants)
        unknown = Tenant("nowhere", "inc_nowhere", "node-nowhere", "act_no", {})
        for route, row in (READS | ASKS).items():
            token = own.tokens["ingest" if route in ASKS else "read"]
            mine = call(service, route, row, own, token)
            foreign = call(service, route, row, other, token)
            missing = call(service, route, row, unknown, token)
            if mine.status not in (200, 201) or foreign.status != 404 or missing.status != 404:
                wrong.append((name, route, mine.status, foreign.status, missing.status))
                continue
            assert {**foreign.problem(), "instance": "", "request_id": ""} == {
                **missing.problem(), "instance": "", "request_id": "",
            }, route  # fmt: skip
            assert all(word not in mine.body.decode() for word in (other.incident, other.node))
            if route[1].startswith("/v1/fleet"):
                assert f'"{other.name}"' not in mine.body.decode(), route
    assert wrong == []


def test_what_is_sent_about_the_other_cluster_is_refused(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    wrong = []
    for name in TENANTS:
        own, other = tenants[name], others(name, tenants)
        before = service.get(f"/v1/incidents/{other.incident}").json()
        runs = service.get(f"/v1/fleet/runs?cluster={other.name}").json()
        for route, row in WRITES.items():
            foreign = call(service, route, row, other, own.tokens["ingest"])
            if foreign.status != 403:
                wrong.append((name, route, foreign.status, foreign.body))
        assert service.get(f"/v1/incidents/{other.incident}").json() == before
        assert service.get(f"/v1/fleet/runs?cluster={other.name}").json() == runs
    assert wrong == []


def test_a_problem_of_the_other_cluster_is_not_changed(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    own, other = tenants["a"], tenants["b"]
    before = service.get(f"/v1/problems/{other.problem}").json()
    asked = [
        (other.problem, "merge", {"problem": own.problem}),
        (own.problem, "merge", {"problem": other.problem}),
        (other.problem, "split", {"incidents": [other.incident]}),
    ]
    for problem, what, body in asked:
        path = f"/v1/problems/{problem}/{what}"
        assert service.post(path, body, token=own.tokens["read"]).status == 404
    assert service.get(f"/v1/problems/{other.problem}").json() == before


def test_lists_hold_the_own_cluster_alone(service: Service, tenants: Mapping[str, Tenant]) -> None:
    for name in TENANTS:
        items = service.get("/v1/incidents", token=tenants[name].tokens["read"]).json()["items"]
        assert {one["cluster"] for one in items} == {name}
        acts = service.get("/v1/actions", token=tenants[name].tokens["read"]).json()["items"]
        assert [one["id"] for one in acts] == [f"act_{name}"]
        own = service.get("/v1/problems", token=tenants[name].tokens["read"]).json()["items"]
        assert [one["cluster"] for one in own] == [name]
        runs = service.get("/v1/fleet/runs", token=tenants[name].tokens["read"]).json()["items"]
        assert {one["cluster"] for one in runs} == {name}
        fleet = service.get("/v1/fleet", token=tenants[name].tokens["read"]).json()
        assert (fleet["cluster"], fleet["clusters"]) == (name, [name])


def test_a_search_finds_what_is_of_the_own_cluster_alone(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    for name in TENANTS:
        own, other = tenants[name], others(name, tenants)
        token = own.tokens["read"]
        kinds = set()
        for words in ("fallen", "xid%2079", "job-", "node-", own.incident, "gpu"):
            hits = service.get(f"/v1/search?q={words}", token=token).json()["hits"]
            assert {hit["cluster"] for hit in hits} == {name}, words
            kinds |= {hit["kind"] for hit in hits}
        assert kinds >= {"incident", "job", "node", "code", "evidence"}
        for words in (other.incident, other.node, f"job-{other.name}"):
            assert service.get(f"/v1/search?q={words}", token=token).json()["hits"] == []
            page = service.get(f"/search?q={words}", token=token).body.decode()
            assert "Nothing bears" in page
        assert service.get(f"/v1/search?q=x&cluster={other.name}", token=token).status == 404
        assert service.get(f"/search?q=x&cluster={other.name}", token=token).status == 404


def test_how_acting_stands_is_told_to_its_own_cluster_alone(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    assert service.get("/v1/actions?cluster=b", token=tenants["a"].tokens["read"]).status == 404


def test_an_event_on_a_node_of_the_other_cluster_joins_nothing(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    own, other = tenants["a"], tenants["b"]
    health = {"nodeName": other.node, "errorCode": ["79"], "message": "lost"}
    event = {**EVENT, "data": {"healthEvent": health}}
    headers = {"Content-Type": "application/cloudevents+json"}
    path = "/v1/hooks/cloudevents"
    before = service.get(f"/v1/incidents/{other.incident}/artifacts").json()
    answer = service.post(path, event, token=own.tokens["ingest"], headers=headers).json()
    nowhere = {**EVENT, "data": {"healthEvent": {**health, "nodeName": "nowhere"}}}
    missing = service.post(path, nowhere, token=own.tokens["ingest"], headers=headers).json()
    assert answer == missing
    assert (answer["incidents"], answer["waiting"]) == ([], 1)
    assert service.get(f"/v1/incidents/{other.incident}/artifacts").json() == before


def test_a_token_of_both_is_bound_by_the_same(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    _, both = create_token(service.ctx, "both", ["read", "ingest"], "test", cluster="a")
    assert service.get(f"/v1/incidents/{tenants['a'].incident}", token=both).status == 200
    assert service.get(f"/v1/incidents/{tenants['b'].incident}", token=both).status == 404
    told = {"job_id": "job-b", "cluster": "b"}
    assert service.post("/v1/hooks/job-failed", told, token=both).status == 403


def test_pages_show_the_own_cluster_alone(service: Service, tenants: Mapping[str, Tenant]) -> None:
    """Every page with a place for an incident, a node or a cluster, and the lists."""
    own, other = tenants["a"], tenants["b"]
    token = own.tokens["read"]
    paths = {
        route.path
        for route in service.app.routes
        if "GET" in getattr(route, "methods", ()) and getattr(route, "name", "").startswith("page_")
    }
    told = {
        "id": {"a": own.incident, "b": other.incident},
        "node": {"a": own.node, "b": other.node},
    }
    for path in sorted(paths):
        for kind in ("id", "node"):
            if f"{{{kind}}}" in path:
                foreign = re.sub(r"\{\w+\}", told[kind]["b"], path)
                query = f"?file=nodes/{other.node}/upload.log" if "/raw" in path else ""
                assert service.get(foreign + query, token=token).status == 404, path
    fleet = ("/fleet", "/fleet/nodes", "/fleet/repairs", "/fleet/plan", "/fleet/checks")
    for path in ("/incidents", "/problems", "/overview", "/overview/board", *fleet):
        page = service.get(path, token=token)
        assert page.status == 200
        assert all(word not in page.body.decode() for word in (other.incident, other.node)), path
        if path.startswith(("/fleet", "/overview")):
            assert service.get(f"{path}?cluster=b", token=token).status == 404
            assert service.get(f"{path}?cluster=nowhere", token=token).status == 404
    assert service.get("/queue", token=token).status == 403


def test_a_form_resolves_incidents_of_the_own_cluster_alone(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    visit = Visit(service)
    visit.submit("/login", {"token": tenants["a"].tokens["read"]})
    fields = {"category": "gpu", "word": visit.word("/incidents")}
    foreign, own = (f"/incidents/{tenants[name].incident}/resolution" for name in "ba")
    before = service.get(f"/v1/incidents/{tenants['b'].incident}").json()
    assert visit.submit(foreign, fields).status == 404
    assert service.get(f"/v1/incidents/{tenants['b'].incident}").json() == before
    assert visit.submit(own, fields).status == 303
    assert service.get(f"/v1/incidents/{tenants['a'].incident}").json()["resolution"]


def test_finding_3_a_token_of_another_cluster_moves_no_answer(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    """The replay of the report: the same job id, other nodes, with and without a cluster."""
    own, other = tenants["a"], tenants["b"]
    before = service.get(f"/v1/incidents/{own.incident}").json()
    lie = {"job_id": "job-a", "nodes": ["innocent-1", "innocent-2"], "gpus_per_node": 4}
    answer = service.post("/v1/hooks/job-failed", lie, token=other.tokens["ingest"])
    assert (answer.status, answer.json()["cluster"]) == (202, "b")
    assert answer.json()["id"] != own.incident
    named = {**lie, "cluster": "a"}
    assert service.post("/v1/hooks/job-failed", named, token=other.tokens["ingest"]).status == 403
    over = {"job_id": "job-a", "ended_at": 1793503600, "state": "COMPLETED"}
    service.post("/v1/hooks/job-ended", over, token=other.tokens["ingest"])
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    assert service.get(f"/v1/incidents/{own.incident}").json() == before
    [run] = service.get("/v1/fleet/runs?cluster=a&job_id=job-a").json()["items"]
    assert run["ending"] == "unexpected"


def test_a_token_without_a_cluster_ends_no_run_of_a_cluster_that_it_does_not_name(
    service: Service,
) -> None:
    """Whoever names none means a job of none, as 0.1 does; the job of the same id goes on."""
    sacct = "JobID|Start|End|State|NodeList|NNodes\nends|2026-11-01T00:00:00|Unknown|RUNNING|n1|1\n"
    for query in ("?cluster=a", "?cluster=b", ""):
        assert (
            service.post(f"/v1/fleet/import{query}", sacct.encode(), token="ingest").status == 200
        )
    end = {"job_id": "ends", "ended_at": "2026-11-01T02:00:00Z", "state": "COMPLETED"}

    def endings() -> dict[str, str]:
        rows = service.get("/v1/fleet/runs?job_id=ends").json()["items"]
        return {row["cluster"]: row["ending"] for row in rows}

    assert endings() == {"a": "running", "b": "running", "": "running"}
    answer = service.post("/v1/hooks/job-ended", end, token="ingest").json()
    assert (answer["run"], answer["cluster"]) == ("changed", None)
    assert endings() == {"a": "running", "b": "running", "": "completed"}
    assert service.post("/v1/hooks/job-ended", end, token="ingest").json()["run"] == "unknown"
    service.post("/v1/hooks/job-ended", {**end, "cluster": "b"}, token="ingest")
    assert endings() == {"a": "running", "b": "completed", "": "completed"}


def test_finding_3_a_file_that_names_no_incident_stays_in_its_cluster(
    service: Service, tenants: Mapping[str, Tenant]
) -> None:
    own, other = tenants["a"], tenants["b"]
    hook = service.post("/v1/hooks/job-failed", {"job_id": "alone"}, token=own.tokens["ingest"])
    files = f"/v1/incidents/{hook.json()['id']}/artifacts"
    answer = service.post("/v1/jobs/alone/artifacts?node=n", LOG * 3, token=other.tokens["ingest"])
    assert answer.status == 201
    opened = service.get(f"/v1/incidents/{answer.json()['incident_id']}").json()
    assert opened["cluster"] == "b"
    assert service.get(files).json()["items"] == []
