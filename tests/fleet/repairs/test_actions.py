"""Which repair holds for which cause: the planted one is found, luck is not."""

import numpy as np

from tests.fleet.repairs.planted import ANY, NIC_REBOOTED, NIC_SWAPPED, fleet, returns
from triage.fleet.repairs.actions import RepairVerdict, summarize_by_cause, summarize_by_repair
from triage.fleet.repairs.returns import build_returns


def verdicts(found):
    return {(row.cause, row.action): row.verdict for row in summarize_by_repair(found)}


def test_a_repair_that_works_is_told_from_one_that_does_not():
    got = verdicts(build_returns(fleet(1, again={NIC_SWAPPED: 0.05, NIC_REBOOTED: 0.6})))

    assert got == {
        ("nic", "swap_nic"): RepairVerdict.HOLDS_BETTER,
        ("nic", "reboot"): RepairVerdict.HOLDS_WORSE,
    }


def test_where_repairs_are_alike_one_fleet_in_twenty_may_say_otherwise():
    named = 0
    for seed in range(20):
        found = verdicts(build_returns(fleet(seed, again={NIC_SWAPPED: 0.3, NIC_REBOOTED: 0.3})))
        named += RepairVerdict.HOLDS_BETTER in found.values()

    assert named <= 3


def test_one_node_that_fails_again_and_again_condemns_no_repair():
    days = np.arange(1.0, 90.0, 2.0)
    bad = [("bad", float(day), float(day) + 0.5, "NIC, rebooted") for day in days]
    good = [(f"n{k}", 5.0 + k, 6.0 + k, "NIC replaced") for k in range(20)]

    got = verdicts(returns(*bad, *good, nodes=40))

    assert set(got.values()) == {RepairVerdict.CANNOT_TELL}


def test_of_few_returns_there_is_a_bound_and_no_share():
    rows = summarize_by_repair(returns(("a", 1, 2, "NIC replaced"), ("b", 1, 2, "NIC, rebooted")))

    for row in rows:
        assert row.failed_30.value is None
        assert row.failed_30.high == 0.975 or row.failed_30.high < 1
        assert "cannot tell" in row.failed_30.notes[0]
        assert row.verdict is RepairVerdict.CANNOT_TELL


def test_each_cause_has_a_row_the_most_frequent_first():
    rows = summarize_by_cause(
        returns(("a", 1, 2, "NIC"), ("a", 4, 5, "fan"), ("b", 1, 2, "NIC"), ("c", 1, 2, "odd"))
    )

    assert [(row.cause, row.num_returns) for row in rows] == [
        ("nic", 2),
        ("cooling", 1),
        ("unknown", 1),
    ]


def test_repairs_that_nobody_noted_have_no_row():
    assert summarize_by_repair(build_returns(fleet(1, again={ANY: 0.3}, nodes=50))) == ()
