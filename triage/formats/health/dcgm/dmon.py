"""``dcgmi dmon``: the fields that ``-e`` asks for, one row a GPU, switch or link and second.

::

    #Entity         EDVTL       XIDER       RRF                       NRCLT
    ID
    GPU 0           0           0           0                         2
    GPU 5           0           79          0                         2
    GPU 0           0           0           0                         2
    GPU 5           1           79          0                         5

The header abbreviates the names; :mod:`dmon_fields` has those that are judged. A state is what
it is in any row, a counter fails or warns for what it grew between two rows of the same part.
``N/A`` is no value: a GPU that has no value of any judged field says nothing. A table has no end:
a last round of rows that lacks a part of the round before it is cut.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.dcgm.dmon_fields import FIELDS, Field, Judgement
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["DCGM_DMON"]

RUN: Final = "dcgm.dmon"
# DCGM 2.1 wrote "# Entity" and "Id", and aligned columns to the right.
HEADER: Final = re.compile(r"[ \t]{0,8}# ?Entity(?=[ \t]{1,40}\S)")
UNITS: Final = re.compile(r"[ \t]{0,12}I[Dd](?:[ \t]{2,}|[ \t]?$)")
CLAIM: Final = re.compile(
    r"^[ \t]{0,8}# ?Entity[ \t]{1,40}\S[^\n]{0,7000}\n[ \t]{0,12}I[Dd](?:[ \t]{2}|[ \t]?$)",
    re.MULTILINE,
)
# "GPU 3", "GPU-I 21", "GPU 3 LINK 11", "Switch 1", "SW 1 LINK 4", "CPU Core 7"
ENTITY: Final = re.compile(
    r"[ \t]{0,12}(?P<kind>GPU-CI|GPU-I|GPU|vGPU|Switch|SW|LINK|CPU Core|CPU|CX|UNKNOWN)"
    r" (?P<number>\d{1,6})(?: LINK (?P<link>\d{1,4}))?(?=[ \t]|$)"
)
NUMBER: Final = re.compile(r"(\d{1,20})(?:\.\d{1,6})?", re.ASCII)
NO_VALUE: Final = frozenset({"", "N/A"})
GAP: Final = re.compile(r"\s{2,}")
# The only line without a table; other commands of dcgmi print it too.
NO_ENGINE: Final = re.compile(r"^Error: Unable to connect to host engine\b", re.MULTILINE)
FAILED: Final = re.compile(
    r"(?:Error (?:setting watches|getting values)|Error: |No data returned from the hostengine"
    r"|Unable to (?:retrieve|get) |Unknown Field ID)[^\n]{0,300}"
)
GONE: Final = re.compile(r"GPU is lost|has fallen off the bus|GPU requires reset", re.IGNORECASE)
STOPPED: Final = re.compile(r"dmon was stopped due to receiving a signal")
MAX_LINE: Final = 8000
MAX_COLUMNS: Final = 256
# Eight GPUs of eighteen links, and their switches, are 500.
MAX_ENTITIES: Final = 1024
KINDS: Final = {"switch": "nvswitch", "sw": "nvswitch"}
# Columns stand in any order.
ORDER: Final = {tag: place for place, tag in enumerate(FIELDS)}
RANK: Final = {Outcome.PASS: 0, Outcome.WARN: 1, Outcome.FAIL: 2}


class Column(NamedTuple):
    """A tag of the header and where it begins in the line."""

    start: int
    tag: str


@dataclass(slots=True)
class Series:
    """The values of one field of one part, from row to row.

    ``grown`` is what it grew in all rows, ``most`` from one row to the next; ``line`` is where it
    grew first, else the line of the worst value. ``gone`` is whether N/A stands behind a value.
    """

    field: Field
    prefix: str
    line: int
    last: int | None = None
    grown: int = 0
    most: int = 0
    worst: Judgement | None = None
    gone: bool = False

    def add(self, number: int, line: int) -> None:
        """One more value."""
        if self.last is not None and number > self.last:
            self.line = line if not self.grown else self.line
            self.grown += number - self.last
            self.most = max(self.most, number - self.last)
        judgement = self.field.of_value(number)
        if self.worst is None or RANK[judgement.outcome] > RANK[self.worst.outcome]:
            self.worst = judgement
            self.line = self.line if self.grown else line
        elif RANK[judgement.outcome] == RANK[self.worst.outcome]:
            self.worst = judgement
        self.last, self.gone = number, False

    def judgement(self) -> Judgement | None:
        """The worst of its values and of its growth; None without a value."""
        if self.worst is None:
            return None
        growth = self.field.of_growth(self.grown, self.most)
        worse = growth if RANK[growth.outcome] > RANK[self.worst.outcome] else self.worst
        return worse._replace(words=f"{self.prefix}{worse.words}")


@dataclass(slots=True)
class Table:
    """Where the reading of a table stands.

    ``round`` holds the parts with a row in the round that is being read, ``round_before`` those
    of the one before. A round begins where a part comes again.
    """

    reading: Reading
    columns: tuple[Column, ...] = ()
    entities: set[str] = field(default_factory=set)
    parts: dict[str, int] = field(default_factory=dict)
    series: dict[tuple[str, str, str], Series] = field(default_factory=dict)
    round_before: set[str] = field(default_factory=set)
    round: set[str] = field(default_factory=set)
    short_line: int | None = None
    failed: bool = False


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None or NO_ENGINE.search(head) is not None


def read(text: str, reading: Reading) -> None:
    table = Table(reading)
    for index, line in lines_of(text, MAX_LINE):
        if (header := HEADER.match(line)) is not None:
            start_table(line, header.end(), table)
        elif table.columns and (entity := ENTITY.match(line)) is not None:
            if not of_row(line, entity, index, table):
                continue
        elif FAILED.match(line) and (table.columns or NO_ENGINE.match(line)):
            table.failed = True
            of_failure(line, index, reading)
        elif not (UNITS.match(line) or STOPPED.match(line)) or not table.columns:
            continue
        reading.saw(index)
    for (part, check), judgements in by_check(table):
        add_result(part, check, judgements, reading)
    tell_unread(text, table)


def start_table(line: str, end: int, table: Table) -> None:
    """The columns of a header; the same one is printed again every fifteen rounds."""
    tags = list(re.finditer(r"\S{1,40}", line[end:]))[:MAX_COLUMNS]
    columns = tuple(Column(end + tag.start(), tag[0]) for tag in tags)
    if columns != table.columns:
        table.round_before, table.round = set(), set()
    table.columns = columns


def of_row(line: str, entity: re.Match[str], index: int, table: Table) -> bool:
    """One row; whether it is one, and no line of another program that begins alike."""
    cells = cells_of(line, entity.end(), table.columns)
    if cells is None or not any(cell == "N/A" or NUMBER.fullmatch(cell) for cell in cells):
        return False
    kind = entity["kind"].lower()
    part = f"{KINDS.get(kind, kind)} {int(entity['number'])}"
    name = f"{part} {entity['link'] or ''}"
    if name not in table.entities:
        if len(table.entities) >= MAX_ENTITIES:
            table.reading.skip(index, f"more than {MAX_ENTITIES:,} parts")
            return True
        table.entities.add(name)
    table.parts.setdefault(part, index)
    if name in table.round:
        table.round_before, table.round = table.round, set()
    table.round.add(name)
    prefix = f"link {int(entity['link'])} " if entity["link"] else ""
    for column, cell in zip(table.columns, cells, strict=True):
        judged = FIELDS.get(column.tag)
        if judged is not None:
            of_cell(cell, index, (part, prefix, column.tag), judged, table)
    table.short_line = None if cells[-1] else index
    return True


def of_cell(cell: str, index: int, key: tuple[str, str, str], judged: Field, table: Table) -> None:
    """One value of a field that is judged; ``key`` is the part, the link and the tag."""
    series = table.series.get(key)
    number = NUMBER.fullmatch(cell)
    if number is None:
        if series is not None:
            series.gone = True
        if cell not in NO_VALUE:
            table.reading.skip(index, f"{key[2]}: no number, {cell[:40]!r}")
        return
    if series is None:
        series = table.series[key] = Series(judged, key[1], index)
    series.add(int(number[1]), index)


def cells_of(line: str, end: int, columns: tuple[Column, ...]) -> list[str] | None:
    """The cells of a row, by the gaps between them, else by the places of their columns.

    A name of a GPU has single spaces in it. A field without a value is blank, so that only the
    places tell which one it is.
    """
    rest = line[end:].strip()
    if len(cells := GAP.split(rest)) == len(columns):
        return cells
    starts = [column.start for column in columns]
    ends = [*starts[1:], max(len(line), starts[-1])]
    cells = [line[at:until].strip() for at, until in zip(starts, ends, strict=True)]
    in_place = all(line[at - 1 : at] in ("", " ") for at in starts) and not any(
        map(GAP.search, cells)
    )
    if in_place and not line[end : starts[0]].strip():
        return cells
    return cells if len(cells := rest.split()) == len(columns) else None


def of_failure(line: str, index: int, reading: Reading) -> None:
    """No values: a GPU that is gone says so here, everything else could not be looked at."""
    if GONE.search(line):
        reading.add(RUN, Outcome.FAIL, detail=line, category=Category.GPU, line=index)
    else:
        reading.unknown(RUN, line.strip(), line=index)


def by_check(table: Table) -> Iterator[tuple[tuple[str, str], list[tuple[Judgement, int]]]]:
    """What the fields of each check say of each part; of one without a value nothing."""
    found: dict[tuple[str, str], list[tuple[Judgement, int]]] = {}
    by_field = sorted(table.series.items(), key=lambda item: ORDER[item[0][2]])
    for (part, _, tag), series in by_field:
        judgement = series.judgement()
        if judgement is None:
            continue
        judgements = found.setdefault((part, series.field.check), [])
        judgements.append((judgement, series.line))
        if series.gone and judgement.outcome is Outcome.PASS:
            why = f"{tag} has no value any more"
            table.reading.unknown(check_name("dcgm", series.field.check), why, part=part)
    yield from found.items()


def add_result(
    part: str, check: str, judgements: list[tuple[Judgement, int]], reading: Reading
) -> None:
    """One check of one part: the worst of its fields, with the words of all that are as bad."""
    worst = max(RANK[judgement.outcome] for judgement, _ in judgements)
    alike = [
        (judgement, line) for judgement, line in judgements if RANK[judgement.outcome] == worst
    ]
    judgement, line = alike[-1]  # the field of one place stands behind the total
    outcome, words = judgement.outcome, ", ".join(one.words for one, _ in alike)
    # What hangs on a switch's port is not said: only its driver's own number fails.
    if part.startswith("nvswitch") and check == "nvlink_errors" and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    reading.add(
        check_name("dcgm", check), outcome, part=part, detail=words,
        category=judgement.category, line=line,
    )  # fmt: skip


def tell_unread(text: str, table: Table) -> None:
    """What the table does not say: GPUs without a value, and rows that are not there."""
    reading = table.reading
    judged = {one.part for one in reading.results if one.part}
    if not any(column.tag in FIELDS for column in table.columns) and not table.failed:
        reading.unknown(RUN, "no column that a check reads", line=reading.last_line or 1)
        return
    for part, line in table.parts.items():
        if part not in judged and part.startswith(("gpu ", "nvswitch ")):
            reading.unknown(RUN, "no value (N/A)", part=part, line=line)
    if not table.parts and not table.failed:
        reading.unknown(RUN, "the table has no row", line=reading.last_line or 1)
    if not reading.is_good:
        return
    if lacking := sorted(table.round_before - table.round):
        why = f"breaks off: the last rows lack {lacking[0].strip()}"
        reading.unknown(RUN, why, line=reading.last_line)
    elif table.short_line is not None and not text.endswith("\n"):
        reading.unknown(RUN, "breaks off: the last row is short", line=table.short_line)


DCGM_DMON: Final = CheckFormat(
    "dcgm_dmon",
    claimed,
    read,
    cut_as=RUN,
    words=("#Entity", "# Entity", "Unable to connect to host engine"),
)
