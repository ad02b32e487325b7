"""Test plans over HTTP: begun, given results in parts and from checks, refused where wrong."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.api.service import Answer, Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.clock import utc_now
from triage.domain.caller import Caller
from triage.domain.hosts import expand
from triage.domain.states import WorkKind
from triage.fleet.isolation.plan import GroupOutcome
from triage.fleet.services.isolation.plans import GroupResults, enter_results

PATH = "/v1/fleet/test-plans"
JOB = files_of(GPU_LOST)


def begun(service: Service, **wish: Any) -> dict[str, Any]:
    answer = service.post(PATH, {"nodes": "n[1-64]", **wish}, token="read")
    assert answer.status == 201, answer.body
    plan = answer.json()
    assert answer.headers["location"] == f"{PATH}/{plan['id']}"
    return dict(plan)


def sent(service: Service, plan: dict[str, Any], **body: Any) -> Answer:
    return service.post(f"{PATH}/{plan['id']}/results", body, token="read")


def group_of(plan: dict[str, Any], node: str) -> str:
    return next(g["id"] for g in plan["rounds"][-1] if node in names(g["nodelist"]))


def names(nodelist: str) -> list[str]:
    return expand(nodelist)


def test_a_plan_leads_to_the_bad_node(service: Service) -> None:
    plan = begun(service)
    for _ in range(2):
        results = {group_of(plan, "n9"): "fail", "rest": "pass"}
        plan = sent(service, plan, results=results).json()

    assert (plan["state"], plan["num_rounds"], plan["version"]) == ("bad", 2, 3)
    assert [row["node"] for row in plan["bad_nodes"]] == ["n9"]
    assert plan["exclude"] == "n9"
    assert service.get(f"{PATH}/{plan['id']}", token="read").json() == plan


def test_the_same_results_again_change_nothing_and_others_are_refused(service: Service) -> None:
    plan = begun(service)
    half = sent(service, plan, results={"g1": "pass"}).json()
    assert sent(service, plan, results={"g1": "pass"}).json()["version"] == half["version"] == 2
    refused = sent(service, plan, results={"g1": "fail"})
    assert (refused.status, "already" in refused.problem()["detail"]) == (422, True)
    assert sent(service, plan, results={"g1": "fail"}, correct=True).status == 200


def test_a_plan_of_an_incident_begins_with_its_suspect(service: Service) -> None:
    incident = service.opened("tp", cluster="tp", expected_artifacts=len(JOB))
    too_early = service.post(PATH, {"incident_id": incident}, token="read")
    assert too_early.status == 409
    path = f"/v1/jobs/tp/bundle?incident={incident}"
    assert service.post(path, tar_of(JOB), token="ingest").status == 201
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    suspects = service.get(f"/v1/incidents/{incident}/suspects", token="read").json()["suspects"]

    plan = service.post(PATH, {"incident_id": incident, "good": "m[1-4]"}, token="read").json()

    assert (plan["incident_id"], plan["cluster"]) == (incident, "tp")
    assert suspects[0]["node"] in names(plan["rounds"][0][0]["nodelist"])
    listed = service.get(f"{PATH}?incident={incident}", token="read").json()["items"]
    assert [row["id"] for row in listed] == [plan["id"]]


def test_results_come_from_checks_of_nodes(service: Service) -> None:
    plan = begun(service, nodes="c[1-4]", good="c[5-9]")
    assert sent(service, plan, check="stress").json()["rounds"][0][0]["outcome"] is None
    group = plan["rounds"][0][0]
    at = utc_now() + timedelta(seconds=1)
    told = {"check": "stress", "status": "pass", "at": at.isoformat()}
    lines = "".join(f"{json.dumps(told | {'node': node})}\n" for node in names(group["nodelist"]))
    taken = service.post("/v1/fleet/checks", lines.encode(), token="ingest")
    assert taken.status == 200, taken.body
    check = service.get(f"/v1/fleet/checks?node={names(group['nodelist'])[0]}", token="read")
    name = check.json()["items"][0]["check"]
    later = sent(service, plan, check=name).json()
    assert later["rounds"][0][0]["outcome"] == "pass"


def test_plans_are_listed_newest_first_page_by_page(service: Service) -> None:
    ids = [begun(service, cluster="paged")["id"] for _ in range(3)]
    first = service.get(f"{PATH}?cluster=paged&limit=2", token="read")
    rest = service.get(
        f"{PATH}?cluster=paged&limit=2&cursor={first.json()['next_cursor']}", token="read"
    )
    listed = [row["id"] for answer in (first, rest) for row in answer.json()["items"]]
    assert sorted(listed) == sorted(ids)


def test_two_who_enter_results_at_once_do_not_undo_each_other(service: Service) -> None:
    plan = begun(service)
    results = [GroupResults({"g1": GroupOutcome.PASS}), GroupResults({"g2": GroupOutcome.FAIL})]
    for one in results:
        enter_results(service.ctx, plan["id"], one, Caller(), "test")
    found = service.get(f"{PATH}/{plan['id']}", token="read").json()
    assert [g["outcome"] for g in found["rounds"][0]][:2] == ["pass", "fail"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "no node is named"),
        ({"nodes": "n[1-"}, "ends inside a bracket"),
        ({"nodes": 7}, "nodes must be a text"),
        ({"nodes": "n1,$(x)"}, "no plain host name"),
        ({"nodes": "n[1-4]", "within": "row"}, "must be one of rack, leaf"),
        ({"nodes": "n[1-4]", "within": "rack", "across": "leaf"}, "not both"),
        ({"nodes": "n[1-4]", "options": {"recall": 3}}, "recall 3"),
        ({"nodes": "n[1-4]", "options": []}, "must be an object"),
        ({"nodes": "n[1-4]", "power": 1}, "power is not known"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(service: Service, body: Any, why: str) -> None:
    answer = service.post(PATH, body, token="read")
    assert answer.status == 422
    assert why in answer.problem()["detail"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"results": {"g99": "pass"}}, "no group 'g99'"),
        ({"results": {"g1": "good"}}, "must be pass, fail or not_run"),
        ({"results": {"g1": ["pass"]}}, "must be pass, fail or not_run"),
        ({"results": ["g1"]}, "must be an object"),
        ({"results": {"g1": "pass"}, "missing": "m1"}, "no node 'm1'"),
        ({"next": "yes"}, "must be true or false"),
    ],
)
def test_results_that_cannot_be_are_refused(service: Service, body: Any, why: str) -> None:
    answer = sent(service, begun(service), **body)
    assert answer.status == 422
    assert why in answer.problem()["detail"]
