"""Two kinds of nodes: lemons stand out, and healthy ones do not, however they differ."""

import math

import numpy as np
import pytest
from scipy.stats import gamma

from triage.fleet.standings import node_kinds
from triage.fleet.standings.node_kinds import healthy_among, split_kinds
from triage.fleet.standings.own_rates import groups_of

DAYS = 56.0
RATE = 0.0025  # of healthy nodes, as in a fleet like that of the Llama 3 run
LEMONS = 26


def struck(counts, share=1.0):
    """Strikes of ``share`` each: as often as ``counts`` says of each node."""
    node = np.repeat(np.arange(len(counts)), counts)
    return node, np.full(len(node), share)


def told(node, share, nodes, exposure=DAYS, generation=None):
    days = np.full(nodes, exposure) if np.isscalar(exposure) else exposure
    return split_kinds(node, share, days, groups_of(generation or [None] * nodes))


def drawn(seed, *, nodes=2048, times=1.0, lemons=0, shape=None, rate=RATE):
    """Counts of a fleet whose first ``lemons`` nodes fail ``times`` as often as the others."""
    chance = np.random.default_rng([seed, nodes])
    each = np.ones(nodes) if shape is None else chance.gamma(shape, 1 / shape, nodes)
    each[:lemons] = times
    return chance.poisson(each * rate * DAYS)


def found_in(counts):
    return np.flatnonzero(told(*struck(counts), len(counts)).q <= 0.05)


def test_the_sums_are_those_of_the_mixture_written_out():
    node = np.array([0, 0, 0, 1, 2, 0])
    share = np.array([1.0, 1.0, 0.5, 1.0, 0.25, 1.0])
    expected = np.array([0.3, 0.2, 0.4, 0.1, 0.3])
    times = node_kinds.TIMES
    edges = [0.0, *np.sqrt(times[1:] * times[:-1]), math.inf]
    like = np.ones((5, len(times)))
    for one in range(5):
        like[one] = np.exp(-(times - 1) * expected[one])
        for each in share[node == one]:
            like[one] *= 1 + (times - 1) * each

    bad, total = np.zeros(5), 0.0
    for shape, likely in node_kinds.SHAPES:
        for usual in node_kinds.USUAL:
            if math.isinf(shape):
                good = like[:, np.argmin(np.abs(np.log(times / usual)))]
            else:
                good = like @ np.diff(gamma.cdf(edges, shape, scale=usual / shape))
            total += node_kinds.WITHOUT * likely * good.prod()
            for lemons in node_kinds.LEMONS:
                low, high = usual * lemons / 2, usual * lemons * 2
                inside = np.diff(np.log(np.clip(np.maximum(edges, 1e-9), low, high)))
                worse = like @ (inside / np.log(4))
                for part in node_kinds.PARTS:
                    both = (1 - part) * good + part * worse
                    weight = (1 - node_kinds.WITHOUT) * likely * both.prod()
                    weight /= len(node_kinds.PARTS) * len(node_kinds.LEMONS)
                    total += weight
                    bad += weight * part * worse / both

    # Nodes without a strike are healthy for sure: nobody asks how sure.
    assert healthy_among(node, share, expected)[:3] == pytest.approx(
        1 - bad[:3] / total, abs=1e-5
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times", "least"),
    [(20, 0.25), (30, 0.5), (50, 0.78), (100, 0.95)],
    ids=["20", "30", "50", "100"],
)
def test_most_lemons_are_found_and_nearly_all_found_are_lemons(times, least):
    right = wrong = 0
    part = []
    for seed in range(12):
        found = found_in(drawn(seed, times=times, lemons=LEMONS))
        right += int((found < LEMONS).sum())
        wrong += int((found >= LEMONS).sum())
        part.append((found >= LEMONS).sum() / max(len(found), 1))

    assert right >= least * 12 * LEMONS
    assert np.mean(part) <= 0.06


@pytest.mark.parametrize("shape", [None, 5.0, 3.0, 2.0], ids=["alike", "5", "3", "2"])
@pytest.mark.parametrize("rate", [RATE, 8 * RATE], ids=["llama", "worse"])
def test_healthy_nodes_that_differ_are_no_lemons(shape, rate):
    wrong = [
        len(found_in(drawn(seed, nodes=1024, shape=shape, rate=rate))) > 0 for seed in range(12)
    ]

    assert sum(wrong) <= 1


def test_lemons_do_not_raise_the_rate_that_they_are_held_against():
    counts = drawn(3, times=100, lemons=LEMONS)

    kinds = told(*struck(counts), len(counts))

    assert counts.sum() / (2048 * DAYS) > 1.9 * RATE
    assert kinds.fleet_rate == pytest.approx(RATE, rel=0.15)
    assert kinds.expected == pytest.approx(np.full(2048, kinds.fleet_rate * DAYS))


def test_ties_count_for_more_than_nothing_and_less_than_blame():
    def sure(*shares):
        background = np.arange(100, 350)
        node = np.concatenate([np.zeros(len(shares), int), background])
        share = np.concatenate([shares, np.ones(250)])
        return told(node, share, 2048).q[0]

    assert sure(1, 1, 1, 1, 1) < sure(1, 1, 1, 1, 0.5) < sure(1, 1, 1, 1)
    assert sure(1, 1, 1, 1, 0.5) < sure(1, 1, 1, 0.5, 0.5)


def test_small_shares_say_nothing():
    background = np.arange(100, 350)
    node = np.concatenate([np.zeros(40, int), background])
    share = np.concatenate([np.full(40, 0.1), np.ones(250)])

    assert told(node, share, 2048).q[0] > 0.5


def test_neither_the_order_of_strikes_nor_that_of_nodes_matters():
    node, share = struck(drawn(5, times=50, lemons=LEMONS))
    order = np.random.default_rng(1).permutation(len(node))

    one = told(node, share, 2048)
    other = told(node[order], share[order], 2048)
    turned = told(2047 - node, share, 2048)

    assert other.q == pytest.approx(one.q, rel=1e-9)
    assert turned.q[::-1] == pytest.approx(one.q, rel=1e-9)


def test_nodes_alike_in_all_stand_alike():
    counts = np.zeros(500, int)
    counts[:40], counts[40:44] = 1, 5

    q = told(*struck(counts), 500).q

    assert len(set(q[40:44].tolist())) == len(set(q[:40].tolist())) == 1


@pytest.mark.parametrize("times", [1, 1000])
def test_units_of_exposure_do_not_matter(times):
    counts = drawn(7, times=50, lemons=LEMONS)

    kinds = told(*struck(counts), 2048, exposure=DAYS * times)

    assert np.flatnonzero(kinds.q <= 0.05).tolist() == found_in(counts).tolist()


def test_without_exposure_nobody_stands_out():
    node, share = struck([9, 0, 1])

    kinds = told(node, share, 3, exposure=np.array([0.0, 50.0, 50.0]))

    assert (kinds.p[0], kinds.q[0]) == (1.0, 1.0)
    assert told(*struck([0, 0]), 2, exposure=0.0).q.tolist() == [1.0, 1.0]
    assert told(*struck([]), 0).q.tolist() == []


def test_one_event_in_a_fleet_that_never_had_any_is_no_lemon():
    assert told(*struck([0, 1, *[0] * 98]), 100).q.min() > 0.5


def worse_generation(seed):
    """Counts of 1,024 nodes, a quarter of which fail three times as often; who is which."""
    chance = np.random.default_rng(seed)
    times = np.where(np.arange(1024) < 256, 3.0, 1.0)
    return chance.poisson(times * 0.2), ["new" if one > 1 else "old" for one in times]


def test_a_generation_that_fails_more_is_held_against_itself():
    for seed in range(20):
        counts, generation = worse_generation(seed)
        kinds = told(*struck(counts), 1024, generation=generation)

        assert kinds.rate[0] > 2 * kinds.rate[-1]
        assert not (kinds.q <= 0.05).any()


def test_a_lemon_in_such_a_generation_is_still_one():
    counts, generation = worse_generation(4)
    counts[7] = 12

    kinds = told(*struck(counts), 1024, generation=generation)

    assert np.flatnonzero(kinds.q <= 0.05).tolist() == [7]


def test_what_is_much_in_one_generation_is_usual_in_another():
    counts, generation = worse_generation(4)
    counts[7] = counts[700] = 5

    q = told(*struck(counts), 1024, generation=generation).q

    assert q[700] < 0.25 * q[7]
