"""The tables of an export: every column with its dtype and what it means.

``docs/notebook.md`` lists them, Parquet files carry them, and a change of one is a new number
in :data:`SCHEMA`.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triage.domain.evidence import EvidenceRole, Kind
from triage.errors import UsageError
from triage.render.data.tables import TIME, convert_cell

if TYPE_CHECKING:
    import pyarrow as pa

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
    raw = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
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
                held = [_convert_to_row(row, TABLES[name]) for row in rows]
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


def _convert_to_row(row: Mapping[str, Any], table: ExportTable) -> dict[str, Any]:
    return {name: convert_cell(row.get(name), dtype) for name, dtype in table.dtypes.items()}


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
