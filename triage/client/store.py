"""A store of incidents as a whole, as DataFrames for studies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypedDict, Unpack

from triage.client.incident import build_incident_path
from triage.client.labels import EvidenceSource, list_labels
from triage.client.transport import Transport
from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.evidence import EvidenceRole, Kind
from triage.errors import Conflict
from triage.render.data.tables import EVIDENCE, build_table, parse_columns

if TYPE_CHECKING:
    from pandas import DataFrame


# Placement and progress are never weighed.
_UNWEIGHED: Final = (Kind.IDENTITY, Kind.PROGRESS)
COUNTED: Final = tuple(
    (role, kind)
    for role in (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)
    for kind in Kind
    if kind not in _UNWEIGHED
)
"""Roles and kinds of lines that a labelled incident is counted by."""


def count_name(role: str, kind: str) -> str:
    """The column that counts lines of this role and kind.

    >>> count_name("root", "xid")
    'root_xid'
    """
    return f"{role}_{kind}"


TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "incidents": parse_columns(
        "id string, job_id string, cluster string, state string, kind string, category string,"
        " confidence Float64, summary string, action string, cordon object, revision int64,"
        " provisional bool, resolved_as string, resolved_node string, resolved_at time,"
        " created_at time, settled_at time"
    ),
    "suspects": parse_columns(
        "incident_id string, position int64, node string, ranks object, gpus object,"
        " category string, score float64, role string, action string, num_because int64,"
        " detectors object"
    ),
    "evidence": {"incident_id": "string", **EVIDENCE},
    "labelled": {
        **parse_columns(
            "incident_id string, job_id string, cluster string, created_at time, kind string,"
            " category string, confidence Float64, node string, score Float64, num_suspects int64,"
            " label_category string, label_node string, category_right boolean, node_right boolean"
        ),
        **{count_name(role, kind): "int64" for role, kind in COUNTED},
    },
    "labels": parse_columns("label string, program string, text string, incident_id string"),
}
"""The columns of each table, with their dtypes."""

Row = Mapping[str, Any]
# Incidents whose suspects and evidence are asked for at once.
_TOGETHER: Final = 100


class _ExportFilter(TypedDict, total=False):
    """Which incidents: ``since`` a time, or days before now; the newest ``limit`` of them."""

    since: datetime | float | None
    cluster: str | None
    category: str | None
    limit: int | None


class IncidentSource(EvidenceSource, Protocol):
    """Where the rows of all incidents come from."""

    def incidents(self, filters: Mapping[str, object]) -> Iterator[Row]:
        """Incidents as the service gives them, newest first."""

    def suspects(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Row]]:
        """(incident, suspect as the report prints it)."""

    def close(self) -> None:
        """End the connections."""


class Store:
    """All incidents of a store; :func:`triage.open_store` opens one.

    Every table takes the keywords of :class:`ExportFilter`: ``since`` (a time, or days before
    now), ``cluster``, ``category``, ``limit``. Columns are :data:`TABLES`.
    """

    def __init__(self, source: IncidentSource) -> None:
        self._source = source

    def close(self) -> None:
        """End the connections."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def incidents(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per incident, newest first."""
        found = self._find_wanted(wanted)
        return build_table(map(_build_incident_row, found), TABLES["incidents"])

    def suspects(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per suspect."""
        found = self._find_wanted(wanted)
        return build_table(self._suspects(found), TABLES["suspects"])

    def evidence(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per fact that was read. A year of a large fleet has millions: give a limit."""
        found = self._find_wanted(wanted)
        return build_table(self._evidence(found), TABLES["evidence"])

    def labelled(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per incident that a person resolved: what was answered, what it was, and how
        many lines of each role and kind it had. The data set of a study in one cell.
        """
        found = self._find_wanted(wanted)
        return build_table(self._labelled(found), TABLES["labelled"])

    def labels(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per line of a resolved incident that was not read as what it was: what
        ``triage signatures labels`` prints.
        """
        rows = (
            {**asdict(line), "incident_id": line.author}
            for _, lines in list_labels(self._find_wanted(wanted), self._source)
            for line in lines
        )
        return build_table(rows, TABLES["labels"])

    def _find_wanted(self, wanted: _ExportFilter) -> Iterator[Row]:
        since = wanted.get("since")
        if isinstance(since, int | float):
            since = read_utc_now() - timedelta(days=since)
        filters = {
            "since": since,
            "cluster": wanted.get("cluster"),
            "category": wanted.get("category"),
        }
        return islice(self._source.incidents(filters), wanted.get("limit"))

    def _suspects(self, found: Iterable[Row]) -> Iterator[Row]:
        for together in split_into_batches(found, _TOGETHER):
            for incident_id, suspect in self._source.suspects([one["id"] for one in together]):
                yield _build_suspect_row(incident_id, suspect)

    def _evidence(self, found: Iterable[Row]) -> Iterator[Row]:
        for together in split_into_batches(found, _TOGETHER):
            for incident_id, row in self._source.evidence([one["id"] for one in together]):
                yield {"count": 1, **row, "incident_id": incident_id}

    def _labelled(self, found: Iterable[Row]) -> Iterator[Row]:
        resolved = (one for one in found if one.get("resolution"))
        for together in split_into_batches(resolved, _TOGETHER):
            ids = [one["id"] for one in together]
            suspects: dict[str, list[Row]] = {}
            for incident_id, suspect in self._source.suspects(ids):
                suspects.setdefault(incident_id, []).append(suspect)
            counts: dict[str, Counter[str]] = {}
            for incident_id, row in self._source.evidence(ids):
                mine = counts.setdefault(incident_id, Counter())
                mine[count_name(row["role"], row["kind"])] += row.get("count") or 1
            for one in together:
                yield _build_labelled_row(
                    one, suspects.get(one["id"], []), counts.get(one["id"], Counter())
                )

    def __repr__(self) -> str:
        return f"triage.Store of {self._source!r}"


def _build_incident_row(facts: Row) -> dict[str, Any]:
    verdict = facts.get("verdict") or {}
    resolution = facts.get("resolution") or {}
    keys = ("kind", "category", "confidence", "summary", "action", "cordon")
    return {
        **facts,
        **{key: verdict.get(key) for key in keys},
        "cordon": verdict.get("cordon") or [],
        "resolved_as": resolution.get("category"),
        "resolved_node": resolution.get("node"),
        "resolved_at": resolution.get("resolved_at"),
    }


def _build_suspect_row(incident_id: str, suspect: Row) -> dict[str, Any]:
    because = suspect.get("because") or []
    detectors = list(dict.fromkeys(one["detector"] for one in because))
    return {
        **suspect,
        "incident_id": incident_id,
        "num_because": len(because),
        "detectors": detectors,
    }


def _build_labelled_row(
    facts: Row, suspects: Sequence[Row], counts: Counter[str]
) -> dict[str, Any]:
    verdict, label = facts.get("verdict") or {}, facts["resolution"]
    best: Row = suspects[0] if suspects else {}
    names = [count_name(role, kind) for role, kind in COUNTED]
    return {
        "incident_id": facts["id"],
        "job_id": facts["job_id"],
        "cluster": facts["cluster"],
        "created_at": facts["created_at"],
        **{key: verdict.get(key) for key in ("kind", "category", "confidence")},
        "node": best.get("node"),
        "score": best.get("score"),
        "num_suspects": len(suspects),
        "label_category": label["category"],
        "label_node": label["node"],
        "category_right": verdict.get("category") == label["category"],
        "node_right": None if label["node"] is None else best.get("node") == label["node"],
        **{name: counts[name] for name in names},
    }


class ServiceIncidents:
    """Incidents of the service behind ``transport``: two questions for each."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def incidents(self, filters: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
        """As the list of the service has them, newest first."""
        query = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in filters.items()
        }
        return self.transport.pages("/v1/incidents", query)

    def suspects(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """As the answer of the service has them, best first."""
        for one in incident_ids:
            for row in self.transport.get(build_incident_path(one, "suspects"))["suspects"]:
                yield one, row

    def evidence(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """In the order read."""
        for one in incident_ids:
            for row in self.transport.pages(build_incident_path(one, "evidence")):
                yield one, row

    def get_report(self, incident_id: str) -> Mapping[str, Any] | None:
        """As the service gives it."""
        try:
            return self.transport.get(build_incident_path(incident_id, "report"))
        except Conflict:
            return None

    def close(self) -> None:
        """End the connections."""
        self.transport.close()

    def __repr__(self) -> str:
        return self.transport.url
