"""Which node is which: renamed, replaced, swapped, told twice, or nobody can tell."""

import pytest

from triage.domain.hardware import HardwareKind
from triage.fleet.record.hardware.part_stays import HOUR_NS, PlacedStay, uncontested
from triage.fleet.record.hardware.same_node import BEGINNING, Machine, SameNodes, same_nodes

DAY = 24 * HOUR_NS
NAMES = ("n12", "m7", "n3", "n4", "n5")
N12, M7, N3, N4, N5 = range(5)


def stay(
    node: int, identity: str, first: float, last: float, kind: str = "chassis", slot: str = ""
) -> PlacedStay:
    at = int(first * DAY), int(last * DAY)
    return PlacedStay(node, HardwareKind(kind), identity, slot, *at)


def gpus(node: int, names: str, first: float, last: float) -> list[PlacedStay]:
    return [
        stay(node, f"GPU-{name}", first, last, "gpu", str(slot)) for slot, name in enumerate(names)
    ]


def machines(stays: list[PlacedStay]) -> dict[int, list[tuple[float, Machine]]]:
    found = same_nodes(stays, NAMES)
    return {
        node: [(since if since == BEGINNING else since / DAY, machine) for since, machine in rows]
        for node, rows in found.machines.items()
    }


def test_nothing_says_nothing() -> None:
    assert same_nodes([], NAMES) == SameNodes()


def test_a_chassis_under_another_name_is_the_same_node() -> None:
    told = [stay(N12, "X", 0, 10), stay(M7, "X", 63, 90)]
    assert machines(told) == {N12: [(BEGINNING, Machine(M7)), (63, Machine(N12))]}
    found = same_nodes(told, NAMES)
    assert found.left == {N12}
    assert found.notes == ("n12 is called m7 since 1970-03-05 (same chassis serial)",)
    assert found.machine_at(N12, 20 * DAY) == found.machine_at(M7, 0) == Machine(M7)


def test_another_chassis_under_the_same_name_begins_a_new_history() -> None:
    told = [stay(N12, "X", 0, 10), stay(N12, "Y", 20, 30)]
    assert machines(told) == {N12: [(BEGINNING, Machine(N12, 20 * DAY)), (20, Machine(N12))]}
    assert "n12 is another machine since 1970-01-21" in same_nodes(told, NAMES).notes[0]


def test_two_nodes_that_swap_their_names_swap_their_histories() -> None:
    told = [stay(N12, "X", 0, 10), stay(M7, "Y", 0, 10), stay(M7, "X", 11, 20)]
    told += [stay(N12, "Y", 11, 20)]
    assert machines(told) == {
        N12: [(BEGINNING, Machine(M7)), (11, Machine(N12))],
        M7: [(BEGINNING, Machine(N12)), (11, Machine(M7))],
    }


def test_a_chassis_that_comes_back_goes_on() -> None:
    told = [stay(N12, "X", 0, 10), stay(N12, "Y", 20, 30), stay(N12, "X", 40, 50)]
    assert machines(told) == {
        N12: [(BEGINNING, Machine(N12)), (20, Machine(N12, 40 * DAY)), (40, Machine(N12))]
    }


def test_names_in_a_row_end_at_the_last_one() -> None:
    told = [stay(N12, "X", 0, 10), stay(M7, "X", 11, 20), stay(N3, "X", 21, 30)]
    assert [rows[0][1] for rows in machines(told).values()] == [Machine(N3), Machine(N3)]


def test_an_instance_with_a_new_name_is_known_by_its_gpus() -> None:
    told = [*gpus(N12, "abcdefgh", 0, 10), *gpus(M7, "abcdefgx", 12, 20)]
    assert machines(told) == {N12: [(BEGINNING, Machine(M7)), (12, Machine(N12))]}
    assert "7 of its 8 GPUs and adapters" in same_nodes(told, NAMES).notes[0]


@pytest.mark.parametrize(
    "stays",
    [
        [*gpus(N12, "abcdefgh", 0, 10), *gpus(M7, "abcdwxyz", 12, 20)],  # half of them
        [*gpus(N12, "a", 0, 10), *gpus(M7, "a", 12, 20)],  # one GPU alone
        [*gpus(N12, "abcd", 0, 10), *gpus(M7, "abcd", 12, 20), stay(N12, "X", 0, 30),
         stay(M7, "Y", 0, 30)],
        [stay(N12, "X", 0, 30), stay(M7, "X", 5, 40)],  # both at once: a made-up number
        [*gpus(N12, "abcd", 0, 10), *gpus(N12, "abce", 12, 20)],  # a part that was replaced
        [*gpus(N12, "ab", 0, 10), *gpus(N12, "cd", 12, 20)[:1]],  # one slot says too little
        [stay(N12, "X", 0, 9, "board"), stay(M7, "X", 12, 20, "board")],  # a board alone moved
    ],
)  # fmt: skip
def test_what_is_no_proof_changes_nothing(stays: list[PlacedStay]) -> None:
    assert machines(stays) == {}


def test_other_parts_in_all_slots_are_another_instance() -> None:
    told = [*gpus(N12, "abcd", 0, 10), *gpus(N12, "efgh", 12, 20)]
    assert machines(told) == {N12: [(BEGINNING, Machine(N12, 12 * DAY)), (12, Machine(N12))]}


def test_a_chassis_that_stays_outweighs_its_parts() -> None:
    told = [stay(N12, "X", 0, 20), *gpus(N12, "abcd", 0, 10), *gpus(N12, "efgh", 12, 20)]
    assert machines(told) == {}


def test_what_two_nodes_claim_at_once_is_said_and_counts_for_neither() -> None:
    found = same_nodes([stay(N3, "X", 0, 10), stay(N4, "X", 4, 12)], NAMES)
    assert found.stays == ()
    assert found.notes == (
        "n3 and n4 both claim chassis X at the same time: it counts for neither",
    )


def test_a_number_that_many_claim_is_no_identity() -> None:
    found = same_nodes([stay(node, "X", 0, 10) for node in range(5)], NAMES)
    assert found.machines == {}
    assert found.notes == ("1 serial number that more than two nodes claim: no identity",)


def test_clocks_that_differ_by_less_than_an_hour_are_no_contradiction() -> None:
    assert not uncontested([stay(N3, "X", 0, 10), stay(N4, "X", 9.97, 20)])[1]
    assert uncontested([stay(N3, "X", 0, 10), stay(N4, "X", 9.9, 20)])[1]
    assert uncontested([stay(N3, "X", 5, 5), stay(N4, "X", 5.01, 5.01)])[1]


def test_what_changes_to_and_fro_is_claimed_by_both() -> None:
    told = [stay(day % 2, "X", day, day) for day in range(8)]
    assert uncontested(told)[1]
    assert not uncontested([stay(day % 2, "X", 20 * day, 20 * day) for day in range(8)])[1]


def test_a_circle_of_links_ends() -> None:
    told = [stay(N12, "X", 0, 1), stay(N12, "Y", 0, 1), stay(M7, "X", 5, 6), stay(M7, "Z", 5, 6)]
    told += [stay(N12, "Z", 9, 10), stay(N3, "Y", 3, 4), stay(N3, "Z", 1, 2)]
    assert same_nodes(told, NAMES).notes
