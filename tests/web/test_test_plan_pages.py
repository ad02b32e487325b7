"""Test plans on pages: begun by a form, given results, and offered where an answer is open."""

from collections.abc import Iterator

import pytest

from tests.api.service import Service
from tests.web.fleet_site import fleet_service
from tests.web.site import Visit, analyse, sent
from tests.web.test_pages import POLICY
from triage.domain.hosts import expand

PATH = "/fleet/test-plans"


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with fleet_service(tmp_path_factory.mktemp("plans")) as service:
        yield Visit(service)


def begun(visit: Visit, **fields: str) -> str:
    answer = visit.submit(PATH, {"word": visit.word(PATH), "nodes": "m[001-064]", **fields})
    assert answer.status == 303, answer.body
    return answer.headers["location"]


def entered(visit: Visit, plan: str, **fields: str) -> int:
    return visit.submit(f"{plan}/results", {"word": visit.word(plan), **fields}).status


def group_of(visit: Visit, plan: str, node: str) -> str:
    facts = visit.service.get(plan.replace("/fleet/", "/v1/fleet/"), token=None).json()
    return next(g["id"] for g in facts["rounds"][-1] if node in expand(g["nodelist"]))


def test_a_person_finds_the_bad_node_by_forms(visit: Visit) -> None:
    plan = begun(visit, recall="0.9")
    page = visit.read(plan)
    assert "64 nodes to test; none is surely bad yet." in page.words
    assert "srun --nodes=8 --nodelist=m[001-008] TEST > g1.out 2>&1 &" in page.words
    for _ in range(6):
        if "All other groups passed" not in visit.read(plan).words:
            break
        page = visit.read(plan)
        if "Bad so far" in page.words:
            assert entered(visit, plan, others="pass") == 303
        else:
            failed = group_of(visit, plan, "m009")
            assert entered(visit, plan, failed=failed, others="pass") == 303

    words = visit.read(plan).words
    assert "Bad: m009. All others are good" in words
    assert "--exclude=m009" in words
    assert "Rounds before" in words
    assert "Bad: m009" not in visit.read(PATH).words
    assert "m009" in visit.read(PATH).words


def test_pages_are_strict_and_hold_no_markup_of_others(visit: Visit) -> None:
    plan = begun(visit)
    for path in (PATH, plan):
        assert visit.get(path).headers["content-security-policy"] == POLICY
    assert visit.get(f"{PATH}?nodes=%3Cb%3E%22x").body.count(b"<b>") == 0


def test_some_results_are_kept_and_the_round_stays(visit: Visit) -> None:
    plan = begun(visit)
    assert entered(visit, plan, passed="g[1-3], g5", failed="g4", others="") == 303
    assert "test 3 groups at the same time" in visit.read(plan).words


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"failed": "g99", "others": "pass"}, "no group &#39;g99&#39;"),
        ({"failed": "g1", "passed": "g1"}, "g1 stands in two fields"),
        ({"failed": "g[1-"}, "ends inside a bracket"),
        ({"failed": "g1", "missing": "x5"}, "no node &#39;x5&#39;"),
    ],
)
def test_results_that_cannot_be_are_refused(visit: Visit, fields: dict[str, str], why: str) -> None:
    plan = begun(visit)
    answer = visit.submit(f"{plan}/results", {"word": visit.word(plan), **fields})
    assert answer.status == 422
    assert why in answer.body.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes": ""}, {"nodes": "n[1-"}, {"recall": "x"}, {"recall": "2"}, {"min_size": "1.5"},
        {"place": "beside rack"}, {"place": "within row"}, {"nodes": "a b"},
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_meant_is_refused(visit: Visit, fields: dict[str, str]) -> None:
    answer = visit.submit(PATH, {"word": visit.word(PATH), "nodes": "n[1-9]", **fields})
    assert answer.status == 422


def test_groups_stay_within_the_racks_of_the_inventory(visit: Visit) -> None:
    plan = begun(visit, nodes="n[000-063]", place="within rack", cluster="a")
    facts = visit.service.get(plan.replace("/fleet/", "/v1/fleet/"), token=None).json()
    racks = [{int(node[1:]) // 16 for node in expand(g["nodelist"])} for g in facts["rounds"][0]]
    assert len(racks) > 3
    assert all(len(rack) == 1 for rack in racks)


def test_a_foreign_form_begins_nothing(visit: Visit, service: Service) -> None:
    plan = begun(visit)
    other = Visit(service)
    other.log_in("read")
    for path in (PATH, f"{plan}/results"):
        assert other.submit(path, {"word": "x", "nodes": "n1"}).status in {403, 404}
        assert other.submit(path, {"nodes": "n1"}, Origin="https://evil").status == 403


def test_an_answer_that_names_no_node_offers_a_plan(visit: Visit) -> None:
    incident = sent(visit.service, "open", {"job.out": b"step 1\nsrun: error: task 3: Killed\n"})
    analyse(visit.service)
    link = f"{PATH}?incident={incident}"
    assert link in visit.read(f"/incidents/{incident}").links()
    form = visit.read(link)
    assert form.all("input", name="incident_id")[0]["value"] == incident
    fields = {"word": visit.word(link), "incident_id": incident, "nodes": "x[1-9]"}
    plan = visit.submit(PATH, fields).headers["location"]
    assert f"/incidents/{incident}" in visit.read(plan).links()
    assert plan in visit.read(link).links()


def test_an_unknown_plan_is_not_there(visit: Visit) -> None:
    assert visit.get(f"{PATH}/plan_unknown").status == 404
