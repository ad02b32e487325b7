"""The ends of waits over several communicators."""

from collections.abc import Mapping, Sequence

from tests.support.spent import spent_s
from triage.analysis.live.communicators.waits import MAX_ENDS, EndOfWaits, Identity, find_waits
from triage.domain.live.communicator import (
    Communicator,
    CommunicatorRank,
    Presence,
)
from triage.domain.live.process import Process


def member(rank: int, world: int, count: int | None, **changes: object) -> CommunicatorRank:
    launched = None if count is None else {"allreduce": count}
    return CommunicatorRank(rank, Process(rank=world), launched=launched, **changes)  # type: ignore[arg-type]


def communicator(key: int, counts: Mapping[int, int | None]) -> Communicator:
    ranks = tuple(member(place, *item) for place, item in enumerate(counts.items()))
    return Communicator(key, len(ranks), ranks)


def identity_of(place: Communicator, one: CommunicatorRank) -> Identity:
    return one.process.rank if one.process.rank is not None else (place.hash, one.rank)


def waits(communicators: Sequence[Communicator]) -> tuple[EndOfWaits, ...]:
    return find_waits(communicators, identity_of)


def ends(*communicators: Communicator) -> list[tuple[Identity, int]]:
    return [(end.identity, end.waiting) for end in waits(communicators)]


def test_who_launched_fewer_is_waited_for_and_never_who_launched_more() -> None:
    assert ends(communicator(1, {0: 9, 1: 9, 2: 8, 3: 9})) == [(2, 3)]
    assert ends(communicator(1, {0: 8, 1: 8, 2: 9, 3: 8})) == [(0, 1), (1, 1), (3, 1)]


def test_nobody_is_waited_for_where_all_are_alike() -> None:
    assert ends(communicator(1, {0: 9, 1: 9})) == []


def test_a_chain_over_groups_ends_at_the_rank_that_waits_for_nobody() -> None:
    tensor = communicator(1, {0: 50, 1: 50, 2: 49, 3: 50})
    data = [communicator(10 + rank, {rank: 7, rank + 4: 8}) for rank in range(4)]

    assert ends(tensor, *data) == [(2, 7)]


def test_a_rank_that_does_not_answer_is_behind_all() -> None:
    dead = member(3, 3, None, presence=Presence.DEAD)
    group = communicator(1, {0: 9, 1: 8, 2: 9})
    group = Communicator(1, 4, (*group.ranks, dead))

    (end,) = waits([group])
    assert (end.identity, end.waiting) == (3, 3)


def test_a_rank_without_data_whose_process_lives_is_no_end() -> None:
    lives = member(3, 3, None, presence=Presence.MISSING)
    group = communicator(1, {0: 9, 1: 9, 2: 9})

    assert ends(Communicator(1, 4, (*group.ranks, lives))) == []


def test_listed_ranks_that_are_ahead_of_the_rest_are_not_named() -> None:
    rest = CommunicatorRank(-1, Process(), launched={"allreduce": 8})
    group = Communicator(1, 16, (member(3, 3, 9), member(6, 6, 9)), rest)

    (end,) = waits([group])
    assert end.lags == ()
    assert end.identity not in (3, 6)


def test_the_rest_counts_as_many_as_it_is() -> None:
    rest = CommunicatorRank(-1, Process(), launched={"allreduce": 9})
    group = Communicator(1, 16, (member(5, 5, 8),), rest)

    assert ends(group) == [(5, 15)]
    assert waits([group])[0].lags[0].ahead == 15


def test_a_circle_has_no_end() -> None:
    found = waits([communicator(1, {0: 9, 1: 8}), communicator(2, {0: 3, 1: 4})])

    assert found == ()


def test_two_ends_are_ordered_by_who_waits_for_them() -> None:
    assert ends(communicator(1, {0: 9, 1: 8}), communicator(2, {4: 9, 5: 8, 6: 9, 7: 9})) == [
        (5, 3),
        (1, 1),
    ]


def test_many_thousand_ranks_take_little_time() -> None:
    size = 16_384
    world = communicator(1, {rank: 9 - (rank % 2) for rank in range(size)})

    assert len(waits([world])) == MAX_ENDS
    assert spent_s(lambda: waits([world]), 10.0) < 10
