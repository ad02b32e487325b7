"""JSON bytes that give back exactly what went in.

The fast writer refuses two things that foreign bytes bring: text with lone surrogates
and integers beyond 64 bits. What holds one of them is written by the slow one, and the
first byte says by which.
"""

import json
from typing import Any, Final

import orjson

from triage.errors import Corrupt

# What JSON holds; its reader finds out what it is.
Json = Any

_FAST: Final = b"F"
_SLOW: Final = b"S"


def to_exact_json(value: object) -> bytes:
    """Plain values (dicts with text keys, lists, text, numbers, None) as bytes.

    Times and dataclasses are written as :mod:`orjson` writes them. Raises TypeError for the rest.
    """
    try:
        return _FAST + orjson.dumps(value)
    except TypeError:
        return _SLOW + json.dumps(value, default=_encode_dataclass, allow_nan=False).encode("ascii")


def _encode_dataclass(value: object) -> object:
    """A dataclass by its fields; a time as text."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    isoformat = getattr(value, "isoformat", None)
    if isoformat is None:
        raise TypeError(f"{type(value).__name__} is no plain value")
    return isoformat()


def from_exact_json(data: bytes) -> Json:
    """The value again. Raises :class:`Corrupt` for bytes that no writer made."""
    first, rest = data[:1], data[1:]
    try:
        if first == _FAST:
            return orjson.loads(rest)
        if first == _SLOW:
            return json.loads(rest)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"stored JSON cannot be read: {error}") from error
    raise Corrupt("stored JSON is of an unknown form")
