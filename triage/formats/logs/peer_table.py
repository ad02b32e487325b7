"""Tables that measure nodes, ranks or GPUs side by side, as profilers and monitors print them: who
is the odd one.

::

    time,node,compute_s_p50,exposed_comm_s_p50      step,fwd_s.rank0,fwd_s.rank1,fwd_s.rank2
    2026-05-06T03:00:53Z,gpu-17,5.921,8.244         963,0.710,0.718,1.304
    2026-05-06T03:00:53Z,gpu-18,13.688,0.383
                                                    Rank=8 Node=gpu-17 Score=0.61

All of one job do the same work in each step, on the same parts, so one that takes much longer than
all others, or whose clocks, links or share of the work are much lower, again and again, holds them
up. Each such place becomes a line.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from triage.domain.patterns import compile_re
from triage.formats.logs.controller_lists import split_cells
from triage.formats.logs.documents import DocumentFormat, format_line_about
from triage.parsers.logs.record_fields import Holds, name_field
from triage.parsers.logs.stamps import WRITTEN, read_time

_HEAD_CHARACTERS: Final = 8 << 10
_FIRST_LINES: Final = 6
_LEAST_PLACES: Final = 3
_LEAST_ROWS: Final = 3
_PREFIX: Final = 4
# So many times as long as the median of all takes nobody by chance; nor does a little less where
# nobody else is near.
_LONGER: Final = 1.4
_APART: Final = 1.25
_NEAR: Final = 1.1
# ... in this share of the moments that the table tells of.
_AGAIN: Final = 0.75
_LAST_MOMENTS: Final = 8
# Ranks of more than a node are slow for another reason.
_MOST_RANKS: Final = 16
_HOST: Final = compile_re(r"(?=[^\d]*[A-Za-z])(?=[^\d]*\d)[A-Za-z][\w-]{1,62}(?:\.[\w.-]{1,190})?")
_NAME: Final = compile_re(r"[A-Za-z][\w.-]{1,252}")
_SECTION: Final = compile_re(rf"[#=\-\s]{{1,9}}({_HOST.pattern}):?[#=\-\s]{{0,9}}")
_NUMBER: Final = compile_re(r"x?(-?\d{1,12}(?:\.\d{1,9})?)(?: ?(?:ms|s|us|sec|TF|W|C|MHz))?")
# Of a log's own lines, a field a pair, nothing is left out.
_PAIRS: Final = compile_re(
    r"(?!.*\b(?:loss|level|lvl|msg|step|time|ts)=)\s*(?:\w{1,40}=[^\s=,]{1,80}[\s,]{1,9}){1,5}\w{1,40}=[^\s=,]{1,80}\s*",
    re.IGNORECASE,
)
_PAIR: Final = compile_re(r"(\w{1,40})=([^\s=,]{1,80})")
_COLUMNS: Final = compile_re(r"[ \t]{2,}|\t")
# Of a table of one value a row, the column that says which.
_KEYS: Final = ("key", "metric", "name")
_REMARK: Final = compile_re(r"\s{1,9}\([^()]{1,200}\)$")
_BARE: Final = compile_re(r"(?<![\w.:=-])\d{1,12}(?:\.\d{1,9})?(?![\w.:-])")
_TIME: Final = compile_re(WRITTEN)
_OF_RANK: Final = compile_re(
    r"[/._ -]?\brank[_ -]?0{0,6}(\d{1,6})\b|_rank_?0{0,6}(\d{1,6})\b", re.IGNORECASE
)
_RANK: Final = frozenset({"rank", "globalrank"})
_GPU: Final = frozenset(
    {"gpu", "gpuid", "gpuindex", "index", "device", "deviceid", "localrank", "hca", "nic", "port"}
)
# Names of measures are looked at in lower case.
_NO_MEASURE: Final = compile_re(r"loss|level|lvl|epoch|pid|port|temp|power|memory|\bmem")
# Work that a place does by itself; what it waits for is long where another one is slow.
_OF_WORK: Final = compile_re(
    r"comput|fwd|bwd|forward|backward|kernel|gemm|optim|data|input|load|host|cpu"
)
_OF_WAITING: Final = compile_re(r"wait|comm|collective|idle|barrier|sync|reduce|gather")
_OF_TIME: Final = compile_re(r"(?:^|[\s_(.,-])(?:ms|s|us|secs?|seconds|time)(?:$|[\s_).,-])")
# What is low where a place is slow, and what that is called.
_LOWER: Final = (
    ("clocks", compile_re(r"clock|mhz")),
    ("links", compile_re(r"width|\bgen\b|link\.gen|[hd]2[hd]|gb/s|gbps|bandwidth")),
    ("work done", compile_re(r"score|tflop|etpt|throughput|tokens|samples/|relative")),
)
_FIRST: Final = compile_re(
    r"\bvalue\b|"
    + "|".join(one.pattern for one in (_OF_WORK, _OF_TIME, *(words for _, words in _LOWER)))
)


class _Place(NamedTuple):
    """Whose a value is; ``gpu`` tells those of one place apart."""

    node: str | None
    rank: int | None
    gpu: str


@dataclass(slots=True)
class _Moment:
    """What a table tells of one moment: measure -> place -> value."""

    offset: int
    at: str
    values: dict[str, dict[_Place, float]] = field(default_factory=lambda: defaultdict(dict))
    words: dict[_Place, str] = field(default_factory=dict)


class _Odd(NamedTuple):
    """A place that stands apart in a measure, with its last value and the median of all."""

    place: _Place
    of: str
    measure: str
    value: float
    usual: float


def _split(line: str) -> list[str]:
    """The cells of a row."""
    delimiter = next((mark for mark in ",;|\t" if mark in line), " ")
    return [cell.strip() for cell in split_cells(line, delimiter)]


def _name_columns(line: str) -> list[str]:
    """The names that a heading ends with, or all of a line of a table."""
    if any(mark in line for mark in ",;|\t") and "  " not in line.strip():
        return _split(line)
    return _COLUMNS.split(_REMARK.sub("", line.rpartition(": ")[2].strip()))


def _read_cells(line: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The cells of a line with the names of their columns, of a table in blanks those of the last.

    A key and a value in cells of their own are one.
    """
    if _PAIRS.fullmatch(line):
        return _PAIR.findall(line)
    cells = _split(line)
    shift = len(cells) - len(names)
    named = [
        (names[k - shift] if 0 <= k - shift < len(names) else "", c) for k, c in enumerate(cells)
    ]
    known = {name.lower(): cell for name, cell in named}
    key = next((known[name] for name in _KEYS if name in known), None)
    if key is None or "value" not in known:
        return named
    return [(key if name.lower() == "value" else name, cell) for name, cell in named]


def _read_moments(text: str) -> tuple[list[_Moment], int]:
    """The moments of a table in their order, and how many lines are rows; rows of one time, or of
    one step, belong together.
    """
    moments: dict[str, _Moment] = {}
    offset, names, heading, rows = 0, [""], "", 0
    section, home = 0, None
    unnamed = set[str]()
    for line in text.split("\n"):
        cells = _read_cells(line, names) if line.strip() else []
        found = _SECTION.fullmatch(line)
        if found is not None:
            home = found[1]
        elif any(_NUMBER.fullmatch(cell) for _, cell in cells):
            at = next((cell for _, cell in cells if _TIME.fullmatch(cell)), "")
            step = next((cell for name, cell in cells if name.lower() in ("step", "iteration")), "")
            one = moments.setdefault(
                at or step or f"{section} {heading}", _Moment(offset, at or heading)
            )
            rows += _add_row(one, cells, home, unnamed)
        elif cells:
            names = _name_columns(line)
            told = _TIME.search(line)
            heading = told[0] if told is not None else ""
            section += 1
        offset += len(line) + 1
    return (list(moments.values()), rows) if _are_sisters(unnamed) else ([], 0)


def _add_row(
    moment: _Moment, cells: Sequence[tuple[str, str]], home: str | None, unnamed: set[str]
) -> bool:
    """Add what a row measures; whether it measures anything of a place."""
    node, rank, gpu, measured, words = home, None, "", dict[str, float](), ""
    is_named = any(Holds.HOST in dict(name_field(name)) for name, _ in cells)
    for name, cell in cells:
        number, plain = _NUMBER.fullmatch(cell), re.sub(r"[^a-z]", "", name.lower())
        if plain in _RANK and cell.isdecimal():
            rank = int(cell[:7])
        elif plain in _GPU:
            gpu = cell
        elif number is not None and not _TIME.fullmatch(cell):
            if name:
                measured[name] = float(number[1])
        elif Holds.HOST in dict(name_field(name)) and _NAME.fullmatch(cell):
            node = cell
        elif node is None and _HOST.fullmatch(cell) and (not name or not is_named):
            node = cell
            unnamed.add(cell)
        elif not (cell[:1].isdigit() or _TIME.fullmatch(cell) or name.lower() in _KEYS):
            words = cell
    kept = False
    for name, value in measured.items():
        found = _OF_RANK.search(name)
        own = rank if found is None else int(found[1] or found[2])
        place = _Place(node, own, gpu)
        if (node, own, gpu) != (None, None, ""):
            moment.values[_OF_RANK.sub("", name)][place] = value
            moment.words[place] = words
            kept = True
    return kept


def _are_sisters(hosts: Set[str]) -> bool:
    """Whether names are those of nodes: alike but for numbers, or by how all of them begin."""
    forms = {re.sub(r"\d+", "0", host) for host in hosts}
    return len(forms) <= 1 or len({host[:_PREFIX] for host in hosts}) == 1


def _classify_measure(name: str, moment: _Moment) -> str | None:
    """What a measure is that tells who is slow, as :data:`_LOWER` or "step times"; else None."""
    name, names = name.lower(), [one.lower() for one in moment.values]
    if _NO_MEASURE.search(name) and "mhz" not in name:
        return None
    for of, words in _LOWER:
        if words.search(name):
            return of
    is_work = _OF_WORK.search(name) or not any(map(_OF_WORK.search, names))
    if not is_work or _OF_WAITING.search(name):
        return None
    is_time = any(_OF_TIME.search(one) or _OF_WAITING.search(one) for one in names)
    return "step times" if is_time else None


def _find_odd_places(moments: Iterable[_Moment]) -> list[_Odd]:
    """The one place that stands apart again and again, in the measure in which it loses most; of
    ranks that nobody places, each. Empty where there is none, or more than one.
    """
    apart: dict[tuple[_Place, str], list[_Odd]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for one in moments:
        for name, values in one.values.items():
            of = _classify_measure(name, one)
            if of is None or len(values) < _LEAST_PLACES:
                continue
            count[name] += 1
            usual = median(values.values())
            slow = {
                place: (value / usual if of == "step times" else usual / max(value, 1e-9))
                for place, value in values.items()
                if usual > 0
            }
            for place, value in values.items():
                others = [by for other, by in slow.items() if not _is_with(other, place)]
                is_alone = max(others, default=_LONGER) < _NEAR
                if slow.get(place, 0.0) >= (_APART if is_alone else _LONGER):
                    apart[place, name].append(_Odd(place, of, name, value, usual))
    again = [told[-1] for (_, name), told in apart.items() if len(told) >= _AGAIN * count[name]]
    worst: dict[_Place, _Odd] = {}
    for odd in sorted(again, key=lambda odd: -abs(odd.value - odd.usual) / odd.usual):
        worst.setdefault(odd.place._replace(gpu="" if odd.place.node else odd.place.gpu), odd)
    nodes = {place.node or place for place in worst}
    ranks = {place for place in worst if place.node is None and place.rank is not None}
    if len(nodes) > 1 and not (ranks == worst.keys() and len(ranks) <= _MOST_RANKS):
        return []
    return list(worst.values()) if ranks else list(worst.values())[:1]


def _is_with(other: _Place, place: _Place) -> bool:
    """Whether two places are of one node, or may be."""
    if place.node is None and place.rank is not None and other.rank is not None:
        return abs(place.rank - other.rank) < _MOST_RANKS // 2
    return place.node is not None and other.node == place.node


def _may_be_heading(line: str) -> bool:
    """Whether a line names measures, and holds no number of its own but beside names."""
    plain = _BARE.search(_REMARK.sub("", line)) is None
    return _FIRST.search(line.lower()) is not None and (plain or _PAIRS.fullmatch(line) is not None)


def _is_peer_table(text: str) -> bool:
    """Whether most lines are rows of nodes, ranks or GPUs with numbers that tell who is slow."""
    head = text[:_HEAD_CHARACTERS]
    if len(text) > len(head):
        head = head[: head.rfind("\n") + 1]
    if not any(map(_may_be_heading, head.split("\n", _FIRST_LINES)[:_FIRST_LINES])):
        return False
    moments, rows = _read_moments(head)
    lines = sum(1 for line in head.split("\n") if line.strip() and not _SECTION.fullmatch(line))
    return rows >= max(_LEAST_ROWS, 0.8 * (lines - len(moments) - 1)) and any(
        _classify_measure(name, one) and len(values) > 1
        for one in moments
        for name, values in one.values.items()
    )


def _iterate_odd_rows(text: str) -> Iterator[tuple[int, str]]:
    """A line for each place that holds the others up, at the last moment."""
    moments, _ = _read_moments(text)
    for odd in _find_odd_places(moments[-_LAST_MOMENTS:]):
        last = moments[-1]
        at = last.at if last.at and read_time(last.at) is not None else ""
        node, rank, gpu = odd.place
        who = node or (f"rank {rank}" if rank is not None else f"GPU {gpu}")
        unit = "nodes" if node else "ranks" if rank is not None else "GPUs"
        words = last.words.get(odd.place, "")
        yield (
            last.offset,
            format_line_about(
                at,
                node or "",
                f"{odd.of} by {unit[:-1]}: {odd.measure.replace(' ', '_')} of {who} {odd.value:g},"
                f" median of all {unit} {odd.usual:g}{words and f' ({words})'}",
            ),
        )


PEER_TABLE: Final = DocumentFormat("peer_table", _is_peer_table, _iterate_odd_rows, lambda _: True)
