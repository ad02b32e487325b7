"""Repairs on the pages: which hold, and which nodes are on probation, for people and programs."""

import random
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.fleet.services.small_fleet import NODES
from tests.web.browser import Browser
from tests.web.fleet_site import NOW, fleet_service
from tests.web.looks import faults_of
from tests.web.site import Visit

BACK = "n021"
HELD, NOT_HELD = "NIC replaced", "NIC; rebooted"


def outages() -> bytes:
    """A year: after a reboot three of five come back within days, after a swap one of ten."""
    chance = random.Random("repairs that hold")
    lines = ["node,from,to,reason,cluster"]
    for node in NODES:
        day = chance.expovariate(1 / 150)
        while day < 340:
            reason = chance.choice((HELD, NOT_HELD))
            lines.append(line(node, day, day + 0.5, reason))
            soon = chance.random() < (0.6 if reason == NOT_HELD else 0.1)
            day += 0.5 + chance.expovariate(1 / 2 if soon else 1 / 150)
    return "\n".join([*lines, line(BACK, 362.0, 363.0, "cable replaced <b>")]).encode()


def line(node: str, start: float, end: float, reason: str) -> str:
    first = NOW - timedelta(days=365)
    a, b = (first + timedelta(days=day) for day in (start, end))
    return f"{node},{a:%Y-%m-%dT%H:%M:%SZ},{b:%Y-%m-%dT%H:%M:%SZ},{reason},a"


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with fleet_service(tmp_path_factory.mktemp("repairs")) as service:
        answer = service.post("/v1/fleet/import", outages(), token=None)
        assert answer.status == 200, answer.body
        yield Visit(service)


def test_the_page_names_nodes_on_probation_and_the_repair_that_holds(visit: Visit) -> None:
    page = visit.read("/fleet/repairs")

    assert "failed again within 7 days" in page.words
    assert f"/nodes/{BACK}" in page.links()
    assert "holds better than the others" in page.words
    assert "ib.counters" in page.words
    assert "/fleet/repairs" in visit.read("/fleet").links()


def test_a_node_has_its_probation_on_its_page_and_in_the_api(visit: Visit) -> None:
    assert "returned 2 days ago after a cable swap" in visit.read(f"/nodes/{BACK}").words

    history = visit.get(f"/v1/nodes/{BACK}").json()
    assert history["probation"]["action"] == "swap_cable"
    other = next(node for node in NODES if node != BACK)
    rows = {row["node"]: row for row in visit.get("/v1/fleet/nodes?limit=200").json()["items"]}
    assert rows[BACK]["probation"]["check"] == "ib.counters"
    assert "probation" in rows[other]


def test_the_overview_says_that_somebody_is_on_probation(visit: Visit) -> None:
    assert "on probation" in visit.read("/fleet?days=90").words


def test_the_answer_of_the_api_has_an_etag_and_its_own_judgement(visit: Visit) -> None:
    answer = visit.get("/v1/fleet/repairs?cluster=a")
    facts = answer.json()

    assert facts["schema"] == "triage.repairs/1"
    assert {row["verdict"] for row in facts["by_repair"]} >= {"holds_better", "holds_worse"}
    assert facts["judged"][0]["auc"] > 0.6
    again = visit.get("/v1/fleet/repairs?cluster=a", **{"if-none-match": answer.headers["etag"]})
    assert again.status in (200, 304)


@pytest.mark.parametrize("query", ["until=nonsense", "until=1950-01-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused(visit: Visit, query: str) -> None:
    assert visit.get(f"/v1/fleet/repairs?{query}").status == 422


def test_everybody_can_read_the_page_on_each_screen(browser: Browser, visit: Visit) -> None:
    page = browser.page()
    assert faults_of(page, f"http://127.0.0.1:{visit.service.port}/fleet/repairs") == []
    assert page.wrong() == []
