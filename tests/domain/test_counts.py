"""Counts: one thing, many things."""

import pytest

from triage.domain.counts import count


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 ranks"), (1, "1 rank"), (2, "2 ranks"), (16_384, "16,384 ranks")]
)
def test_words_a_number_and_its_noun(number, text):
    assert count(number, "rank") == text
