"""The child that turns a Parquet file into the long table of text that other telemetry comes as.

Parquet is decoded by a large library in C++, and the file comes from a node: what crashes or
swells there must not take the API with it. The file comes whole on stdin; the table goes to
stdout; a refusal is one sentence on stderr, with exit status 3.
"""

import csv
import sys
from typing import BinaryIO

from triage.errors import ArtifactError
from triage.parsers.telemetry.samples import Samples, Tally
from triage.parsers.telemetry.table import read_parquet
from triage.sandbox.confinement.confine import confine
from triage.sandbox.limits import REFUSED, restrict

HEADER = ("at", "node", "gpu", "part", "rack", "metric", "value")


class _Pipe:
    """Stdin as the readers of telemetry take it."""

    def __init__(self, pipe: BinaryIO) -> None:
        self.pipe = pipe

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the pipe goes."""
        filled = 0
        while filled < len(view):
            part = self.pipe.read(len(view) - filled)
            if not part:
                break
            view[filled : filled + len(part)] = part
            filled += len(part)
        return filled


def main() -> int:
    """``python -m triage.fleet.services.telemetry.parquet_child MEMORY_BYTES``."""
    restrict(int(sys.argv[1]))
    confine(())
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(HEADER)
    try:
        for batch in read_parquet(_Pipe(sys.stdin.buffer), Tally(), None):
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
