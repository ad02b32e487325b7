"""Ranges: what is condensed can be read back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.render.words.ranges import condense, condense_names, group_runs, name_ranks

RANKS = st.sets(st.integers(0, 20_000), max_size=200)


def read_back(text):
    numbers = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([7], "7", id="one"),
        pytest.param([0, 1], "0-1", id="pair"),
        pytest.param([0, 1, 2, 3, 4, 6, *range(8, 64)], "0-4,6,8-63", id="gaps"),
        pytest.param([5, 3, 4, 3], "3-5", id="any order, repeats"),
    ],
)
def test_condenses_ranks(ranks, text):
    assert condense(ranks) == text


@pytest.mark.parametrize(
    ("ranks", "text"), [((), ""), ((3,), "rank 3"), ((0, 1, 2, 3, 4, 6), "ranks 0-4,6")]
)
def test_names_ranks(ranks, text):
    assert name_ranks(ranks) == text


@given(RANKS)
def test_reads_back_to_the_same_ranks(ranks):
    assert read_back(condense(ranks)) == ranks


@given(RANKS)
def test_runs_do_not_touch(ranks):
    found = group_runs(ranks)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(found))


@given(RANKS, st.integers(30, 120))
def test_stays_within_its_bound_and_counts_the_rest(ranks, bound):
    text = condense(ranks, max_chars=bound)
    assert len(text) <= bound
    shown, _, rest = text.partition(" ... and ")
    left = int(rest.removesuffix(" more")) if rest else 0
    assert len(read_back(shown)) + left == len(ranks)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param(["n1", "n0", "n2"], "n[0-2]", id="counting up"),
        pytest.param(["gpu-008", "gpu-010", "gpu-009"], "gpu-[008-010]", id="zeros in front"),
        pytest.param(["n9", "n10"], "n[9-10]", id="another digit"),
        pytest.param(["n08", "n10", "n9"], "n9,n[08,10]", id="two digits beside zeros"),
        pytest.param(["n3", "n1125"], "n[3,1125]", id="gap"),
        pytest.param(["login", "n3"], "login,n3", id="single names are bare"),
        pytest.param(["a1", "b1", "b2"], "a1,b[1-2]", id="two stems"),
        pytest.param(["n01", "n1"], "n1,n01", id="widths are kept apart"),
        pytest.param(["ip-10-0-0-1", "ip-10-0-0-2"], "ip-10-0-0-[1-2]", id="dashes"),
    ],
)
def test_condenses_node_names(names, text):
    assert condense_names(names) == text


def test_a_long_list_of_unlike_names_is_cut():
    names = [f"{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert condense_names(names, max_chars=30) == "ax,bx,cx,dx,ex ... and 21 more"


@given(st.lists(st.text(max_size=12), max_size=20))
def test_any_name_can_be_condensed(names):
    assert condense_names(names).count("\0") <= sum(name.count("\0") for name in names)
