"""Exposure of nodes: what overlaps counts once, whoever comes in whatever company."""

import numpy as np
import pytest

from triage.fleet.record.columns import Runs
from triage.fleet.record.node_exposure import (
    NS_PER_DAY,
    find_times_in_runs,
    measure_days_since,
    measure_decayed_days,
    measure_time_in_runs,
)


def runs_of(rows):
    """``rows`` are (start day, end day, nodes)."""
    rows = sorted(rows, key=lambda row: row[0])
    num_nodes = np.array([len(nodes) for _, _, nodes in rows], dtype=np.int32)
    return Runs(
        start_ns=np.array([round(start * NS_PER_DAY) for start, _, _ in rows], dtype=np.int64),
        end_ns=np.array([round(end * NS_PER_DAY) for _, end, _ in rows], dtype=np.int64),
        num_nodes=num_nodes,
        num_gpus=8 * num_nodes,
        interrupted=np.zeros(len(rows), dtype=bool),
        planned=np.zeros(len(rows), dtype=bool),
        node_at=np.concatenate(([0], np.cumsum(num_nodes, dtype=np.int64))),
        node=np.array([node for _, _, nodes in rows for node in nodes], dtype=np.int32),
    )


def days_of(rows, num_nodes):
    return measure_time_in_runs(
        runs_of(rows), num_nodes, [lambda at_ns: measure_days_since(at_ns, 0)]
    )[0]


def by_hand(rows, num_nodes):
    """The union of intervals, one node after the other."""
    found = np.zeros(num_nodes)
    for node in range(num_nodes):
        until = -np.inf
        for start, end, nodes in sorted(rows, key=lambda row: row[0]):
            if node in nodes:
                found[node] += max(0.0, end - max(start, until))
                until = max(until, end)
    return found


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([(0, 2, [0]), (3, 4, [0])], 3.0),
        ([(0, 2, [0]), (1, 4, [0])], 4.0),
        ([(0, 9, [0]), (1, 4, [0]), (5, 10, [0])], 10.0),
        ([(0, 2, [0, 0])], 2.0),
        ([(3, 1, [0])], 0.0),
    ],
    ids=["one after the other", "overlap", "a lost end", "listed twice", "ends before it starts"],
)
def test_a_node_counts_once(rows, wanted):
    assert days_of(rows, 1)[0] == pytest.approx(wanted)


@pytest.mark.parametrize("largest", [3, 200], ids=["small runs", "small and large runs"])
def test_agrees_with_the_sum_by_hand(largest):
    chance = np.random.default_rng(largest)
    rows = []
    for _ in range(80):
        start = float(chance.uniform(0, 50))
        size = int(chance.integers(1, largest + 1))
        nodes = chance.choice(200, size, replace=False).tolist()
        rows.append((start, start + float(chance.exponential(5)), nodes))

    assert days_of(rows, 200) == pytest.approx(by_hand(rows, 200))


def test_runs_without_names_of_nodes_expose_nobody():
    assert days_of([(0, 5, []), (1, 3, [1]), (2, 4, [])], 2).tolist() == [0.0, 2.0]


def test_a_day_weighs_half_a_half_life_ago():
    until_ns = 100 * NS_PER_DAY
    ends = np.array([72, 73, 100, 101]) * NS_PER_DAY

    cumulated = measure_decayed_days(ends, until_ns, 28.0)
    day_now = measure_decayed_days(np.array([99, 100]) * NS_PER_DAY, until_ns, 28.0)

    assert cumulated[1] - cumulated[0] == pytest.approx((day_now[1] - day_now[0]) * 2 ** (-27 / 28))
    assert cumulated[3] == cumulated[2]  # what is to come counts nothing


def test_a_node_is_seen_from_its_first_run_to_its_last():
    rows = [(1, 2, [0, 1]), (0, 5, [1]), (3, 4, [0]), (2, 3, list(range(3, 200)))]
    first, last = find_times_in_runs(runs_of(rows), 200)
    assert (first[:2] / NS_PER_DAY).tolist() == [1, 0]
    assert (last[:2] / NS_PER_DAY).tolist() == [4, 5]
    assert first[2] > last[2]
    assert ((first[3:] == 2 * NS_PER_DAY) & (last[3:] == 3 * NS_PER_DAY)).all()
