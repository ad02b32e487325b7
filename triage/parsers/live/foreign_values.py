"""Values of foreign JSON: what is not of the wanted sort is absent, never an error."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import orjson

from triage.domain.evidence import Stamp
from triage.errors import Corrupt

_MAX_TEXT: Final = 400
# A hash has 64 bits, which are 20 decimal digits.
_MAX_DIGITS: Final = 20
_SECOND_NS: Final = 1_000_000_000


def parse_json_value(text: str) -> Any:
    """The value of a JSON text. Raises :class:`Corrupt` with the place where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Corrupt(f"not valid JSON: {error.msg}", offset=error.pos) from error
    except UnicodeEncodeError as error:  # a surrogate alone
        raise Corrupt("text that is no UTF-8") from error


def iterate_decoded(
    text: str, between: re.Pattern[str], place: int = 0
) -> Iterator[tuple[Any, int, int]]:
    """(value, begin, end) of JSON values behind one another, up to the first that cannot be read;
    ``between`` matches what stands in front of each.
    """
    decoder = json.JSONDecoder()
    while place < len(text):
        found = between.match(text, place)
        begin = place if found is None else found.end()
        try:
            value, place = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return
        yield value, begin, place


def iterate_json_lines(text: str, most_chars: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """(number, object) of each line, None for one that holds none or is longer. An array with an
    item a line is read as its items.
    """
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip().rstrip(",")
        if line in ("", "[", "]"):
            continue
        value = None
        if len(line) <= most_chars:
            with suppress(orjson.JSONDecodeError):
                value = orjson.loads(line)
        yield number, value if isinstance(value, dict) else None


def get_json_object(value: Any) -> dict[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def iterate_json_objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def make_stamp(at: datetime, zone_s: int | None = None) -> Stamp:
    """The stamp of an aware time that is printed to the second; its zone where that is known."""
    return Stamp(wall_ns=int(at.timestamp()) * _SECOND_NS, zone_s=zone_s, error_ns=_SECOND_NS)


def parse_whole_number(value: Any, base: int = 10, most: int = 1 << 62) -> int | None:
    """An integer below ``most``, also one that is written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not text or len(text) > _MAX_DIGITS + 2:
            return None
        try:
            value = int(text, 16 if text[:2].lower() == "0x" else base)
        except ValueError:
            return None
    return value if isinstance(value, int) and -(1 << 62) <= value < most else None


def get_count(value: object, limit: int = 1 << 62) -> int | None:
    """A count or a number of something: an integer that is not negative and below ``limit``."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit:
        return value
    return None


def get_finite_number(value: Any) -> float | None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e18 else None


def limit_text(value: Any) -> str:
    """Text in one line of at most 400 characters; empty for anything else."""
    return " ".join(value[:_MAX_TEXT].split()) if isinstance(value, str) else ""
