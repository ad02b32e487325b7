"""Cause mix: rows by count, differences found and not invented."""

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

    assert found.count == 419
    assert not any(row.differs for row in found.rows)


def test_a_fleet_with_bad_cables_stands_out_in_that_row_alone() -> None:
    found = compare_cause_mix({**LLAMA3_COUNTS, "Network Switch/Cable": 120})

    assert [row.row for row in found.rows if row.differs] == ["Network Switch/Cable"]


def test_fleets_like_llama3_are_seldom_called_different() -> None:
    found = [compare_cause_mix(drawn(seed, 400)) for seed in range(150)]

    # Both are samples, and theirs is at its mean here: half the spread that the test expects.
    assert np.mean([any(row.differs for row in one.rows) for one in found]) < 0.03


@pytest.mark.parametrize("counts", [{}, {"NIC": 1}], ids=["0", "1"])
def test_few_are_shown_and_differ_in_nothing(counts: dict[str, int]) -> None:
    found = compare_cause_mix(counts)

    assert found.count == sum(counts.values())
    assert len(found.rows) == 18
    assert {row.differs for row in found.rows} == ({False} if counts else {None})


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
