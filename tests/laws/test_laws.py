"""The laws of joining: what may not move when an incident is changed.

Each transformation of ``simulator.perturb`` names its law and what of the answer it keeps.
"""

import pytest

from simulator.perturb.registry import ALL
from tests.laws.drills import DUMPED, LOOKED, WITH_LOGS, drill, finds_something, kept

# What changes looks has nothing to change elsewhere.
OF_LOOKS = dict.fromkeys(("stray-stacks", "cut-looks", "earlier-look"), LOOKED)


def pairs(law: int) -> list[object]:
    """Every change that tries a law, with every incident in which it changes something."""
    found = []
    for change in (one.name for one in ALL if one.law == law):
        names = {"dropped-files": (*WITH_LOGS, *DUMPED), **OF_LOOKS}.get(change, WITH_LOGS)
        found += [
            pytest.param(change, name, id=f"{change}-{name}")
            for name in names
            if finds_something(change, name)
        ]
    return found


@pytest.mark.parametrize(("change", "name"), pairs(2))
def test_a_claim_is_not_lost_to_an_old_fault_elsewhere(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(3))
def test_what_is_printed_later_or_by_a_wrong_clock_caused_nothing(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(4))
def test_alarming_words_of_unknown_drivers_convict_nobody(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(5))
def test_noise_moves_nothing(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(6))
def test_lost_files_convict_no_innocent(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(7))
def test_unknown_words_of_the_root_leave_the_node(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(8))
def test_a_thousand_copies_weigh_as_one_line(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(9))
def test_old_links_explain_nothing(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(10))
def test_no_sound_node_is_acted_upon_by_where_a_log_lies(change: str, name: str) -> None:
    assert not kept(name, change)


@pytest.mark.parametrize(("change", "name"), pairs(11))
def test_a_boot_of_days_ago_is_not_the_stop(change: str, name: str) -> None:
    assert not kept(name, change)


def test_every_law_that_a_change_can_try_is_tried() -> None:
    assert {one.law for one in ALL} == {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}


def test_nobody_is_to_blame_in_one_of_the_incidents() -> None:
    one = drill("watchdog-only")
    assert not one.case.guilty
    assert not one.said.convicted
