"""Telemetry of any form as batches of samples: the one place that knows all readers."""

from collections.abc import Iterator
from typing import Final, Protocol

from triage.parsers.flight_recorder.naming import node_in_name
from triage.parsers.telemetry.chunks import Bytes
from triage.parsers.telemetry.exposition import read_exposition
from triage.parsers.telemetry.parquet import read_parquet
from triage.parsers.telemetry.query_result import read_query_result
from triage.parsers.telemetry.recognise import Form
from triage.parsers.telemetry.samples import Samples
from triage.parsers.telemetry.table import read_table
from triage.parsers.telemetry.tally import Tally

__all__ = ["READERS", "read_samples"]


class Reads(Protocol):
    """A reader of one form of text."""

    def __call__(self, stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
        """Batches of samples; counts go into ``tally``."""
        ...


READERS: Final[dict[Form, Reads]] = {
    Form.EXPOSITION: read_exposition,
    Form.QUERY_RESULT: read_query_result,
    Form.TABLE: read_table,
    Form.PARQUET: read_parquet,
}


def read_samples(form: Form, source: Bytes, artifact: str, tally: Tally) -> Iterator[Samples]:
    """Batches of the samples of one file, each to be used before the next is asked for.

    ``source`` is its decompressed bytes. Samples that name no
    node are of the folder ``nodes/<node>/`` that ``artifact`` lies in. Bad lines are counted in
    ``tally`` and passed over. Raises :class:`triage.errors.Corrupt` where nothing more can be
    read and :class:`triage.errors.Forbidden` for Parquet without pyarrow.
    """
    node = node_in_name(artifact)
    return READERS[form](source, tally, node)
