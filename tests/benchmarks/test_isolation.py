"""The searches that the table of rounds is made of."""

import pytest

from benchmarks.isolation import WAYS, Case, search


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_every_way_is_right_with_perfect_tests(way: str, bad: int) -> None:
    for seed in range(3):
        assert search(way, Case(64, bad, 1.0, 0.0), seed).outcome == "right"


def test_the_plan_needs_two_rounds_for_one_bad_node_and_bisection_a_logarithm() -> None:
    case = Case(2_048, 1, 1.0, 0.0)
    assert search("plan", case, 1).rounds == 2
    assert search("bisection", case, 1).rounds == 12


def test_the_plan_takes_at_most_six_rounds_on_average_with_tests_that_miss() -> None:
    rounds = [
        search("plan", Case(2_048, bad, 0.7, 0.0), n).rounds for bad in (1, 2) for n in range(15)
    ]
    assert sum(rounds) / len(rounds) <= 6


def test_the_same_seed_is_the_same_search() -> None:
    case = Case(64, 2, 0.7, 0.01)
    assert search("random", case, 4) == search("random", case, 4)
