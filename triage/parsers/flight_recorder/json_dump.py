"""JSON dumps: the same dump in another spelling, so it takes the same road.

The object is read by orjson (strict: no NaN, no lone surrogates), after a scan
that bounds its depth and its number of values, and is then written as the
opcodes that the interpreter reads. One decoder, one set of rules.
"""

import json
import struct
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from triage.errors import Corrupt, Forbidden
from triage.parsers.flight_recorder.columns import WALK_NAMES
from triage.parsers.flight_recorder.jit import compiled
from triage.parsers.flight_recorder.limits import Limits
from triage.parsers.flight_recorder.torchcomms import is_torchcomms, with_ordinals

_MAX_DEPTH: Final = 24
_KNOWN: Final = frozenset(WALK_NAMES)
_DOUBLE: Final = struct.Struct(">d")
# An opcode with a number of four bytes behind it, and one for each number of one byte.
_WITH_UINT: Final = struct.Struct("<cI").pack
_SMALL: Final = tuple(b"K" + bytes([value]) for value in range(256))
# What orjson says of a number that no double holds; no number of a dump has so many digits.
_BEYOND_DOUBLES: Final = "infinity"
_LONG_NUMBER: Final = 25
# Numbers of an entry: as text they say the same.
_NUMBERS: Final = frozenset(
    {
        "record_id", "pg_id", "collective_seq_id", "p2p_seq_id", "op_id", "seq_id", "timeout_ms",
        "time_created_ns", "time_created_us", "time_discovered_started_ns",
        "time_discovered_completed_ns",
    }
)  # fmt: skip
_SIZES: Final = frozenset({"input_sizes", "output_sizes"})
# More text is no list of shapes.
_MOST_SIZES: Final = 4096
_TOP_LEVEL: Final = ("version", "pg_config", "comm_lib_version", "nccl_version", "pg_status")


@compiled
def _scan(buf: NDArray[np.uint8]) -> tuple[int, int]:
    """(deepest nesting, number of values) of a JSON text, by counting outside strings."""
    depth = 0
    deepest = 0
    values = 1
    in_string = False
    skip = False
    for k in range(len(buf)):
        c = buf[k]
        if in_string:
            if skip:
                skip = False
            elif c == 0x5C:
                skip = True
            elif c == 0x22:
                in_string = False
        elif c == 0x22:
            in_string = True
        elif c == 0x5B or c == 0x7B:
            depth += 1
            values += 1
            deepest = max(deepest, depth)
        elif c == 0x5D or c == 0x7D:
            depth -= 1
        elif c == 0x2C or c == 0x3A:
            values += 1
    return deepest, values


class _OpcodeWriter:
    """Writes plain values as the subset of opcodes that the interpreter knows."""

    def __init__(self, limits: Limits) -> None:
        self.max_text = limits.text_bytes
        self.out = bytearray(b"\x80\x02")
        self.memo: dict[str, bytes] = {}

    def text(self, value: str) -> None:
        """A string; the second time by reference."""
        known = self.memo.get(value)
        if known is not None:
            self.out += known
            return
        if len(value) > self.max_text:
            raise Forbidden(f"a string of {len(value):,} characters")
        raw = value.encode("utf-8", "surrogatepass")
        index = len(self.memo)
        self.memo[value] = _WITH_UINT(b"j", index)
        self.out += b"%b%b%b" % (_WITH_UINT(b"X", len(raw)), raw, _WITH_UINT(b"r", index))

    def value(self, value: Any) -> None:
        """Any JSON value; numbers beyond 64 bits become None."""
        if value is None:
            self.out += b"N"
        elif value is True:
            self.out += b"\x88"
        elif value is False:
            self.out += b"\x89"
        elif isinstance(value, int):
            if 0 <= value < 256:
                self.out += _SMALL[value]
            elif -(2**63) <= value < 2**63:
                self.out += b"\x8a\x08" + value.to_bytes(8, "little", signed=True)
            else:
                self.out += b"N"
        elif isinstance(value, float):
            self.out += b"G" + _DOUBLE.pack(value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, list):
            self.items(value)
        elif isinstance(value, dict):
            self.out += b"}("
            for key, item in value.items():
                self.text(key)
                self.value(item)
            self.out += b"u"

    def items(self, values: list[Any]) -> None:
        """A list."""
        self.out += b"]("
        for item in values:
            self.value(item)
        self.out += b"e"


def convert_json_to_opcodes(data: bytes, limits: Limits) -> bytearray:
    """The JSON dump ``data`` as opcodes for the interpreter.

    Raises :class:`Corrupt` for text that is no JSON, with the place, and
    :class:`Forbidden` for text that is nested too deep or holds too many values.
    """
    deepest, values = _scan(np.frombuffer(data, np.uint8))
    if deepest > _MAX_DEPTH:
        raise Forbidden(f"JSON nested {deepest:,} deep; a dump needs five")
    if values > limits.json_values:
        raise Forbidden(f"JSON of {values:,} values; at most {limits.json_values:,} are read")
    try:
        top = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        # The error counts characters.
        offset = len(error.doc[: error.pos].encode("utf-8", "replace"))
        if _BEYOND_DOUBLES not in error.msg:
            raise Corrupt(f"not valid JSON: {error.msg}", offset=offset) from error
        top = _with_long_numbers(data, offset)
    writer = _OpcodeWriter(limits)
    if isinstance(top, list):
        if not any(isinstance(entry, dict) for entry in top):
            raise Corrupt("JSON, a list without any entry: no flight-recorder dump")
        _write_entries(writer, top)
    elif isinstance(top, dict):
        _write_top(writer, top)
    else:
        raise Corrupt("JSON, but neither an object nor a list: no flight-recorder dump")
    writer.out += b"."
    return writer.out


def _with_long_numbers(data: bytes, offset: int) -> Any:
    """JSON with numbers of any length, slowly; those beyond 64 bits become None."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(
            data,
            parse_int=lambda text: int(text) if len(text) < _LONG_NUMBER else None,
            parse_constant=refuse,
        )
    except ValueError as error:
        raise Corrupt(f"not valid JSON: {error}", offset=offset) from error


def _write_top(writer: _OpcodeWriter, top: dict[str, Any]) -> None:
    writer.out += b"}("
    for key in _TOP_LEVEL:
        if key in top:
            writer.text(key)
            writer.value(_convert_counters(top[key]) if key == "pg_status" else top[key])
    entries = top.get("entries")
    if isinstance(entries, list):
        writer.text("entries")
        _write_entries(writer, with_ordinals(entries) if is_torchcomms(top) else entries)
    writer.out += b"u"


def _write_entries(writer: _OpcodeWriter, entries: list[Any]) -> None:
    writer.out += b"]("
    for entry in entries:
        if not isinstance(entry, dict):
            writer.value(None)
            continue
        writer.out += b"}("
        for key, value in entry.items():
            if key in _KNOWN:
                writer.text(key)
                if key in _NUMBERS and isinstance(value, str):
                    value = _convert_integer(value)
                elif key in _SIZES:
                    value = _convert_sizes(value)
                writer.value(value)
        writer.out += b"u"
    writer.out += b"e"


def _convert_sizes(sizes: Any) -> Any:
    """The sizes of tensors, which some tools write as text, or their numbers; what is no list of
    shapes as it is.
    """
    if isinstance(sizes, str) and len(sizes) <= _MOST_SIZES:
        sizes = _sizes_in(sizes) or sizes
    texts = isinstance(sizes, list) and any(
        isinstance(size, list) and size and isinstance(size[0], str) for size in sizes
    )
    if not texts:
        return sizes
    return [
        [_convert_integer(part) for part in size] if isinstance(size, list) else size
        for size in sizes
    ]


def _sizes_in(text: str) -> list[list[int]] | None:
    """The shapes that a text such as ``[[1024], [16, 64]]`` lists; None where it lists none."""
    try:
        sizes = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    shapes = isinstance(sizes, list) and all(
        isinstance(size, list) and all(isinstance(part, int) for part in size) for size in sizes
    )
    return sizes if shapes else None


def _convert_counters(status: Any) -> Any:
    """``pg_status`` of a JSON dump holds its integers as text."""
    if not isinstance(status, dict):
        return status
    return {
        key: {name: _convert_integer(value) for name, value in row.items()}
        for key, row in status.items()
        if isinstance(row, dict)
    }


def _convert_integer(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return int(value[:20])
        except ValueError:
            return None
    return value
