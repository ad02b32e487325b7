"""The curve after a return: it goes through both chances, and falls."""

import numpy as np
import pytest

from triage.fleet.repairs.features import USUAL, Curves, own_curve


def curves(week=0.42, month=0.55, after=0.004):
    return Curves.through(np.array([week]), np.array([month]), after)


def test_the_usual_curve_is_the_published_one():
    usual = Curves.through(np.array([0.33]), np.array([0.45]), 0.004)
    scaled = np.array(USUAL) @ np.array([0.05, 0.2, 0.75, 2, 4, 0, 0])

    assert 1 - np.exp(-scaled) == pytest.approx(0.33, abs=0.005)
    assert usual.chance(np.array([[0.0]]), 30)[0, 0] == pytest.approx(0.45)


def test_it_goes_through_both_chances():
    got = curves()

    assert got.chance(np.array([[0.0]]), 7)[0, 0] == pytest.approx(0.42)
    assert got.chance(np.array([[0.0]]), 30)[0, 0] == pytest.approx(0.55)


def test_the_longer_it_runs_the_less_it_is_expected_to_fail():
    days = np.array([[0.0, 0.5, 2.0, 5.0, 10.0, 20.0, 40.0]])

    got = curves().chance(days, 7)[0]

    assert (np.diff(got) < 0).all()
    assert got[-1] == pytest.approx(1 - np.exp(-7 * 0.004))


@pytest.mark.parametrize(("week", "month"), [(1.0, 1.0), (0.5, 0.5), (0.0, 0.0), (0.9, 0.3)])
def test_odd_chances_give_a_curve_all_the_same(week, month):
    got = curves(week, month).chance(np.array([[0.0, 3.0, 29.0]]), 7)

    assert np.isfinite(got).all()
    assert ((got >= 0) & (got <= 1)).all()


def test_a_record_without_faults_keeps_the_usual_shape_and_one_with_many_its_own():
    nothing = own_curve(np.zeros(0), np.zeros(0))
    late = own_curve(np.full(4000, 20.0), np.full(4000, 40.0))

    assert nothing == pytest.approx(USUAL)
    assert late[-1] > late[0]
