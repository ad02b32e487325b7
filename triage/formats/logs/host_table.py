"""Tables of how long each node takes, as launchers and profilers print them: who is the odd one.

::

    time,node,compute_s_p50,exposed_comm_s_p50
    2026-05-06T03:00:53Z,gpu-17,5.921,8.244
    2026-05-06T03:00:53Z,gpu-18,13.688,0.383

All nodes of one job do the same work in each step, so one that takes much longer than all others,
again and again, holds them up. Each such node becomes a line.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.logs.controller_lists import split_cells
from triage.formats.logs.documents import DocumentFormat, format_line_about
from triage.parsers.logs.stamps import WRITTEN, read_time

_HEAD_CHARACTERS: Final = 8 << 10
_LEAST_NODES: Final = 3
_LEAST_ROWS: Final = 3
_MOST_COLUMNS: Final = 24
_PREFIX: Final = 4
# So many times as long as the median of the others takes nobody by chance.
_LONGER: Final = 1.4
# ... in this share of the moments that the table tells of.
_AGAIN: Final = 0.75
_LAST_MOMENTS: Final = 8
_HOST: Final = compile_re(r"(?=[^\d]*[A-Za-z])(?=[^\d]*\d)[A-Za-z][\w-]{1,62}(?:\.[\w.-]{1,190})?")
_NUMBER: Final = compile_re(r"(-?\d{1,12}(?:\.\d{1,9})?)(?: ?(?:ms|s|us|sec))?")
_DIGITS: Final = compile_re(r"\d+")
_COLUMNS: Final = compile_re(r"[ \t]{2,}|\t")
_TIME: Final = compile_re(WRITTEN)
# Work that a node does by itself; what it waits for is long where another one is slow.
_OF_WORK: Final = compile_re(
    r"comput|fwd|bwd|forward|backward|kernel|gemm|optim|data|input|load|host|cpu", 2
)
_OF_WAITING: Final = compile_re(
    r"wait|comm|collective|idle|barrier|sync|reduce|gather", re.IGNORECASE
)
_OF_TIME: Final = compile_re(
    r"(?:^|[_ (.-])(?:ms|s|us|secs?|seconds|time)(?:$|[_ ).-])", re.IGNORECASE
)


@dataclass(slots=True)
class _Moment:
    """What a table tells of one moment: column -> node -> value."""

    offset: int
    at: str
    values: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))


def _split(line: str) -> list[str]:
    """The cells of a row."""
    delimiter = next((mark for mark in ",;|\t" if mark in line), " ")
    return [cell.strip() for cell in split_cells(line, delimiter)]


def _name_columns(line: str) -> list[str]:
    """The names that a heading ends with, or all of a line of a table."""
    if any(mark in line for mark in ",;|\t") and "  " not in line.strip():
        return _split(line)
    return _COLUMNS.split(line.rpartition(": ")[2].strip())


def _read_moments(text: str) -> list[_Moment]:
    """The moments of a table in their order; rows of one time belong together."""
    moments: dict[str, _Moment] = {}
    offset, names, heading = 0, [""], ""
    section, hosts = 0, set[str]()
    for line in text.split("\n"):
        cells = _split(line) if line.strip() else []
        host = next((k for k, cell in enumerate(cells) if _HOST.fullmatch(cell)), None)
        found = [_NUMBER.fullmatch(cell) for cell in cells]
        numbers = {k: one[1] for k, one in enumerate(found) if one is not None}
        if host is not None and numbers and len(cells) <= _MOST_COLUMNS:
            hosts.add(cells[host])
            at = next((cell for cell in cells if _TIME.fullmatch(cell)), "")
            key = at or f"{section} {heading}"
            one = moments.setdefault(key, _Moment(offset, at or heading))
            # Of a table in blanks the heading names the columns of numbers, or all of them.
            shift = len(cells) - len(names)
            for k, number in numbers.items():
                name = names[k - shift] if 0 <= k - shift < len(names) else ""
                one.values[name][cells[host]] = float(number)
        elif cells:
            names = _name_columns(line)
            told = _TIME.search(line)
            heading = told[0] if told is not None else ""
            section += 1
        offset += len(line) + 1
    return list(moments.values()) if _are_sisters(hosts) else []


def _are_sisters(hosts: Set[str]) -> bool:
    """Whether names are those of nodes: alike but for numbers, or by how all of them begin."""
    forms = {_DIGITS.sub("0", host) for host in hosts}
    return len(forms) == 1 or len({host[:_PREFIX] for host in hosts}) == 1


def _find_odd_node(moments: Sequence[_Moment]) -> tuple[str, str, float, float] | None:
    """The one node that takes longer again and again: its name, the column in which it loses most,
    its last value there, and the median of all; None where there is none, or more than one.
    """
    longer: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for one in moments[-_LAST_MOMENTS:]:
        for column, values in one.values.items():
            is_work = _OF_WORK.search(column) and not _OF_WAITING.search(column)
            if len(values) < _LEAST_NODES or not (is_work and _is_of_time(column, one)):
                continue
            count[column] += 1
            usual = median(values.values())
            for node, value in values.items():
                if usual > 0 and value >= _LONGER * usual:
                    longer[node, column].append((value, usual))
    nodes = {node for (node, column), told in longer.items() if len(told) >= _AGAIN * count[column]}
    if len(nodes) != 1:
        return None
    (node,) = nodes
    last = {column: told[-1] for (name, column), told in longer.items() if name == node}
    column = max(last, key=lambda name: last[name][0] - last[name][1])
    return node, column, *last[column]


def _is_of_time(column: str, moment: _Moment) -> bool:
    """Whether a column tells how long something took, by its name or by those beside it."""
    return any(map(_OF_TIME.search, (column, *moment.values))) or any(
        map(_OF_WAITING.search, moment.values)
    )


def _is_host_table(text: str) -> bool:
    """Whether most lines are rows of nodes with numbers, which a heading calls times of work."""
    head = text[:_HEAD_CHARACTERS]
    if len(text) > len(head):
        head = head[: head.rfind("\n") + 1]
    first = head.partition("\n")[0]
    if not (_OF_WORK.search(first) and (_OF_TIME.search(first) or _OF_WAITING.search(first))):
        return False
    moments = _read_moments(head)
    columns = [(column, one) for one in moments for column in one.values]
    lines = sum(1 for line in head.split("\n") if line.strip())
    rows = sum(max(map(len, one.values.values())) for one in moments)
    return rows >= max(_LEAST_ROWS, 0.8 * (lines - len(moments))) and any(
        _OF_WORK.search(column) and _is_of_time(column, one) for column, one in columns
    )


def _iterate_odd_rows(text: str) -> Iterator[tuple[int, str]]:
    """A line for the node that holds the others up, at its last row."""
    moments = _read_moments(text)
    if (odd := _find_odd_node(moments)) is not None:
        node, column, value, usual = odd
        last = moments[-1]
        at = last.at if last.at and read_time(last.at) is not None else ""
        said = f"step times by node: {column} of {node} {value:g}, median of all nodes {usual:g}"
        yield last.offset, format_line_about(at, node, said)


HOST_TABLE: Final = DocumentFormat("host_table", _is_host_table, _iterate_odd_rows, lambda _: True)
