"""An outage that nobody ended ends when its node runs again."""

import numpy as np
import pandas as pd
import pytest

from tests.fleet.record.test_node_exposure import runs_of
from triage.fleet.record.faults import NEVER_NS, faults_of, find_next_runs
from triage.fleet.record.from_rows import record_from_frames
from triage.fleet.record.node_exposure import NS_PER_DAY


@pytest.mark.parametrize(
    ("rows", "node", "day", "wanted"),
    [
        ([(5, 6, [0, 1])], 0, 3, 5), ([(5, 6, [0, 1])], 2, 3, None), ([(5, 6, [0])], 0, 5.5, None),
        ([(5, 9, [0]), (7, 8, [0])], 0, 6, 7), ([(0, 9, [0])], 0, -1, None), ([], 0, 1, None),
        ([(5.001, 6, [0])], 0, 5, None), ([(5.01, 6, [0])], 0, 5, 5.01),
        ([(5, 6, list(range(200))), (4, 5, [7])], 7, 1, 4),
    ],
)  # fmt: skip
def test_the_next_run_of_a_node(rows, node, day, wanted) -> None:
    found = find_next_runs(
        runs_of(rows), 0, np.array([node], np.int32), np.array([day * NS_PER_DAY])
    )
    assert found.tolist() == [NEVER_NS if wanted is None else round(wanted * NS_PER_DAY)]


def test_many_nodes_are_each_asked_for_themselves() -> None:
    chance = np.random.default_rng(5)
    rows = [
        (day, day + 1, sorted(set(chance.integers(0, 40, chance.integers(1, 9)).tolist())))
        for day in chance.uniform(0, 90, 300)
    ]
    node = chance.integers(0, 45, 60).astype(np.int32)
    day = chance.uniform(0, 90, 60)
    found = find_next_runs(runs_of(rows), 0, node, (day * NS_PER_DAY).astype(np.int64))
    for one, when, start in zip(node.tolist(), day.tolist(), found.tolist(), strict=True):
        later = [at for at, _, nodes in rows if one in nodes and at >= when + 600 / 86_400]
        assert start == pytest.approx(min(later) * NS_PER_DAY if later else NEVER_NS, rel=1e-9)


def test_a_record_ends_what_lasts_by_the_run_that_follows() -> None:
    at = pd.to_datetime(["2026-03-01", "2026-03-05"], utc=True)
    runs = pd.DataFrame(
        {"started_at": at, "ended_at": at + pd.Timedelta(days=2), "num_gpus": 8, "nodes": "n[1-2]"}
    )
    out = pd.to_datetime(["2026-03-02"] * 3, utc=True)
    end = [pd.NaT, pd.NaT, pd.Timestamp("2026-03-06", tz="UTC")]
    outages = pd.DataFrame({"node": ["n1", "n3", "n2"], "from_at": out, "to_at": end})
    faults = faults_of(record_from_frames(runs, outages=outages))
    # Told is told: the run on n2 ends nothing.
    assert faults.end_day.tolist() == [4, 5, 6]
    assert faults.back.tolist() == [True, True, False]
