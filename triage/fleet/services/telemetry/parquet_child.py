"""The child that turns a Parquet file into the long table of text that other telemetry comes as.

Parquet is decoded by a large library in C++, and the file comes from a node: what crashes or
swells there must not take the API with it. The file comes whole on stdin; the table goes to
stdout; a refusal is one sentence on stderr, with exit status 3.
"""

import csv
import sys
from contextlib import AbstractContextManager
from typing import Final

from triage.domain.body import Body
from triage.errors import ArtifactError
from triage.parsers.telemetry.samples import Samples, Tally
from triage.parsers.telemetry.table import read_parquet
from triage.sandbox.confinement.confine import REFUSED, confine, restrict
from triage.sandbox.one_shot import Output, run_child

_PIECE: Final = 1 << 20
_DIED: Final = "a Parquet file whose reader ended before its time: give the table as CSV"
HEADER = ("at", "node", "gpu", "part", "rack", "metric", "value")


class FilledBody:
    """A body as the readers of telemetry take it: whole pieces, fewer bytes at the end alone."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.rest = b""

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the body goes."""
        filled = 0
        while filled < len(view):
            part = self.rest or self.body.read(min(len(view) - filled, _PIECE))
            if not part:
                break
            took = min(len(part), len(view) - filled)
            view[filled : filled + took] = part[:took]
            self.rest = part[took:]
            filled += took
        return filled


def convert_parquet_to_text(
    body: Body, memory_bytes: int, deadline_s: float
) -> AbstractContextManager[Output]:
    """The file as CSV with the columns of a long table; the child is gone afterwards."""
    return run_child(
        "triage.fleet.services.telemetry.parquet_child",
        body,
        arguments=[str(memory_bytes)],
        deadline_s=deadline_s,
        died=_DIED,
    )


def main() -> int:
    """``python -m triage.fleet.services.telemetry.parquet_child MEMORY_BYTES``."""
    restrict(int(sys.argv[1]))
    confine(())
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(HEADER)
    try:
        for batch in read_parquet(FilledBody(sys.stdin.buffer), Tally(), None):
            rows.writerows(_list_rows(batch))
    except ArtifactError as error:
        sys.stderr.write(str(error))
        return REFUSED
    return 0


def _list_rows(batch: Samples) -> list[tuple[object, ...]]:
    """The samples as rows under :data:`HEADER`; times in ns since the epoch."""
    columns = zip(
        batch.series_index.tolist(), batch.at_ns.tolist(), batch.value.tolist(), strict=True
    )
    return [
        (at, key.node or "", key.gpu or "", key.part or "", key.rack or "", str(key.metric), value)
        for index, at, value in columns
        for key in (batch.series[index],)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
