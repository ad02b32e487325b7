"""Logs whose newest line stands first, as stores of logs and their pages export them."""

from itertools import pairwise
from typing import Final

from triage.parsers.logs.envelope import clean, read_envelope
from triage.parsers.logs.source import HEAD_BYTES, LogStream

# Of the first lines none may be later than the one above it; of a sample nearly all are earlier.
_ENDS: Final = 2
_FIRST: Final = 12
_SAMPLE: Final = 64
_LEAST: Final = 5
_SHARE: Final = 0.8
_MOST_BYTES: Final = 64 << 20
_MOST_OF_A_LINE: Final = 4096


def read_oldest_first(stream: LogStream) -> LogStream:
    """``stream``, from its last line to its first where times fall from line to line."""
    if not _is_newest_first(stream.head):
        return stream
    whole = stream.read_up_to(_MOST_BYTES + 1)
    if len(whole) > _MOST_BYTES:
        stream.ahead = whole + stream.ahead
        stream.notes.append(
            f"its newest line stands first, and it has more than {_MOST_BYTES >> 20} MiB: it is"
            " read as it stands; sort it by time, or bring the hour of the stop alone"
        )
        return stream
    lines = whole.removesuffix(b"\n").split(b"\n")
    found = LogStream.make(stream.artifact, b"\n".join(lines[::-1]) + b"\n")
    found.notes, found.total = stream.notes, stream.total
    found.notes.append("its newest line stands first: its lines are counted from the last one")
    return found


def _is_newest_first(head: bytes) -> bool:
    """Whether a log begins with its newest lines."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    if len(head) >= HEAD_BYTES:
        del lines[-1:]  # it may be cut
    ends = _list_times([*lines[:_ENDS], *lines[-_ENDS:]])
    if not ends or ends[-1] >= ends[0]:
        return False
    if any(later > one for one, later in pairwise(_list_times(lines[:_FIRST]))):
        return False
    times = _list_times(lines[:: max(1, len(lines) // _SAMPLE)])
    falls = sum(later < one for one, later in pairwise(times))
    return falls >= max(_LEAST, _SHARE * (len(times) - 1))


def _list_times(lines: list[bytes]) -> list[int]:
    """The wall times that lines print."""
    stamps = (read_envelope(clean(line[:_MOST_OF_A_LINE])).stamp for line in lines)
    return [stamp.wall_ns for stamp in stamps if stamp.wall_ns is not None]
