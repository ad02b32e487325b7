"""The fleet's gauges: what they say, and that no scrape waits for them."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily

from tests.api.service import Service, context_at, serving
from tests.fleet.services.small_fleet import END, keep_fleet
from triage.api.metrics import Metrics
from triage.clock import read_utc_now
from triage.fleet.api.metrics import AGE, FleetGauges
from triage.fleet.services.answers import look_at_fleet
from triage.fleet.services.gauges import GAUGES, list_gauges

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "examples" / "grafana" / "fleet.json").read_text("utf-8"))
EXPRESSIONS = [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("fleet"))
    keep_fleet(ctx, end=read_utc_now().replace(minute=0, second=0, microsecond=0))
    with serving(ctx) as found:
        yield found
    ctx.close()


def scraped(service: Service) -> str:
    return service.get("/metrics", token=None).body.decode()


def value_of(text: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.M)
    assert found is not None, series
    return float(found[1])


def test_a_scrape_begins_the_work_and_a_later_one_has_it(service: Service) -> None:
    gauges = next(
        one
        for one in service.app.state.triage.metrics.registry._collector_to_names
        if isinstance(one, FleetGauges)
    )
    scraped(service)
    assert gauges.thread is not None
    gauges.thread.join(120)
    text = scraped(service)

    assert value_of(text, 'triage_fleet_nodes{standing="lemon"}') == 1
    assert value_of(text, 'triage_fleet_mtti_seconds{bound="value"}') > 3600
    assert value_of(text, AGE) < 300
    assert value_of(text, "triage_fleet_window_seconds") == 30 * 86_400
    assert "n007" not in text


def test_every_gauge_is_one_that_is_described(service: Service) -> None:
    told = list_gauges(look_at_fleet(service.ctx, since=END - timedelta(days=60), until=END))

    assert {one.name for one in told} <= GAUGES.keys()


def test_an_empty_fleet_bounds_no_rate(tmp_path: Path) -> None:
    ctx = context_at(tmp_path)
    told = {one.name: one for one in list_gauges(look_at_fleet(ctx))}
    ctx.close()

    assert "triage_fleet_mtti_seconds" not in told
    assert {one.value for one in told["triage_fleet_interruptions"].samples} == {0}


def test_labels_are_few(service: Service) -> None:
    for one in list_gauges(look_at_fleet(service.ctx)):
        assert len(one.samples) <= 18, one.name
        labels = {label for sample in one.samples for label in sample.labels}
        assert labels <= {"bound", "row", "standing", "kind", "state"}


def test_nobody_waits_for_the_figures() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> list[GaugeMetricFamily]:
        begun.set()
        go_on.wait(60)
        return [GaugeMetricFamily("triage_fleet_runs", "Runs.", value=3.0)]

    metrics = Metrics(dict, [FleetGauges(slow)])
    assert b"triage_fleet_runs" not in metrics.text()
    assert begun.wait(60)
    assert b"triage_fleet_runs" not in metrics.text()
    gauges = next(
        one for one in metrics.registry._collector_to_names if isinstance(one, FleetGauges)
    )
    go_on.set()
    gauges.thread.join(60)
    assert b"triage_fleet_runs 3.0" in metrics.text()


def test_they_are_worked_out_once_in_a_while_and_one_at_a_time() -> None:
    calls = []

    def counted() -> list[GaugeMetricFamily]:
        calls.append(1)
        return []

    gauges = FleetGauges(counted, keep_s=3600)
    for _ in range(5):
        list(gauges.collect())
        gauges.thread.join(60)
    assert len(calls) == 1
    gauges.keep_s = 0.0
    list(gauges.collect())
    gauges.thread.join(60)
    assert len(calls) == 2


def test_what_fails_leaves_the_old_figures_and_their_age() -> None:
    runs = GaugeMetricFamily("triage_fleet_runs", "Runs.", value=3.0)
    answers = [[runs], RuntimeError("no database")]

    def read() -> list[GaugeMetricFamily]:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    gauges = FleetGauges(read, keep_s=0.0)
    for _ in range(2):
        list(gauges.collect())
        gauges.thread.join(60)
    names = [one.name for one in gauges.collect()]
    gauges.thread.join(60)

    assert names == [AGE, "triage_fleet_runs"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_dashboard_asks_for_what_there_is(expression: str) -> None:
    names = set(re.findall(r"triage_\w+", expression))

    assert names
    assert names <= {*GAUGES, AGE}


def test_the_dashboard_is_of_no_place_and_every_panel_says_what_it_is() -> None:
    text = json.dumps(DASHBOARD)

    assert "http" not in text
    assert DASHBOARD["uid"] == "triage-fleet"
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {"${datasource}"}
    assert all(panel["title"] and panel["description"] for panel in DASHBOARD["panels"])
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


@pytest.mark.parametrize("name", [*GAUGES, AGE])
def test_the_operator_is_told_of_every_gauge(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "operator.md").read_text("utf-8")
