"""The laws of nodes away by each method, and what is read from a law."""

import numpy as np
import pytest

from tests.support.planted_outages import planted_outages
from triage.statistics.away.methods import METHODS, Law, compute_later_variance, fit_laws
from triage.statistics.away.steps import cut_outages


def test_a_law_tells_the_spares_that_suffice_and_what_is_short() -> None:
    law = Law(np.array([0.5, 0.3, 0.15, 0.05]))

    assert [law.quantile(one) for one in (0.5, 0.8, 0.9, 0.95, 0.99)] == [0, 1, 2, 2, 3]
    assert [law.short(spares) for spares in range(5)] == pytest.approx([0.75, 0.25, 0.05, 0, 0])
    assert [law.lacking(spares) for spares in (0, 2, 9)] == pytest.approx([0.5, 0.05, 0.0])


def test_the_larger_of_two_laws_is_above_both() -> None:
    one, other = Law(np.array([0.9, 0.1])), Law(np.array([0.95, 0.0, 0.05]))

    assert Law.larger(one, other).above == pytest.approx([0.1, 0.05, 0.0])


def test_poisson_is_palms_quantile() -> None:
    from scipy.stats import poisson  # half a second, in each worker that finds the tests

    outages = planted_outages("alone", 1)

    assert fit_laws(outages)["poisson"].quantile(0.99) == poisson.ppf(0.99, outages.mean)


def test_a_record_needs_what_it_needed() -> None:
    outages = planted_outages("all_of_it", 1)
    needed = fit_laws(outages)["record"].quantile(0.99)

    assert needed == outages.quantile(0.99)
    assert outages.covered(needed) >= 0.99 > outages.covered(needed - 1)


@pytest.mark.parametrize("kind", ["bursts", "batches", "drifting", "all_of_it"])
def test_what_is_clustered_needs_more_than_poisson(kind: str) -> None:
    wanted = [
        [law.quantile(0.99) for law in fit_laws(planted_outages(kind, seed)).values()]
        for seed in range(8)
    ]
    means = dict(zip(METHODS, np.mean(wanted, axis=0), strict=True))

    assert means["poisson"] < min(means[one] for one in ("over_dispersed", "clusters"))
    assert means["record"] <= means["clusters"] <= means["drifting"]


def test_nodes_that_leave_alone_need_little_more_than_poisson() -> None:
    for seed in range(5):
        laws = fit_laws(planted_outages("alone", seed, num_nodes=2_000))
        assert laws["clusters"].quantile(0.99) <= 1.25 * laws["poisson"].quantile(0.99) + 1


def test_a_later_look_varies_more_than_the_record() -> None:
    outages = planted_outages("drifting", 2)

    assert compute_later_variance(outages) > outages.variance


def test_without_outages_no_spare_is_needed_by_any() -> None:
    laws = fit_laws(cut_outages(np.empty(0), np.empty(0), 30.0))

    assert {law.quantile(0.999) for law in laws.values()} == {0}
