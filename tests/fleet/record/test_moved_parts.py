"""Parts that moved, until when each stay may have lasted, and numbers that are no identity."""

import pytest

from triage.domain.hardware import HardwareKind
from triage.fleet.record.moved_parts import HOUR_NS, PlacedStay, find_moved_parts

DAY = 24 * HOUR_NS


def stay(node: int, name: str, first: float, last: float, *, kind: str = "gpu") -> PlacedStay:
    return PlacedStay(node, HardwareKind(kind), name, "3", int(first * DAY), int(last * DAY))


def test_a_part_in_one_node_has_not_moved() -> None:
    assert find_moved_parts([]) == find_moved_parts([stay(0, "a", 0, 5), stay(0, "a", 9, 9)]) == ()


def test_a_stay_lasts_until_the_part_is_elsewhere() -> None:
    [part] = find_moved_parts([stay(1, "a", 9, 12), stay(0, "a", 0, 5)])
    assert [(one.node, one.gone_ns) for one in part.stays] == [(0, 9 * DAY), (1, None)]


def test_a_stay_lasts_until_another_part_is_in_its_slot() -> None:
    others = [stay(0, "b", 7, 9), stay(1, "c", 20, 30)]
    [part] = find_moved_parts([stay(0, "a", 0, 5), stay(1, "a", 9, 12), *others])
    assert [one.gone_ns for one in part.stays] == [7 * DAY, 20 * DAY]


def test_a_gpu_and_its_board_are_one_move() -> None:
    told = [stay(0, "a", 0, 5), stay(1, "a", 9, 12)]
    boards = [one._replace(kind=HardwareKind.GPU_BOARD, identity="1650224011973") for one in told]
    assert [one.part.kind for one in find_moved_parts([*boards, *told])] == [HardwareKind.GPU]
    assert [one.part.kind for one in find_moved_parts(boards)] == [HardwareKind.GPU_BOARD]


def test_a_chassis_is_no_part() -> None:
    assert (
        find_moved_parts([stay(0, "x", 0, 5, kind="chassis"), stay(1, "x", 9, 9, kind="chassis")])
        == ()
    )


@pytest.mark.parametrize(
    "stays",
    [
        [stay(3, "X", 0, 10), stay(4, "X", 4, 12)],
        [stay(node, "X", 0, 10) for node in range(5)],
        [stay(3, "X", 5, 5), stay(4, "X", 5.01, 5.01)],
        [stay(3, "X", 0, 10), stay(4, "X", 9.9, 20)],
        [stay(3, "X", 0, 10), stay(4, "X", 11, 12), stay(5, "X", 11.5, 20)],
        [stay(3, "X", 0, 30), stay(4, "X", 2, 3), stay(5, "X", 5, 6)],
        [stay(3, "X", 0, 0), stay(4, "X", 5, 6), stay(3, "X", 9, 9)],
    ],
    ids=["two", "many", "within an hour", "overlap", "later two", "one through", "went back"],
)
def test_what_nodes_claim_at_the_same_time_has_not_moved(stays: list[PlacedStay]) -> None:
    assert find_moved_parts(stays) == ()


@pytest.mark.parametrize(
    "stays",
    [
        [stay(3, "X", 0, 10), stay(4, "X", 9.97, 20)],
        [stay(3, "X", 0, 0), stay(3, "X", 4, 4), stay(4, "X", 5, 6)],
    ],
    ids=["clocks that differ", "several rows"],
)
def test_what_people_can_have_moved_has_moved(stays: list[PlacedStay]) -> None:
    assert len(find_moved_parts(stays)) == 1
