"""What the reader sees of a line: which pieces of it there are, as numbers of a fixed range.

A line is taken in lower case with its numbers masked. Its pieces are all runs of three to five
characters, its words, its pairs of words, the concepts of its words (``concepts.toml``) and each
two concepts together; the runs and words are hashed into one of
:data:`NUM_HASHED` places (the hashing trick: Weinberger et al., 2009), so there is no vocabulary
to ship. Many lines
are hashed at once: the hash of a piece is the difference of two prefix sums of a polynomial in
arithmetic modulo 2^64.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from triage.domain.arrays import I64
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml

NUM_HASHED: Final = 1 << 16
MOST_CONCEPTS: Final = 32
NUM_FEATURES: Final = NUM_HASHED + MOST_CONCEPTS * MOST_CONCEPTS
# What stands behind this much of a line is seldom what it is about.
MOST_CHARACTERS: Final = 280
_SHORTEST, _LONGEST = 3, 5
_NUMBERS: Final = compile_re(
    r"0x[0-9a-f]+|(?<![a-z0-9])[0-9a-f]{0,32}[0-9][0-9a-f]{0,32}(?![a-z0-9])|[0-9]+"
)
_OTHER: Final = compile_re(r"[^a-z0-9%+*/<>=_#-]+")
_WORDS: Final = compile_re(r"[a-z0-9_./]+")
_SPACE: Final = 32
_BASE: Final = np.uint64(0x9E3779B97F4A7C15 | 1)
_SPREAD: Final = np.uint64(0xC2B2AE3D27D4EB4F)


def normalize_line(text: str) -> str:
    """The words of a line in lower case, with one space between, ``0`` for nought and ``9`` for
    any other number.
    """
    text = _NUMBERS.sub(
        lambda found: "9" if found[0].strip("0x") else "0", text[: 2 * MOST_CHARACTERS].lower()
    )
    return _OTHER.sub(" ", text)[:MOST_CHARACTERS].strip()


def hash_lines(lines: Sequence[str]) -> tuple[I64, I64]:
    """The pieces of normalized ``lines``: the number of the line and the place of the piece.

    Both arrays have a row for each different piece of each line, in the order of lines.
    """
    joined = b"".join(b" " + line.encode("ascii", "replace") + b" " for line in lines)
    ends = np.cumsum([len(line) + 2 for line in lines], dtype=np.int64)
    data = np.frombuffer(joined, np.uint8)
    if not len(data):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    owner = np.repeat(np.arange(len(lines)), np.diff(ends, prepend=0))
    sums, inverse = _sum_prefixes(data)
    starts, stops, kinds = _find_pieces(data, owner)
    hashed = (sums[stops] - sums[starts]) * inverse[starts]
    hashed = (hashed + kinds.astype(np.uint64)) * _SPREAD
    place = (hashed >> np.uint64(64 - 16)).astype(np.int64)
    both = np.concatenate([owner[starts] * NUM_FEATURES + place, _place_concepts(lines)])
    both = np.unique(both)
    return both // NUM_FEATURES, both % NUM_FEATURES


@lru_cache(1)
def _load_concepts() -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Word -> the numbers of its concepts, and the same of phrases."""
    table = read_toml("triage.reader", "concepts")
    words: dict[str, list[int]] = defaultdict(list)
    phrases: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(table.values()):
        for word in entry["words"].split():
            words[word].append(number)
        for phrase in entry["phrases"]:
            phrases[phrase].append(number)
    return dict(words), dict(phrases)


def find_concepts(line: str) -> list[int]:
    """What the words of a normalized line mean: the numbers of concepts, each once, ascending."""
    words, phrases = _load_concepts()
    found: set[int] = set()
    for word in _WORDS.findall(line):
        found.update(words.get(word, ()))
        if word.endswith("s"):
            found.update(words.get(word[:-1], ()))
    for phrase, concepts in phrases.items():
        if phrase in line:
            found.update(concepts)
    return sorted(found)


def _place_concepts(lines: Sequence[str]) -> I64:
    """The concepts of each line, and each two of them, as ``line * NUM_FEATURES + place``."""
    rows: list[int] = []
    for number, line in enumerate(lines):
        concepts = find_concepts(line)
        base = number * NUM_FEATURES + NUM_HASHED
        rows += (base + one * MOST_CONCEPTS + one for one in concepts)
        rows += (base + one * MOST_CONCEPTS + other for one, other in combinations(concepts, 2))
    return np.array(rows, np.int64)


def _sum_prefixes(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of ``byte * base**position`` before each position, and ``base**-position``."""
    count = len(data) + 1
    inverse_of_base = np.uint64(pow(int(_BASE), -1, 1 << 64))
    powers = np.cumprod(np.full(count - 1, _BASE, np.uint64), dtype=np.uint64)
    inverse = np.ones(count, np.uint64)
    inverse[1:] = np.cumprod(np.full(count - 1, inverse_of_base, np.uint64), dtype=np.uint64)
    sums = np.zeros(count, np.uint64)
    # The power of a byte is its position plus one: no byte is lost at position nought.
    np.cumsum(data.astype(np.uint64) * powers, out=sums[1:], dtype=np.uint64)
    return sums, inverse


def _find_pieces(data: np.ndarray, owner: I64) -> tuple[I64, I64, I64]:
    """Where each piece begins and ends, and of which kind it is."""
    pieces: list[tuple[I64, I64, int]] = []
    for length in range(_SHORTEST, _LONGEST + 1):
        starts = np.arange(max(0, len(data) - length + 1))
        stops = starts + length
        same = owner[starts] == owner[stops - 1]
        pieces.append((starts[same], stops[same], length))
    spaces = np.flatnonzero(data == _SPACE)
    for words in (1, 2):
        starts, stops = spaces[:-words] + 1, spaces[words:]
        held = (owner[spaces[:-words]] == owner[spaces[words:]]) & (stops > starts)
        pieces.append((starts[held], stops[held], 16 * words))
    kinds = [np.full(len(starts), kind, np.int64) for starts, _, kind in pieces]
    return (
        np.concatenate([starts for starts, _, _ in pieces]),
        np.concatenate([stops for _, stops, _ in pieces]),
        np.concatenate(kinds),
    )


def normalize_lines(lines: Iterable[str]) -> list[str]:
    """:func:`normalize_line` of each."""
    return [normalize_line(line) for line in lines]
