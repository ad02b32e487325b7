"""Small exports, and what a reader makes of them."""

import io
from collections.abc import Iterable

from triage.fleet.domain.exposure import Run
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import Options, Passed, Row, Unread

SACCT_HEADER = "JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList"
CSV_HEADER = "job_id,started_at,ended_at,ending,num_nodes,num_gpus,nodes,cluster,cause"


class Pieces:
    """Bytes that come so many at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data = data
        self.size = size

    def read(self, size: int, /) -> bytes:
        part, self.data = self.data[: min(size, self.size)], self.data[min(size, self.size) :]
        return part


def read(text: str | bytes, options: Options | None = None) -> tuple[str, list[Row]]:
    """The format, and all rows."""
    data = text.encode() if isinstance(text, str) else text
    found = read_exposure(io.BytesIO(data), options)
    return found.format, list(found.rows)


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


def runs(rows: Iterable[Row]) -> list[Run]:
    return [row for row in rows if isinstance(row, Run)]


def unread(rows: Iterable[Row]) -> list[tuple[int, str]]:
    return [(row.line, row.why) for row in rows if isinstance(row, Unread)]


def passed(rows: Iterable[Row]) -> list[str]:
    return [row.what for row in rows if isinstance(row, Passed)]
