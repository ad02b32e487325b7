"""``dcgmi dmon``: the fields that ``-e`` asks for, one row a GPU, switch or link and second.

The header abbreviates the names; ``dcgm.toml`` has those that are judged. A state is what it is in
any row, a counter fails or warns for what it grew between two rows of the same part. ``N/A`` is no
value: a GPU that has no value of any judged field says nothing. A table has no end: a last round of
rows that lacks a part of the round before it is cut.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import EvidenceRole
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.reading import FAIL, PASS, WARN, Reading, check_name, iterate_lines
from triage.formats.health.table import load_data
from triage.signatures.gpu.catalogue import Entry, get_sxid, get_xid

_RUN: Final = "dcgm.dmon"
_RANK: Final = {PASS: 0, WARN: 1, FAIL: 2}


class Judgement(NamedTuple):
    """What a value says: how bad it is, in words, and of which part."""

    outcome: Outcome
    words: str
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class _Field:
    """How one field is judged: ``value`` is the outcome of a value that is not 0, and
    ``growth`` that of a row that has more than the row before.

    ``many`` is the growth from one row to the next that fails, 0 where none does. Of values that
    are codes ``meaning`` names what judges them, and ``bad`` has the outcome and words of states.
    """

    check: str
    words: str
    category: Category
    value: Outcome = PASS
    growth: Outcome = PASS
    many: int = 0
    meaning: str = ""
    bad: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of_value(self, number: int) -> Judgement:
        """What a value says alone; states that are not listed are good."""
        if self.meaning:
            return _MEANINGS[self.meaning](number)
        if self.bad:
            outcome, state = self.bad.get(str(number), (PASS, f"state {number}"))
            return Judgement(Outcome(outcome), f"{self.words}: {state}", self.category)
        outcome = self.value if number else PASS
        return Judgement(outcome, f"{self.words}: {number:,}", self.category)

    def of_growth(self, grown: int, most: int) -> Judgement:
        """What growth says: ``grown`` in all rows, ``most`` from one row to the next."""
        outcome = FAIL if self.many and most >= self.many else self.growth
        words = f"{self.words} grew by {grown:,}"
        return Judgement(outcome if grown else PASS, words, self.category)


def judge_code(
    name: str, known: Callable[[int], Entry | None], worst: Outcome, number: int
) -> Judgement:
    """What a number of a driver says: the last one that DCGM saw, 0 for none."""
    entry = known(number)
    if number == 0:
        return Judgement(PASS, f"no {name}")
    if entry is None:
        return Judgement(WARN, f"{name} {number}, which no catalogue knows")
    of_part = entry.category in HARDWARE and entry.role is EvidenceRole.ROOT
    words = f"{name} {number}: {entry.meaning}"
    return Judgement(worst if of_part else WARN, words, entry.category)


# Bits of DCGM_CLOCKS_EVENT_REASON_*; the software's power cap (4) is a busy GPU's rule.
_SLOWED: Final = (
    (0x80, FAIL, "power brake", Category.POWER),
    (0x40, FAIL, "hardware thermal slowdown", Category.GPU_THERMAL),
    (0x08, FAIL, "hardware slowdown", Category.GPU_THERMAL),
    (0x20, WARN, "software thermal slowdown", Category.GPU_THERMAL),
)
# What the driver asks for, as ``nvmlDeviceGpuRecoveryAction_t`` counts it.
_ACTIONS: Final = {1: "reset the GPU", 2: "reboot the node", 3: "drain peers", 4: "drain and reset"}


def judge_slowdown(mask: int) -> Judgement:
    """Why clocks are lower than they could be."""
    for bit, outcome, words, category in _SLOWED:
        if mask & bit:
            return Judgement(outcome, f"slowed down: {words}", category)
    return Judgement(PASS, "no slowdown by heat or hardware")


def judge_recovery_action(number: int) -> Judgement:
    """What the driver asks for."""
    if number == 0:
        return Judgement(PASS, "the driver asks for nothing")
    asked = _ACTIONS.get(number, f"action {number}")
    return Judgement(FAIL, f"the driver asks for: {asked}", Category.GPU)


_MEANINGS: Final[Mapping[str, Callable[[int], Judgement]]] = {
    "xid": partial(judge_code, "Xid", get_xid, FAIL),
    "fatal_sxid": partial(judge_code, "fatal SXid", get_sxid, FAIL),
    "sxid": partial(judge_code, "SXid", get_sxid, WARN),
    "slowed": judge_slowdown,
    "recovery_action": judge_recovery_action,
}
LINKS: Final = compile_re(r"(\w+)\.\.(\d+)")


def _expand_fields(table: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, _Field]]:
    """The fields by tag; ``NFEL..18`` is NFEL0 to NFEL17, with ``#`` in its words the number."""
    for tag, raw in table.items():
        named = {"value": PASS, "growth": PASS, **raw}
        outcomes = {name: Outcome(named[name]) for name in ("value", "growth")}
        row = _Field(**{**raw, **outcomes, "category": Category(raw["category"])})
        many = LINKS.fullmatch(tag)
        if many is None:
            yield tag, row
            continue
        for number in range(int(many[2])):
            words = row.words.replace("#", str(number))
            yield f"{many[1]}{number}", replace(row, words=words)


FIELDS: Final[Mapping[str, _Field]] = dict(
    _expand_fields(load_data("triage.formats.health.dcgm")["field"])
)
# Columns stand in any order.
_ORDER: Final = {tag: place for place, tag in enumerate(FIELDS)}

# DCGM 2.1 wrote "# Entity" and "Id", and aligned columns to the right.
_HEADER: Final = compile_re(r"[ \t]{0,8}# ?Entity(?=[ \t]{1,40}\S)")
_UNITS: Final = compile_re(r"[ \t]{0,12}I[Dd](?:[ \t]{2,}|[ \t]?$)")
# "GPU 3", "GPU-I 21", "GPU 3 LINK 11", "Switch 1", "SW 1 LINK 4", "CPU Core 7"
_ENTITY: Final = compile_re(
    r"[ \t]{0,12}(?P<kind>GPU-CI|GPU-I|GPU|vGPU|Switch|SW|LINK|CPU Core|CPU|CX|UNKNOWN)"
    r" (?P<number>\d{1,6})(?: LINK (?P<link>\d{1,4}))?(?=[ \t]|$)"
)
_NUMBER: Final = compile_re(r"(\d{1,20})(?:\.\d{1,6})?", re.ASCII)
_NO_VALUE: Final = frozenset({"", "N/A"})
_GAP: Final = compile_re(r"\s{2,}")
# The only line without a table; other commands of dcgmi print it too.
_NO_ENGINE: Final = compile_re(r"Error: Unable to connect to host engine\b")
_FAILED: Final = compile_re(
    r"(?:Error (?:setting watches|getting values)|Error: |No data returned from the hostengine"
    r"|Unable to (?:retrieve|get) |Unknown Field ID)[^\n]{0,300}"
)
GONE: Final = compile_re(r"GPU is lost|has fallen off the bus|GPU requires reset", re.IGNORECASE)
_STOPPED: Final = compile_re(r"dmon was stopped due to receiving a signal")
_MAX_LINE: Final = 8000
_MAX_COLUMNS: Final = 256
# Eight GPUs of eighteen links, and their switches, are 500.
_MAX_ENTITIES: Final = 1024
_KINDS: Final = {"switch": "nvswitch", "sw": "nvswitch"}
_Column = tuple[int, str]
"""Where a tag of the header begins in the line, and the tag."""


@dataclass(slots=True)
class _Series:
    """The values of one field of one part, from row to row.

    ``grown`` is what it grew in all rows, ``most`` from one row to the next; ``line`` is where it
    grew first, else the line of the worst value. ``gone`` is whether N/A stands behind a value.
    """

    field: _Field
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
        rank = _RANK[judgement.outcome] - (-1 if self.worst is None else _RANK[self.worst.outcome])
        if rank >= 0:
            self.worst = judgement
            self.line = line if rank and not self.grown else self.line
        self.last, self.gone = number, False

    def judgement(self) -> Judgement | None:
        """The worst of its values and of its growth; None without a value."""
        if self.worst is None:
            return None
        growth = self.field.of_growth(self.grown, self.most)
        worse = growth if _RANK[growth.outcome] > _RANK[self.worst.outcome] else self.worst
        return worse._replace(words=f"{self.prefix}{worse.words}")


@dataclass(slots=True)
class _Table:
    """Where the reading of a table stands.

    ``round`` holds the parts with a row in the round that is being read, ``round_before`` those
    of the one before. A round begins where a part comes again.
    """

    reading: Reading
    columns: tuple[_Column, ...] = ()
    entities: set[str] = field(default_factory=set)
    parts: dict[str, int] = field(default_factory=dict)
    series: dict[tuple[str, str, str], _Series] = field(default_factory=dict)
    round_before: set[str] = field(default_factory=set)
    round: set[str] = field(default_factory=set)
    short_line: int | None = None
    failed: bool = False


def read_dmon(text: str, reading: Reading) -> None:
    table = _Table(reading)
    for index, line in iterate_lines(text, _MAX_LINE):
        if (header := _HEADER.match(line)) is not None:
            _start_table(line, header.end(), table)
        elif table.columns and (entity := _ENTITY.match(line)) is not None:
            if not _take_row(line, entity, index, table):
                continue
        elif _FAILED.match(line) and (table.columns or _NO_ENGINE.match(line)):
            # A GPU that is gone says so here; everything else could not be looked at.
            table.failed = True
            if GONE.search(line):
                reading.add(_RUN, FAIL, None, line, Category.GPU, index)
            else:
                reading.unknown(_RUN, line.strip(), line=index)
        elif not (_UNITS.match(line) or _STOPPED.match(line)) or not table.columns:
            continue
        reading.saw(index)
    for (part, check), judgements in _group_by_check(table).items():
        _add_result(part, check, judgements, reading)
    _tell_unread(text, table)


def _start_table(line: str, end: int, table: _Table) -> None:
    """The columns of a header; the same one is printed again every fifteen rounds."""
    tags = list(re.finditer(r"\S{1,40}", line[end:]))[:_MAX_COLUMNS]
    columns = tuple((end + tag.start(), tag[0]) for tag in tags)
    if columns != table.columns:
        table.round_before, table.round = set(), set()
    table.columns = columns


def _take_row(line: str, entity: re.Match[str], index: int, table: _Table) -> bool:
    """One row; whether it is one, and no line of another program that begins alike."""
    cells = _split_cells(line, entity.end(), table.columns)
    if cells is None or not any(cell == "N/A" or _NUMBER.fullmatch(cell) for cell in cells):
        return False
    kind = entity["kind"].lower()
    part = f"{_KINDS.get(kind, kind)} {int(entity['number'])}"
    name = f"{part} {entity['link'] or ''}"
    if name not in table.entities and len(table.entities) >= _MAX_ENTITIES:
        table.reading.skip(index, f"more than {_MAX_ENTITIES:,} parts")
        return True
    table.entities.add(name)
    table.parts.setdefault(part, index)
    if name in table.round:
        table.round_before, table.round = table.round, set()
    table.round.add(name)
    prefix = f"link {int(entity['link'])} " if entity["link"] else ""
    for (_, tag), cell in zip(table.columns, cells, strict=True):
        if tag in FIELDS:
            _take_cell(cell, index, (part, prefix, tag), table)
    table.short_line = None if cells[-1] else index
    return True


def _take_cell(cell: str, index: int, key: tuple[str, str, str], table: _Table) -> None:
    """One value of a field that is judged; ``key`` is the part, the link and the tag."""
    series, number = table.series.get(key), _NUMBER.fullmatch(cell)
    if number is not None:
        if series is None:
            series = table.series[key] = _Series(FIELDS[key[2]], key[1], index)
        series.add(int(number[1]), index)
        return
    if series is not None:
        series.gone = True
    if cell not in _NO_VALUE:
        table.reading.skip(index, f"{key[2]}: no number, {cell[:40]!r}")


def _split_cells(line: str, end: int, columns: tuple[_Column, ...]) -> list[str] | None:
    """The cells of a row, by the gaps between them, else by the places of their columns.

    A name of a GPU has single spaces in it. A field without a value is blank, so that only the
    places tell which one it is.
    """
    rest = line[end:].strip()
    if len(cells := _GAP.split(rest)) == len(columns):
        return cells
    starts = [start for start, _ in columns]
    ends = [*starts[1:], max(len(line), starts[-1])]
    cells = [line[at:until].strip() for at, until in zip(starts, ends, strict=True)]
    in_place = all(line[at - 1 : at] in ("", " ") for at in starts)
    if in_place and not any(map(_GAP.search, cells)) and not line[end : starts[0]].strip():
        return cells
    return cells if len(cells := rest.split()) == len(columns) else None


def _group_by_check(table: _Table) -> dict[tuple[str, str], list[tuple[Judgement, int]]]:
    """What the fields of each check say of each part; of one without a value nothing."""
    found: dict[tuple[str, str], list[tuple[Judgement, int]]] = {}
    for (part, _, tag), series in sorted(table.series.items(), key=lambda one: _ORDER[one[0][2]]):
        judgement = series.judgement()
        if judgement is not None:
            found.setdefault((part, series.field.check), []).append((judgement, series.line))
            if series.gone and judgement.outcome is PASS:
                why = f"{tag} has no value any more"
                table.reading.unknown(check_name("dcgm", series.field.check), why, part)
    return found


def _add_result(
    part: str, check: str, judgements: list[tuple[Judgement, int]], reading: Reading
) -> None:
    """One check of one part: the worst of its fields, with the words of all that are as bad."""
    worst = max(_RANK[judgement.outcome] for judgement, _ in judgements)
    alike = [one for one in judgements if _RANK[one[0].outcome] == worst]
    judgement, line = alike[-1]  # the field of one place stands behind the total
    outcome, words = judgement.outcome, ", ".join(one.words for one, _ in alike)
    # What hangs on a switch's port is not said: only its driver's own number fails.
    if part.startswith("nvswitch") and check == "nvlink_errors" and outcome is FAIL:
        outcome = WARN
    reading.add(check_name("dcgm", check), outcome, part, words, judgement.category, line)


def _tell_unread(text: str, table: _Table) -> None:
    """What the table does not say: GPUs without a value, and rows that are not there."""
    reading = table.reading
    judged = {one.part for one in reading.results if one.part}
    if not any(tag in FIELDS for _, tag in table.columns) and not table.failed:
        reading.unknown(_RUN, "no column that a check reads", line=reading.last_line or 1)
        return
    for part, line in table.parts.items():
        if part not in judged and part.startswith(("gpu ", "nvswitch ")):
            reading.unknown(_RUN, "no value (N/A)", part, line)
    if not table.parts and not table.failed:
        reading.unknown(_RUN, "the table has no row", line=reading.last_line or 1)
    if not reading.is_good:
        return
    if lacking := sorted(table.round_before - table.round):
        why = f"breaks off: the last rows lack {lacking[0].strip()}"
        reading.unknown(_RUN, why, line=reading.last_line)
    elif table.short_line is not None and not text.endswith("\n"):
        reading.unknown(_RUN, "breaks off: the last row is short", line=table.short_line)
