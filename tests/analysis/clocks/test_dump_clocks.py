"""Clocks seconds apart, known against each other by groups of a few of them."""

import numpy as np
import pytest

from triage.analysis.clocks.rank_clocks import compare_clocks

MS = 1e6


def told(offsets: np.ndarray, groups: list[list[int]], noise: float = 0.0) -> np.ndarray:
    """What groups say of clocks with these offsets, each against its own middle."""
    chance = np.random.default_rng(1)
    group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    clock = np.array([member for one in groups for member in one])
    apart = np.concatenate([offsets[one] - np.median(offsets[one]) for one in groups])
    apart = apart + chance.normal(0, noise, len(apart))
    mixed = chance.permutation(len(group))
    return compare_clocks(group[mixed], clock[mixed], apart[mixed], len(offsets))


@pytest.mark.parametrize(
    "groups",
    [
        [[k, k + 1] for k in range(31)],
        [[k, (k + 1) % 32] for k in range(32)],
        [list(range(32)), *([k, k + 16] for k in range(16))],
        [[*range(k, k + 4)] for k in range(0, 29, 3)] + [[30, 31]],
    ],
    ids=["chain", "ring", "whole and pairs", "chain of fours"],
)
def test_offsets_come_out_by_way_of_the_groups(groups: list[list[int]]) -> None:
    offsets = np.random.default_rng(7).normal(0, 2000 * MS, 32)
    found = told(offsets, groups)
    assert found - found[0] == pytest.approx(offsets - offsets[0], abs=1.0)
    assert np.median(found) == pytest.approx(0.0, abs=1.0)


def test_noise_stays_noise() -> None:
    offsets = np.random.default_rng(7).normal(0, 2000 * MS, 32)
    found = told(offsets, [list(range(32)), *([k, k + 16] for k in range(16))], noise=MS)
    assert np.abs((found - offsets) - np.median(found - offsets)).max() < 6 * MS


def test_clocks_that_nothing_joins_stand_for_themselves() -> None:
    offsets = np.array([0.0, 10.0, 5000.0, 5020.0, 7.0])
    found = told(offsets, [[0, 1], [2, 3]])
    assert found[:4] == pytest.approx([-5.0, 5.0, -10.0, 10.0])
    assert np.isnan(found[4])


def test_nothing_told_is_nothing_known() -> None:
    none = np.empty(0, np.int64)
    assert np.isnan(compare_clocks(none, none, np.empty(0), 3)).all()
