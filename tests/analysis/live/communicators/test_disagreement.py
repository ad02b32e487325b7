"""Ranks that issued other operations than their peers, and ranks that are only behind."""

from collections.abc import Mapping

from triage.analysis.live.detectors.counters import find_disagreement
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.process import Process


def communicator(*counts: Mapping[str, int]) -> Communicator:
    ranks = tuple(
        CommunicatorRank(rank, Process(), launched=one) for rank, one in enumerate(counts)
    )
    return Communicator(1, len(counts), ranks)


USUAL = {"allgather": 10, "allreduce": 20}


def test_names_the_rank_with_more_of_one_and_fewer_of_another() -> None:
    found = find_disagreement(communicator(USUAL, USUAL, {"allgather": 11, "allreduce": 19}, USUAL))

    assert found is not None
    assert [one.rank for one in found.odd] == [2]
    assert (found.odd_ahead, found.odd_behind) == ("allgather", "allreduce")


def test_who_is_behind_in_all_does_not_disagree() -> None:
    assert find_disagreement(communicator(USUAL, {"allgather": 9, "allreduce": 18}, USUAL)) is None


def test_who_is_behind_in_one_does_not_disagree() -> None:
    assert find_disagreement(communicator(USUAL, {"allgather": 10, "allreduce": 19}, USUAL)) is None
