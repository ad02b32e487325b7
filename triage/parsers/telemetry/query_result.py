"""Answers of the Prometheus HTTP API: ``/api/v1/query`` and ``/api/v1/query_range``.

::

    {"status":"success","data":{"resultType":"matrix","result":[
      {"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","Hostname":"n3"},
       "values":[[1795143855,"61"],[1795143870,"62"]]}]}}

It is read as a stream, series by series: an answer may be larger than memory. Several answers
may stand behind one another. Assumes, as Prometheus and what speaks its API write it, that
``metric`` stands before the values.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import orjson

from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.telemetry.labels import find_source
from triage.parsers.telemetry.numbers import LAST_S
from triage.parsers.telemetry.samples import ReadBytes, Samples, Tally
from triage.parsers.telemetry.series import SeriesTable, Target

_PIECE: Final = 1 << 20
# Labels of one series; what is longer is no set of labels.
_MAX_LABELS: Final = 64 << 10
# Of one time and its value, which are some bytes: what is longer is looked through again and
# again while it comes.
_MAX_PAIR: Final = 2 << 20
_LABELS = compile_re(rb'"metric"\s*:\s*(\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\})')
_OPENS = compile_re(rb'\s*,\s*"(values|value|histograms?)"\s*:\s*\[')
# Where a list of pairs ends, an empty list, and a single pair.
_LAST = compile_re(rb"\]\s*\]")
_EMPTY = compile_re(rb"\s*\]")
_ONE = compile_re(rb"\]")
# Of `1795143855.123,"61.5"` everything is a number once these are gone.
_BARE: Final = bytes.maketrans(b'[]"\n\r\t', b"      ")
_NOT_READ: Final = "values that are no pairs of time and number"
_TOO_LONG: Final = "holds a value that is longer than a number"
_CUT: Final = "breaks off within the values of a series"


class _Pieces:
    """The bytes that were read; those before ``at`` are used up."""

    def __init__(self, read: ReadBytes, tally: Tally) -> None:
        self.read = read
        self.tally = tally
        self.data = b""
        self.at = 0

    def __len__(self) -> int:
        return len(self.data) - self.at

    def more(self) -> bool:
        """Read on, and forget what is used up; False at the end."""
        piece = self.read(_PIECE)
        self.data = self.data[self.at :] + piece
        self.at = 0
        self.tally.lines += piece.count(b"\n")
        return bool(piece)


def read_query_result(read: ReadBytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no label says it.

    Raises :class:`Corrupt` where the bytes end within a series, or a value does not end.
    """
    pieces = _Pieces(read, tally)
    table = SeriesTable(tally, node)
    while (labels := _read_next_labels(pieces)) is not None:
        opens = _read_next_opening(pieces)
        if opens is None:
            continue
        targets = table.of.get(labels)
        if targets is None:
            targets = _learn_series(table, labels)
        for at_ns, value in _iterate_values(pieces, opens == b"value", tally):
            for _, index, factor in targets:
                table.extend(index, at_ns.tolist(), (value * factor).tolist())
            if table.is_full():
                yield from table.take()
    yield from table.take()


def _read_next_labels(pieces: _Pieces) -> bytes | None:
    """The labels of the next series; None at the end."""
    while True:
        found = _LABELS.search(pieces.data, pieces.at)
        if found is not None:
            pieces.at = found.end()
            return found[1]
        # Labels that have begun to come are kept, all before them is not wanted.
        begun = pieces.data.rfind(b'"metric"', pieces.at)
        if begun < 0 or len(pieces.data) - begun > _MAX_LABELS:
            begun = len(pieces.data) - 8
        pieces.at = max(pieces.at, begun)
        if not pieces.more():
            return None


def _read_next_opening(pieces: _Pieces) -> bytes | None:
    """Which values follow the labels; None for what is not read."""
    while len(pieces) < 256 and pieces.more():
        pass
    found = _OPENS.match(pieces.data, pieces.at)
    if found is None or found[1].startswith(b"histogram"):
        return None
    pieces.at = found.end()
    return found[1]


def _learn_series(table: SeriesTable, labels: bytes) -> Sequence[Target]:
    try:
        raw = orjson.loads(labels)
    except orjson.JSONDecodeError:
        return ()
    named = {str(k).lower(): v for k, v in raw.items() if isinstance(v, str)}
    source = find_source(named.pop("__name__", ""), named)
    return table.learn(labels, [source], named) if source is not None else ()


def _iterate_values(
    pieces: _Pieces, single: bool, tally: Tally
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(times in ns, values) of one series, in parts; the bytes behind it are left."""
    while True:
        data, at = pieces.data, pieces.at
        end = _EMPTY.match(data, at) or (_ONE if single else _LAST).search(data, at)
        if end is not None:
            yield _parse_pairs(data[at : end.start()], tally)
            pieces.at = end.end()
            return
        cut = data.rfind(b"],", at)
        if not single and cut > at:
            yield _parse_pairs(data[at:cut], tally)
            pieces.at = cut + 2
        elif len(pieces) > _MAX_PAIR:
            raise Corrupt(_TOO_LONG)
        if not pieces.more():
            raise Corrupt(_CUT)


def _parse_pairs(raw: bytes, tally: Tally) -> tuple[np.ndarray, np.ndarray]:
    """Times and finite values of ``[t,"v"],[t,"v"]``; what is odd is counted, and left out."""
    none = np.empty(0, np.int64), np.empty(0)
    text = raw.translate(_BARE)
    if not text.strip():
        return none
    try:
        flat = np.array(text.split(b","), np.float64)
    except ValueError:
        tally.skip(_NOT_READ, 1, tally.lines + 1)
        return none
    if len(flat) % 2:
        tally.skip(_NOT_READ, 1, tally.lines + 1)
        return none
    seconds, values = flat[0::2], flat[1::2]
    good = np.isfinite(values) & (np.abs(seconds) <= LAST_S)
    # A float holds the seconds since the epoch to a quarter of a microsecond.
    return np.rint(seconds[good] * 1e3).astype(np.int64) * 1_000_000, values[good]
