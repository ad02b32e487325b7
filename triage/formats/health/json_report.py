"""JSON that a tool printed, also where it breaks off: what stands whole in it is kept.

A document that is cut is closed behind its last whole value; a list of events that was cut so
lacks its last event and no other.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.formats.health.reading import Reading

_DECODER: Final = json.JSONDecoder(strict=False)
_SPACE: Final = compile_re(r"[\s,]*")
# A text that does not end goes on to the end of the document.
_TOKEN: Final = compile_re(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
# No tool nests its report deeper than a dozen levels.
_MAX_DEPTH: Final = 64
_MAX_DOCUMENTS: Final = 200_000
_MAX_TEXT: Final = 2000
# "2026-03-14T02:40:59.118402339Z": Go prints nanoseconds, and Python reads microseconds.
_LONG_FRACTION: Final = compile_re(r"(\.\d{6})\d{1,6}")


def iterate_documents(text: str, reading: Reading) -> Iterator[Any]:
    """The values of ``text``: one document, or one behind the other, as JSON lines are.

    What is no JSON is listed in ``reading``, once; what stood before it is given.
    """
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    for _ in range(_MAX_DOCUMENTS):
        if at >= len(text):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reading.skip(text.count("\n", 0, at) + 1, f"not valid JSON: {error}")
            yield from _close_document(text, at)
            return
        yield value
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]


def is_whole(text: str) -> bool:
    """Whether ``text`` is one JSON document, or one behind the other, and none breaks off."""
    reading = Reading("")
    for _ in iterate_documents(text, reading):
        pass
    return not reading.num_not_understood


def _close_document(text: str, start: int) -> Iterator[Any]:
    """The document at ``start``, closed behind its last whole value; nothing where none is."""
    open_ends: list[str] = []
    whole: tuple[int, str] | None = None
    for found in _TOKEN.finditer(text, start):
        token = found[0]
        if token in "{[":
            open_ends.append("}" if token == "{" else "]")
            if len(open_ends) > _MAX_DEPTH:
                return
        elif token in "}]":
            if not open_ends or open_ends.pop() != token:
                break
            whole = found.end(), "".join(reversed(open_ends))
    if whole is None:
        return
    end, ends = whole
    try:
        yield _DECODER.raw_decode(text[start:end] + ends)[0]
    except (ValueError, RecursionError):
        return


def iterate_items(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, or the one object that stands in its place."""
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def find_text(found: Mapping[str, Any], *names: str) -> str:
    """The first of some members that is a text or a number, as one line; empty for none."""
    for name in names:
        value = found.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value[:_MAX_TEXT].split())
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
            return str(value)
    return ""


def parse_zoned_time(text: str) -> datetime | None:
    """An RFC 3339 time; None for one without a zone, which cannot be placed."""
    try:
        found = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text[:64].strip()))
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
