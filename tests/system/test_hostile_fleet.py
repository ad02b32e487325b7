"""Hostile bodies for the fleet: a share of them; `benchmarks/hostile_http.py` sends all."""

from collections.abc import Iterator

import pytest

from tests.hostile.fleet_bodies import fleet_bodies
from tests.system.attacked import Attacked, attacked, peak_mib
from tests.system.hostile_fleet import MOST_GROWTH_MIB, FleetRun

# One that held the interpreter for seconds, one that took 400 MB, one that never ended.
HEAVY = ("checks/dcgm-of-lists", "checks/16-mb-of-line-feeds", "telemetry/line-of-100-mb")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """One for all tests of this file; at the end nothing has died or been written elsewhere."""
    with attacked(tmp_path_factory.mktemp("fleet"), "--no-worker") as found:
        found.call("GET", "/readyz")
        yield found
        assert found.faults() == []


def test_every_answer_is_a_success_or_says_where_and_why(service: Attacked) -> None:
    run = FleetRun(service)
    run.light([one for one in fleet_bodies() if not one.heavy][::25])

    assert run.complaints == []
    assert {name.partition(" ")[0] for name in run.statuses} == {
        "checks", "telemetry", "import", "job-ended",
    }  # fmt: skip


def test_headers_that_are_said_twice_or_lie_are_refused(service: Attacked) -> None:
    run = FleetRun(service)
    run.doubled()

    assert run.complaints == []


@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_body_costs_the_api_little(service: Attacked, name: str) -> None:
    before = peak_mib(service.process.pid)
    answer = FleetRun(service).send(next(one for one in fleet_bodies() if one.name == name))

    assert answer is not None
    assert answer.status in {413, 422}
    assert peak_mib(service.process.pid) - before < MOST_GROWTH_MIB / 2
