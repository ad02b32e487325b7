"""Tables that say how else machines are called: pods on nodes, instances, assets, addresses.

::

    NAME          NODE                IP            INSTANCE
    llm-worker-0  tdr-r7-u10-97       10.68.22.109  bm-36817

Launchers of clouds and inventories print them, alone or among other lines, which stay as they are.
Each other name becomes a line in which it was put on its node, as Kubernetes says it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from triage.domain.patterns import compile_re
from triage.formats.logs.controller_lists import split_cells, split_heading
from triage.formats.logs.documents import DocumentFormat
from triage.parsers.logs.record_fields import TIMES, Holds, list_values, read_fields

_FIRST_LINES: Final = 60
_NAME: Final = compile_re(r"(?=[^\d\n]{0,60}[A-Za-z])(?=.{0,60}\d)[A-Za-z0-9][\w.-]{3,127}")
_ADDRESS: Final = compile_re(r"\d{1,3}(?:\.\d{1,3}){3}")
# Columns have names without figures.
_HEADING: Final = compile_re(r"[A-Za-z_\"][A-Za-z_ ,;|\t.()\"-]{5,600}[ \t\r]*")
# What ``kubectl get pods -o wide`` prints is known by its lines.
_KNOWN: Final = frozenset({"ready", "restarts"})


class _Columns(NamedTuple):
    """Where the node's own name, its other names and its address stand."""

    delimiter: str
    width: int
    node: int
    others: list[int]
    address: int | None


def _map_columns(line: str) -> _Columns | None:
    """The columns that a heading names; None for any other line."""
    if _HEADING.fullmatch(line) is None:
        return None
    delimiter, names = split_heading(line)
    if not 2 <= len(names) <= 24 or not _KNOWN.isdisjoint(names):
        return None
    fields = read_fields({name: k for k, name in enumerate(names)})
    if Holds.HOST not in fields or list_values(fields, *TIMES, Holds.MESSAGE):
        return None
    node = fields[Holds.HOST][0]
    others = [k for k in fields.get(Holds.ALIAS, ()) if k != node]
    address = next(iter(fields.get(Holds.ADDRESS, ())), None)
    if not others and address is None:
        return None
    return _Columns(delimiter, len(names), node, others, address)


def _read_table(lines: Sequence[str]) -> tuple[_Columns | None, dict[int, list[str]]]:
    """The columns of the first heading, and the cells of each row below it by its line."""
    for heading, line in enumerate(lines[:_FIRST_LINES]):
        if (found := _map_columns(line)) is not None:
            split = ([*map(str.strip, split_cells(one, found.delimiter))] for one in lines)
            return found, {
                k: cells
                for k, cells in enumerate(split)
                if k > heading and len(cells) == found.width and _NAME.fullmatch(cells[found.node])
            }
    return None, {}


def _is_name_table(text: str) -> bool:
    """Whether a heading stands among the first lines, and rows of names below it."""
    return not text.startswith(("{", "[")) and bool(_read_table(text.split("\n"))[1])


def _iterate_name_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text, those of its table as what they say of names."""
    lines = text.split("\n")
    columns, rows = _read_table(lines)
    count = Counter(cell for cells in rows.values() for cell in cells)
    offset = 0
    for k, line in enumerate(lines):
        if columns is None or k not in rows:
            yield offset, line
        else:
            node, cells = rows[k][columns.node], rows[k]
            others = [
                cells[one]
                for one in columns.others
                if _NAME.fullmatch(cells[one]) and count[cells[one]] == 1
            ]
            address = cells[columns.address] if columns.address is not None else ""
            if _ADDRESS.fullmatch(address):
                first = others.pop(0) if others else node
                yield offset, f"{first}   1/1   Listed   0   {address}   {node}"
            for name in others:
                yield offset, f"Successfully assigned names/{name} to {node}"
        offset += len(line) + 1


NAME_TABLE: Final = DocumentFormat("name_table", _is_name_table, _iterate_name_lines)
