"""Where a rank stands in its group, with a table and without one."""

import pytest

from triage.analysis.snapshots.build_snapshot import map_places


@pytest.mark.parametrize(
    ("ranks", "even"),
    [
        ((), False),
        ((5,), False),
        ((0, 1, 2, 3), True),
        ((3, 11, 19), True),
        ((0, 2, 4, 7), False),
        ((0, 2, 4, 5), False),
        ((0, 1, 3), False),
        ((4, 2, 0), False),
        ((0, 4, 2, 6), False),
        ((0, 6, 3, 9), False),
    ],
)
def test_every_rank_stands_where_the_group_lists_it(ranks: tuple[int, ...], even: bool) -> None:
    places = map_places(ranks)
    assert isinstance(places, range) is even
    assert [rank in places for rank in range(20)] == [rank in ranks for rank in range(20)]
    for place, rank in enumerate(ranks):
        assert (places.index(rank) if isinstance(places, range) else places[rank]) == place
