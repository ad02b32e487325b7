"""Seen over expected: each return looks at its own past alone, and the sums are the plain ones."""

import numpy as np
import pytest

from tests.fleet.repairs.planted import ANY, NIC_REBOOTED, fleet, returns
from triage.fleet.repairs.features import (
    EARLY,
    EDGES,
    LATE,
    USUAL,
    WHOLE,
    compute_group_ratios,
    compute_node_ratios,
    compute_past_ratios,
)
from triage.fleet.repairs.returns import Returns, build_returns


def plain(found: Returns, row: int, span, half_life: float, pseudo: float, among) -> float:
    """The same, one return at a time."""
    seen = hoped = 0.0
    now = found.day[row]
    for other in np.flatnonzero(among):
        age = now - found.day[other]
        if age <= 0:
            continue
        weight = 2 ** (-age / half_life)
        gap = found.next_day[other] - found.day[other]
        seen += weight * (span[0] <= gap < span[1] and gap <= age)
        reach = min(gap, age)
        for low, high, rate in zip(EDGES, EDGES[1:], USUAL, strict=False):
            if span[0] <= low and high <= span[1]:
                hoped += weight * rate * max(0.0, min(reach, high) - low)
    return (seen + pseudo) / (hoped + pseudo)


@pytest.mark.parametrize("span", [EARLY, LATE, WHOLE])
@pytest.mark.parametrize("half_life", [7.0, 112.0])
def test_the_sums_are_those_of_one_return_at_a_time(span, half_life):
    found = build_returns(fleet(3, again={ANY: 0.3}, nodes=60, days=200))
    everything = np.ones(len(found), np.bool_)

    got = compute_past_ratios(found, everything, np.ones(len(found)), span, half_life, 3.0)

    rows = range(0, len(found), 7)
    wanted = [plain(found, row, span, half_life, 3.0, everything) for row in rows]
    np.testing.assert_allclose(got[list(rows)], wanted, rtol=1e-9)


def test_a_node_is_held_against_its_own_returns_alone():
    found = build_returns(fleet(4, again={ANY: 0.5}, nodes=12, days=300))

    got = compute_node_ratios(found, np.ones(len(found)), 56.0, 1.0)

    rows = range(len(found))
    wanted = [plain(found, row, WHOLE, 56.0, 1.0, found.node == found.node[row]) for row in rows]
    np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_the_first_return_knows_nothing():
    found = returns(("a", 10, 11, "GPU"))

    assert compute_node_ratios(found, np.ones(1), 56.0, 1.0).tolist() == [1.0]
    assert compute_past_ratios(found, np.ones(1, bool), np.ones(1), EARLY, 7.0, 3.0).tolist() == [
        1.0
    ]


def test_what_comes_later_changes_nothing_before():
    whole = build_returns(fleet(5, again={NIC_REBOOTED: 0.5}, nodes=60, days=200))
    ones = np.ones(len(whole))
    got = compute_group_ratios(whole, whole.action, ones, 365.0, 20.0)
    early = whole.day < 100
    cut = Returns(
        node=whole.node[early],
        start_day=whole.start_day[early],
        day=whole.day[early],
        next_day=np.where(whole.next_day[early] < 100, whole.next_day[early], np.inf),
        before_days=whole.before_days[early],
        cause=whole.cause[early],
        action=whole.action[early],
        num_nodes=60,
        days=100.0,
    )

    np.testing.assert_allclose(
        compute_group_ratios(cut, cut.action, ones[early], 365.0, 20.0), got[early], rtol=1e-9
    )


def test_ten_years_of_a_busy_fleet_stay_numbers():
    found = build_returns(fleet(6, again={ANY: 0.3}, nodes=40, days=3650))

    got = compute_past_ratios(
        found, np.ones(len(found), bool), np.ones(len(found)), EARLY, 7.0, 3.0
    )

    assert np.isfinite(got).all()
    assert (got > 0).all()
