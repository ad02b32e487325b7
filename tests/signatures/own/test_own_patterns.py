"""Patterns of own signatures: their literals, and that they take time linear in any line."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.linear_time import SIZES, attempt, hostile, is_linear
from tests.support.spent import spent_s
from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Kind
from triage.signatures.own.own_signatures import OwnEntry
from triage.signatures.own.pattern import PatternFault, compile_pattern, derive_literals
from triage.signatures.signature import Scope

# What makes a matcher that comes back again and again take for ever.
CATASTROPHES = (
    "(a+)+ stalled here",
    "(a|aa)+ stalled here",
    "(.*)*x stalled here",
    "(.*a){12} stalled here",
    r"\s+\s+\s+\s+stalled here",
    r".*.*.*.*stalled here",
    r"(\w+\s?)*stalled here!",
)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("ckptfs: lost", ("ckptfs: lost",)),
        (r"Node \d+ gave UP on \S+", (" gave up on ",)),
        ("(?:alpha one|beta)!", ("alpha one", "beta")),
        ("(?:abcdef){2,}x*", ("abcdef",)),
        ("(?:optional words)? short", (" short",)),
        (r"^\bstarts here\b", ("starts here",)),
        ("x*|y", ()),
        (r"\d+", ()),
        ("", ()),
        ("ümlaut only", ("mlaut only",)),
    ],
)
def test_literals_come_out_of_the_pattern(pattern: str, literals: tuple[str, ...]) -> None:
    assert derive_literals(pattern) == literals


PIECES = st.sampled_from(
    ["alpha", "be", r"\d+", "(gam|delta)", "x?", "(?:epsil)+", ".", "[ab]z", " "]
)


@given(st.lists(PIECES, min_size=1, max_size=6), st.data())
@settings(max_examples=200, deadline=None)
def test_every_match_holds_a_derived_literal(pieces: list[str], data: st.DataObject) -> None:
    pattern = "".join(pieces)
    literals = derive_literals(pattern)
    if not literals:
        return
    line = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE | re.ASCII), fullmatch=True))
    assert any(one in line.lower() for one in literals) or not line.isascii()


def entry(pattern: str) -> OwnEntry:
    """An own signature of a pattern."""
    return OwnEntry(
        "x", pattern, ("stalled here",), EvidenceRole.ROOT, Kind.GPU, Scope.ANY,
        ("aaaa stalled here",), (), Category.GPU,
    )  # fmt: skip


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_what_blows_up_elsewhere_is_linear_here(pattern: str) -> None:
    one = entry(pattern).signature()
    for make in [*hostile(one), lambda size: "a" * size]:
        # RE2 searches a line of some 2,000 characters in another, quicker way.
        lines = [make(2 * size) for size in SIZES]
        assert is_linear(attempt(one), lines), lines[0][:80]


ALPHABET = st.text("ab ()|*+?{}[].\\d,0123456789^$", min_size=1, max_size=40)


@given(ALPHABET, st.sampled_from(["a", "ab", " ", "1:0", "(a"]))
@settings(max_examples=150, deadline=None)
def test_any_pattern_that_is_taken_reads_a_long_line_in_no_time(pattern: str, unit: str) -> None:
    try:
        found = compile_pattern(pattern)
    except PatternFault:
        return
    line = (unit * 8192)[:8192]
    # 4,000 steps for each of 8,192 bytes are a tenth of it.
    assert spent_s(lambda: found.search(line), 2.0) < 2


def test_half_a_surrogate_in_a_line_or_a_pattern_is_no_error() -> None:
    assert compile_pattern("stalled (?P<node>\\S+)").search("\ud800 stalled n3")["node"] == "n3"  # type: ignore[index]
    with pytest.raises(PatternFault, match="no text of Unicode"):
        compile_pattern("stalled \ud800")
