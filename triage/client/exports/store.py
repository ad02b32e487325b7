"""A store of incidents as a whole: DataFrames for studies, and Parquet files.

``tables.toml`` has every column with its dtype and what it means. ``docs/notebook.md`` lists them,
Parquet files carry them, and a change of one is a new number in :data:`SCHEMA`.
"""

import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypedDict, Unpack

from triage.client.incident import build_incident_path
from triage.client.transport import Transport
from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.evidence import EvidenceRole, Kind
from triage.errors import UsageError
from triage.render.data.tables import TIME, build_table, convert_cell

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame


SCHEMA: Final = "triage.export/1"
# Placement and progress are never weighed.
_UNWEIGHED: Final = (Kind.IDENTITY, Kind.PROGRESS)
COUNTED: Final = tuple(
    (role, kind)
    for role in (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)
    for kind in Kind
    if kind not in _UNWEIGHED
)
"""Roles and kinds of lines that a labelled incident is counted by."""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """``dtype`` is that of pandas; ``items`` the dtype of the items of a list."""

    dtype: str
    about: str
    items: str = ""


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One table; ``about`` says what a row is."""

    about: str
    columns: Mapping[str, ExportColumn]
    dtypes: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        dtypes = {name: column.dtype for name, column in self.columns.items()}
        object.__setattr__(self, "dtypes", dtypes)


def count_name(role: str, kind: str) -> str:
    """The column that counts lines of this role and kind.

    >>> count_name("root", "xid")
    'root_xid'
    """
    return f"{role}_{kind}"


def _read_tables() -> Mapping[str, ExportTable]:
    """The tables of ``tables.toml``; labelled incidents have a column a role and kind besides."""
    raw = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
    found = {}
    for name, table in raw.items():
        columns = {
            key: ExportColumn(TIME if dtype == "time" else dtype, *about)
            for key, (dtype, *about) in table["columns"].items()
        }
        if name == "labelled":
            for role, kind in COUNTED:
                about = f"Lines: {role}, {kind}."
                columns[count_name(role, kind)] = ExportColumn("int64", about)
        found[name] = ExportTable(table["about"], columns)
    return found


TABLES: Final = _read_tables()
_PRIVATE: Final = 0o600


def write_tables(
    folder: Path, pieces: Iterator[tuple[str, Iterable[Mapping[str, Any]]]]
) -> dict[str, int]:
    """Write (table, rows) as they come, one file a table; how many rows each has.

    Raises :class:`UsageError` without pyarrow, or for a folder that cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise UsageError(
            'Parquet files need pyarrow: pip install "nccl-triage[telemetry]"'
        ) from error
    schemas = {name: _build_arrow_schema(table) for name, table in TABLES.items()}
    num_rows = dict.fromkeys(TABLES, 0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = {name: folder / f".{name}.parquet.{os.getpid()}.part" for name in TABLES}
        with ExitStack() as stack:
            stack.callback(_remove, parts.values())
            writers = {
                name: stack.enter_context(
                    pq.ParquetWriter(
                        _create_private_file(parts[name]), schemas[name], compression="zstd"
                    )
                )
                for name in TABLES
            }
            for name, rows in pieces:
                dtypes = TABLES[name].dtypes.items()
                held = [{key: convert_cell(row.get(key), d) for key, d in dtypes} for row in rows]
                if held:
                    writers[name].write_table(pa.Table.from_pylist(held, schemas[name]))
                num_rows[name] += len(held)
            for writer in writers.values():
                writer.close()
            for name in TABLES:
                parts[name].replace(folder / f"{name}.parquet")
        described = _create_private_file(folder / "schema.json")
        described.write_text(json.dumps(_describe_schemas(), indent=1) + "\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}") from error
    return num_rows


def _create_private_file(path: Path) -> Path:
    """An empty file that nobody else may read: logs of a cluster are not everybody's."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, _PRIVATE))
    return path


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _build_arrow_schema(table: ExportTable) -> "pa.Schema":
    import pyarrow as pa

    fields = [
        pa.field(name, _get_arrow_type(column), metadata={"about": column.about})
        for name, column in table.columns.items()
    ]
    return pa.schema(fields, metadata={"schema": SCHEMA, "about": table.about})


def _get_arrow_type(column: ExportColumn) -> "pa.DataType":
    import pyarrow as pa

    types = {
        "string": pa.string(), "int64": pa.int64(), "Int64": pa.int64(),
        "float64": pa.float64(), "Float64": pa.float64(), "bool": pa.bool_(),
        "boolean": pa.bool_(), TIME: pa.timestamp("us", tz="UTC"),
    }  # fmt: skip
    return pa.list_(types[column.items]) if column.items else types[column.dtype]


def _describe_schemas() -> dict[str, Any]:
    """What ``schema.json`` says: every table with its columns."""
    return {
        "schema": SCHEMA,
        "tables": {
            name: {
                "about": table.about,
                "columns": {
                    key: {"type": f"list of {c.items}" if c.items else c.dtype, "about": c.about}
                    for key, c in table.columns.items()
                },
            }
            for name, table in TABLES.items()
        },
    }


Row = Mapping[str, Any]
# Incidents whose suspects and evidence are asked for at once.
_TOGETHER: Final = 100


class _ExportFilter(TypedDict, total=False):
    """Which incidents: ``since`` a time, or days before now; the newest ``limit`` of them."""

    since: datetime | float | None
    cluster: str | None
    category: str | None
    limit: int | None


class IncidentSource(Protocol):
    """Where the rows come from: a database, or a service."""

    def incidents(self, filters: Mapping[str, object]) -> Iterator[Row]:
        """Incidents as the service gives them, newest first."""

    def suspects(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Row]]:
        """(incident, suspect as the report prints it)."""

    def evidence(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Row]]:
        """(incident, row of ``triage parse``)."""

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
        found = self._found(wanted)
        return build_table(map(_build_incident_row, found), TABLES["incidents"].dtypes)

    def suspects(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per suspect."""
        found = self._found(wanted)
        return build_table(self._suspects(found), TABLES["suspects"].dtypes)

    def evidence(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per fact that was read. A year of a large fleet has millions: give a limit."""
        found = self._found(wanted)
        return build_table(self._evidence(found), TABLES["evidence"].dtypes)

    def labelled(self, **wanted: Unpack[_ExportFilter]) -> "DataFrame":
        """One row per incident that a person resolved: what was answered, what it was, and how
        many lines of each role and kind it had. The data set of a study in one cell.
        """
        found = self._found(wanted)
        return build_table(self._labelled(found), TABLES["labelled"].dtypes)

    def export(self, folder: str | Path, **wanted: Unpack[_ExportFilter]) -> dict[str, int]:
        """Write all tables as Parquet files into ``folder``, with ``schema.json``; rows of each.

        Files that are there are replaced when the new ones are whole. Needs pyarrow
        (``nccl-triage[telemetry]``); raises :class:`UsageError` without it.
        """
        found = self._found(wanted)
        return write_tables(Path(folder), self._pieces(found))

    def _found(self, wanted: _ExportFilter) -> Iterator[Row]:
        since = wanted.get("since")
        if isinstance(since, int | float):
            since = read_utc_now() - timedelta(days=since)
        filters = {
            "since": since,
            "cluster": wanted.get("cluster"),
            "category": wanted.get("category"),
        }
        return islice(self._source.incidents(filters), wanted.get("limit"))

    def _pieces(self, found: Iterator[Row]) -> Iterator[tuple[str, Iterable[Row]]]:
        """Rows of every table, a hundred incidents at a time: none is ever held whole."""
        for together in split_into_batches(found, _TOGETHER):
            yield "incidents", map(_build_incident_row, together)
            yield "suspects", self._suspects(together)
            yield "evidence", self._evidence(together)
            yield "labelled", self._labelled(together)

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

    def close(self) -> None:
        """End the connections."""
        self.transport.close()

    def __repr__(self) -> str:
        return self.transport.url
