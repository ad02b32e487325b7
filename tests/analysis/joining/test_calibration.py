"""What is printed as confidence: fitted last, in order, and never more than acts may rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fit_calibration import Outcome, fit_table
from tests.support.weighing import answer, row
from triage.analysis.joining.calibration import Sort, calibrate, classify_answer

SORTS = st.sampled_from(list(Sort))
BELIEFS = st.floats(0.0, 1.0)


@given(SORTS, BELIEFS, BELIEFS)
def test_what_is_believed_more_is_printed_as_no_less(sort: Sort, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert 0.0 <= calibrate(less, sort) <= calibrate(more, sort) <= 1.0


@given(SORTS, BELIEFS)
def test_no_number_invites_an_act_that_belief_does_not_allow(sort: Sort, believed: float) -> None:
    printed = calibrate(believed, sort)
    if sort is Sort.HEALTHY or believed >= 0.9:
        assert printed == believed
    else:
        assert printed <= (0.6 if believed <= 0.6 else 0.89)


@pytest.mark.parametrize(
    ("rows", "sort"),
    [
        ((row(),), Sort.CONVICTED),
        ((row(weak=True),), Sort.OPEN),
        ((row(at_s=-9 * 86400.0),), Sort.UNKNOWN),
    ],
    ids=["a firm line", "a line that needs another source", "a line of another day"],
)
def test_answers_are_of_a_sort(rows: tuple[object, ...], sort: Sort) -> None:
    decision = answer(*rows)
    assert classify_answer(decision.verdict, decision.suspects) is sort


def test_a_fit_learns_how_often_answers_are_right() -> None:
    outcomes = [Outcome(Sort.OPEN, 0.45, k % 5 > 0) for k in range(200)]
    table = fit_table(outcomes)
    assert table[Sort.OPEN][5] == pytest.approx(0.8, abs=0.05)
    assert Sort.CONVICTED not in table
