"""The law of clusters: Palm's where nodes leave alone, wider where they leave together."""

import numpy as np
import pytest

from tests.support.planted_outages import KINDS, planted_outages
from triage.statistics.away.methods import cluster_ids, compute_clustered_law
from triage.statistics.away.steps import Away, cut_outages


def law_mean(law: np.ndarray) -> float:
    return float(law @ np.arange(len(law)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_of_the_law_is_that_of_the_record(kind: str) -> None:
    outages = planted_outages(kind, 2)

    assert law_mean(compute_clustered_law(outages)) == pytest.approx(outages.mean, rel=1e-6)


def test_many_short_outages_of_nodes_alone_are_poisson() -> None:
    from scipy.stats import poisson  # half a second, in each worker that finds the tests

    start = np.arange(0.5, 3_000.0)
    outages = cut_outages(start, start + 3.0, 3_000.0)
    law = compute_clustered_law(outages)

    numbers = np.arange(len(law))
    assert law == pytest.approx(poisson.pmf(numbers, outages.mean), abs=2e-3)


def test_nodes_that_leave_together_stay_together() -> None:
    start = np.repeat(np.arange(0.5, 600.0, 6.0), 6)
    together = compute_clustered_law(cut_outages(start, start + 1.0, 600.0))

    assert together[[1, 2, 3, 4, 5]] == pytest.approx(0, abs=1e-12)
    assert together[6] > 10 * together[12] > 0


def test_one_cluster_is_geometric_as_little_as_is_known_of_its_rate() -> None:
    law = compute_clustered_law(cut_outages(np.array([10.0]), np.array([20.0]), 100.0))

    assert law[:3] == pytest.approx([1 / 1.1, 0.1 / 1.1**2, 0.01 / 1.1**3])


def test_a_day_joins_few_outages_of_a_large_fleet() -> None:
    small, large = (planted_outages("alone", 3, num_nodes=n) for n in (50, 5_000))

    assert cluster_ids(small)[-1] + 1 > 0.8 * len(small)
    assert cluster_ids(large)[-1] + 1 > 0.75 * len(large)


def test_many_clusters_share_a_pattern_and_the_law_hardly_moves() -> None:
    outages = planted_outages("batches", 4, num_nodes=4_000)
    half = Away(outages.start[::2], outages.end[::2], outages.days)

    for one in (outages, half):
        law = compute_clustered_law(one)
        assert law_mean(law) == pytest.approx(one.mean, rel=1e-6)
        assert law.sum() == pytest.approx(1.0)


def test_nothing_away_is_certain_without_outages() -> None:
    assert compute_clustered_law(cut_outages(np.empty(0), np.empty(0), 9.0)).tolist() == [1.0]
    assert compute_clustered_law(cut_outages(np.array([2.0]), np.array([2.0]), 9.0)).tolist() == [
        1.0
    ]
