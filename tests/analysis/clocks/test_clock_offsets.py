"""Clocks of nodes against each other: from watchdogs, progress and the flight recorder."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.analysis.clocks.rank_clocks import align
from triage.domain.evidence import Evidence, EvidenceRole, Kind

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND


def watchdog(node: str, ahead_s: float, ran_s: float = 600) -> Evidence:
    at = START + int((ran_s + ahead_s) * SECOND)
    row = Evidence(f"{node}.log", 1, "c10d.timeout", Kind.NCCL, EvidenceRole.CONSEQUENCE, "t")
    return replace(
        row, node=node, at_ns=at, last_at_ns=at, fields={"ran_ms": str(int(ran_s * 1000))}
    )


def xid(node: str, at_ns: int) -> Evidence:
    return Evidence("k", 1, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "x", node=node, at_ns=at_ns)


def offset_of(rows: list[Evidence], dumps: dict[str, int], node: str) -> int:
    moved, _, _ = align([*rows, xid(node, START)], dumps)
    assert moved[-1].at_ns is not None
    return START - moved[-1].at_ns


@pytest.mark.parametrize("ahead_s", [180, -180, 3300, -3600])
def test_watchdogs_tell_a_node_whose_clock_is_minutes_off(ahead_s: int) -> None:
    rows = [watchdog(f"n{k}", ahead_s if k == 2 else 0.5 * k, 600 + k) for k in range(5)]
    assert abs(offset_of(rows, {}, "n2") - ahead_s * SECOND) < 3 * SECOND
    assert offset_of(rows, {}, "n1") == 0
    _, _, notes = align(rows, {})
    assert any("n2" in note and ("ahead" if ahead_s > 0 else "behind") in note for note in notes)


def test_the_flight_recorder_is_believed_first() -> None:
    rows = [watchdog(f"n{k}", 0) for k in range(5)]
    assert offset_of(rows, {"n2": 90 * SECOND}, "n2") == 90 * SECOND


def test_a_late_rank_is_no_clock() -> None:
    rows = [watchdog(f"n{k}", 10 if k == 1 else 0) for k in range(4)]
    assert offset_of(rows, {}, "n1") == 0


def test_two_nodes_that_disagree_are_left_alone() -> None:
    assert offset_of([watchdog("a", 0), watchdog("b", 300)], {}, "b") == 0


def test_times_move_together_and_undated_rows_stay() -> None:
    rows = [watchdog(f"n{k}", 120 if k == 0 else 0) for k in range(4)]
    moved, _, _ = align([*rows, replace(rows[0], at_ns=None, last_at_ns=None)], {})
    assert moved[0].at_ns == moved[1].at_ns == moved[0].last_at_ns
    assert moved[-1].at_ns is None


@given(st.lists(st.integers(-4_000, 4_000), max_size=9), st.lists(st.integers(0, 8), max_size=4))
def test_rows_are_kept_in_their_order(offsets: list[int], dumps: list[int]) -> None:
    rows = [watchdog(f"n{k}", one) for k, one in enumerate(offsets)]
    moved, _, notes = align(rows, {f"n{k}": 3_000 * SECOND for k in dumps})
    assert [one.artifact for one in moved] == [one.artifact for one in rows]
    assert len(notes) <= 7


def test_a_clock_that_nothing_shows_is_off_as_the_others_are() -> None:
    """Five clocks are minutes apart; of n9 nothing tells, and its error is at least as large."""
    offsets = {f"n{k}": (k - 2) * 120 * SECOND for k in range(5)}
    moved, _, _ = align([xid("n9", START), xid("n1", START)], offsets)
    assert moved[0].error_ns >= 240 * SECOND
    assert moved[1].error_ns < 10 * SECOND


def test_where_clocks_agree_an_unseen_one_agrees_too() -> None:
    moved, _, _ = align([xid("n9", START)], {f"n{k}": 0 for k in range(5)})
    assert moved[0].error_ns == 0


def test_lines_that_one_collector_stamped_stay_as_they_are() -> None:
    """Their times stand in order as printed; corrected they would go back and forth."""
    offsets = {"n0": 0, "n1": 200 * SECOND, "n2": 0, "n3": 0}
    told = [
        replace(xid(f"n{k % 2}", START + k * SECOND), artifact="collector.log", line=k + 1)
        for k in range(6)
    ]
    moved, _, _ = align(told, offsets)
    assert [row.at_ns for row in moved] == [row.at_ns for row in told]
    own = [replace(row, artifact=f"{row.node}.log") for row in told]
    moved, _, _ = align(own, offsets)
    assert moved[1].at_ns == START + SECOND - 200 * SECOND
