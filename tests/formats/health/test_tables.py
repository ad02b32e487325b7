"""The tables of formats: each entry holds what it says, and a wrong one is told with its line."""

import re
from pathlib import Path

import pytest

from tools.format_tables import PAGE, table_of_tools
from triage.formats.format import Head
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading
from triage.formats.health.rows import Lines, Row
from triage.formats.health.table import FaultyTable, FormatFile, build_formats, list_tools
from triage.formats.registry import TABLED

ROOT = Path(__file__).parents[3]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## A format")[2]
ENTRY = RECIPE.partition("```toml\n")[2].partition("```")[0]
TOOL = """
[[tool]]
id = "gpu-watch"
name = "gpu-watch"
"""


def rows_of(text: str, **readers: object) -> tuple[CheckFormat, ...]:
    """The formats of a table, as they are loaded."""
    file = FormatFile("own.toml", text.encode())
    found = build_formats(file, readers)
    list_tools(file)
    if file.faults:
        raise FaultyTable("; ".join(map(str, file.faults)))
    return found


@pytest.mark.parametrize("row", TABLED, ids=lambda row: row.name)
def test_an_entry_claims_its_example_and_reads_it(row: CheckFormat) -> None:
    assert row.claims(Head(row.example.encode()))
    assert not row.claims(Head(row.near_miss.encode()))
    if row.words:
        assert any(word.lower() in row.example.lower() for word in row.words)
    assert row.checks(row.example.encode(), "example").results


def test_no_example_is_another_entrys() -> None:
    claimed = {
        (row.name, other.name)
        for row in TABLED
        for other in TABLED
        if row is not other and other.claims(Head(row.example.encode()))
    }

    assert claimed == set()


def unnamed(rows: list[Row]) -> set[str]:
    """The names in the templates of rows that no group, no row above and no pick gives."""
    found: set[str] = set()
    kept = {"line"}
    for row in rows:
        groups = set(re.compile(row.pattern.removeprefix("^")).groupindex)
        kept |= groups if row.keep else set()
        if row.told is not None:
            templates = (*row.told.templates.values(), *row.told.complaint)
            known = kept | groups | row.told.pick.keys()
            sources = {source for source, *_ in row.told.pick.values()}
            found |= {name for one in templates for name in one.names} | sources - known
            found -= known
    return found


def test_templates_name_only_what_their_rows_have() -> None:
    readers = {one.name: getattr(one.parse, "lines", one.parse) for one in TABLED}
    names = {
        name: unnamed([*reader.rows])
        for name, reader in readers.items()
        if isinstance(reader, Lines)
    }

    assert names
    assert {name: missing for name, missing in names.items() if missing} == {}


def test_the_recipe_of_a_format_is_one() -> None:
    (row,) = rows_of(TOOL + ENTRY)
    reading = Reading("file")
    row.parse(row.example, reading)
    (found,) = reading.results

    assert row.claims(Head(row.example.encode()))
    assert not row.claims(Head(row.near_miss.encode()))
    assert (found.check, str(found.outcome), found.part, found.line) == (
        "gpu_watch.ecc", "fail", "gpu 3", 2,
    )  # fmt: skip
    assert (found.detail, str(found.category)) == ("2 double bit errors", "gpu_hbm")
    assert row.checks(b"gpu-watch v2\n", "file").results[0].check == "gpu_watch.run"


@pytest.mark.parametrize(
    ("text", "faulty", "line", "why"),
    [
        ('tool = "gpu-watch"', 'tool = "other"', 7, "there is no tool 'other'"),
        ("near_miss =", "miss =", 12, "the key 'miss' is none"),
        ("near_miss =", "# near_miss =", 5, "near_miss is missing"),
        ('outcome = "{word}"', 'outcome = "{word|shout}"', 17, "the filter 'shout' is none"),
        ('outcome = "{word}"', "", 14, "outcome is missing"),
        ('part = "gpu {gpu}"', 'category = "gpus"', 18, "category 'gpus' is none of"),
        ('part = "gpu {gpu}"', 'outcomes = { fail = "(" }', 18, "the pattern cannot be read"),
        ('part = "gpu {gpu}"', 'outcomes = { bad = "x" }', 18, "outcomes 'bad' is none of"),
        ('part = "gpu {gpu}"', 'by = "nobody"', 18, "by 'nobody' is none of"),
        ("none = [", 'read = "read_nothing"\nnone = [', 10, "there is no function 'read_nothing'"),
        ('begins = [', 'ends = "("\nbegins = [', 9, "the pattern cannot be read"),
        ('begins = [', 'log = "some"\nbegins = [', 9, "log 'some' is none of"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, faulty: str, line: int, why: str) -> None:
    assert text in ENTRY

    with pytest.raises(FaultyTable, match=re.escape(f"own.toml:{line}: {why}")):
        rows_of(TOOL + ENTRY.replace(text, faulty))


def test_the_page_of_formats_has_the_tables_of_today() -> None:
    assert table_of_tools() in PAGE.read_text("utf-8")
