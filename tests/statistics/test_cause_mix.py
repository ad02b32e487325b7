"""Cause mix: rows by count, small ones pooled, differences found and not invented."""

import numpy as np
import pytest

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS
from triage.statistics.cause_mix import compare_cause_mix, count_by_row, estimate_share


def drawn(seed: int, total: int) -> dict[str, int]:
    shares = np.array(list(LLAMA3_COUNTS.values())) / 419
    counts = np.random.default_rng(seed).multinomial(total, shares)
    return dict(zip(LLAMA3_COUNTS, counts.tolist(), strict=True))


def test_the_same_table_is_no_different() -> None:
    found = compare_cause_mix(LLAMA3_COUNTS)

    assert (found.count, found.chi_square) == (419, 0.0)
    assert found.p_value == pytest.approx(1.0)
    assert not any(row.differs for row in found.rows)


def test_a_fleet_with_bad_cables_stands_out_in_that_row_alone() -> None:
    counts = {**LLAMA3_COUNTS, "Network Switch/Cable": 120}
    found = compare_cause_mix(counts)

    assert found.p_value < 1e-3
    assert [row.row for row in found.rows if row.differs] == ["Network Switch/Cable"]


def test_fleets_like_llama3_are_seldom_called_different() -> None:
    found = [compare_cause_mix(drawn(seed, 400)).p_value < 0.05 for seed in range(150)]

    # Both are samples, and theirs is at its mean here: half the spread that the test expects.
    assert np.mean(found) < 0.03


def test_small_rows_are_pooled_until_every_cell_expects_five() -> None:
    found = compare_cause_mix(drawn(1, 100))

    assert "CPU" in found.pooled
    assert "Faulty GPU" not in found.pooled
    together = sum(LLAMA3_COUNTS[row] + drawn(1, 100)[row] for row in found.pooled)
    assert together * 100 / 519 >= 5
    assert found.freedom == 18 - len(found.pooled)


@pytest.mark.parametrize("counts", [{}, {"NIC": 1}, {"NIC": 3, "CPU": 2}], ids=["0", "1", "5"])
def test_too_few_are_shown_and_not_tested(counts: dict[str, int]) -> None:
    found = compare_cause_mix(counts)

    assert (found.chi_square, found.freedom, found.p_value) == (None, None, None)
    assert found.count == sum(counts.values())
    assert "too few" in found.notes[0]
    assert len(found.rows) == 18


def test_every_leaf_counts_in_its_row_and_the_rest_apart() -> None:
    counts, without = count_by_row([*Category, None])

    assert without == 3  # None, none, straggler
    assert sum(counts.values()) == len(Category) - 2
    assert counts["Software Bug"] == sum(row == "Software Bug" for row in LLAMA3_ROW.values())


def test_the_order_of_causes_does_not_matter() -> None:
    causes = [Category.GPU, None, Category.NIC, Category.GPU]

    assert count_by_row(causes) == count_by_row(reversed(causes))


def test_shares_have_exact_intervals() -> None:
    assert estimate_share(0, 10).low == 0
    assert estimate_share(0, 10).high == pytest.approx(0.3085, abs=1e-4)  # Clopper and Pearson 1934
    assert estimate_share(10, 10).high == 1
    assert estimate_share(0, 0).value is None
