"""The last Xid of a GPU, as exporters publish it: which scrape shows it first, and whose it is."""

from collections.abc import Callable

import pytest

from tests.analysis.telemetry.world import END_NS, NODES, file_of, gauges, places
from triage.analysis.telemetry.evidence import last_xids
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole
from triage.parsers.telemetry.metrics import Metric

MINUTE_NS = 60 * 1_000_000_000


def rows(curve: Callable[[int], float], nodes: tuple[str, ...] = NODES) -> list[Evidence]:
    """What is told where GPU 2 of n1 shows ``curve`` (minutes before the stop -> number)."""
    file = file_of(gauges(Metric.LAST_XID, 0.0, {("n1", 2): curve}))
    return list(last_xids([file], places(), frozenset(nodes)))


def test_a_number_that_changes_is_of_the_scrape_that_shows_it_first() -> None:
    [row] = rows(lambda ago: 79.0 if ago <= 5 else 0.0)

    assert (row.node, row.gpu, row.rank) == ("n1", "0000:02:00", 6)
    assert (row.code, row.category, row.role) == (79, Category.GPU, EvidenceRole.ROOT)
    assert row.at_ns == END_NS - 5 * MINUTE_NS
    assert not row.weak


def test_a_number_behind_the_stop_is_read_too() -> None:
    [row] = rows(lambda ago: 79.0 if ago <= -3 else 0.0)

    assert row.at_ns == END_NS + 3 * MINUTE_NS


def test_what_the_first_scrape_holds_may_be_of_any_day() -> None:
    [row] = rows(lambda ago: 79.0)

    assert row.weak


def test_two_numbers_one_after_the_other_are_two_rows() -> None:
    told = rows(lambda ago: 0.0 if ago > 20 else 63.0 if ago > 5 else 48.0)

    assert [(row.code, row.weak) for row in told] == [(63, False), (48, False)]


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), -1.0, 3e38, 9999.0])
def test_what_is_no_xid_is_no_row(value: float) -> None:
    assert rows(lambda ago: value) == []


def test_a_node_of_another_job_tells_nothing() -> None:
    assert rows(lambda ago: 79.0 if ago <= 5 else 0.0, nodes=("n0",)) == []
