"""Grid: every rank has one square, by node or by row."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.domain.report import RankState
from triage.render.pictures import grid as grid_module
from triage.render.pictures.grid import MAX_CELLS, STATES, arrange, group_ranks_by_state, join_spans


def ranks(count, per_node=8, state="waiting"):
    return [
        RankState(rank, f"n{rank // per_node}" if per_node else None, state)
        for rank in range(count)
    ]


@pytest.mark.parametrize("count", [1, 7, 64, 1000, 16_384])
@pytest.mark.parametrize("per_node", [0, 1, 4, 8, 72])
def test_every_rank_has_a_square_of_its_own(count, per_node):
    grid = arrange(ranks(count, per_node))
    assert len({(cell.x, cell.y) for cell in grid.cells}) == count
    assert max(cell.x for cell in grid.cells) + grid.size <= grid.width
    assert max(cell.y for cell in grid.cells) + grid.size <= grid.height
    assert grid.width <= 1020


def test_a_node_is_a_column():
    grid = arrange(ranks(64))
    by_node = {
        cell.state.node: {c.x for c in grid.cells if c.state.node == cell.state.node}
        for cell in grid.cells
    }
    assert all(len(xs) == 1 for xs in by_node.values())
    assert len({cell.y for cell in grid.cells}) == 8


def test_without_nodes_ranks_stand_in_rows_of_64():
    grid = arrange(ranks(256, per_node=0))
    assert Counter(cell.y for cell in grid.cells).most_common()[0][1] == 64
    assert [text for _, _, text in grid.labels] == ["0", "64", "128", "192"]


def test_a_partly_known_map_falls_back_to_rows():
    some = [*ranks(8), RankState(8, None, "waiting")]
    assert arrange(some).columns == 64


def test_sparse_ranks_take_no_room():
    grid = arrange([RankState(3, None, "idle"), RankState(9_999_999, None, "idle")])
    assert grid.height < 100


def test_too_many_ranks_are_not_drawn():
    many = ranks(MAX_CELLS + 1)
    assert arrange(many) is None
    assert "too many to draw" in grid_module.as_svg(many)


@given(st.sets(st.integers(0, 200), min_size=1))
def test_joined_squares_cover_the_same_ground(which):
    grid = arrange([RankState(rank, None, "idle") for rank in which])
    covered = {
        (x + step, y)
        for x, y, width in join_spans(grid.cells, grid.size)
        for step in range(0, width, grid.size)
    }
    assert covered == {(cell.x, cell.y) for cell in grid.cells}


def test_a_state_without_a_name_counts_as_unknown():
    assert group_ranks_by_state([RankState(0, None, "<b>")]) == [("unknown", [0])]


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_a_row_in_the_legend(state):
    assert state.replace("_", " ") in grid_module.render_grid_legend(ranks(3, state=state))


def test_a_small_culprit_wears_a_ring_and_a_large_one_a_sign():
    small = [*ranks(16_383), RankState(16_383, "n2047", "culprit")]
    assert grid_module.as_svg(small).count("<circle") == 1
    large = [*ranks(7), RankState(7, "n0", "culprit")]
    assert "\N{MULTIPLICATION SIGN}</text>" in grid_module.as_svg(large)
