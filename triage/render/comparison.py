"""Comparison: two incidents side by side.

Reports, incidents of a service and plain dicts ``triage.report/1`` are all taken.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from triage.render.data.tables import build_table
from triage.render.page.notebook import render_plain_table
from triage.render.pictures.markup import make_element
from triage.render.words.answer import format_belief
from triage.render.words.clean import format_one_line

if TYPE_CHECKING:
    from pandas import DataFrame

SIDE_BY_SIDE: Mapping[str, str] = {
    "what": "string",
    "a": "string",
    "b": "string",
    "same": "bool",
}
"""One row per statement of the two verdicts and what they rest on."""

TWO_SUSPECTS: Mapping[str, str] = {
    "who": "string",
    "position_a": "Int64",
    "position_b": "Int64",
    "category_a": "string",
    "category_b": "string",
    "score_a": "Float64",
    "score_b": "Float64",
}
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
        return build_table(self.statement_rows(), SIDE_BY_SIDE)

    @property
    def suspects(self) -> "DataFrame":
        """Whom either suspects, one a row; those of ``a`` first."""
        return build_table(self.suspect_rows(), TWO_SUSPECTS)

    def statement_rows(self) -> Iterator[dict[str, Any]]:
        """The rows of ``verdicts`` as dicts."""
        a, b = _collect_statements(self.a), _collect_statements(self.b)
        for what in a:
            yield {"what": what, "a": a[what], "b": b[what], "same": a[what] == b[what]}

    def suspect_rows(self) -> Iterator[dict[str, Any]]:
        """The rows of ``suspects`` as dicts; None where one does not suspect."""
        mine, theirs = _map_suspects_by_name(self.a), _map_suspects_by_name(self.b)
        for who in dict.fromkeys((*mine, *theirs)):
            row: dict[str, Any] = {"who": who}
            for side, suspect in (("a", mine.get(who)), ("b", theirs.get(who))):
                for key in ("position", "category", "score"):
                    row[f"{key}_{side}"] = None if suspect is None else suspect[key]
            yield row

    def _repr_html_(self) -> str:
        rows = [
            (
                row["what"],
                _shorten_text(row["a"]),
                _shorten_text(row["b"]),
                "" if row["same"] else "differs",
            )
            for row in self.statement_rows()
        ]
        tables = render_plain_table(("", "a", "b", ""), rows)
        return str(make_element("div", {"class": "triage-comparison"}, tables))

    def __repr__(self) -> str:
        rows = list(self.statement_rows())
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
