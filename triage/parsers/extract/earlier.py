"""Extracts in the form that releases before this one read: for the way back.

0.2.0 does not know versions 3 to 5 (:mod:`triage.parsers.extract.wire`). 0.1.0 knows of a log
neither its progress nor its harmless lines, and of a row no traits; it takes whatever is longer
than it expects for damage, and an incident with one such extract is never answered. What it does
not know is left out.
"""

from typing import Any, Final

import zstandard

from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.errors import Corrupt
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.wire import LATER, LEVEL, pack, unpack, unwrap_frame

# Of the header, of a log, and of a row in it, as 0.1.0 unpacks them.
_LOGS: Final = 4
_ROWS: Final = 10
_LOG_FIELDS: Final = 12
_ROW_FIELDS: Final = 26


def convert_for_second_release(data: bytes) -> bytes:
    """The extract as 0.2.0 reads it; the same bytes where it does. Raises :class:`Corrupt`."""
    if not data.startswith(LATER):
        return data
    return pack(unpack(data), compact=False, timed=False)


def convert_for_first_release(data: bytes) -> bytes:
    """The extract as 0.1.0 reads it; the same bytes where it does. Raises :class:`Corrupt`."""
    data = convert_for_second_release(data)
    plain = unwrap_frame(data, Interned())
    begin = 4 + int.from_bytes(plain[:4], "little")
    try:
        values: Any = list(from_exact_json(plain[4:begin]))
        logs = [_shorten_log(log) for log in values[_LOGS]]
    except (ValueError, TypeError, IndexError) as error:
        raise Corrupt(f"a stored extract is damaged: {error}") from error
    if logs == values[_LOGS]:
        return data
    values[_LOGS] = logs
    header = to_exact_json(values)
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    return data[:4] + packer.compress(len(header).to_bytes(4, "little") + header + plain[begin:])


def _shorten_log(log: list[Any]) -> list[Any]:
    short = log[:_LOG_FIELDS]
    short[_ROWS] = [row[:_ROW_FIELDS] for row in short[_ROWS]]
    return short
