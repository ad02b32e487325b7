"""All literals at once: an Aho-Corasick automaton over classes of bytes, without case.

A state is a row of ``delta``; states that end a literal lie behind all others,
so one comparison tells a hit. Control characters and terminal sequences are
looked through: they lie between the letters of coloured words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.parsers.logs.grams import Grams, build_grams

SKIP: Final = 254
"""A byte that changes nothing."""
BREAK: Final = 255
"""A byte that ends a line, or starts a terminal sequence."""

HIT_ONE: Final = 1
HIT_EACH: Final = 2
HIT_QUIET: Final = 4
"""What a job says of itself all the time: joined by its words alone."""
HIT_STEP: Final = 8
"""What may tell the progress of a job: lines are sampled for their numbers."""

HIT_SAME: Final = 16
"""What only tells that its shape was there: joined by its words alone from the first line on."""
HIT_FLOOD: Final = 32
"""What may come by the thousand within the hour: then joined by what it is about."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """``delta[(state << shift) + class]`` is the next state, already shifted.

    States from ``first_hit`` on (shifted) end a literal; ``flags`` says of which
    sort, ``ends`` lists the indices of the literals that end in a state (unshifted).
    """

    classes: np.ndarray
    delta: np.ndarray
    flags: np.ndarray
    shift: int
    first_hit: int
    ends: tuple[tuple[int, ...], ...]
    grams: Grams


_NO_SORTS: Final[Mapping[str, int]] = {}


def build_automaton(
    literals: Sequence[str], sorts: Mapping[str, int] = _NO_SORTS, usual: str = ""
) -> Automaton:
    """The automaton of lower-case ASCII ``literals``, with the filter before it.

    ``sorts`` flags what is not HIT_ONE; ``usual`` is text as logs have it.
    """
    classes, width = _map_bytes_to_classes(literals)
    shift = max(1, (width - 1).bit_length())
    trie, ends = _build_trie(literals, classes)
    moves = _build_moves(trie, ends, width)
    # States without a literal first, then those with one; the root stays 0.
    hits = np.array([bool(one) for one in ends])
    ranked = np.argsort(hits, kind="stable")
    place = np.empty(len(ends), np.int32)
    place[ranked] = np.arange(len(ends), dtype=np.int32)
    delta = np.zeros((len(ends), 1 << shift), np.int32)
    delta[place, :width] = place[moves] << shift
    flags = np.zeros(len(ends), np.uint8)
    for state in np.flatnonzero(hits).tolist():
        for index in ends[state]:
            flags[place[state]] |= sorts.get(literals[index], HIT_ONE)
    first = len(ends) - int(hits.sum())
    listed = tuple(tuple(sorted(ends[state])) for state in ranked.tolist())
    grams = build_grams(literals, [sorts.get(text, HIT_ONE) for text in literals], usual)
    return Automaton(classes, delta.reshape(-1), flags, shift, first << shift, listed, grams)


def _map_bytes_to_classes(literals: Sequence[str]) -> tuple[np.ndarray, int]:
    """Byte -> class, and how many there are; bytes in no literal are class 0."""
    classes = np.zeros(256, np.uint8)
    known = sorted({byte for text in literals for byte in text.encode("ascii")})
    for kind, byte in enumerate(known, start=1):
        classes[byte] = kind
        classes[ord(chr(byte).upper())] = kind
    for byte in (*range(9), 11, 12, *range(14, 32), 127):
        classes[byte] = SKIP
    classes[[10, 13, 27]] = BREAK
    return classes, len(known) + 1


@dataclass(frozen=True, slots=True)
class _Trie:
    """For each state its parent, the class of bytes that leads to it from there, and its depth."""

    parents: list[int]
    kinds: list[int]
    depths: list[int]


def _build_trie(
    literals: Sequence[str], classes: np.ndarray
) -> tuple[_Trie, list[tuple[int, ...]]]:
    """The trie of the literals, and for each state the indices of the literals that end in it."""
    children: list[dict[int, int]] = [{}]
    trie = _Trie([0], [0], [0])
    ends: list[tuple[int, ...]] = [()]
    table = classes.tobytes()
    for index, text in enumerate(literals):
        state = 0
        for depth, kind in enumerate(text.encode("ascii").translate(table), start=1):
            child = children[state].get(kind)
            if child is None:
                child = children[state][kind] = len(children)
                children.append({})
                ends.append(())
                trie.parents.append(state)
                trie.kinds.append(kind)
                trie.depths.append(depth)
            state = child
        if state:
            ends[state] += (index,)
    return trie, ends


def _build_moves(trie: _Trie, ends: list[tuple[int, ...]], width: int) -> np.ndarray:
    """Every state's moves; ``ends`` gains what its suffixes end.

    All states of a depth at once: the moves of what they fall back to, which is less deep, are
    complete, and their own moves lead to the states of the next depth.
    """
    parents, kinds, depths = map(np.array, (trie.parents, trie.kinds, trie.depths))
    moves = np.zeros((len(ends), width), np.int32)
    fallback = np.zeros(len(ends), np.int32)
    for depth in range(int(depths.max()) + 1):
        states = np.flatnonzero(depths == depth)
        backs = fallback[states]
        moves[states] = moves[backs]
        for state, back in zip(states.tolist(), backs.tolist(), strict=True):
            if depth and ends[back]:
                ends[state] += ends[back]
        deeper = np.flatnonzero(depths == depth + 1)
        there = parents[deeper], kinds[deeper]
        fallback[deeper] = moves[there]
        moves[there] = deeper
    return moves
