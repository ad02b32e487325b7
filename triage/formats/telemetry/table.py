"""Tables of telemetry as text: nvidia-smi's CSV, and tables with a column of times.

::

    timestamp, index, temperature.gpu
    2026/11/21 03:04:15.000, 0, 61
"""

from typing import Final

from triage.formats.telemetry.telemetry_format import (
    ReadSamples,
    TelemetryFormat,
    iterate_whole_lines,
)
from triage.parsers.telemetry.columns import parse_header
from triage.parsers.telemetry.file import Form
from triage.parsers.telemetry.gpu_columns import is_gpu_table

# No first line of a table begins so; most files are told by this alone.
_NO_HEADER: Final = b"<[{0123456789"


def _is_table(text: bytes) -> bool:
    """Whether the first line names columns of telemetry, and a row of as many follows."""
    start = text.lstrip()[:1]
    if not start or start in _NO_HEADER:
        return False
    rows = (line for line in iterate_whole_lines(text) if not line.startswith(b"#"))
    columns = parse_header(next(rows, b""))
    if columns is None:
        return False
    if columns.time < 0 and not any(mark in name for name in columns.names for mark in "._"):
        return False
    if is_gpu_table(columns):
        return False
    row = next(rows, None)
    return row is None or row.count(columns.delimiter.encode()) >= len(columns.names) - 1


def _load_reader() -> ReadSamples:
    from triage.parsers.telemetry.table import read_table

    return read_table


TABLE: Final = TelemetryFormat(Form.TABLE, _is_table, _load_reader)
