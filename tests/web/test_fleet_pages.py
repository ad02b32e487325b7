"""The pages of the fleet over a database with a lemon in it: what they say, ask and refuse."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.api.service import Service
from tests.fleet.services.small_fleet import LEMON, NODES
from tests.web.fleet_site import NOW, fleet_service
from tests.web.site import Reading, Visit, analyse, sent
from tests.web.test_pages import POLICY

PAGES = ["/fleet", "/fleet/nodes", "/fleet/repairs", "/fleet/plan", "/fleet/checks"]


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with fleet_service(tmp_path_factory.mktemp("fleet")) as service:
        yield Visit(service)


@pytest.fixture(scope="module")
def bare(opened: Service) -> Visit:
    """A service that knows of no run."""
    return Visit(opened)


def test_every_page_is_strict(visit: Visit) -> None:
    for path in (*PAGES, f"/nodes/{LEMON}"):
        answer = visit.get(path)
        assert (answer.status, answer.headers["content-security-policy"]) == (200, POLICY), path
        for tag, attributes in Reading(answer.body.decode()).tags:
            assert tag != "style", path
            assert "style" not in attributes, path
            assert not [name for name in attributes if name.startswith("on")], path


def test_the_overview_answers_in_sentences_before_it_shows_tables(visit: Visit) -> None:
    page = visit.read("/fleet?days=90")
    words = page.words

    order = [
        "A job of 512 GPUs stops every", "1 lemon to take out: n007.", "fails most",
        "Checkpoint every", "Nodes that stand out", "Leaf switches", "How often jobs stop",
        "What fails", "How long a job of any size runs", "Spare nodes", "What this rests on",
    ]  # fmt: skip
    places = [words.index(part) for part in order]
    assert places == sorted(places)
    assert len(page.all("table")) >= 5
    assert f"/nodes/{LEMON}" in page.links()


def test_every_link_of_every_page_leads_somewhere(visit: Visit) -> None:
    seen = set()
    for path in (*PAGES, "/fleet?days=7&cluster=a", f"/fleet/checks?node={LEMON}"):
        page = visit.read(path)
        for link in page.links():
            if link not in seen and not link.startswith("#"):
                seen.add(link)
                assert visit.get(link).status == 200, (path, link)
    assert len(seen) > 20


def test_the_period_stands_in_the_address(visit: Visit) -> None:
    first, last = NOW.date() - timedelta(days=20), NOW.date() - timedelta(days=11)
    page = visit.read(f"/fleet?from={first}&to={last}")

    assert "(10 days)" in page.words
    assert page.all("input", name="from")[0]["value"] == str(first)
    assert f"/fleet/plan?from={first}&to={last}" in page.links()
    chosen = visit.read("/fleet?days=90").all("a", **{"aria-current": "true"})
    assert [one["href"] for one in chosen] == ["/fleet?days=90"]
    assert "(7 days)" in visit.read("/fleet?days=7").words


def test_a_cluster_is_chosen_and_another_is_empty(visit: Visit) -> None:
    page = visit.read("/fleet?cluster=a")
    assert page.all("option", selected="")
    assert "cluster a" in page.words
    assert "Nothing is known of this fleet" in visit.read("/fleet?cluster=b").words


def test_blank_fields_of_the_form_are_no_part_of_the_address(visit: Visit) -> None:
    answer = visit.get("/fleet?from=&to=&cluster=a")
    assert (answer.status, answer.headers["location"]) == (303, "/fleet?cluster=a")


@pytest.mark.parametrize(
    "path",
    [
        "/fleet?days=0", "/fleet?days=4000", "/fleet?days=7&days=8", "/fleet?from=yesterday",
        "/fleet?from=2026-11-02&to=2026-11-01", "/fleet?since=2026-11-01", "/fleet?from=0001-01-01",
        "/fleet?from=9999-12-31", "/fleet?to=2026-13-01", "/fleet/nodes?standing=bad",
        "/fleet/nodes?page=0", "/fleet/plan?gpus=0", "/fleet/plan?gpus=1e9",
        "/fleet/plan?confidence=1", "/fleet/plan?cost_s=-1", "/fleet/plan?repair_days=nan",
        "/fleet/checks?state=x", "/fleet?days=%D9%A3",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_on_a_page(visit: Visit, path: str) -> None:
    answer = visit.get(path)
    assert answer.status == 422
    assert answer.headers["content-security-policy"] == POLICY
    assert "Cannot be processed" in Reading(answer.body.decode()).words


def test_nodes_are_filtered_by_their_standing(visit: Visit) -> None:
    every = visit.read("/fleet/nodes")
    assert "1 to 50 of 64" in every.words
    assert "/fleet/nodes?page=2" in every.links()
    more = visit.read("/fleet/nodes?page=2")
    assert "51 to 64 of 64" in more.words
    named = [set(re.findall(r"/nodes/(n\d+)", " ".join(one.links()))) for one in (every, more)]
    assert named[0] | named[1] == set(NODES)
    lemons = visit.read("/fleet/nodes?standing=lemon")
    assert [one for one in lemons.links() if one.startswith("/nodes/")] == [f"/nodes/{LEMON}"]
    assert "GPU 0000:5d:00 of n007 is named in" in lemons.words
    assert "No node is like that" in visit.read("/fleet/nodes?page=9").words


def test_a_plan_is_worked_out_by_a_form_without_scripts(visit: Visit) -> None:
    usual = visit.read("/fleet/plan?days=90")
    asked = visit.read(
        "/fleet/plan?days=90&gpus=16384&cost_s=60&restart_s=600&repair_days=3&confidence=0.95"
    )

    assert "A job of 512 GPUs stops every" in usual.words
    assert "A job of 16,384 GPUs stops every" in asked.words
    assert "Beware: 16,384 GPUs are more than 4 times outside the sizes seen" in asked.words
    assert "1 min for a checkpoint and 10 min for a restart" in asked.words
    assert "2,048 nodes are there 95 % of the time" in asked.words
    values = {one["name"]: one.get("value") for one in asked.all("input") if "name" in one}
    assert values["gpus"] == "16384"
    assert values["days"] == "90"
    [form] = asked.all("form", action="/fleet/plan", **{"class": "filters knobs"})
    assert form["method"] == "get"


def test_what_if_is_kept_while_the_record_changes(visit: Visit) -> None:
    page = visit.read("/fleet/plan?gpus=1024")
    assert "/fleet/plan?days=7&gpus=1024" in page.links()
    assert "/fleet/plan" in page.links()


def test_checks_that_fail_come_to_the_page(visit: Visit) -> None:
    assert "No check fails, and none is due." in visit.read("/fleet/checks?cluster=b").words
    told = '{"node": "n009", "check": "host.disk", "status": "FAIL", "detail": "<b>full</b>"}\n'
    answer = visit.service.post(
        f"/v1/fleet/checks?node=n009&at={NOW:%Y-%m-%dT%H:%M:%SZ}", told.encode(), token=None
    )
    assert answer.status in (200, 201), answer.body
    page = visit.read("/fleet/checks?state=failing")
    assert "/nodes/n009" in page.links()
    assert "<b>full</b>" in page.words
    assert "No check is like that" in visit.read("/fleet/checks?node=n001&state=failing").words
    assert "failing" in visit.read("/nodes/n009").words
    assert "due or failing" in visit.read("/fleet").words


def test_a_node_says_how_it_stands(visit: Visit) -> None:
    words = visit.read(f"/nodes/{LEMON}").words
    assert "How it stands in the fleet" in words
    assert "lemon" in words
    assert "leaf switch leaf0, rack r0" in words
    assert "a suspect in" in words
    assert "normal" in visit.read("/nodes/n030").words


def test_a_page_that_did_not_change_is_not_sent_again(visit: Visit) -> None:
    path = f"/fleet?from={NOW.date() - timedelta(days=9)}&to={NOW.date() - timedelta(days=2)}"
    first = visit.get(path)
    assert visit.get(path, If_None_Match=first.headers["etag"]).status == 304


def test_a_service_that_knows_of_no_run_says_what_to_import(bare: Visit) -> None:
    for path in ("/fleet", "/fleet/plan"):
        page = bare.read(path)
        assert "Nothing is known of this fleet" in page.words, path
        assert "triage fleet import jobs.txt" in page.words, path
        assert not page.all("table"), path


def test_the_fleet_needs_somebody_who_may_read(service: Service) -> None:
    answer = Visit(service).get("/fleet/plan?gpus=8")
    assert (answer.status, answer.headers["location"]) == (
        303, "/login?next=%2Ffleet%2Fplan%3Fgpus%3D8",
    )  # fmt: skip
    ingest = Visit(service)
    ingest.log_in("ingest")
    assert ingest.get("/fleet").status == 403


def test_an_answer_that_names_no_node_offers_a_test_of_groups(visit: Visit) -> None:
    incident = sent(visit.service, "open", {"job.out": b"step 1\nsrun: error: task 3: Killed\n"})
    analyse(visit.service)
    words = visit.read(f"/incidents/{incident}").words
    assert "triage fleet isolate --nodes NODES --state plan.json" in words


@pytest.mark.parametrize("path", ["/v1/fleet/test-plans", "/fleet/test-plans/plan_1"])
def test_a_removed_route_names_the_command_that_replaces_it(visit: Visit, path: str) -> None:
    answer = visit.get(path)
    assert answer.status == 404
    assert b"triage fleet isolate --state FILE" in answer.body
