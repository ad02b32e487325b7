"""Parts that moved, and until when each stay may have lasted."""

from triage.domain.hardware import HardwareKind
from triage.fleet.record.hardware.moved_parts import moved_parts
from triage.fleet.record.hardware.part_stays import HOUR_NS, PlacedStay

DAY = 24 * HOUR_NS


def stay(node: int, name: str, first: int, last: int, *, kind: str = "gpu") -> PlacedStay:
    return PlacedStay(node, HardwareKind(kind), name, "3", first * DAY, last * DAY)


def test_a_part_in_one_node_has_not_moved() -> None:
    assert moved_parts([]) == moved_parts([stay(0, "a", 0, 5), stay(0, "a", 9, 9)]) == ()


def test_a_stay_lasts_until_the_part_is_elsewhere() -> None:
    [part] = moved_parts([stay(1, "a", 9, 12), stay(0, "a", 0, 5)])
    assert [(one.node, one.gone_ns) for one in part.stays] == [(0, 9 * DAY), (1, None)]


def test_a_stay_lasts_until_another_part_is_in_its_slot() -> None:
    others = [stay(0, "b", 7, 9), stay(1, "c", 20, 30)]
    [part] = moved_parts([stay(0, "a", 0, 5), stay(1, "a", 9, 12), *others])
    assert [one.gone_ns for one in part.stays] == [7 * DAY, 20 * DAY]


def test_a_gpu_and_its_board_are_one_move() -> None:
    told = [stay(0, "a", 0, 5), stay(1, "a", 9, 12)]
    boards = [one._replace(kind=HardwareKind.GPU_BOARD, identity="1650224011973") for one in told]
    assert [one.part.kind for one in moved_parts([*boards, *told])] == [HardwareKind.GPU]
    assert [one.part.kind for one in moved_parts(boards)] == [HardwareKind.GPU_BOARD]


def test_a_chassis_is_no_part() -> None:
    assert (
        moved_parts([stay(0, "x", 0, 5, kind="chassis"), stay(1, "x", 9, 9, kind="chassis")]) == ()
    )
