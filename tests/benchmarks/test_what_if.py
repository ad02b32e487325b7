"""What-if by made-up jobs whose ideal is known by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.replay.slowdown import what_if
from triage.errors import UsageError

STAGES, REPLICAS, STEPS, BATCHES = 2, 3, 2, 4
FORWARD, BACKWARD = 1.0, 2.0


def job(slow: dict[tuple[int, int], float] | None = None, transfer: float = 0.1) -> pd.DataFrame:
    """A pipeline of two stages, all forwards and then all backwards, run as its rules say.

    ``slow`` is, by (stage, replica), how many times as long computing takes.
    """
    slow = slow or {}
    rows: list[dict[str, Any]] = []

    def add(
        stage: int, replica: int, step: int, kind: str, number: int, at: float, end: float
    ) -> None:
        rows.append({
            "dp_rank": replica, "stage": stage, "step": step, "optype": kind, "seq_id": number,
            "start_ts": 100.0 * step + at, "duration": end - at, "gmc": stage,
        })  # fmt: skip

    for step in range(STEPS):
        ready = np.zeros((STAGES, REPLICAS))
        for replica in range(REPLICAS):
            pace = [slow.get((stage, replica), 1.0) for stage in range(STAGES)]
            now = [0.0, 0.0]
            arrived, sent = 0.0, 0.0
            for k in range(BATCHES):
                begin, now[0] = now[0], now[0] + FORWARD * pace[0]
                add(0, replica, step, "forward-compute", k, begin, now[0])
                posted = now[1]  # when stage 1 was done with the batch before
                begin = max(now[0], posted, sent)
                sent = arrived = begin + transfer
                add(0, replica, step, "forward-send", k, max(now[0], sent - transfer), sent)
                add(1, replica, step, "forward-recv", k, max(posted, 0.0), arrived)
                begin, now[1] = max(now[1], arrived), max(now[1], arrived) + FORWARD * pace[1]
                add(1, replica, step, "forward-compute", k, begin, now[1])
            sent = 0.0
            before = now[0]
            for k in range(BATCHES):
                begin, now[1] = now[1], now[1] + BACKWARD * pace[1]
                add(1, replica, step, "backward-compute", k, begin, now[1])
                posted = before if not k else now[0]
                begin = max(now[1], posted, sent)
                sent = begin + transfer
                add(1, replica, step, "backward-send", k, begin, sent)
                add(0, replica, step, "backward-recv", k, posted, sent)
                begin, now[0] = max(now[0], sent), max(now[0], sent) + BACKWARD * pace[0]
                add(0, replica, step, "backward-compute", k, begin, now[0])
            ready[:, replica] = now
        for stage in range(STAGES):
            for replica in range(REPLICAS):
                own = ready[stage, replica]
                met = ready[stage].max() + 0.5
                add(stage, replica, step, "grads-reduce-scatter", 0, own, met)
                clipped = ready.max() + 0.6
                add(stage, replica, step, "optimizer-clip-main-grad", 0, met, clipped)
                add(stage, replica, step, "optimizer", 0, clipped, clipped + 0.2)
    return pd.DataFrame(rows)


def test_a_job_whose_workers_are_alike_has_no_slowdown() -> None:
    said = what_if(job())

    assert said.slowdown == pytest.approx(1.0)
    assert said.by_worker == pytest.approx(np.ones((STAGES, REPLICAS)))


def test_the_step_is_replayed_as_it_was() -> None:
    table = job({(1, 2): 1.5})
    ends = table.start_ts + table.duration
    step_s = (ends.groupby(table.step).max() - table.start_ts.groupby(table.step).min()).mean()

    assert what_if(table).step_s == pytest.approx(step_s)


def test_one_slow_worker_accounts_for_nearly_all() -> None:
    said = what_if(job({(1, 2): 1.5}))

    assert said.slowdown > 1.2
    worst = np.unravel_index(np.argmax(said.by_worker), said.by_worker.shape)
    assert worst == (1, 2)
    assert said.by_worker[1, 2] > 0.95 * said.slowdown
    others = np.delete(said.by_worker.reshape(-1), 1 * REPLICAS + 2)
    assert others.max() < 1.02
    assert said.by_stage[1] > said.by_stage[0]
    assert int(np.argmax(said.by_replica)) == 2


def test_a_slow_stage_is_no_single_worker() -> None:
    said = what_if(job({(1, replica): 1.5 for replica in range(REPLICAS)}))

    assert said.by_stage[1] == pytest.approx(said.slowdown, rel=0.1)
    assert said.by_replica == pytest.approx(np.full(REPLICAS, said.slowdown), rel=0.01)


def test_slow_transfers_are_told_from_slow_computing() -> None:
    fine = what_if(job({(0, 1): 1.3}))

    assert fine.by_kind["forward-compute"] > 1.03
    assert fine.by_kind["backward-compute"] > 1.03
    assert fine.by_kind["forward-send"] == pytest.approx(1.0, abs=0.01)


def test_the_order_of_rows_changes_nothing() -> None:
    table = job({(1, 2): 1.5})
    mixed = table.sample(frac=1.0, random_state=3).reset_index(drop=True)

    assert what_if(mixed).slowdown == what_if(table).slowdown


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param(lambda table: table.drop(columns="gmc"), "lacks gmc", id="a column less"),
        pytest.param(lambda table: table.iloc[:-1], "the same operations", id="a row less"),
        pytest.param(
            lambda table: pd.concat([table.iloc[:-1], table.iloc[:1]]),
            "the same operations",
            id="a row twice",
        ),
        pytest.param(
            lambda table: table[table.optype != "optimizer"], "optimizer", id="no end of a step"
        ),
        pytest.param(
            lambda table: table[table.optype != "backward-recv"], "no receive", id="no receives"
        ),
        pytest.param(
            lambda table: table[(table.optype != "forward-recv") | (table.seq_id > 0)],
            "forward-recv",
            id="a receive less",
        ),
        pytest.param(
            lambda table: table.assign(duration=np.nan), "no times", id="times that are none"
        ),
        pytest.param(lambda table: table.iloc[:0], "no operation", id="an empty table"),
    ],
)
def test_a_table_that_is_none_says_why(broken: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        what_if(broken(job()))
