"""JSON from outside, read strictly.

Refused are two values under one key, NaN and infinities, texts that are not UTF-8 and
nesting beyond ``_MAX_DEPTH``. A whole number beyond 64 bits is kept as its digits, half of a
surrogate pair as U+FFFD: the databases, and other readers of what is kept, hold neither.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.errors import BadRequest, Place, Unprocessable

_NAMES: Final = {
    dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number",
    bool: "true or false", type(None): "null",
}  # fmt: skip
_MAX_DEPTH: Final = 64
# Whole numbers of up to 18 digits fit 64 bits whatever they are.
_SURELY_64_BITS: Final = 18
_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
_HALF: Final = compile_re("[\ud800-\udfff]")

JsonObject = dict[str, Any]


class Refused(ValueError):
    """Raised out of the standard library's reader."""


def parse_value(body: bytes) -> Any:  # noqa: ANN401 - the parser that met the foreign bytes
    """The value of a JSON text. Raises :class:`BadRequest` for what is none."""
    if not body.strip():
        raise _make_bad("the request has no body")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _make_bad(f"the body is not UTF-8 (byte {error.start:,})") from error
    try:
        value = json.loads(
            text, object_pairs_hook=_check_unrepeated, parse_constant=_refuse_constant,
            parse_int=_parse_whole, parse_float=_parse_finite,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise _make_bad(f"the body is not JSON: {error.msg} at character {error.pos:,}") from error
    except Refused as error:
        raise _make_bad(str(error)) from error
    except RecursionError as error:
        raise _make_bad(f"the body is nested deeper than {_MAX_DEPTH} levels") from error
    return _clean_value(value, 0)


def parse_object(body: bytes) -> JsonObject:
    """The object that a JSON text holds. Raises :class:`Unprocessable` for another value."""
    value = parse_value(body)
    if not isinstance(value, dict):
        raise Unprocessable(
            "the body must be a JSON object",
            places=(Place("body", f"is {_NAMES[type(value)]}, not an object"),),
        )
    return value


def _make_bad(detail: str) -> BadRequest:
    return BadRequest(
        detail, hint="send one JSON text in UTF-8, each key once", places=(Place("body", detail),)
    )


def _check_unrepeated(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Refused(f"the body says {twice[:80]!r} twice")
    return found


def _refuse_constant(name: str) -> None:
    raise Refused(f"the body holds {name}, which is not JSON")


def _parse_whole(digits: str) -> int | str:
    if len(digits) <= _SURELY_64_BITS:
        return int(digits)
    if len(digits) > _SURELY_64_BITS + 2:
        return digits
    number = int(digits)
    return number if _LOW <= number <= _HIGH else digits


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Refused(f"the number {digits[:40]} is too large")
    return number


def _clean_value(value: Any, depth: int) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if not isinstance(value, dict | list):
        return value
    if depth >= _MAX_DEPTH:
        raise _make_bad(f"the body is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, list):
        return [_clean_value(one, depth + 1) for one in value]
    return {_HALF.sub("\ufffd", key): _clean_value(one, depth + 1) for key, one in value.items()}


def check_keys(body: dict[str, Any], known: Sequence[str], needed: Sequence[str]) -> None:
    """Raises :class:`Unprocessable` for keys that are not known, or not there."""
    places = [Place(f"body/{key[:80]}", "is not known") for key in body if key not in known]
    places += [Place(f"body/{key}", "is missing") for key in needed if body.get(key) is None]
    if places:
        raise _make_wrong(places)


def get_text(body: dict[str, Any], key: str) -> str | None:
    """The text under a key; None where there is none."""
    value = body.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _make_wrong([Place(f"body/{key}", "must be a text")])


def flag_in(body: dict[str, Any], key: str) -> bool:
    """Whether the key is true; false where it is not there."""
    value = body.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _make_wrong([Place(f"body/{key}", "must be true or false")])


def get_texts(body: dict[str, Any], key: str) -> list[str] | None:
    """The texts under a key; None where there are none."""
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise _make_wrong([Place(f"body/{key}", "must be a list of texts")])
    places = [
        Place(f"body/{key}/{index}", "must be a text")
        for index, one in enumerate(value)
        if not isinstance(one, str)
    ]
    if places:
        raise _make_wrong(places)
    return value


def _make_wrong(places: Sequence[Place]) -> Unprocessable:
    first = places[0]
    return Unprocessable(
        f"{first.where.removeprefix('body/')} {first.message}",
        hint="/docs shows what the body holds",
        places=tuple(places[:20]),
    )
