"""The counts that the calls of a record are held against."""

import pytest

from benchmarks.walk_forward import COUNTS, count_scores
from tests.fleet.standings.outages import record_of
from triage.fleet.standings.strikes import build_history


def test_counts_look_back_as_far_as_they_say():
    history = build_history(record_of([("n001", 50.0, 50.1, "gpu"), ("n001", 190.0, 190.1, "gpu")]))

    scores = dict(zip(COUNTS, count_scores(history, 200.0), strict=True))

    assert scores["count of 56 days"][1] == pytest.approx(1)
    assert scores["count of all"][1] == pytest.approx(2)
    assert scores["decayed count, half-life 14 days"][1] == pytest.approx(
        0.5 ** (10 / 14), abs=0.01
    )
