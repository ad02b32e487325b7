"""Two looks at one job: frozen, moved, or one look alone."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from triage.analysis.live.communicators.rounds import find_latest_round
from triage.domain.evidence import Stamp
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process

SECOND = 10**9


def look(name: str, counts: Sequence[int], at_s: int | None = None, first: int = 0) -> Look:
    ranks = tuple(
        CommunicatorRank(rank, Process(), launched={"allreduce": count})
        for rank, count in enumerate(counts, start=first)
    )
    found = Look(name, Tool.RAS, communicators=(Communicator(1, 4, ranks),))
    return found if at_s is None else replace(found, stamp=Stamp(wall_ns=at_s * SECOND))


@pytest.mark.parametrize(
    ("looks", "movement"),
    [
        ([look("a", [5, 4])], None),
        ([look("a", [5, 4], 100), look("b", [5, 4], 160)], "frozen"),
        ([look("a", [5, 4], 100), look("b", [6, 6], 160)], "moved"),
        ([look("a", [5, 4], 100), look("b", [5, 4], 102)], None),
        (
            [look("a", [1, 1], 10), look("b", [5, 4], 100), look("c", [5, 4], 160)],
            "frozen",
        ),
        (
            [look("a", [5, 4], 10), look("b", [5, 4], 100), look("c", [9, 9], 160)],
            "moved",
        ),
        ([look("a", [5, 4]), look("b", [5, 4])], "frozen"),
        ([look("z", [1, 1]), look("a", [5, 4]), look("b", [5, 4])], "frozen"),
    ],
)
def test_the_last_look_is_compared_with_the_one_before(
    looks: list[Look], movement: str | None
) -> None:
    for order in (looks, looks[::-1]):
        found = find_latest_round(order)
        assert found is not None
        assert (found.moved, found.frozen) == (movement == "moved", movement == "frozen")


def test_files_of_single_ranks_are_one_round() -> None:
    looks = [look(f"poll{n}/rank{r}", [5], first=r) for n in (9, 10) for r in range(3)]

    found = find_latest_round(looks)

    assert found is not None
    assert found.frozen
    assert [one.artifact for one in found.looks] == [f"poll10/rank{r}" for r in range(3)]
    (communicator,) = found.communicators
    assert [one.rank for one in communicator.ranks] == [0, 1, 2]


def test_nothing_to_compare_is_no_round() -> None:
    assert find_latest_round([Look("a", Tool.RAS)]) is None
