"""What a record says of its repairs, and who is on probation."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.fleet.repairs.planted import record
from triage.domain.probation import Probation
from triage.domain.standing import Grade, Standing
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.repairs.answer import fleet_repairs, list_record_probations
from triage.fleet.repairs.words import (
    check_after,
    describe_probation,
    describe_repair_action,
    describe_repair_cause,
)
from triage.fleet.standings.words import make_prior
from triage.signatures.registry import match

SINCE = datetime(2000, 1, 1, tzinfo=UTC)
SWAPPED = ("a", 95.0, 98.0, "cable replaced")


def probation(*rows, nodes=400, days=100.0):
    return {one.node: one for one in list_record_probations(record(*rows, nodes=nodes, days=days))}


def test_a_node_that_came_back_two_days_ago_is_on_probation_and_says_why():
    one = probation(SWAPPED)["a"]

    assert one.returned_at == SINCE + timedelta(days=98)
    assert one.days_back == pytest.approx(2)
    assert (one.cause, one.action, one.check) == ("cable", "swap_cable", "ib.counters")
    assert one.low_7 < one.within_7 < one.high_7
    assert one.usual_7 < one.next_7 < one.within_7
    assert one.until > SINCE + timedelta(days=100)
    assert one.text.startswith("returned 2 days ago after a cable swap; ")
    assert "run ib.counters until " in one.text


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (("a", 95.0, None, "GPU"), False),
        (("a", 10.0, 12.0, "GPU"), False),
        (("a", 99.0, 99.9, "scheduled maintenance"), False),
        (("a", 95.0, 99.9, "GPU"), True),
    ],
    ids=["still out", "long ago", "planned", "just back"],
)
def test_only_nodes_back_from_a_fault_lately_are(row, wanted):
    assert ("a" in probation(row)) is wanted


def test_probation_ends_by_itself():
    ends = [day for day in range(99, 131) if "a" not in probation(SWAPPED, days=float(day))]

    assert ends
    assert ends == list(range(ends[0], 131))


def test_where_all_nodes_fail_often_nobody_is_on_probation_for_long():
    rows = [(f"n{k}", 3.0 * k % 90, 3.0 * k % 90 + 0.5, "unknown") for k in range(300)]
    hectic = probation(*rows, ("a", 90.0, 91.0, "GPU"), nodes=301)

    assert "a" not in hectic


def test_the_answer_holds_its_figures_with_their_number():
    told = record(("a", 10, 11, "NIC"), ("a", 13, 14, "NIC"), ("b", 20, 21, "fan"), SWAPPED)

    got = fleet_repairs(told).to_dict()

    assert got["schema"] == "triage.repairs/1"
    assert (got["num_faults"], got["num_returns"], got["num_out"]) == (4, 4, 0)
    assert got["failed_7"]["n"] == 3
    assert got["failed_7"]["value"] is None
    assert [row["node"] for row in got["returns"]] == ["a", "b", "a", "a"]
    assert got["returns"][-1]["failed_after_days"] == pytest.approx(2)
    assert any("fewer than 20" in note for note in got["notes"])


def test_an_empty_record_says_that_there_is_nothing():
    got = fleet_repairs(record())

    assert got.probation == ()
    assert got.failed_7.value is None
    assert "nothing to say of repairs" in got.notes[-1]


@pytest.mark.parametrize("days", [7.0, 3650.0])
@pytest.mark.parametrize("nodes", [1, 500])
def test_a_week_ten_years_and_one_node_are_answered(days, nodes):
    got = fleet_repairs(record(("a", 1.0, 2.0, "GPU"), nodes=nodes, days=days))

    assert got.num_returns == 1


@pytest.mark.parametrize("cause", OutageCause)
def test_no_sentence_on_probation_is_a_line_of_a_log(cause):
    until = datetime(2026, 3, 5, tzinfo=UTC)
    for action in (None, *RepairAction):
        shares = (0.42, 0.35, 0.49, 0.6, 0.3, 0.4, 0.03)
        found = Probation("n", until, 2.0, cause, action, *shares, 525, until, "gpu.x", "")
        words = describe_probation(found)
        assert match(words) is None, action
    assert describe_repair_cause(cause)
    assert check_after(cause)


def test_a_node_on_probation_is_a_prior_in_words():
    one = probation(SWAPPED)["a"]

    prior = make_prior(Standing("a", Grade.NORMAL, (), probation=one), 56.0)

    assert prior is not None
    assert prior.weight == 1
    assert prior.grade is Grade.NORMAL
    assert "on probation: back since 2000-04-08 (cable, swap_cable)" in prior.text
    assert len(prior.text) <= 300
    assert match(prior.text) is None


def test_a_lemon_on_probation_weighs_as_a_lemon():
    lemon = Standing("a", Grade.LEMON, ("r",), strikes=5, probation=probation(SWAPPED)["a"])

    prior = make_prior(lemon, 56.0)

    assert prior is not None
    assert prior.weight == 2
    assert "was a lemon" in prior.text
    assert "on probation" in prior.text


def test_repairs_are_worded_as_people_say_them():
    assert describe_repair_action(RepairAction.SWAP_CABLE) == "a cable swap"
    assert describe_repair_action(RepairAction.SWAP_GPU) == "a GPU swap"
    assert describe_repair_action(RepairAction.REBOOT) == "a reboot"
    assert describe_repair_cause(OutageCause.POWER) == "a power fault"
