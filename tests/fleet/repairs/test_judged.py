"""What was said against what came."""

import numpy as np
import pytest

from triage.fleet.repairs.model import compute_auc, judge_chances, log_loss


def test_the_area_counts_pairs_and_half_of_ties():
    said = np.array([0.1, 0.4, 0.4, 0.9])
    failed = np.array([False, False, True, True])

    assert compute_auc(said, failed)[0] == pytest.approx(3.5 / 4)


def test_without_both_kinds_there_is_no_area():
    assert compute_auc(np.array([0.3, 0.5]), np.array([True, True])) == (None, None, None)


def test_nothing_said_is_nothing_judged():
    got = judge_chances(np.zeros(0), np.zeros(0, bool), 7.0)

    assert got.num_returns == 0
    assert got.auc is None
    assert got.deciles == ()


def test_deciles_are_fewer_where_returns_are_few():
    rng = np.random.default_rng(1)

    assert len(judge_chances(rng.random(35), rng.random(35) < 0.5, 7.0).deciles) == 3
    assert len(judge_chances(rng.random(500), rng.random(500) < 0.5, 7.0).deciles) == 10


def test_sure_and_wrong_costs_much_and_stays_finite():
    assert np.isfinite(log_loss(np.array([0.0, 1.0]), np.array([True, False])))
