"""Comparison: two incidents side by side.

Reports, incidents of a service and plain dicts ``triage.report/1`` are all taken.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from triage.render.data.tables import build_table, parse_columns
from triage.render.pictures.markup import draw
from triage.render.words.answer import format_belief
from triage.render.words.clean import format_one_line

if TYPE_CHECKING:
    from pandas import DataFrame

SIDE_BY_SIDE: Final = parse_columns("what string, a string, b string, same bool")
"""One row per statement of the two verdicts and what they rest on."""

TWO_SUSPECTS: Final = parse_columns(
    "who string, position_a Int64, position_b Int64, category_a string, category_b string, "
    "score_a Float64, score_b Float64"
)
"""One row per node (or rank, where no node is known) that either incident suspects."""

_VERDICT = ("kind", "category", "confidence", "action", "cordon", "at", "summary")
_CELL = 160


class Reported(Protocol):
    """An object with a report: ``triage.Report``, or an incident of a service."""

    def to_dict(self) -> Mapping[str, Any]:
        """The report ``triage.report/1``."""
        ...


class Comparison:
    """What two incidents have in common and where they differ.

    ``verdicts`` (columns ``SIDE_BY_SIDE``) and ``suspects`` (columns ``TWO_SUSPECTS``) are
    DataFrames.
    """

    def __init__(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
        self.a = a
        self.b = b

    @property
    def verdicts(self) -> "DataFrame":
        """The statements of both, one a row."""
        return build_table(self._list_statements(), SIDE_BY_SIDE)

    @property
    def suspects(self) -> "DataFrame":
        """Whom either suspects, one a row; those of ``a`` first."""
        mine, theirs = _map_suspects_by_name(self.a), _map_suspects_by_name(self.b)
        rows = (
            {"who": who}
            | {
                f"{key}_{side}": of.get(who, {}).get(key)
                for side, of in (("a", mine), ("b", theirs))
                for key in ("position", "category", "score")
            }
            for who in dict.fromkeys((*mine, *theirs))
        )
        return build_table(rows, TWO_SUSPECTS)

    def _list_statements(self) -> list[dict[str, Any]]:
        a, b = _collect_statements(self.a), _collect_statements(self.b)
        return [
            {"what": what, "a": a[what], "b": b[what], "same": a[what] == b[what]} for what in a
        ]

    def _repr_html_(self) -> str:
        rows = [
            (
                row["what"],
                _shorten_text(row["a"]),
                _shorten_text(row["b"]),
                "" if row["same"] else "differs",
            )
            for row in self._list_statements()
        ]
        return str(draw("comparison", rows))

    def __repr__(self) -> str:
        rows = self._list_statements()
        return f"<Comparison: {sum(row['same'] for row in rows)} of {len(rows)} statements alike>"


def compare(a: Reported | Mapping[str, Any], b: Reported | Mapping[str, Any]) -> Comparison:
    """Two incidents side by side."""
    return Comparison(_report(a), _report(b))


def _report(incident: Reported | Mapping[str, Any]) -> Mapping[str, Any]:
    return incident if isinstance(incident, Mapping) else incident.to_dict()


def _collect_statements(report: Mapping[str, Any]) -> dict[str, str | None]:
    """The statements of one report as text, by their names."""
    job, verdict, seen = report["job"], report["verdict"], report["coverage"]
    values = {
        "job": job["job_id"],
        "ranks": job["world_size"],
        **{key: verdict[key] for key in _VERDICT},
        "confidence": format_belief(verdict["confidence"]),
        "suspects": list(_map_suspects_by_name(report)),
        "ranks that only wait": len(report["victims"]["ranks"]),
        "dumps read": seen["dumps_read"],
        "ranks without dump": len(seen["ranks_without_dump"]),
        "log lines read": seen["lines_read"],
    }
    return {what: _format_text(value) for what, value in values.items()}


def _format_text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _shorten_text(text: str | None) -> str:
    return "unknown" if text is None else format_one_line(text, _CELL)


def _map_suspects_by_name(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The suspects by node, by ranks where the node is not known."""
    suspects: dict[str, Mapping[str, Any]] = {}
    for suspect in report["suspects"]:
        ranks = ", ".join(map(str, suspect["ranks"][:4]))
        suspects.setdefault(suspect["node"] or f"rank {ranks}", suspect)
    return suspects
