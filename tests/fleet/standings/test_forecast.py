"""The forecast: decayed counts, shrunk; what the record itself teaches of them."""

import numpy as np
import pytest

from tests.fleet.standings.outages import at_random, in_bursts, record_of
from triage.fleet.standings.forecast import (
    FADINGS,
    USUAL,
    Fading,
    Forecast,
    compute_gamma_interval,
    compute_likelihoods,
    count_later_faults,
    iterate_forecasts,
    sum_decayed_faults,
)
from triage.fleet.standings.strikes import build_history, cut_history

ALL = np.ones(100, dtype=bool)
EQUAL = np.ones(100)


def last(rows, days=200.0, ordinary=ALL, beside=EQUAL) -> Forecast:
    *_, now = iterate_forecasts(build_history(record_of(rows, days=days)), ordinary, beside)
    return now


def steady(days, nodes=range(10), num=60):
    """Nodes that fail at even times."""
    return [
        (f"n{node:03d}", day, day + 0.1, "gpu")
        for node in nodes
        for day in np.linspace(1, days - 2, num).tolist()
    ]


def test_a_fault_counts_half_after_a_half_life():
    history = build_history(
        record_of([("n001", 172.0, 176.0, "gpu"), ("n002", 144.0, 145.0, "gpu")])
    )

    faded = sum_decayed_faults(history, 28.0)

    assert faded[[0, 1, 2]] == pytest.approx([0.0, 0.5, 0.25])


def test_a_fault_of_this_moment_counts_one():
    assert Fading(7.0, 112.0, 8.0, 0.25).weigh(lambda _: np.ones(1))[0] == pytest.approx(1.0)


def test_steady_nodes_are_forecast_their_rate():
    now = last([*at_random(200, days=700), *steady(700)], days=700.0)

    # 60 faults in 700 days come to 4.8 in 56.
    assert now.faults[:10] == pytest.approx(np.full(10, 4.8), rel=0.3)
    assert now.faults[20:].mean() < 0.5
    assert now.fading.slow >= 224


def test_bursts_teach_a_fast_part():
    assert last(in_bursts(200)).bursts > 3.0
    assert last(in_bursts(200)).fading.gain > 0


def test_a_short_record_is_held_for_a_usual_one():
    assert last(in_bursts(20), days=30.0).fading == USUAL


def test_nodes_that_are_alike_pass_for_others_seldom():
    # At most 5 % of such fleets, whenever one looks.
    low = sum(
        min(one.chance for one in iterate_forecasts(history, ALL, EQUAL)) <= 0.05
        for history in (build_history(record_of(at_random(120, seed=seed))) for seed in range(60))
    )

    assert low <= 3


def test_what_the_place_explains_is_not_the_nodes():
    chance = np.random.default_rng(0)
    inside = [
        (f"n{chance.integers(30):03d}", day, day + 0.1, "gpu")
        for day in chance.uniform(0, 199, 120).tolist()
    ]
    rows = [*at_random(60), *inside]
    beside = np.where(np.arange(100) < 30, 7.0, 1.0)

    plain, placed = last(rows), last(rows, beside=beside)

    assert plain.chance < 0.05 < placed.chance
    assert plain.times[:30].mean() > 1.5
    assert placed.times[:30].mean() == pytest.approx(1.0, abs=0.3)
    assert placed.faults[:30].mean() > 3 * placed.faults[30:].mean()


def test_a_node_that_is_set_aside_teaches_nothing():
    ordinary = ALL.copy()
    ordinary[:10] = False
    rows = at_random(200, days=400)

    with_them = last([*rows, *steady(400)], days=400.0, ordinary=ordinary)

    kept = [row for row in rows if int(row[0][1:]) >= 10]
    without = last([*kept, *steady(400, num=1)], days=400.0, ordinary=ordinary)
    assert with_them.fading == without.fading
    assert with_them.faults[10:] == pytest.approx(without.faults[10:])


def test_the_likelihood_is_that_of_one_node_after_another():
    history = build_history(record_of(in_bursts(60)))
    known, failed = cut_history(history, 150.0), count_later_faults(history, 150.0, 14.0)
    beside = np.where(np.arange(100) < 40, 2.0, 1.0)

    found = compute_likelihoods(known, failed, ALL, beside)

    for row in (0, 100, len(FADINGS) - 1):
        counts = FADINGS[row].weigh(lambda half_life: sum_decayed_faults(known, half_life))
        usual = beside * counts.sum() / beside.sum()
        rates = beside * (FADINGS[row].shape + counts) / (FADINGS[row].shape + usual)
        each = np.log(rates / rates.sum()) - np.log(beside / beside.sum())
        assert found[row] == pytest.approx(float(each[failed > 0].sum()))


def test_the_interval_holds_the_mean_and_narrows_with_faults():
    low, high = compute_gamma_interval(np.array([1.0, 1.0]), np.array([1.0, 25.0]))

    assert (low < 1).all()
    assert (high > 1).all()
    assert high[1] - low[1] < (high[0] - low[0]) / 3
