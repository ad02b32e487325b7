"""What is due: by age where a tool is in use, and what evidence asks for until it is answered."""

from datetime import UTC, datetime, timedelta

import pytest

from triage.domain.wire import format_iso_utc
from triage.fleet.services.health.due_list import (
    ASKS,
    EVERY,
    STRESS,
    CheckTrigger,
    list_due_checks,
)
from triage.fleet.store.checks import Ran

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
DAY = timedelta(days=1)
MEMORY = ASKS[0]


def ran(check="dcgm.memory", days=1.0, node="n0", cluster="a"):
    return Ran(cluster, node, check, NOW - days * DAY)


def in_use(given):
    """When each check last ran anywhere."""
    found = {}
    for one in given:
        key = (one.cluster, one.check)
        found[key] = max(one.at, found.get(key, one.at))
    return found


def asked(ask=MEMORY, days=2.0, node="n0"):
    return CheckTrigger("a", node, ask, NOW - days * DAY, "Xid 48")


def due(*given, asks=(), nodes=(("a", "n0"),)):
    return [
        (one["node"], one["check"])
        for one in list_due_checks(given, asks, nodes, in_use(given), NOW)
    ]


@pytest.mark.parametrize("family", EVERY)
def test_a_check_is_due_once_it_is_older_than_its_interval(family):
    days = EVERY[family] / DAY

    assert due(ran(f"{family}.x", days + 0.1)) == [("n0", family)]
    assert due(ran(f"{family}.x", days - 0.1)) == []


def test_the_newest_run_of_a_family_counts():
    assert due(ran("dcgm.memory", 30), ran("dcgm.pcie", 1)) == []


def test_a_node_without_a_check_that_others_have_is_asked_for_it():
    nodes = [("a", "n0"), ("a", "n1"), ("b", "n2")]

    assert due(ran(days=1), nodes=nodes) == [("n1", "dcgm")]


def test_a_tool_that_nobody_uses_is_asked_of_nobody():
    assert due() == []
    assert due(ran(days=60)) == []  # given up two months ago
    assert due(ran("slurm.drain", 300)) == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((), [("n0", "dcgm.memory")]),
        ((ran(days=3),), [("n0", "dcgm.memory")]),  # before the error
        ((ran(days=1),), []),
        ((ran("dcgm.pcie", 1),), [("n0", "dcgm.memory")]),
        ((ran(days=1, node="n1"),), [("n0", "dcgm.memory")]),
        ((ran(days=1, cluster="b"),), [("n0", "dcgm.memory")]),
    ],
)
def test_what_evidence_asks_for_is_due_until_it_was_run(given, wanted):
    assert [one for one in due(*given, asks=[asked()]) if "." in one[1]] == wanted


def test_the_newest_reason_is_told():
    found = list_due_checks([], [asked(days=2), asked(days=5)], [("a", "n0")], {}, NOW)

    assert [one["at"] for one in found] == [format_iso_utc(NOW - 2 * DAY)]
    assert "Xid 48" in found[0]["because"]


def test_a_conviction_asks_for_a_stress_test():
    ask = [asked(STRESS)]

    assert due(asks=ask) == [("n0", "dcgm.targeted_stress")]
    assert due(ran("dcgm.sm_stress", 1), asks=ask) == []


def test_the_order_of_what_is_known_does_not_matter():
    given = [ran("dcgm.memory", 9), ran("gpu.ecc", 2), ran("ib.counters", 8, "n1")]
    asks = [asked(), asked(STRESS, 3, "n1"), asked(days=4)]
    nodes = [("a", "n0"), ("a", "n1")]

    used = in_use(given)
    forward = list_due_checks(given, asks, nodes, used, NOW)
    assert forward == list_due_checks(given[::-1], asks[::-1], nodes[::-1], used, NOW)
    assert len(forward) > 3
