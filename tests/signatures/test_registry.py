"""Every signature of every family keeps its own proof, and its pattern stays linear."""

import re
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from triage.signatures import registry
from triage.signatures.signature import Reading, Signature

ALL = registry.all_signatures()

KIB = 1024
SIZES = (8 * KIB, 16 * KIB, 32 * KIB)
# Twice the line may take this many times as long: 2 is linear, 4 is quadratic.
GROWTH = 2.5
BELOW_NOTICE_S = 0.001
ATTEMPTS = 10


def name(one: Signature) -> str:
    """The name of a case."""
    return one.id


def split(text: str) -> tuple[str, list[str]]:
    """The line of a proof, and the lines behind it."""
    first, *after = text.split("\n")
    return first, after


def alone(one: Signature, text: str) -> Reading | None:
    """What ``one`` reads in ``text`` where no other signature is asked."""
    line, after = split(text)
    lowered = line.lower()
    if not any(literal in lowered for literal in one.literals):
        return None
    found = one.pattern.search(line)
    if found is None:
        return None
    return Reading() if one.read is None else one.read(found, after)


def test_ids_are_unique() -> None:
    ids = [one.id for one in ALL]
    assert sorted(set(ids)) == sorted(ids)


def test_no_signature_is_listed_twice_or_lost() -> None:
    assert len(ALL) == sum(len(family) for family in registry.FAMILIES)
    assert all(registry.FAMILIES)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_literals_are_what_the_scan_can_look_for(one: Signature) -> None:
    assert one.literals
    for literal in one.literals:
        assert literal.isascii()
        assert literal == literal.lower()
        assert len(literal) >= 3
        assert "\n" not in literal
    assert len(set(one.literals)) == len(one.literals)


def test_no_literal_is_a_word_of_every_log() -> None:
    common = {
        "error",
        "warn",
        "warning",
        "failed",
        "fail",
        "info",
        "gpu",
        "rank",
        "node",
        "timeout",
    }
    assert not common & {literal.strip() for literal in registry.literals()}


@pytest.mark.parametrize("one", ALL, ids=name)
def test_first_match_of_its_hits(one: Signature) -> None:
    assert one.matches
    for hit in one.matches:
        line, after = split(hit)
        assert any(literal in line.lower() for literal in one.literals), hit
        match = registry.match(line, after)
        assert match is not None, hit
        assert match.signature is one, (match.signature.id, hit)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_hits_hold_without_other_signatures(one: Signature) -> None:
    for hit in one.matches:
        assert alone(one, hit) is not None, hit


@pytest.mark.parametrize("one", ALL, ids=name)
def test_near_misses_are_missed(one: Signature) -> None:
    assert one.near_misses
    for near in one.near_misses:
        assert alone(one, near) is None, near


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
    if cpu_seconds(search, longest) < BELOW_NOTICE_S:
        return True
    for _ in range(ATTEMPTS):
        took = [min(cpu_seconds(search, line) for _ in range(3)) for line in shorter]
        last = cpu_seconds(search, longest)
        if grows_linearly([*took, last]):
            return True
        last = min(last, *(cpu_seconds(search, longest) for _ in range(2)))
        if grows_linearly([*took, last]):
            return True
    return False


@pytest.mark.parametrize("one", ALL, ids=name)
def test_takes_linear_time(one: Signature) -> None:
    for make in hostile(one):
        lines = [make(size) for size in SIZES]
        assert is_linear(attempt(one), lines), lines[0][:80]


def test_a_quadratic_pattern_would_be_seen() -> None:
    lines = [" " * (size // 8) for size in SIZES]
    assert not is_linear(re.compile(r"\s+x").search, lines)
    assert is_linear(re.compile(r"\s{1,9}x").search, lines)
