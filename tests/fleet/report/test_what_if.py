"""Plans out of a fleet's own rate: against the published figures of the Llama 3 run."""

import json

import pytest

from tests.fleet.records import example_record, one_job, record
from triage.errors import UsageError
from triage.fleet.report.report import fleet_report
from triage.fleet.report.what_if import checkpoints_for, projection_for, spares_for


@pytest.fixture(scope="module")
def llama3():
    return fleet_report(example_record())


@pytest.fixture(scope="module")
def nothing():
    return fleet_report(record())


def test_131072_gpus_stop_eight_times_as_often(llama3):
    one = projection_for(llama3, 131_072)

    assert one.mtti.value == pytest.approx(0.387, abs=0.001)
    assert one.mtti.low < one.mtti.value < one.mtti.high
    assert any("outside the sizes seen" in text for text in one.warnings)


def test_the_size_that_was_seen_carries_no_warning_of_its_range(llama3):
    one = projection_for(llama3, 16_384)

    assert one.mtti.value == pytest.approx(3.093, abs=0.001)
    assert not any("outside the sizes seen" in text for text in one.warnings)


def test_a_run_lasts_as_often_as_the_survival_curve_says(llama3):
    hour, three = projection_for(llama3, 16_384, (1.0, 3.0)).survival

    assert hour.probability.value == pytest.approx(0.724, abs=0.001)
    assert three.probability.value == pytest.approx(0.379, abs=0.001)


def test_the_projection_is_that_of_the_report(llama3):
    curve = {one.num_gpus: one for one in llama3.projection}
    one = projection_for(llama3, 65_536)

    assert one.mtti == curve[65_536].mtti
    assert one.software_fixed == curve[65_536].software_fixed
    assert set(one.warnings) == set(curve[65_536].warnings)


@pytest.mark.parametrize(
    ("cost_s", "young", "loss"), [(2.5, 236.0, 0.0212), (10, 471.9, 0.0424), (60, 1155.9, 0.104)]
)
def test_checkpoints_are_youngs(llama3, cost_s, young, loss):
    one = checkpoints_for(llama3, 16_384, cost_s=cost_s, restart_s=0.0)

    assert one.young.value == pytest.approx(young, abs=0.2)
    assert one.loss.value == pytest.approx(loss, abs=0.0005)


def test_the_usual_job_is_taken_where_no_size_is_given(llama3):
    assert checkpoints_for(llama3, None, cost_s=10, restart_s=300).num_gpus == 16_384


@pytest.mark.parametrize(
    ("days", "confidence", "spares"), [(1, 0.95, 13), (1, 0.99, 15), (7, 0.99, 72), (7, 0.999, 78)]
)
def test_spares_are_those_of_the_repair_pipeline(llama3, days, confidence, spares):
    one = spares_for(llama3, 2_048, repair_days=days, confidence=confidence)
    every = next(row for row in one.rows if row.basis == "every stop")

    assert every.spares.value == spares
    assert every.spares.low <= spares <= every.spares.high


def test_hardware_alone_needs_fewer_spares(llama3):
    every, hardware = spares_for(llama3, 2_048, repair_days=7).rows[:2]

    assert hardware.basis == "hardware"
    assert hardware.spares.value < every.spares.value


def test_a_fleet_without_runs_plans_nothing_and_says_why(nothing):
    one = projection_for(nothing, 1_024)
    spares = spares_for(nothing, 128)

    assert one.mtti.value is None
    assert one.survival == ()
    assert one.warnings
    assert spares.rows == ()
    assert any("no rate to plan spares by" in text for text in spares.notes)


def test_no_node_is_said_and_not_divided_by():
    said = spares_for(fleet_report(record(num_nodes=0))).notes

    assert any("for how many nodes" in text for text in said)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 1.5])
def test_a_confidence_lies_between_none_and_all(llama3, confidence):
    with pytest.raises(UsageError, match="confidence"):
        spares_for(llama3, 8, confidence=confidence)


def test_no_stop_gives_bounds_and_no_estimate():
    one = spares_for(fleet_report(one_job(240, [])), 2_048, repair_days=7)

    assert one.rows[0].spares.value is None
    assert one.rows[0].spares.high is not None
    assert one.rows[0].mean_down is None


def test_wire_forms_are_plain_json(llama3, nothing):
    for report in (llama3, nothing):
        for answer in (
            projection_for(report, 1_024),
            checkpoints_for(report, None, cost_s=10, restart_s=300),
            spares_for(report, 16),
        ):
            assert json.loads(json.dumps(answer.to_dict(), allow_nan=False))
