"""What the reader sees of a line: words and concepts, whatever stands around them."""

import numpy as np
import pytest

from triage.reader.features import (
    MOST_CHARACTERS,
    MOST_CONCEPTS,
    NUM_FEATURES,
    NUM_HASHED,
    _load_concepts,
    hash_lines,
    normalize_line,
)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("NVRM: GPU at 0000:1b:00.0 is lost", "nvrm gpu at 0 9 0 0 is lost"),
        ("errors: 0, retries=17", "errors 0 retries=9"),
        ("status 0x00000000 then 0xDEAD", "status 0 then 9"),
        ("  tabs\tand (marks)!  ", "tabs and marks"),
        ("", ""),
        ("\u4e2d\u6587 only", "only"),
    ],
)
def test_numbers_and_marks_are_looked_away_from_and_nought_is_kept(line: str, seen: str) -> None:
    assert normalize_line(line) == seen


def test_a_long_line_costs_no_more_than_its_first_words() -> None:
    assert len(normalize_line("word " * 400_000)) <= MOST_CHARACTERS


def test_the_pieces_of_a_line_do_not_depend_on_the_lines_beside_it() -> None:
    lines = [normalize_line(f"{word} fan tray failed on node") for word in ("", "psu", "x" * 90)]
    owner, place = hash_lines(lines)
    for number, line in enumerate(lines):
        assert np.array_equal(hash_lines([line])[1], place[owner == number])


def test_no_lines_have_no_pieces() -> None:
    assert [len(part) for part in hash_lines([])] == [0, 0]
    assert len(hash_lines([""])[1]) == 0


def test_two_wordings_share_the_concepts_of_their_words() -> None:
    _, one = hash_lines([normalize_line("accelerator vanished from the riser")])
    _, other = hash_lines([normalize_line("GPU disappeared, retimer gone")])
    shared = np.intersect1d(one, other)
    assert (shared >= NUM_HASHED).sum() >= 6  # three concepts, and each two of them
    assert shared.max() < NUM_FEATURES


def test_there_is_room_for_every_concept() -> None:
    words, phrases = _load_concepts()
    numbers = [number for found in (*words.values(), *phrases.values()) for number in found]
    assert max(numbers) < MOST_CONCEPTS
    assert all(normalize_line(phrase) == phrase for phrase in phrases)
