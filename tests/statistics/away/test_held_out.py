"""Methods judged on stretches that they did not see."""

import numpy as np
import pytest

from tests.support.planted_outages import planted_outages
from triage.statistics.away import forecast
from triage.statistics.away.forecast import compute_pinball_loss, evaluate_held_out
from triage.statistics.away.methods import METHODS
from triage.statistics.away.steps import cut_outages


def test_every_method_is_judged_on_every_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []

    def judge(*one: object) -> float:
        judged.append(one)
        return 1.0

    monkeypatch.setattr(forecast, "compute_pinball_loss", judge)
    found = evaluate_held_out(planted_outages("all_of_it", 1), 0.99)

    assert list(found) == list(METHODS)
    assert len(judged) == 4 * len(METHODS)


def test_poisson_foretells_batches_worse_than_clusters_do() -> None:
    rows = [evaluate_held_out(planted_outages("batches", seed), 0.99) for seed in range(6)]
    lost = {name: sum(row[name][1] for row in rows) for name in ("poisson", "clusters")}

    assert lost["poisson"] > 1.5 * lost["clusters"]


def test_a_node_short_costs_what_99_idle_spares_do() -> None:
    one = cut_outages(np.array([0.0]), np.array([10.0]), 10.0)

    assert compute_pinball_loss(one, 0, 0.99) == pytest.approx(0.99)
    assert compute_pinball_loss(one, 1, 0.99) == pytest.approx(0.0)
    assert compute_pinball_loss(one, 100, 0.99) == pytest.approx(0.99)


def test_a_record_of_few_outages_holds_nothing_out() -> None:
    start = np.array([1.0, 30.0, 60.0])

    assert evaluate_held_out(cut_outages(start, start + 1, 90.0), 0.99) == {}
