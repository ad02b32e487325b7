"""Tables of a fleet as data: what stands beside every picture, and is read aloud in its place.

``tables.toml`` says what their columns are.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final, NamedTuple

from triage.domain.counts import count
from triage.domain.patterns import compile_re
from triage.fleet.render.words import FORMATS, Wire, format_hours, format_per_cent, mark
from triage.render.pictures.markup import make_element

_MAX_ROWS: Final = 20
# Warmer than the median rack by less is the place of a sensor.
_WARM_C: Final = 1.0
_HEAT: Final = (
    "throttled_hours",
    "power_brake_hours",
    "ecc_growth",
    "remap_growth",
    "nvlink_growth",
    "ib_growth",
)
# A cell that is one field: what it holds may be markup.
_FIELD: Final = compile_re(r"\{([^{}:]+):?([^{}]*)\}")


class Table(NamedTuple):
    """Rows under their heads; a head that begins with ``#`` is of figures, set to the right.

    The first cell of a row is its head. ``left_out`` rows are told under the table; ``name`` is
    its class on a page. Cells are text, or markup that is already safe.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0
    name: str = ""


def find_field(value: Wire, path: str) -> Any:  # noqa: ANN401 - what JSON can hold
    """What stands at a path with dots; None where a part of it is missing."""
    found: Any = value
    for key in path.split("."):
        if isinstance(found, list | tuple):
            found = found[int(key)]
        elif found is not None:
            found = found.get(key)
    return found


class _CellFormatter(Formatter):
    """Format strings whose fields have paths and whose formats may be names of ``FORMATS``."""

    def get_field(self, field_name: str, _: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return find_field(kwargs, field_name), field_name

    def format_field(self, value: Any, format_spec: str) -> Any:  # noqa: ANN401 - may be markup
        if format_spec.startswith("?"):
            return "" if value is None else self.format_field(value, format_spec[1:])
        if format_spec == "marked":
            return make_element("span", {"class": "differs"}, "differs") if value else ""
        if words := load_tables()["words"].get(format_spec):
            return words.get(value, value)
        return FORMATS[format_spec](value) if format_spec in FORMATS else format(value, format_spec)

    def fill(self, text: str, fields: Wire) -> str:
        """The text of a cell or a head."""
        if match := _FIELD.fullmatch(text):
            value = find_field(fields, match[1])
            return _convert_cell(self.format_field(value, match[2]) if match[2] else value)
        return self.vformat(text, (), fields)


def _convert_cell(value: Any) -> str:  # noqa: ANN401 - a field
    """Text as it is, markup too; other values as text."""
    return value if isinstance(value, str) else str(value)


_FORMATTER: Final = _CellFormatter()


@cache
def load_tables() -> Mapping[str, Any]:
    """``tables.toml``."""
    text = files("triage.fleet.render").joinpath("tables.toml").read_text("utf-8")
    return tomllib.loads(text)


def find_word(kind: str, name: str) -> str:
    """A word for a name, as ``tables.toml`` has it; the name itself where it has none."""
    return str(load_tables()["words"][kind].get(name, name))


def tabulate(
    name: str, rows: Iterable[Wire], *, most: int | None = None, **values: object
) -> Table | None:
    """The table of this name over ``rows``; None without a row.

    ``values`` are for its caption and heads; rows beyond ``most`` are counted.
    """
    listed = [*rows]
    if not listed:
        return None
    kind = load_tables()[name]
    columns = [
        column
        for column in kind["columns"]
        if len(column) < 3 or any(find_field(row, column[2]) is not None for row in listed)
    ]
    told = {**listed[0], **values}
    return Table(
        _FORMATTER.fill(kind["caption"], told),
        [_FORMATTER.fill(head, told) for head, *_ in columns],
        [[_FORMATTER.fill(cell, row) for _, cell, *_ in columns] for row in listed[:most]],
        0 if most is None else max(0, len(listed) - most),
        kind.get("name", ""),
    )


def tabulate_spares(name: str, report: Wire) -> Table | None:
    """Spares by what takes nodes out and how long they are away, as the table of this name."""
    rows = [{**row, "away": _describe_away(row)} for row in report["spares"]]
    nodes = count(rows[0]["spares"]["num_nodes"], "node") if rows else ""
    return tabulate(name, rows, nodes=nodes)


def _describe_away(row: Wire) -> str:
    """How long a node is away: days asked for as given, measured ones with the digits they bear."""
    measured = row["basis"] in ("forecast", "record", "outages")
    return (format_hours if measured else mark)(row["repair_days"] * 24)


def tabulate_checkpoints(report: Wire) -> Table | None:
    """Intervals and losses by what a checkpoint costs."""
    rows = sorted(report["checkpoints"], key=lambda row: float(row["cost_s"]))
    known = (row for row in rows if row["young"]["value"] or row["young"]["low"])
    return tabulate("checkpoints", known)


def tabulate_costs(costs: Sequence[Wire]) -> Table | None:
    """Spares against what is short without them; none without a spare."""
    return tabulate("costs", costs) if len(costs) > 1 else None


def tabulate_answer(answer: Wire) -> Table | None:
    """Spares for one plan: ``what_if.SparesAnswer`` on the wire."""
    return tabulate(
        "answer",
        answer["rows"],
        nodes=count(answer["num_nodes"], "node"),
        away=mark(answer["repair_days"] * 24),
        confidence=format_per_cent(answer["confidence"]),
    )


def tabulate_racks(telemetry: Wire) -> Table | None:
    """Racks whose inlet is warmer than that of others, or grows warmer; nothing without one."""
    racks = [rack for rack in telemetry.get("racks", ()) if rack["ahead_c"] is not None]
    racks.sort(key=lambda rack: (-rack["ahead_c"], rack["rack"]))
    warm = (
        rack for rack in racks if rack["ahead_c"] >= _WARM_C or (rack["trend_c_per_week"] or 0) > 1
    )
    return tabulate("racks", warm, most=_MAX_ROWS)


def tabulate_hot_nodes(telemetry: Wire, named: Callable[[str], str] = str) -> Table | None:
    """Nodes that were throttled or braked, or whose counters grew; nothing without one."""
    shown = [node for node in telemetry.get("nodes", ()) if any(map(node.get, _HEAT))]
    rows = [{**node, "node": named(node["node"])} for node in shown]
    measured = count(telemetry.get("num_nodes", 0), "node")
    return tabulate("hot_nodes", rows, most=_MAX_ROWS, measured=measured)
