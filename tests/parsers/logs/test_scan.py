"""The compiled pass: which lines hit, their numbers, and how they are counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.logs import scan
from triage.parsers.logs.automaton import HIT_EACH, HIT_ONE, build_automaton

LITERALS = ("xid", "bus error", "she", "he", "hers")


def groups(data: bytes, **options: int) -> list[tuple[bytes, int, int, int]]:
    """(first line, its number, lines, last number) of every group."""
    tables = scan.Tables()
    tables.start(options.get("each", 0), False)
    sorts = dict.fromkeys(LITERALS, HIT_ONE | HIT_EACH if options.get("each") else HIT_ONE)
    scanner = scan.Scanner(
        build_automaton(LITERALS, sorts), tables, max_line=options.get("most", 1000)
    )
    buf = np.frombuffer(bytearray(data), np.uint8)
    assert scanner.run(buf, len(buf), len(buf), options.get("wrap", 0), False) == scan.DONE
    return [
        (data[row[scan.FIRST_START] : row[scan.FIRST_END]], int(row[scan.FIRST_LINE]),
         int(row[scan.COUNT]), int(row[scan.LAST_LINE]))
        for row in tables.groups[: tables.state[scan.GROUPS]]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [b"an XID", b"Xid", b"x\x1b[1mi\x1b[0md", b"x\0id", b"\x1b]0;title\x07xid", b"ushers", b"the"],
)
def test_a_literal_is_found_in_any_case_and_dress(line: bytes) -> None:
    assert groups(b"none\n" + line + b"\nnone") == [(line, 2, 1, 2)]


@pytest.mark.parametrize("line", [b"x id", b"xi", b"bus\terror", b"xi\nd", b"bus\rerror"])
def test_a_near_miss_is_not(line: bytes) -> None:
    assert groups(line) == []


def test_lines_end_at_both_returns_and_count_by_line_feeds() -> None:
    assert groups(b"a\r\nb\rc\rxid a\nxid b\r\n\nxid a") == [
        (b"xid a", 2, 2, 5),
        (b"xid b", 3, 1, 3),
    ]


def test_lines_kept_one_by_one_do_not_join() -> None:
    assert len(groups(b"xid\nxid\nxid\n", each=2)) == 3
    assert len(groups(b"xid\nxid\nxid\nxid\n", each=2)) == 3


def test_the_rest_of_a_long_line_is_skipped() -> None:
    assert groups(b"a" * 900 + b" xid " + b"b" * 5000 + b" xid\nxid\n", most=1000) == [
        (b"a" * 900 + b" xid " + b"b" * 95, 1, 1, 1),
        (b"xid", 2, 1, 2),
    ]
    assert groups(b"a" * 1000 + b"xid", most=1000) == []


def test_a_broken_line_is_one_line() -> None:
    text = b"0123456x\nid more\n1234567\nxid\n"
    assert groups(text, wrap=8) == [(b"0123456x\nid more", 1, 1, 1), (b"xid", 4, 1, 4)]
    assert groups(text.replace(b"\n", b"\r\n"), wrap=8)[1] == (b"xid", 4, 1, 4)


@given(st.lists(st.sampled_from([b"xid", b"h", b"e", b"rs", b"\n", b"\r", b"us ", b"s", b"\x1b["])))
def test_the_automaton_finds_what_a_search_finds(parts: list[bytes]) -> None:
    data = b"".join(part for part in parts if part != b"\x1b[")
    found = {number for _, number, _, _ in groups(data, each=10_000)}
    wanted = {
        number
        for number, line in enumerate(data.split(b"\n"), start=1)
        if any(word.encode() in piece for word in LITERALS for piece in line.split(b"\r"))
    }
    assert found == wanted


LONG = ("bus error", "it/s", "psu ", "xid (pci", "broken pipe")
TEXT = st.lists(
    st.sampled_from(
        ["bus error", "BUS", " error", "it/s", "iT/", "s", "psu", " ", "Xid (PCI", "xid (p", "ci",
         "broken pipe", "x", "\t", "\n", "\r", "\0", "\x7f", "\x1b[1m", "\u00e9", "y" * 40]
    )
)  # fmt: skip


@given(TEXT, st.integers(4, 90))
def test_the_filter_finds_what_the_automaton_finds(parts: list[str], most: int) -> None:
    data = "".join(parts).encode()
    plain = build_automaton(LONG, dict.fromkeys(LONG, HIT_ONE | HIT_EACH))
    assert plain.grams.usable
    slow = replace(plain, grams=replace(plain.grams, usable=False))
    found = []
    for automaton in (plain, slow):
        tables = scan.Tables()
        tables.start(10_000, False)
        # The words of a longer buffer reach behind the text, as those of a chunk do.
        buf = np.frombuffer(bytearray(data + b"bus error it/s\n" * 2), np.uint8)
        scanner = scan.Scanner(automaton, tables, max_line=most)
        assert scanner.run(buf, len(data), len(data), 0, False) == scan.DONE
        found.append((tables.state.tolist(), tables.groups[: tables.state[scan.GROUPS]].tolist()))
    assert found[0] == found[1]


def test_a_literal_is_found_at_every_place_of_a_line() -> None:
    automaton = build_automaton(LONG)
    for word in LONG:
        for before in range(24):
            data = b"\n" + b"-" * before + word.upper().encode() + b"\n" + b"." * 40
            tables = scan.Tables()
            tables.start(0, False)
            buf = np.frombuffer(bytearray(data), np.uint8)
            scan.Scanner(automaton, tables, max_line=1000).run(buf, len(data), len(data), 0, False)
            assert (tables.state[scan.HITS], tables.groups[0, scan.FIRST_LINE]) == (1, 2), before
