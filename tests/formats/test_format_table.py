"""One search for the words of all formats passes over no format that would claim a file."""

import random
from pathlib import Path

import pytest

from tests.formats.examples import EXAMPLES, FILE_NAMES
from tests.support.checkers import CHANGES, samples
from tests.support.matching_texts import looked_for
from triage.formats.format import FormatTable, Head
from triage.formats.registry import ALL_CHECKS, STREAM_TABLE

INCIDENTS = Path(__file__).parents[1] / "incidents"
LOGS = sorted(path for path in INCIDENTS.rglob("*") if path.suffix in {".log", ".txt", ".json"})
FILES = [
    *((FILE_NAMES.get(name, "file"), text.encode()) for name, text in EXAMPLES.items()),
    *((one.name, one.data) for one in samples()),
]
ROWS = {row.name: row for row in (*STREAM_TABLE.rows, *ALL_CHECKS.rows)}
WITH_WORDS = sorted(name for name, row in ROWS.items() if row.words)
# What breaks words and lines, and what only looks like the letters of a word.
SPLINTERS = [
    b"\x1b[31m", b"\x1b[", b"\r\n", b"\n", b"\t", b" ", b'"', b"{", b"|", b"\xff", b"\xc5\xbf",
    b"\xe2\x84\xaa", b"\xef\xbb\xbf",
]  # fmt: skip


def passed_over(files: list[tuple[str, bytes]]) -> list[tuple[str, str, bytes]]:
    """The formats that claim a file and are not asked about it."""
    found = []
    for name, data in files:
        head = Head(data, name)
        for table in (STREAM_TABLE, ALL_CHECKS):
            asked = {row.name for row in table.candidates(head)}
            others = [row for row in table.rows if row.name not in asked]
            found += [(row.name, name, data[:200]) for row in others if row.claims(head)]
    return found


def mutated(chance: random.Random) -> tuple[str, bytes]:
    """A file with bytes changed, cut, moved and broken, or with a piece of another one in it."""
    name, data = chance.choice(FILES)
    out = bytearray(data[: chance.choice((300, 2000, 9000))])
    for _ in range(chance.choice((1, 2, 4))):
        place = chance.randrange(len(out) + 1)
        _, other = chance.choice(FILES)
        start = chance.randrange(len(other) + 1)
        match chance.randrange(5):
            case 0:
                out[place:place] = chance.choice(SPLINTERS)
            case 1:
                out[place:place] = other[start : start + chance.choice((10, 200))]
            case 2:
                del out[place : place + chance.choice((1, 5, 50))]
            case 3:
                out[0:0] = other[:400] + b"\n"
            case _:
                out = out.swapcase()
    return name, bytes(out)


def test_examples_and_samples_are_claimed_by_no_format_that_is_not_asked() -> None:
    assert passed_over(FILES) == []


@pytest.mark.parametrize("change", CHANGES)
def test_changed_examples_are_claimed_by_no_format_that_is_not_asked(change: str) -> None:
    changed = [(name, CHANGES[change](data)) for name, data in FILES[: len(EXAMPLES)]]

    assert passed_over(changed) == []


def test_files_of_incidents_are_claimed_by_no_format_that_is_not_asked() -> None:
    files = [(str(path), path.read_bytes()[: 64 << 10]) for path in LOGS[::4]]

    assert len(files) > 50
    assert passed_over(files) == []


def test_hostile_bytes_are_claimed_by_no_format_that_is_not_asked() -> None:
    chance = random.Random(20261126)

    assert passed_over([mutated(chance) for _ in range(300)]) == []


def claimed_texts(name: str) -> list[str]:
    """What a format claims of all that it looks for, alone and beside an example without words."""
    row = ROWS[name]
    rest = without_words(EXAMPLES.get(name, ""), row.words)
    texts = [
        text
        for one in looked_for(getattr(row, "begins", row.claims))
        for text in (one, f"{one}\n{rest}", f"{rest}\n{one}", f"{{{one}\n{rest}")
    ]
    return [text for text in texts if row.claims(Head(text.encode("utf-8", "replace")))]


def without_words(text: str, words: tuple[str, ...]) -> str:
    """``text`` with each word of a format broken."""
    for word in words:
        place = text.lower().find(word.lower())
        while place >= 0:
            text = text[:place] + "~" * len(word) + text[place + len(word) :]
            place = text.lower().find(word.lower())
    return text


@pytest.mark.parametrize("name", [name for name in WITH_WORDS if name in EXAMPLES])
def test_no_example_is_claimed_without_its_words(name: str) -> None:
    row, example = ROWS[name], EXAMPLES[name]

    assert row.claims(Head(example.encode()))
    assert not row.claims(Head(without_words(example, row.words).encode()))


def test_whatever_a_format_looks_for_holds_one_of_its_words() -> None:
    """Each alternative of each pattern is in one of the texts."""
    claimed = {name: claimed_texts(name) for name in WITH_WORDS}
    without = [
        (name, text)
        for name, texts in claimed.items()
        for text in texts
        if not any(word.lower() in text.lower() for word in ROWS[name].words)
    ]

    assert without == []
    assert sum(bool(texts) for texts in claimed.values()) > 0.75 * len(WITH_WORDS)


@pytest.mark.parametrize("name", WITH_WORDS)
def test_words_can_be_found_in_any_text(name: str) -> None:
    words = ROWS[name].words

    assert all(word.isascii() and word.replace("\t", " ").isprintable() for word in words)
    assert all(len(word) > 1 and Head(word.encode()).plain_text == word for word in words)


def test_every_word_is_found_behind_the_beginnings_of_all_others() -> None:
    """The automaton has room for all that a text can lead it to."""
    words = [word.encode() for row in STREAM_TABLE.rows for word in row.words]
    begun = b"".join(word[:length] for word in words for length in range(len(word)))
    for start in range(0, len(begun), 4000):
        STREAM_TABLE.candidates(Head(begun[start : start + 8000]))

    for row in STREAM_TABLE.rows:
        for word in row.words:
            text = begun[-4000:] + word.swapcase().encode()
            assert row in STREAM_TABLE.candidates(Head(text)), word


def test_a_word_behind_what_is_looked_at_asks_nobody() -> None:
    row = ROWS["memtester"]
    word = row.words[0].encode()

    assert row in STREAM_TABLE.candidates(Head(b"x" * (8192 - len(word)) + word))
    assert row not in STREAM_TABLE.candidates(Head(b"x" * (8193 - len(word)) + word))


def test_words_are_compiled_when_the_first_text_comes() -> None:
    table = FormatTable(STREAM_TABLE.rows)

    assert "search" not in vars(table)
    assert [row.name for row in table.candidates(Head(b"step 1\n"))][-1] == "log"
    assert "search" in vars(table)
