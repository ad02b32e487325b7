"""Own times of made-up rows: four ranks in one group, one operation in the default group a step."""

from dataclasses import replace

import numpy as np

from triage.analysis.slow.judge import find_odd_ones
from triage.analysis.slow.own_time import OwnTime, measure_own_time
from triage.analysis.slow.slow_job import find_slow_stage
from triage.analysis.snapshots.finished import FinishedOperations
from triage.domain.slow import SlowCause

MS = 1e6
TP, WORLD = 0, 1


def rows_of(work_ms: np.ndarray, host_ms: np.ndarray) -> FinishedOperations:
    """``work_ms`` [rank, step, operation] of devices and ``host_ms`` [rank, step] before a step.

    Groups of four ranks meet at each operation, and all ranks at the end of each step.
    """
    ranks, steps, operations = work_ms.shape
    group_of = np.arange(ranks) // 4
    now = np.zeros(ranks)
    made: list[list[tuple[int, ...]]] = [[] for _ in range(ranks)]
    for step in range(steps):
        now = now + host_ms[:, step]
        for at in range(operations):
            entered = now + work_ms[:, step, at]
            for group in range(ranks // 4):
                now[group_of == group] = entered[group_of == group].max() + 0.2
            for rank in range(ranks):
                lasted = now[rank] - entered[rank]
                seq = step * operations + at
                made[rank].append((rank, group_of[rank], TP, seq, entered[rank] * MS, lasted * MS))
        entered = now + 0.1
        now[:] = entered.max() + 0.2
        for rank in range(ranks):
            made[rank].append(
                (
                    rank,
                    ranks // 4,
                    WORLD,
                    step,
                    entered[rank] * MS,
                    (now[rank] - entered[rank]) * MS,
                )
            )
    table = np.array([row for some in made for row in some])
    whole = table[:, :4].astype(np.int64)
    first = np.diff(np.r_[-1, whole[:, 0]]) != 0
    no = np.zeros(len(table), np.bool_)
    return FinishedOperations(
        whole[:, 0], whole[:, 1], whole[:, 2], whole[:, 3], table[:, 4],
        table[:, 4] + table[:, 5], no, first, table[:, 5], whole[:, 2] * 1000,
    )  # fmt: skip


def noisy(ranks: int = 32, steps: int = 12, operations: int = 10) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(1)
    work = chance.uniform(0.95, 1.05, (ranks, steps, operations))
    return work, chance.gamma(4, 0.1, (ranks, steps))


def measured(work: np.ndarray, host: np.ndarray) -> OwnTime:
    times = measure_own_time(rows_of(work, host), len(work))
    assert times is not None
    return times


def causes(times: OwnTime, late_ns: float = 0.0) -> list[tuple[SlowCause, tuple[int, ...]]]:
    count = len(times.own)
    odd = find_odd_ones(times, np.full(count, late_ns), np.arange(count) // 4)
    return [(one.cause, one.digests) for one in odd]


def test_what_a_device_takes_longer_is_told_in_ms() -> None:
    work, host = noisy()
    work[5] += 0.1
    times = measured(work, host)

    assert abs(times.within[5] / MS - 0.9) < 0.2  # nine operations of 0.1 ms
    assert abs(times.wide[5] / MS - 1.0) < 0.3
    assert abs(times.start[5] / MS) < 0.2
    assert causes(times) == [(SlowCause.SLOW_GPU, (5,))]


def test_those_who_wait_for_a_slow_device_are_not_slow() -> None:
    work, host = noisy()
    work[5] += 0.1
    times = measured(work, host)

    assert np.abs(times.wide[[4, 6, 7]] / MS).max() < 0.4


def test_a_late_host_is_none_of_the_device() -> None:
    work, host = noisy()
    host[9] += 2.0
    times = measured(work, host)

    assert abs(times.start[9] / MS - 2.0) < 0.4
    assert abs(times.within[9] / MS) < 0.3
    assert causes(times) == [(SlowCause.LATE_HOST, (9,))]


def test_a_host_that_issues_late_within_a_step_is_the_cause() -> None:
    work, host = noisy()
    work[5] += 0.1

    assert causes(measured(work, host), late_ns=0.8 * MS) == [(SlowCause.LATE_HOST, (5,))]


def test_a_node_whose_devices_are_all_slow_is_named_together() -> None:
    work, host = noisy(ranks=48)
    work[8:12] += 0.1

    assert causes(measured(work, host)) == [(SlowCause.SLOW_GROUP, (8, 9, 10, 11))]


def test_one_long_pause_is_nobodys_habit() -> None:
    work, host = noisy()
    work[5, 3] += 5.0

    assert causes(measured(work, host)) == []


def test_the_first_rank_of_every_group_doing_more_is_a_pattern() -> None:
    work, host = noisy(ranks=64)
    work[::4] += 0.1

    assert causes(measured(work, host)) == []


def test_a_slow_few_steps_are_too_little() -> None:
    work, host = noisy(steps=3)

    assert measure_own_time(rows_of(work, host), len(work)) is None


def test_durations_of_a_few_operations_alone_decide_nothing() -> None:
    rows = rows_of(*noisy())
    lasted = rows.lasted.copy()
    lasted[::2] = np.nan

    assert measure_own_time(replace(rows, lasted=lasted), 32) is None


def test_a_stage_of_which_nothing_is_told_leaves_the_slow_one_open() -> None:
    times = measured(*noisy())
    last = np.arange(len(times.own)) >= len(times.own) // 2
    times = replace(times, stage=last.astype(np.int64), own=np.where(last, 2.0, 1.0) * 1e6)
    found = find_slow_stage(replace(times, step_ns=10e6), piped=True)
    assert found is not None
    assert found[0] == 1
    unheard = replace(times, own=np.where(last, np.nan, times.own))
    assert find_slow_stage(unheard, piped=True) is None
