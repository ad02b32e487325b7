"""The signatures as the scan needs them: one automaton, and who is behind each of its literals."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, compiled
from triage.parsers.logs.automaton import (
    HIT_EACH,
    HIT_FLOOD,
    HIT_ONE,
    HIT_QUIET,
    HIT_SAME,
    HIT_STEP,
    SKIP,
    build_automaton,
)
from triage.parsers.logs.progress.words import LITERALS as PROGRESS_LITERALS
from triage.signatures.own.own_signatures import NO_OWN, OwnSignatures
from triage.signatures.registry import Match, find_first
from triage.signatures.signature import Scope, Signature

# A pattern sees this much of a line.
MATCHED_CHARACTERS: Final = 8192
# Lines whose message is hidden from the literals: journald prints a message with odd
# bytes as a list of numbers.
_HIDDEN: Final = ('"message":[', '"message" : [', '"message": [')
# More literals than this in one line decide nothing any more.
_MAX_STATES: Final = 256


class Catalogue:
    """Signatures in the order in which they are tried, behind one automaton.

    ``own`` is the label of the own signatures among them, empty for none.
    """

    def __init__(self, signatures: Sequence[Signature], own: str = "") -> None:
        self.signatures = tuple(signatures)
        self.own = own
        texts = [text for one in self.signatures for text in one.literals]
        self.literals = tuple(dict.fromkeys((*texts, *_HIDDEN, *PROGRESS_LITERALS)))
        sorts: dict[str, int] = dict.fromkeys(PROGRESS_LITERALS, HIT_STEP)
        for one in self.signatures:
            sort = _choose_sort(one)
            for text in one.literals:
                sorts[text] = sorts.get(text, 0) | sort
        usual = "\n".join(
            line for one in self.signatures for line in (*one.matches, *one.near_misses)
        )
        self.automaton = build_automaton(self.literals, sorts, usual)
        self.each = frozenset(one.id for one in self.signatures if one.each)
        self.sampled = frozenset(one.id for one in self.signatures if one.each and one.quiet)
        self.as_one = frozenset(one.id for one in self.signatures if one.as_one)
        self.kernel_only = frozenset(one.id for one in self.signatures if one.scope is Scope.KERNEL)
        self.context = max((one.context for one in self.signatures), default=0)
        behind: dict[str, list[int]] = {}
        for index, one in enumerate(self.signatures):
            for text in one.literals:
                behind.setdefault(text, []).append(index)
        self.behind = tuple(tuple(behind.get(text, ())) for text in self.literals)
        self.chosen = lru_cache(1 << 14)(self.choose)

    def choose(self, states: bytes) -> tuple[Signature, ...]:
        """The signatures whose literals end in ``states``, in their order."""
        ends = self.automaton.ends
        found = {
            index
            for state in np.frombuffer(states, np.int32).tolist()
            for literal in ends[state]
            for index in self.behind[literal]
        }
        return tuple(self.signatures[index] for index in sorted(found))

    def candidates(self, text: str) -> tuple[Signature, ...]:
        """The signatures one of whose literals is in ``text``, in their order."""
        data = np.frombuffer(bytearray(text.encode("utf-8", "replace")), np.uint8)
        states = np.empty(_MAX_STATES, np.int32)
        one = self.automaton
        count = _find_hit_states(
            data, len(data), one.classes, one.delta, one.shift, one.first_hit, states
        )
        return self.chosen(states[:count].tobytes()) if count else ()

    def match(self, text: str, after: Sequence[str]) -> Match | None:
        """The first signature that ``text`` with the lines ``after`` it matches."""
        text = text[:MATCHED_CHARACTERS]
        return find_first(self.candidates(text), text, after)


def _choose_sort(one: Signature) -> int:
    """How the scan tells the lines of a signature apart."""
    if one.each:
        return HIT_ONE | HIT_EACH
    if one.quiet:
        return HIT_SAME if one.as_one else HIT_QUIET
    return HIT_ONE | HIT_FLOOD if one.floods else HIT_ONE


@lru_cache(4)
def build_catalogue(own: OwnSignatures) -> Catalogue:
    """All that the registry knows, behind a team's own signatures."""
    return Catalogue(own.signatures(), own.label)


def get_standard() -> Catalogue:
    """All that the registry knows."""
    return build_catalogue(NO_OWN)


@compiled
def _find_hit_states(
    buf: Any,
    end: Word,
    classes: Any,
    delta: Any,
    shift: Word,
    first_hit: Word,
    out: Any,
) -> Word:
    """How many different states that end a literal ``buf`` passes; they are put into ``out``."""
    node: Word = 0
    count = 0
    for i in range(end):
        c = np.int64(classes[buf[i]])
        if c >= SKIP:
            continue
        node = np.int64(delta[node + c])
        if node >= first_hit and count < len(out):
            state = node >> shift
            known = False
            for k in range(count):
                known |= out[k] == state
            if not known:
                out[count] = state
                count += 1
    return count
