"""The fleet's answer out of a database: the report, the standings, the plans."""

from datetime import timedelta

import pytest

from tests.fleet.services.small_fleet import END, LEMON, NODES, keep_fleet
from triage.domain.standing import Grade
from triage.errors import Unprocessable, UsageError
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.what_if import checkpoints_for, projection_for, spares_for
from triage.fleet.services.answers import (
    determine_fleet_period,
    look_at_fleet,
    look_at_standings,
    make_fleet_report,
)
from triage.services.context import Context

DAY = timedelta(days=1)


@pytest.fixture
def fleet(ctx: Context) -> Context:
    keep_fleet(ctx)
    return ctx


def test_all_that_happened_is_counted_once(fleet: Context) -> None:
    found = look_at_fleet(fleet, since=END - 60 * DAY, until=END)

    assert found.report.stops.unexpected == found.report.stops.counted == 50
    assert found.report.stops.planned == 1
    assert found.report.rates.mtti.value == pytest.approx(60 * 24 / 50, rel=1e-4)
    assert found.report.exposure.gpu_hours == pytest.approx(60 * 24 * 512, rel=1e-4)
    assert found.clusters == ("a",)


def test_the_lemon_is_named_and_nobody_else(fleet: Context) -> None:
    found = look_at_fleet(fleet, until=END).standings

    assert [one.node for one in found.nodes if one.grade is Grade.LEMON] == [LEMON]
    assert found.nodes[0].node == LEMON


def test_a_node_stands_the_same_whatever_period_is_looked_at(fleet: Context) -> None:
    week = look_at_fleet(fleet, since=END - 7 * DAY, until=END).standings
    month = look_at_fleet(fleet, since=END - 30 * DAY, until=END).standings

    assert week == month == look_at_standings(fleet, until=END)


def test_the_record_before_somebody_looks_is_not_known_to_the_past(fleet: Context) -> None:
    before = look_at_fleet(fleet, since=END - 60 * DAY, until=END - 30 * DAY)

    assert before.report.stops.unexpected < 30
    assert all(one.grade is not Grade.LEMON for one in before.standings.nodes)


def test_clusters_are_told_apart(fleet: Context) -> None:
    keep_fleet(fleet, cluster="b", stops=5, of_lemon=0)

    a, b, both, none = (
        make_fleet_report(fleet, since=END - 60 * DAY, until=END, cluster=name).stops.unexpected
        for name in ("a", "b", None, "c")
    )

    assert (a, b, both, none) == (50, 5, 55, 0)


def test_an_empty_fleet_answers_too(ctx: Context) -> None:
    found = look_at_fleet(ctx)

    assert found.report.stops.unexpected == 0
    assert found.standings.nodes == ()
    assert found.report.notes
    assert found.to_dict()["mtti"]["value"] is None


def test_the_wire_form_names_the_worst_and_counts_all(fleet: Context) -> None:
    told = look_at_fleet(fleet, until=END).to_dict(top=1)

    assert [one["node"] for one in told["standings"]["nodes"]] == [LEMON]
    assert sum(told["standings"]["counts"].values()) == len(NODES)
    assert told["schema"] == "triage.fleet/1"


def test_plans_rest_on_the_same_record(fleet: Context) -> None:
    report = make_fleet_report(fleet, since=END - 60 * DAY, until=END)
    projection = projection_for(report, 512)

    assert projection.mtti.value == pytest.approx(60 * 24 / 50, rel=1e-4)
    assert checkpoints_for(report, 512).mtti == projection.mtti
    assert spares_for(report).num_nodes == len(NODES)


def test_the_default_is_the_last_thirty_days() -> None:
    found = determine_fleet_period()

    assert found.until - found.since == 30 * DAY
    assert found.until.second == 0


@pytest.mark.parametrize(
    ("since", "until"), [(END, END), (END, END - DAY), (END - 4000 * DAY, END)]
)
def test_a_period_that_is_none_is_refused_with_its_place(since, until) -> None:
    with pytest.raises(Unprocessable) as refused:
        determine_fleet_period(since, until)

    assert refused.value.places[0].where == "query/since"


def test_a_number_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="checkpoint_cost_s"):
        FleetOptions(checkpoint_cost_s=-1.0)
