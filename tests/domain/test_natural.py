"""Names in the order that people count in."""

import pytest

from triage.domain.hosts import make_natural_key


@pytest.mark.parametrize(
    "names",
    [["n2", "n10"], ["a9b2", "a9b10"], ["leaf", "leaf1"], ["n9", "nnn1"], ["1n", "n1"]],
)
def test_numbers_count_as_numbers(names):
    other_way = names[::-1]
    assert sorted(other_way, key=make_natural_key) == names


def test_ten_comes_after_two():
    assert sorted(["n10", "n2", "n1"], key=make_natural_key) == ["n1", "n2", "n10"]


def test_digits_of_other_scripts_and_endless_ones_raise_nothing():
    assert sorted(["n" + "9" * 400, "n٣", "n²", "\udcff1"], key=make_natural_key)
