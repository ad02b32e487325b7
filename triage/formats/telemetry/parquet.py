"""Parquet files of telemetry; pyarrow reads them, where it is installed."""

from typing import Final

from triage.formats.telemetry.telemetry_format import ReadSamples, TelemetryFormat
from triage.parsers.telemetry.file import Form

_MAGIC: Final = b"PAR1"


def _is_parquet(data: bytes) -> bool:
    """Whether a file begins as Parquet does."""
    return data.startswith(_MAGIC)


def _load_reader() -> ReadSamples:
    from triage.parsers.telemetry.parquet import read_parquet

    return read_parquet


PARQUET: Final = TelemetryFormat(Form.PARQUET, _is_parquet, _load_reader, binary=True)
