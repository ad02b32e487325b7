"""Every signature of every family keeps its own proof, and its pattern stays linear."""

import re
from collections.abc import Sequence

import pytest

from tests.support.linear_time import SIZES, attempt, hostile, is_linear
from triage.signatures import registry
from triage.signatures.checks import list_literal_faults, list_proof_faults
from triage.signatures.signature import Signature

ALL = registry.load_all_signatures()


# A case a family: each of hundreds of signatures by itself costs more to find than to try.
each_family = pytest.mark.parametrize("family", registry.load_families(), ids=lambda of: of[0].id)


def test_ids_are_unique() -> None:
    ids = [one.id for one in ALL]
    assert sorted(set(ids)) == sorted(ids)


def test_no_signature_is_listed_twice_or_lost() -> None:
    assert len(ALL) == sum(len(family) for family in registry.load_families())
    assert all(registry.load_families())


@each_family
def test_literals_are_what_the_scan_can_look_for(family: Sequence[Signature]) -> None:
    assert [(one.id, fault) for one in family for fault in list_literal_faults(one)] == []


@each_family
def test_it_takes_its_own_lines_and_misses_what_comes_near(family: Sequence[Signature]) -> None:
    assert [(one.id, fault) for one in family for fault in list_proof_faults(one, first)] == []


def first(line: str, after: Sequence[str]) -> Signature | None:
    """The signature that takes a line."""
    match = registry.match(line, after)
    return None if match is None else match.signature


@each_family
def test_takes_linear_time(family: Sequence[Signature]) -> None:
    for one in family:
        for make in hostile(one):
            lines = [make(size) for size in SIZES]
            assert is_linear(attempt(one), lines), (one.id, lines[0][:80])


def test_a_quadratic_pattern_would_be_seen() -> None:
    lines = [" " * (size // 2) for size in SIZES]
    assert not is_linear(re.compile(r"\s+x").search, lines)
    assert is_linear(re.compile(r"\s{1,9}x").search, lines)
