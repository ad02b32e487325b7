"""A Parquet file as a table of text, read in a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from triage.domain.body import Body
from triage.sandbox.one_shot import Output, run_child

_DIED: Final = "a Parquet file whose reader ended before its time: give the table as CSV"


@contextmanager
def convert_parquet_to_text(body: Body, memory_bytes: int, deadline_s: float) -> Iterator[Output]:
    """The file as CSV with the columns of a long table; the child is gone afterwards."""
    child = "triage.fleet.services.telemetry.parquet_child"
    with run_child(
        child, body, arguments=[str(memory_bytes)], deadline_s=deadline_s, died=_DIED
    ) as output:
        yield output
