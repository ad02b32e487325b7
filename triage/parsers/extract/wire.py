"""An extract as bytes: what is stored of an artifact once it has been read.

::

    magic and version, 4 bytes
    one zstd frame with its size and a checksum:
        length of the header, 4 bytes, little-endian
        the header: JSON
        the arrays of the digests, then the masks of the logs, then the cells of telemetry

Version 1 knows no telemetry; what holds none is still written so. Version 3 is version 2 with the
operations of each digest in half the bytes: what a node sends. Versions 4 and 5 are 2 and 3 with
the durations of operations, which dumps hold where timing was on. The checksum finds damage;
the reader checks every index all the same, because compiled code that trusts them comes
behind it.
"""

from typing import Any, Final

import numpy as np
import zstandard

from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.packing import Packing
from triage.domain.report import Refused
from triage.errors import ArtifactError, Corrupt
from triage.parsers.extract.arrays import Arrays
from triage.parsers.extract.digest import (
    Interned,
    decode_digest,
    decode_operations,
    digest_header,
    encode_operations,
    list_arrays,
)
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.history import PackedHistory
from triage.parsers.extract.log import decode_log, log_values, mask_bytes
from triage.parsers.files.job_file import JobFile
from triage.parsers.telemetry.grid import BASE_NS
from triage.parsers.telemetry.samples import Form, Grid, SeriesKey, TelemetryFile

MAGIC: Final = b"TRX\x01"
_WITH_TELEMETRY: Final = b"TRX\x02"
COMPACT: Final = b"TRX\x03"
_TIMED: Final = b"TRX\x04"
COMPACT_TIMED: Final = b"TRX\x05"
# What releases up to 0.2.0 do not know.
LATER: Final = (COMPACT, _TIMED, COMPACT_TIMED)
_VERSIONS: Final = (MAGIC, _WITH_TELEMETRY, *LATER)
LEVEL: Final = 1
_COMPACT_LEVEL: Final = 3


def pack(extract: Extract, *, compact: bool | None = None, timed: bool | None = None) -> bytes:
    """The extract as bytes, compressed; the same extract gives the same bytes.

    ``compact`` writes version 3, by default where a digest came as one; ``timed`` also the
    durations of operations, by default where a digest has some.
    """
    if compact is None:
        compact = any(
            isinstance(one.history, PackedHistory) and one.history.compact
            for one in extract.digests
        )
    if timed is None:
        timed = any(one.history.timed for one in extract.digests)
    masks = [mask_bytes(log) for log in extract.logs]
    values = [
        extract.artifact,
        extract.size_bytes,
        [digest_header(one) for one in extract.digests],
        encode_operations(extract.operations),
        [log_values(one) for one in extract.logs],
        [len(one) for one in masks],
        [[one.artifact, one.why] for one in extract.refused],
        [[one.artifact, one.why] for one in extract.refused_logs],
        [[one.artifact, one.data.decode("latin-1")] for one in extract.job_files],
        list(extract.foreign),
    ]
    cells = [_encode_cells(log.telemetry) for log in extract.logs]
    magic = COMPACT if compact else MAGIC
    if compact or timed or any(log.telemetry is not None for log in extract.logs):
        magic = COMPACT if compact else _WITH_TELEMETRY
        if timed:
            magic = COMPACT_TIMED if compact else _TIMED
        values.append([_encode_telemetry(log.telemetry) for log in extract.logs])
        values.append([len(one) for one in cells])
    header = to_exact_json(values)
    arrays = [
        part for one in extract.digests for part in list_arrays(one, compact=compact, timed=timed)
    ]
    plain = b"".join([len(header).to_bytes(4, "little"), header, *arrays, *masks, *cells])
    level = _COMPACT_LEVEL if compact else LEVEL
    return magic + zstandard.ZstdCompressor(level=level, write_checksum=True).compress(plain)


def unpack(data: bytes, interned: Interned | None = None) -> Extract:
    """The extract again.

    ``interned`` is shared by the extracts of one incident, so that what they repeat is kept
    once. Raises :class:`Corrupt` for damaged bytes and versions that are not known.
    """
    if data[:4] not in _VERSIONS:
        raise Corrupt("not a stored extract of a known version")
    try:
        interned = interned or Interned()
        return _decode_extract(data, interned)
    except ArtifactError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
        raise Corrupt(f"a stored extract is damaged: {error}") from error


def unwrap_frame(data: bytes, interned: Interned) -> bytes:
    """What the frame of a stored extract holds, header first. Raises :class:`Corrupt`."""
    try:
        if not 0 <= zstandard.frame_content_size(data[4:]) <= interned.max_bytes:
            raise Corrupt("a stored extract is larger than any that is written")
        return interned.zstd.decompress(data[4:])
    except zstandard.ZstdError as error:
        raise Corrupt(f"a stored extract cannot be unpacked: {error}") from error


def _decode_extract(data: bytes, interned: Interned) -> Extract:
    plain = unwrap_frame(data, interned)
    begin = 4 + int.from_bytes(plain[:4], "little")
    (
        artifact,
        size_bytes,
        digests,
        operations,
        logs,
        masks,
        refused,
        refused_logs,
        job_files,
        foreign,
        *telemetry,
    ) = from_exact_json(plain[4:begin])
    arrays = Arrays(plain, begin)
    # The frame of an archive holds many: it is not unpacked again for each of them.
    frame = data[4:] if len(digests) == 1 else None
    compact = data[:4] in (COMPACT, COMPACT_TIMED)
    timed = data[:4] in (_TIMED, COMPACT_TIMED)
    read = [
        decode_digest(one, arrays, interned, compact=compact, timed=timed, frame=frame)
        for one in digests
    ]
    read_logs = [
        decode_log(one, arrays.bytes(length), interned)
        for one, length in zip(logs, masks, strict=True)
    ]
    if telemetry:
        files, lengths = telemetry
        for log, one, length in zip(read_logs, files, lengths, strict=True):
            log.telemetry = _decode_telemetry(one, arrays.bytes(length), interned)
    return Extract(
        artifact=read[0].artifact if read and read[0].artifact == artifact else artifact,
        size_bytes=size_bytes,
        digests=tuple(read),
        operations=interned.get("operations", operations, lambda: decode_operations(operations)),
        logs=tuple(read_logs),
        refused=_decode_refused(refused),
        refused_logs=_decode_refused(refused_logs),
        job_files=tuple(JobFile(name, text.encode("latin-1")) for name, text in job_files),
        foreign=tuple(foreign),
    )


def _decode_refused(values: Any) -> tuple[Refused, ...]:
    return tuple(Refused(artifact, why) for artifact, why in values)


_CELL: Final = np.dtype("<f4")
_SERIES: Final = Packing(SeriesKey)
_FORMS: Final = {str(one): one for one in Form}
# A week in stretches of 30 s, and all years that a clock can say.
_MOST_STRETCHES: Final = 1 << 16
_MOST_DOUBLINGS: Final = 24


def _encode_telemetry(file: TelemetryFile | None) -> list[Any] | None:
    """Everything but the cells of the grid, which go beside it: see :func:`cell_bytes`."""
    if file is None:
        return None
    grid = file.grid
    return [
        file.artifact,
        str(file.form),
        file.samples,
        file.zoneless,
        None
        if grid is None
        else [
            [_SERIES.encode(key) for key in grid.series],
            grid.start_ns,
            grid.width_ns,
            int(grid.value.shape[1]),
        ],
    ]


def _encode_cells(file: TelemetryFile | None) -> bytes:
    """The cells of the grid, row by row."""
    if file is None or file.grid is None:
        return b""
    return file.grid.value.astype(_CELL).tobytes()


def _decode_telemetry(values: Any, cells: bytes, interned: Interned) -> TelemetryFile | None:
    """The file of :func:`telemetry_values`. ValueError, TypeError and KeyError mean damage, as
    :class:`Corrupt` does.
    """
    if values is None:
        return None
    artifact, form, samples, zoneless, table = values
    if table is None:
        return TelemetryFile(artifact, _FORMS[form], samples, zoneless, None)
    keys, start_ns, width_ns, columns = table
    doublings = (width_ns // BASE_NS).bit_length() - 1
    if not 0 <= doublings <= _MOST_DOUBLINGS or width_ns != BASE_NS << doublings:
        raise Corrupt("a stored extract holds telemetry of no known width")
    if not 0 < columns <= _MOST_STRETCHES or type(start_ns) is not int:
        raise Corrupt("a stored extract holds telemetry of no known length")
    series = tuple(_SERIES.decode([metric, *map(interned.text, parts)]) for metric, *parts in keys)
    value = np.frombuffer(cells, _CELL).reshape(len(series), columns).astype(np.float32)
    return TelemetryFile(
        artifact, _FORMS[form], samples, zoneless, Grid(series, start_ns, width_ns, value)
    )
