"""Whether a signature takes time linear in a line that tempts it to come back again and again."""

import time
from collections.abc import Callable
from itertools import pairwise

from triage.parsers.logs.catalogue import MATCHED_CHARACTERS
from triage.signatures.checks import split
from triage.signatures.signature import Signature

# A pattern sees no more of a line than the last of these, in characters.
SIZES = (MATCHED_CHARACTERS // 4, MATCHED_CHARACTERS // 2, MATCHED_CHARACTERS)
# Twice the line may take this many times as long: 2 is linear, 4 is quadratic.
GROWTH = 2.5
BELOW_NOTICE_S = 0.0005
ATTEMPTS = 10


def hostile(one: Signature) -> list[Callable[[int], str]]:
    """Makers of lines of a given length that tempt a pattern to come back again and again."""

    def of(unit: str, head: str = "") -> Callable[[int], str]:
        return lambda size: (head + unit * (size // len(unit) + 1))[:size]

    units = ["  ", "1:0", "[(", "abcdefg", *(f"{literal} " for literal in one.literals[:4])]
    hit = split(one.matches[0])[0]
    makers = [of(unit) for unit in (*units, f"{hit} ")]
    return makers + [of(tail, hit) for tail in (" ", "0", "x, ")]


def attempt(one: Signature) -> Callable[[str], object]:
    """What a scan does with a line that holds a literal of ``one``."""

    def search(line: str) -> object:
        found = one.pattern.search(line)
        return one.read(found, ()) if found is not None and one.read is not None else found

    return search


def cpu_seconds(search: Callable[[str], object], line: str) -> float:
    """CPU time of one search."""
    begun = time.process_time()
    search(line)
    return time.process_time() - begun


def grows_linearly(took: list[float]) -> bool:
    """Whether no time is much more than twice the one before it."""
    return all(late < BELOW_NOTICE_S or late <= GROWTH * early for early, late in pairwise(took))


def is_linear(search: Callable[[str], object], lines: list[str]) -> bool:
    """Whether the time grows with the length of ``lines``; a busy machine is asked again.

    The longest line takes most of the time: it is searched once, and again if that was slow.
    """
    *shorter, longest = lines
    last = cpu_seconds(search, longest)
    if last < BELOW_NOTICE_S:
        return True
    for _ in range(ATTEMPTS):
        took = [min(cpu_seconds(search, line) for _ in range(3)) for line in shorter]
        if grows_linearly([*took, last]):
            return True
        last = min(cpu_seconds(search, longest) for _ in range(3))
        if grows_linearly([*took, last]):
            return True
    return False
