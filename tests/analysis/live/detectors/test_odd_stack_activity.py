"""What the kernel's counters add to odd stacks: slow rather than stuck, and alone at work."""

from dataclasses import replace

import pytest

from tests.support.stacks import COMPUTE, LOCK, REDUCE, case_of, look
from triage.analysis.live.detectors.stacks import find_alike_stacks, find_odd_stacks
from triage.domain.category import Role, VerdictKind
from triage.domain.evidence import Stamp
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process
from triage.parsers.live.process_list import SWITCHES

MOVED_ON = COMPUTE.replace("96", "131").replace("augment (", "augment_more (")


def counted(at_s: int, switches: list[int]) -> Look:
    counters = tuple(
        WaitCounter(Process(rank, None, None, 1000 + rank), SWITCHES, 0, count)
        for rank, count in enumerate(switches)
    )
    stamp = Stamp(wall_ns=at_s * 10**9)
    return Look(f"processes_{at_s}.json", Tool.PROCESSES, stamp=stamp, counters=counters)


def looks(stacks: list[list[str]], switches: list[list[int]]) -> list[Look]:
    rows = []
    for at_s, texts, counts in zip((100, 116), stacks, switches, strict=True):
        rows.append(replace(look(texts, f"stacks_{at_s}.txt", at_s=at_s)))
        rows.append(counted(at_s, counts))
    return rows


ODD = [REDUCE, REDUCE, REDUCE, REDUCE, REDUCE, LOCK]
BUSY = [*ODD[:5], COMPUTE]
ALL_ON = [[10] * 6, [90] * 6]
ALL_ASLEEP = [[10] * 6, [10] * 6]


@pytest.mark.parametrize(
    ("switches", "kind"),
    [
        pytest.param(ALL_ON, VerdictKind.STRAGGLER, id="all work on"),
        pytest.param(ALL_ASLEEP, VerdictKind.HANG, id="all sleep"),
        pytest.param([[10] * 6, [90, 90, 90, 90, 90, 10]], VerdictKind.HANG, id="others poll"),
    ],
)
def test_a_rank_at_one_place_twice_is_slow_only_where_all_work_on(switches, kind) -> None:
    (finding,) = find_odd_stacks(case_of(*looks([ODD, ODD], switches)))

    assert (finding.ranks, finding.role, finding.kind) == ((5,), Role.CULPRIT, kind)


@pytest.mark.parametrize(
    ("switches", "role"),
    [
        pytest.param(ALL_ASLEEP, Role.CULPRIT, id="nobody else woke"),
        pytest.param([[10] * 6, [11] * 6], Role.POSSIBLE, id="others woke"),
    ],
)
def test_who_works_alone_while_the_others_sleep_is_whom_they_wait_for(switches, role) -> None:
    moved = [*ODD[:5], MOVED_ON]
    (finding,) = find_odd_stacks(case_of(*looks([BUSY, moved], switches)))

    assert (finding.ranks, finding.role, finding.kind) == ((5,), role, VerdictKind.STRAGGLER)


def test_all_alike_says_nothing_of_a_job_that_works_on() -> None:
    alike = [REDUCE] * 6

    assert list(find_alike_stacks(case_of(*looks([alike, alike], ALL_ON)))) == []
    assert list(find_alike_stacks(case_of(*looks([alike, alike], ALL_ASLEEP)))) != []
