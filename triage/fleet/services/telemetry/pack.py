"""The cells of one node's day as bytes, and back.

::

    magic and version, 4 bytes
    one zstd frame with its size and a checksum:
        length of the header, 4 bytes, little-endian
        the header: JSON, the name of each series
        one column behind the other

A name is (metric, gpu, part); the last two are empty where there is none. An hour of a series
has some 20 bytes in it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import orjson
import zstandard

from triage.errors import Corrupt
from triage.fleet.services.telemetry.cells import DAY_HOURS, HOUR_US, Cells

SeriesName = tuple[str, str, str]
_MAGIC: Final = b"TRT\x01"
_LEVEL: Final = 3
# All GPUs, links and ports of a node for a day have a fraction of it.
_MAX_BYTES: Final = 256 << 20
_COLUMNS: Final = (
    ("series", "<u4"), ("hour", "u1"), ("count", "<u4"), ("first_us", "<u4"), ("last_us", "<u4"),
    ("low", "<f8"), ("high", "<f8"), ("first", "<f8"), ("last", "<f8"), ("total", "<f8"),
    ("growth", "<f8"),
)  # fmt: skip


def pack(names: Sequence[SeriesName], cells: Cells, day: int) -> bytes:
    """Cells of ``day`` (days since the epoch), whose ``series`` count in ``names``."""
    begin = day * DAY_HOURS
    header = orjson.dumps([len(cells), [list(name) for name in names]])
    hour_us = cells.hour * HOUR_US
    small = {
        "hour": cells.hour - begin,
        "first_us": cells.first_us - hour_us,
        "last_us": cells.last_us - hour_us,
        "count": np.minimum(cells.count, (1 << 32) - 1),
    }
    columns = [
        np.ascontiguousarray(small.get(name, getattr(cells, name)), kind).tobytes()
        for name, kind in _COLUMNS
    ]
    plain = b"".join([len(header).to_bytes(4, "little"), header, *columns])
    return _MAGIC + zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(plain)


def unpack(data: bytes, day: int) -> tuple[list[SeriesName], Cells]:
    """What :func:`pack` packed. Raises :class:`Corrupt` for anything else."""
    if data[:4] != _MAGIC:
        raise Corrupt("no packed telemetry of a known version")
    try:
        if not 0 <= zstandard.frame_content_size(data[4:]) <= _MAX_BYTES:
            raise Corrupt("packed telemetry is larger than any that is written")
        plain = zstandard.ZstdDecompressor().decompress(data[4:])
        begin = 4 + int.from_bytes(plain[:4], "little")
        count, named = orjson.loads(plain[4:begin])
        names = [(str(metric), str(gpu), str(part)) for metric, gpu, part in named]
        columns: dict[str, np.ndarray] = {}
        for name, kind in _COLUMNS:
            column = np.frombuffer(plain, kind, count, begin)
            begin += column.nbytes
            columns[name] = column.astype(np.float64 if kind == "<f8" else np.int64)
    except (zstandard.ZstdError, ValueError, TypeError) as error:
        raise Corrupt(f"packed telemetry is damaged: {error}") from error
    if count and int(columns["series"].max()) >= len(names):
        raise Corrupt("packed telemetry names a series that it does not have")
    columns["hour"] += day * DAY_HOURS
    columns["first_us"] += columns["hour"] * HOUR_US
    columns["last_us"] += columns["hour"] * HOUR_US
    return names, Cells(**columns)
