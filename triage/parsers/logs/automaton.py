"""All literals at once: an Aho-Corasick automaton over classes of bytes, without case.

A state is a row of ``delta``; states that end a literal lie behind all others,
so one comparison tells a hit. Control characters and terminal sequences are
looked through: they lie between the letters of coloured words.
"""

from collections import deque
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
    children: list[dict[int, int]] = [{}]
    ends: list[list[int]] = [[]]
    for index, text in enumerate(literals):
        state = 0
        for byte in text.encode("ascii"):
            kind = int(classes[byte])
            if kind not in children[state]:
                children[state][kind] = len(children)
                children.append({})
                ends.append([])
            state = children[state][kind]
        if state:
            ends[state].append(index)
    order, moves = _order_states(children, ends, width)
    # States without a literal first, then those with one; the root stays 0.
    ranked = sorted(order, key=lambda state: (bool(ends[state]), state))
    place = np.empty(len(children), np.int32)
    place[ranked] = np.arange(len(ranked), dtype=np.int32)
    delta = np.zeros((len(children), 1 << shift), np.int32)
    delta[place, :width] = place[moves] << shift
    flags = np.zeros(len(children), np.uint8)
    first = len(children)
    for state in ranked:
        if ends[state]:
            first = min(first, int(place[state]))
            for index in ends[state]:
                flags[place[state]] |= sorts.get(literals[index], HIT_ONE)
    listed = tuple(tuple(sorted(ends[state])) for state in ranked)
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


def _order_states(
    children: list[dict[int, int]], ends: list[list[int]], width: int
) -> tuple[list[int], np.ndarray]:
    """States by depth, and every state's moves; ``ends`` gains what its suffixes end."""
    moves = np.zeros((len(children), width), np.int32)
    fallback = np.zeros(len(children), np.int32)
    order = [0]
    ahead: deque[int] = deque()
    for kind, child in children[0].items():
        moves[0, kind] = child
        ahead.append(child)
    while ahead:
        state = ahead.popleft()
        order.append(state)
        back = int(fallback[state])
        ends[state] += ends[back]
        moves[state] = moves[back]
        for kind, child in children[state].items():
            fallback[child] = moves[back, kind]
            moves[state, kind] = child
            ahead.append(child)
    return order, moves
