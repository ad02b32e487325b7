"""A whole JSON document from outside, within bounds: what is read of it is decided by what it is.

Objects take ten times as much memory as their text, so a document may be 128 MiB long, and in a
process with other things to do 32 MiB and half a million objects.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from triage.errors import Corrupt, Forbidden
from triage.fleet.parsers.lines import Source

_MAX_BYTES: Final = 128 << 20
SPARING_BYTES: Final = 32 << 20
# A pod of 10 KB has a hundred; each takes a quarter of a kilobyte once it is read.
SPARING_OBJECTS: Final = 500_000
_PIECE: Final = 1 << 20

_Json = Mapping[str, Any]


def read_document(source: Source, *, sparing: bool) -> object:
    """The value. Raises :class:`Corrupt` for what is none, :class:`Forbidden` beyond bounds."""
    pieces, total, objects = [], 0, 0
    most = SPARING_BYTES if sparing else _MAX_BYTES
    while piece := source.read(_PIECE):
        total += len(piece)
        objects += piece.count(b"{") + piece.count(b"[") if sparing else 0
        if total > most:
            raise Forbidden(f"JSON of more than {most:,} bytes; export it in parts")
        if objects > SPARING_OBJECTS:
            raise Forbidden(f"JSON of more than {SPARING_OBJECTS:,} objects; export it in parts")
        pieces.append(piece)
    try:
        value: object = orjson.loads(b"".join(pieces).removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Corrupt(f"it begins as JSON and is none: {error}") from error
    return value


def iterate_numbered_objects(value: object) -> Iterator[tuple[int, _Json | None]]:
    """The objects of a list with their places from 1; None for what is none."""
    for place, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield place, item if isinstance(item, dict) else None


def get_child_object(value: _Json, key: str) -> _Json:
    """The object under a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def list_child_objects(value: _Json, key: str) -> list[_Json]:
    """The objects of the list under a key."""
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def get_text_value(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
