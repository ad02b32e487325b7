"""The fleet report: what the Llama 3 run would have been told, and what a poor record is told."""

import json
import re
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.fleet.records import (
    example_record,
    one_job,
    outages,
    record,
    runs,
    stops,
)
from triage.domain.category import Category
from triage.domain.llama3 import LLAMA3_COUNTS
from triage.errors import UsageError
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import FleetReport, fleet_report
from triage.reliability import fleet_report as package_level

LLAMA3 = example_record()


@pytest.fixture(scope="module")
def llama3() -> FleetReport:
    return fleet_report(LLAMA3)


def row(rows, **wanted):
    return next(one for one in rows if all(getattr(one, k) == v for k, v in wanted.items()))


def test_the_llama3_run_is_told_its_rate(llama3: FleetReport) -> None:
    rates = llama3.rates

    assert (llama3.stops.unexpected, llama3.stops.planned) == (419, 47)
    assert rates.mtti.value == pytest.approx(3.093, abs=5e-4)
    assert (rates.mtti.low, rates.mtti.high) == pytest.approx((2.811, 3.412), abs=5e-4)
    assert rates.gpu_hours_between.value == pytest.approx(50_677, abs=0.5)
    assert rates.per_thousand_node_days.value == pytest.approx(3.789, abs=5e-4)
    assert llama3.exposure.gpu_hours == pytest.approx(21_233_664)


def test_the_llama3_run_gets_its_own_table(llama3: FleetReport) -> None:
    assert {one.row: one.count for one in llama3.mix.rows} == LLAMA3_COUNTS
    assert not any(one.differs for one in llama3.mix.rows)
    assert sum(cause.count for cause in llama3.causes) == 419
    assert {one.origin.value: one.count for one in llama3.origins} == {
        "hardware": 324, "software": 56, "maintenance": 32, "unknown": 7,
    }  # fmt: skip


def test_the_llama3_run_is_projected_with_a_warning(llama3: FleetReport) -> None:
    near, far = (row(llama3.projection, num_gpus=n) for n in (32_768, 131_072))

    assert near.mtti.value == pytest.approx(1.5465, abs=5e-5)
    assert near.warnings == ()
    assert far.mtti.value == pytest.approx(0.3866, abs=5e-5)
    assert "4 times" in far.warnings[0]
    assert far.mtti.value < far.software_fixed < 1.2 * far.mtti.value


def test_software_kept_apart_is_equal_at_the_usual_size_whatever_else_ran() -> None:
    spans = [(0.0, 100.0)] * 30
    ran = runs(spans, num_gpus=[1_024] * 10 + [8] * 20)
    cause = [Category.SOFTWARE_USER, Category.GPU_HBM, Category.GPU_HBM]
    rec = record(ran=ran, stopped=stops([20, 40, 60], run=[0, 1, 2], cause=cause))
    found = fleet_report(rec, options=FleetOptions(sizes=(512, 1_024, 2_048))).projection

    assert found[0].software_fixed < found[0].mtti.value
    assert found[1].software_fixed == pytest.approx(found[1].mtti.value)
    assert found[2].software_fixed == pytest.approx(1.2 * found[2].mtti.value)


def test_the_llama3_run_is_told_how_to_plan(llama3: FleetReport) -> None:
    assert llama3.checkpoints[0].young.value == pytest.approx(471.9, abs=0.05)
    assert llama3.ettr.expected.value == pytest.approx(llama3.ettr.measured.share.value, abs=0.01)
    assert llama3.ettr.budget_min == pytest.approx(18.6, abs=0.05)
    hour = row(llama3.survival, hours=1.0)
    assert hour.probability.value == pytest.approx(0.724, abs=5e-4)
    week = row(llama3.spares, basis="hardware", repair_days=7.0)
    assert (week.spares.at_95, week.spares.at_99, week.spares.at_999) == (53, 58, 63)


def test_windows_add_up_and_cover_the_record(llama3: FleetReport) -> None:
    windows = llama3.over_time

    assert len(windows) == 8
    assert sum(window.events for window in windows) == 419
    assert sum(window.job_hours for window in windows) == pytest.approx(1_296)
    assert all(window.mtti.low < window.mtti.value < window.mtti.high for window in windows)
    assert windows[-1].to - windows[0].from_ == timedelta(hours=1_296)


@pytest.mark.parametrize(("days", "windows"), [(2, 2), (21, 21), (22, 4), (760, 28)])
def test_windows_are_days_weeks_or_four_weeks(days: int, windows: int) -> None:
    assert len(fleet_report(one_job(24 * days, [5, 9])).over_time) == windows


def test_sizes_are_powers_of_two_and_differ_where_they_do() -> None:
    spans = [(k * 10.0, k * 10.0 + 10) for k in range(40)]
    sizes = [64, 65] * 20
    at = [k * 10 + 9.99 for k in range(0, 40, 2)]
    rec = record(hours=400, ran=runs(spans, num_gpus=sizes), stopped=stops(at, run=range(0, 40, 2)))
    found = fleet_report(rec)

    assert [(one.from_gpus, one.to_gpus, one.events) for one in found.by_size] == [
        (33, 64, 20), (65, 128, 0),
    ]  # fmt: skip
    assert found.by_size[1].mtti.value is None
    assert found.size_test.differs
    assert "not the same at all sizes" in found.projection[0].warnings[0]


def test_stops_in_clusters_widen_every_interval() -> None:
    burst = [10 + 48 * day + k / 100 for day in range(20) for k in range(8)]
    even = list(np.linspace(1, 959, 160))
    clustered, plain = (fleet_report(one_job(960, at)) for at in (burst, even))

    assert clustered.dispersion.clustered
    assert not plain.dispersion.clustered
    assert clustered.rates.mtti.value == plain.rates.mtti.value
    assert clustered.rates.mtti.high > plain.rates.mtti.high
    assert clustered.projection[0].mtti.high > plain.projection[0].mtti.high
    assert "clusters" in clustered.projection[0].warnings[0]


def test_the_last_days_are_compared_with_all_before() -> None:
    job = one_job(240, [10, 30, 200, 210, 215, 220, 225, 226, 230, 235])
    half = fleet_report(job).comparison
    week = fleet_report(job, options=FleetOptions(compare_last_days=9)).comparison

    assert (half.comparison.first, half.comparison.second, half.split_h) == (8, 2, 120)
    assert (week.comparison.first, week.comparison.second, week.split_h) == (9, 1, 24)


def test_a_day_of_silence_is_named_by_its_date() -> None:
    at = [hour for hour in np.arange(1.0, 240, 2) if not 72 <= hour < 96]

    assert fleet_report(one_job(240, at)).to_dict()["silent_days"]["days"] == ["2026-03-05"]


def test_outages_give_repair_time_availability_and_spares() -> None:
    out = outages([(0, 0, 48), (1, 100, 148), (2, 200, 300)])
    found = fleet_report(replace(one_job(240, [50]), outages=out))

    assert (found.repairs.outages, found.repairs.still_out) == (3, 1)
    assert found.repairs.mean_days.value == pytest.approx((2 + 2 + 40 / 24) / 2)
    assert found.repairs.availability == pytest.approx(1 - (48 + 48 + 40) / (8 * 240))
    assert row(found.spares, basis="outages").repair_days == found.repairs.mean_days.value


def test_outages_of_one_node_that_overlap_are_one() -> None:
    out = outages([(0, 10, 34), (1, 20, 44), (0, 30, 58), (0, 40, 41), (0, 58, 60), (0, 70, 72)])
    found = fleet_report(record(hours=240, out=out)).repairs

    assert (found.outages, found.began, found.still_out) == (3, 3, 0)
    assert found.mean_days.value == pytest.approx((50 + 24 + 2) / 24 / 3)


def test_an_outage_that_began_before_the_record_is_away_and_did_not_begin() -> None:
    found = fleet_report(record(hours=240, out=outages([(0, -48, 24), (1, 300, 400)]))).repairs

    assert (found.outages, found.began) == (1, 0)
    assert found.availability == pytest.approx(1 - 24 / (8 * 240))


def test_options_move_what_they_name() -> None:
    given = FleetOptions(
        checkpoint_cost_s=60, restart_s=60, wanted_ettr=0.8, reference_gpus=8_192,
        repair_days=(3.0,), survival_hours=(2.0,), sizes=(512,),
    )  # fmt: skip
    found = fleet_report(LLAMA3, options=given)

    assert found.checkpoints[0].cost_s == 60
    assert found.reference_mtti.value == pytest.approx(2 * 3.093, abs=1e-3)
    assert [one.num_gpus for one in found.projection] == [512]
    assert {one.hours for one in found.survival} == {2.0}
    assert {one.repair_days for one in found.spares} == {3.0}
    assert found.ettr.wanted == 0.8


@pytest.mark.parametrize(
    "given",
    [
        {"checkpoint_cost_s": 0}, {"restart_s": -1}, {"reference_gpus": 0}, {"sizes": (8, 0)},
        {"wanted_ettr": 1.0}, {"restart_s": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_an_impossible_option_is_refused_by_its_name(given: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(given))):
        FleetOptions(**given)


# --- records that lack something

POOR = {
    "empty": (record(), "no run is known"),
    "no time": (record(hours=0), "no run is known"),
    "no runs": (record(stopped=stops([10, 20, 99], cause=[Category.GPU] * 3)), "no run is known"),
    "no sizes": (
        record(ran=runs([(0, 90)], num_gpus=0), stopped=stops([9], run=[0]), gpus_per_node=None),
        "no run says how many GPUs",
    ),
    "no nodes": (record(ran=runs([(0, 90), (0, 9)])), "2 runs do not say on which nodes"),
    "no cause": (one_job(90, [5]), "1 interruption was not triaged"),
    "stray stop": (
        record(ran=runs([(0, 90)]), stopped=stops([9, 10], run=[0, -1])),
        "1 of 2 interruptions have no run",
    ),
    "no stop": (one_job(90, []), None),
    "run before start": (record(ran=runs([(50, 10)]), stopped=stops([20], run=[0])), "no run is"),
}


@pytest.mark.parametrize(("poor", "note"), POOR.values(), ids=POOR)
def test_a_poor_record_is_answered_as_far_as_it_goes(poor, note: str | None) -> None:
    found = fleet_report(poor)

    json.dumps(found.to_dict(), allow_nan=False)
    assert note is None or any(note in said for said in found.notes)


def test_without_runs_the_calendar_gives_a_time_between_stops() -> None:
    found = fleet_report(POOR["no runs"][0])

    assert found.exposure.basis == "calendar"
    assert found.rates.mtti.value == pytest.approx(80)
    assert found.rates.per_million_gpu_hours.value is None
    assert found.projection == ()


def test_a_stop_without_a_run_is_among_the_causes_and_in_no_rate() -> None:
    found = fleet_report(POOR["stray stop"][0])

    assert found.rates.mtti.n == 1
    assert found.rates.calendar_mtti.n == 2
    assert sum(cause.count for cause in found.causes) == 2
    assert found.stops.without_run == 1


def test_no_stop_gives_bounds_and_never_infinity() -> None:
    found = fleet_report(POOR["no stop"][0])

    assert (found.rates.mtti.value, found.rates.mtti.high) == (None, None)
    assert found.rates.mtti.low == pytest.approx(90 / 3.689, rel=1e-3)
    assert all(one.mtti.low > 0 and one.mtti.value is None for one in found.projection)
    assert found.checkpoints[0].young.low > 0
    assert found.ettr.expected.low > 0.9


# --- the wire


def test_every_key_of_the_wire_is_described(llama3: FleetReport) -> None:
    described = set(re.findall(r"``([a-z_0-9]+)``", FleetReport.__doc__))

    assert set(llama3.to_dict()) <= described


def test_the_wire_says_its_schema_and_its_times(llama3: FleetReport) -> None:
    wire = llama3.to_dict()

    assert wire["schema"] == "triage.fleet/1"
    assert (wire["since"], wire["until"]) == (
        "2026-03-02T00:00:00.000Z", "2026-04-25T00:00:00.000Z",
    )  # fmt: skip
    assert wire["over_time"][1]["from"] == "2026-03-09T00:00:00.000Z"
    assert wire["comparison"]["split"] == "2026-03-29T00:00:00.000Z"
    assert wire["rates"]["mtti"]["n"] == 419


def test_the_order_of_interruptions_does_not_matter(llama3: FleetReport) -> None:
    told, blamed = LLAMA3.interruptions, LLAMA3.accusations
    order = np.random.default_rng(1).permutation(len(told.at_ns))
    place = np.argsort(order).astype(np.int32)
    mixed = replace(
        LLAMA3,
        interruptions=replace(
            told,
            at_ns=told.at_ns[order],
            cause=tuple(told.cause[k] for k in order),
            resolved=told.resolved[order],
            planned=told.planned[order],
            run=told.run[order],
            num_gpus=told.num_gpus[order],
            incident_id=tuple(told.incident_id[k] for k in order),
        ),
        accusations=replace(blamed, interruption=place[blamed.interruption]),
    )

    assert fleet_report(mixed).to_dict() == llama3.to_dict()


def test_the_same_record_gives_the_same_report(llama3: FleetReport) -> None:
    assert package_level(LLAMA3).to_dict() == llama3.to_dict()
