"""A job whose hosts all work on is slow; one whose waiting ranks sleep on is stuck."""

import pytest

from triage.analysis.live.case import LiveCase
from triage.analysis.placement.identity import JobPlacement
from triage.domain.evidence import Stamp
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process
from triage.parsers.live.process_list import SWITCHES

SECOND = 10**9


def look(at_s: int | None, *switches: int | None, pid: int = 100) -> Look:
    return Look(
        f"look-{at_s}.json",
        Tool.PROCESSES,
        stamp=Stamp(wall_ns=None if at_s is None else at_s * SECOND),
        counters=tuple(
            WaitCounter(Process(rank, "n1", None, pid + rank), SWITCHES, 0, count)
            for rank, count in enumerate(switches)
            if count is not None
        ),
    )


def case_of(*looks: Look) -> LiveCase:
    return LiveCase(looks, JobPlacement())


@pytest.mark.parametrize(
    ("first", "second", "moves"),
    [
        pytest.param((10, 20, 30), (60, 70, 80), True, id="all work on"),
        pytest.param((10, 20, 30), (60, 20, 80), False, id="one sleeps on"),
        pytest.param((10, 20, 30), (13, 23, 33), False, id="loaders that look each 5 s"),
        pytest.param((10, 20), (60, 70), False, id="two ranks"),
        pytest.param((10, 20, 30, 40), (60, 70, 80, None), False, id="one was counted once"),
        pytest.param((60, 70, 80), (10, 20, 30), False, id="counters that fall"),
    ],
)
def test_all_hosts_have_to_work_on(first, second, moves) -> None:
    looks = [look(100, *first), look(116, *second)]

    assert case_of(*looks).hosts_move is moves
    assert case_of(*looks[::-1]).hosts_move is moves


def test_another_process_of_the_rank_says_nothing() -> None:
    assert not case_of(look(100, 1, 2, 3), look(116, 90, 90, 90, pid=900)).hosts_move


def test_looks_without_a_time_say_nothing() -> None:
    assert not case_of(look(None, 1, 2, 3), look(None, 90, 90, 90)).hosts_move
    assert not case_of(look(100, 90, 90, 90)).hosts_move


def test_who_does_not_wake_once_is_asleep() -> None:
    assert case_of(look(100, 10, 20, 30), look(116, 10, 21, 30)).ranks_asleep == {0, 2}
    assert case_of(look(100, 10, 20, 30), look(101, 10, 20, 30)).ranks_asleep == frozenset()
    assert case_of(look(100, 10), look(116, 10, pid=900)).ranks_asleep == frozenset()
