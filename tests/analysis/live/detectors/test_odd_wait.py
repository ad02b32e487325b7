"""All ranks wait: one of them elsewhere is whom to look at."""

import pytest

from tests.support.stacks import DEVICE, HALL, LOADER, MEET, REDUCE, case_of, look
from triage.analysis.registry import find_look_claims
from triage.domain.finding import Finding

BARRIER = REDUCE.replace("all_reduce", "barrier").replace("step (train.py:24)", "end (epoch.py:19)")


def claims(stacks: list[str], *, looks: int = 2, world: int | None = None) -> list[Finding]:
    every = [
        look(stacks, f"{number}/stacks.txt", at_s=100 + 60 * number) for number in range(looks)
    ]
    return find_look_claims(case_of(*every, world=world))


def odd(text: str, rank: int, count: int = 8) -> list[str]:
    return [text if one == rank else REDUCE for one in range(count)]


@pytest.mark.parametrize("text", [BARRIER, HALL, DEVICE, MEET])
@pytest.mark.parametrize(("rank", "count"), [(6, 8), (0, 4), (17, 32)])
def test_the_one_that_waits_elsewhere_is_possible(text: str, rank: int, count: int) -> None:
    (claim,) = claims(odd(text, rank, count))
    assert (claim.detector, claim.ranks, claim.role) == ("stacks.odd_wait", (rank,), "possible")
    assert claim.kind == "desync"
    assert claim.strength >= 0.5


def test_one_look_may_be_of_a_job_that_runs() -> None:
    (claim,) = claims(odd(BARRIER, 6), looks=1)
    assert claim.kind == "inconclusive"
    assert claim.of_a_moment


def test_who_was_not_looked_at_may_be_whom_all_wait_for() -> None:
    (claim,) = claims(odd(BARRIER, 6), world=16)
    assert claim.strength < 0.4


# Near misses.
@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param([REDUCE] * 8, id="all alike"),
        pytest.param([REDUCE] * 4 + [HALL] * 4, id="halves"),
        pytest.param([REDUCE] * 6 + [HALL] * 2, id="a stage of a pipeline"),
        pytest.param([REDUCE, HALL, BARRIER, DEVICE] * 2, id="all over"),
        pytest.param([REDUCE, REDUCE, HALL], id="too few"),
    ],
)
def test_names_nobody_where_several_wait_elsewhere(stacks: list[str]) -> None:
    assert [one.detector for one in claims(stacks)] == ["stacks.all_alike"]


def test_who_stands_outside_a_wait_is_named_first() -> None:
    found = claims([BARRIER, LOADER, *[REDUCE] * 6])
    assert [(one.detector, one.ranks) for one in found] == [("stacks.odd_one", (1,))]


def test_a_job_that_moves_says_nothing() -> None:
    looks = [look(odd(BARRIER, 6), "a/s.txt", at_s=100), look([HALL] * 8, "b/s.txt", at_s=160)]
    assert find_look_claims(case_of(*looks)) == []
