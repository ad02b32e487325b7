"""Tables as Parquet files, written piece by piece, with their schema beside them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triage.client.exports.tables import SCHEMA, TABLES, ExportColumn, ExportTable
from triage.errors import UsageError
from triage.render.data.tables import TIME, convert_cell

if TYPE_CHECKING:
    import pyarrow as pa

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
