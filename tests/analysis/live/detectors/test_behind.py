"""Behind: the rank that stands, and not those that wait in what no tool counts."""

from collections.abc import Mapping

import pytest

from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.counters import find_ranks_behind
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Role
from triage.domain.evidence import Stamp
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process


def member(place: int, rank: int, count: int) -> CommunicatorRank:
    process = Process(rank=rank, host=f"n{rank // 4}", pid=100 + rank, gpu=rank % 4)
    return CommunicatorRank(place, process, launched={"allreduce": count})


def communicator(key: int, counts: Mapping[int, int]) -> Communicator:
    ranks = tuple(member(place, *item) for place, item in enumerate(counts.items()))
    return Communicator(key, len(ranks), ranks)


def claims(*communicators: Communicator, looks: int = 2, **case: bool) -> list[Finding]:
    seen = [
        Look(
            f"ras_{n}", Tool.RAS, Stamp(wall_ns=(100 + 60 * n) * 10**9), communicators=communicators
        )
        for n in range(looks)
    ]
    placement = JobPlacement(node_by_rank={rank: f"n{rank // 4}" for rank in range(16)})
    return list(find_ranks_behind("ras.behind", Tool.RAS, LiveCase(seen, placement, 16, **case)))


def test_a_stage_that_waits_for_a_receive_is_not_named_beside_the_rank_that_stands() -> None:
    # Two replicas of two stages of four ranks; rank 1 stands, so stage 4 to 7 gets nothing.
    stage = [
        communicator(1, {0: 9, 1: 8, 2: 9, 3: 9}),
        communicator(2, dict.fromkeys(range(4, 8), 9)),
    ]
    data = [communicator(10 + rank, {rank: 4, rank + 8: 5}) for rank in range(8)]

    (found,) = claims(*stage, *data)

    assert found.ranks == (1,)
    assert found.role is Role.CULPRIT


def test_two_ranks_of_two_nodes_that_stand_alike_are_a_tie() -> None:
    (found,) = claims(communicator(1, {rank: 9 - (rank in (1, 5)) for rank in range(8)}))

    assert set(found.ranks) == {1, 5}
    assert (found.role, found.one_of) == (Role.POSSIBLE, True)


def test_all_ranks_of_one_node_that_stand_are_the_node() -> None:
    (found,) = claims(communicator(1, {rank: 9 - (rank // 4 == 1) for rank in range(16)}))

    assert set(found.ranks) == {4, 5, 6, 7}
    assert found.role is Role.CULPRIT


def test_many_that_are_behind_on_several_nodes_are_not_named() -> None:
    assert claims(communicator(1, {rank: 9 - (rank % 2) for rank in range(16)})) == []


@pytest.mark.parametrize(
    ("case", "role"),
    [({}, Role.POSSIBLE), ({"stopped": True}, Role.CULPRIT), ({"moving": True}, None)],
)
def test_one_look_is_worth_what_dumps_and_watchdogs_say_of_the_job(
    case: dict[str, bool], role: Role | None
) -> None:
    found = claims(communicator(1, {rank: 9 - (rank == 3) for rank in range(8)}), looks=1, **case)

    assert [one.role for one in found] == ([] if role is None else [role])


def test_looks_of_another_tool_are_not_its_own() -> None:
    look = Look("x", Tool.INSPECTOR, communicators=(communicator(1, {0: 9, 1: 8}),))

    assert list(find_ranks_behind("ras.behind", Tool.RAS, LiveCase([look], JobPlacement()))) == []
