"""Counts: one thing, many things."""

import pytest

from triage.domain.counts import count, format_ordinal


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 ranks"), (1, "1 rank"), (2, "2 ranks"), (16_384, "16,384 ranks")]
)
def test_words_a_number_and_its_noun(number, text):
    assert count(number, "rank") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (112, "112th"), (1_023, "1,023rd")],
)  # fmt: skip
def test_words_a_place_in_a_row(number, text):
    assert format_ordinal(number) == text
