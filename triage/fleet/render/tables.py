"""Tables of a fleet as data.

``tables.toml`` says what their columns are.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final, NamedTuple

from triage.domain.counts import count
from triage.domain.hosts import make_natural_key
from triage.domain.patterns import compile_re
from triage.fleet.render.words import (
    FORMATS,
    Estimate,
    Wire,
    format_hours,
    format_per_cent,
    mark,
)
from triage.render.pictures.markup import Html
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense_names

_MAX_ROWS: Final = 20
_MAX_LEAVES, _MAX_NAMES = 40, 120
_DIFFERS: Final = Html('<span class="differs">differs</span>')
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
            return _DIFFERS if value else ""
        if words := load_tables()["words"].get(format_spec):
            return words.get(value, value)
        return FORMATS[format_spec](value) if format_spec in FORMATS else format(value, format_spec)

    def fill(self, text: str, fields: Wire) -> str:
        """The text of a cell or a head."""
        if match := _FIELD.fullmatch(text):
            value = find_field(fields, match[1])
            cell = self.format_field(value, match[2]) if match[2] else value
            return cell if isinstance(cell, str) else str(cell)
        return self.vformat(text, (), fields)


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
    # Days asked for as given, measured ones with the digits that they bear.
    measured = {"forecast", "record", "outages"}
    rows = [
        {**row, "away": (format_hours if row["basis"] in measured else mark)(days * 24)}
        for row in report["spares"]
        for days in (row["repair_days"],)
    ]
    nodes = count(rows[0]["spares"]["num_nodes"], "node") if rows else ""
    return tabulate(name, rows, nodes=nodes)


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


def tabulate_hot_nodes(telemetry: Wire, named: Callable[[str], str] = str) -> Table | None:
    """Nodes that were throttled or braked, or whose counters grew; nothing without one."""
    shown = [node for node in telemetry.get("nodes", ()) if any(map(node.get, _HEAT))]
    rows = [{**node, "node": named(node["node"])} for node in shown]
    measured = count(telemetry.get("num_nodes", 0), "node")
    return tabulate("hot_nodes", rows, most=_MAX_ROWS, measured=measured)


def describe_reference_job(report: Wire) -> str:
    """``a job of 16,384 GPUs``; ``a job`` where no size is known."""
    reference = report["exposure"]["reference_gpus"]
    return f"a job of {reference:,} GPUs" if reference else "a job"


def get_job_mtti(report: Wire, window: Wire) -> Estimate:
    """The MTTI in hours, of a job of the reference size where one is known.

    A record of jobs of many sizes has no other figure that can be compared over time.
    """
    reference = report["exposure"]["reference_gpus"]
    mine: Estimate = window["mtti"]
    if not reference or not window["gpu_hours"]:
        return mine
    between = window["gpu_hours_between"]
    keys = ("value", "low", "high")
    scaled = {key: None if between[key] is None else between[key] / reference for key in keys}
    return {**mine, **scaled}


def tabulate_windows(report: Wire, name: str, windows: Iterable[Wire]) -> Table | None:
    """Windows as rows of the table of this name."""
    rows = [
        {
            **row,
            "job_mtti": get_job_mtti(report, row),
            "exposed": f"{row['gpu_hours']:,.0f}"
            if row["gpu_hours"]
            else f"{row['job_hours']:,.0f} job-h",
        }
        for row in windows
    ]
    return tabulate(name, rows, job=describe_reference_job(report))


def list_shared_warnings(report: Wire) -> list[str]:
    """The warnings that hold for every size."""
    every = [row["warnings"] for row in report["projection"]]
    return [text for text in every[0] if all(text in of_size for of_size in every)] if every else []


def tabulate_projection(report: Wire) -> Table | None:
    """Sizes as rows, with what speaks against each figure."""
    shared = set(list_shared_warnings(report))
    rows = report["projection"]
    own = ("; ".join(text for text in row["warnings"] if text not in shared) for row in rows)
    return tabulate(
        "projection", ({**row, "beware": text} for row, text in zip(rows, own, strict=True))
    )


def tabulate_leaves(standings: Wire) -> Table | None:
    """The leaf switches that are accused, or have nodes that stand out; accused ones first.

    What is accused node after node may be the switch above them.
    """
    accused = {part["name"] for part in standings["parts"] if part["kind"] == "leaf_switch"}
    rows = []
    for leaf in standings["leaves"]:
        name, counts = leaf["leaf_switch"], leaf["counts"]
        lemons, watched = (counts.get(grade, 0) for grade in ("lemon", "watch"))
        if lemons or watched or name in accused:
            rows.append(
                {
                    "label": name or "no leaf known",
                    "num_nodes": sum(counts.values()),
                    "lemons": lemons,
                    "watched": watched,
                    "switch": "itself accused" if name in accused else "",
                    "names": _list_outlying_names(standings, name),
                    "order": (name not in accused, -lemons, -watched, name is None),
                }
            )
    rows.sort(key=lambda row: (*row["order"], make_natural_key(row["label"])))
    return tabulate("leaves", rows, most=_MAX_LEAVES)


def _list_outlying_names(standings: Wire, leaf: str | None) -> str:
    """``lemon n3, n7; watch n9``, as far as the nodes of a leaf are listed."""
    named: dict[str, list[str]] = {"lemon": [], "watch": []}
    for row in standings["nodes"]:
        if row["leaf_switch"] == leaf and row["grade"] in named:
            named[row["grade"]].append(format_one_line(row["node"]))
    return "; ".join(
        f"{grade} {condense_names(names, max_chars=_MAX_NAMES)}"
        for grade, names in named.items()
        if names
    )


# Repairs: who is on probation, which repair holds, how right the chances were. Shares are of
# returns whose time is over.


def list_repair_tables(
    repairs: Wire, named: Callable[[str], str] = str, most: int = 100
) -> tuple[tuple[str, str, Table | None, str], ...]:
    """Probation, repairs, causes, and chances held against what came: (key, title, table, word).

    A page folds a table that has a word. ``named`` makes of a node's name what stands in the
    table; ``most`` are on probation by name.
    """
    nodes = [
        {
            **row,
            "node": named(row["node"]),
            "after": FORMATS["repair_action"](row["action"])
            if row["action"]
            else FORMATS["repair_cause"](row["cause"]),
        }
        for row in repairs["probation"]
    ]
    deciles = [
        {**row, "within_days": one["within_days"]}
        for one in repairs["judged"]
        for row in one["deciles"]
    ]
    return (
        ("probation", "On probation", tabulate("probation", nodes, most=most), ""),
        ("holds", "Which repair holds", tabulate("holds", repairs["by_repair"]), ""),
        ("causes", "By cause", tabulate("returns", repairs["by_cause"]), ""),
        (
            "judged",
            "What was said, and what came",
            tabulate("judged", deciles),
            "By tenths of what was said",
        ),
    )
