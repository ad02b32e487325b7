"""Parquet files of telemetry; pyarrow reads them, where it is installed."""

from typing import Final

from triage.formats.telemetry.telemetry_format import ReadSamples, TelemetryFormat
from triage.parsers.telemetry.file import Form

__all__ = ["PARQUET"]

MAGIC: Final = b"PAR1"


def is_parquet(data: bytes) -> bool:
    """Whether a file begins as Parquet does."""
    return data.startswith(MAGIC)


def reader() -> ReadSamples:
    from triage.parsers.telemetry.parquet import read_parquet

    return read_parquet


PARQUET: Final = TelemetryFormat(Form.PARQUET, is_parquet, reader, binary=True)
