"""Wire: an Answer or a row as canonical JSON bytes.

The same values give the same bytes. Control characters beyond ASCII and bidi
overrides stay escaped, so that JSON on a terminal cannot drive it either.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import orjson

from triage.domain.report import Answer
from triage.domain.wire import format_iso_utc
from triage.render.words.clean import escape_json, make_encodable


def render(answer: Answer, *, top: int | None = None) -> bytes:
    """What ``--format json`` prints: two blanks of indent, a newline at the end.

    ``top`` keeps the best N suspects.
    """
    value = answer.to_dict()
    if top is not None:
        value["suspects"] = value["suspects"][:top]
    return encode(value)


def report(answer: Answer) -> dict[str, Any]:
    """The report ``triage.report/1`` as who reads that JSON has it."""
    parsed: dict[str, Any] = orjson.loads(render(answer))
    return parsed


def list_moments(answer: Answer) -> list[dict[str, Any]]:
    """The time line as the service hands it out: one dict a moment, in the order of time."""
    rows = [
        {
            "at": format_iso_utc(moment.at),
            "node": moment.node,
            "rank": moment.rank,
            "kind": moment.kind,
            "category": None if moment.category is None else str(moment.category),
            "text": moment.text,
        }
        for moment in answer.timeline
    ]
    # Through JSON, which has no half of a surrogate pair.
    return [orjson.loads(encode_line(row)) for row in rows]


def encode(value: Mapping[str, Any]) -> bytes:
    """One JSON object, indented, with a newline at the end."""
    return _dump(value, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def encode_line(value: Mapping[str, Any]) -> bytes:
    """One JSON object on one line, with a newline at the end."""
    return _dump(value, orjson.OPT_APPEND_NEWLINE)


def _dump(value: Mapping[str, Any], option: int) -> bytes:
    try:
        encoded = orjson.dumps(value, option=option)
    except TypeError:  # a lone surrogate, or an integer past 64 bits: both come from dumps
        encoded = _dump_plainly(value, indented=bool(option & orjson.OPT_INDENT_2))
    return escape_json(encoded)


def _dump_plainly(value: Mapping[str, Any], *, indented: bool) -> bytes:
    text = json.dumps(
        _simplify(value),
        ensure_ascii=False,
        indent=2 if indented else None,
        separators=(",", ": ") if indented else (",", ":"),
    )
    return text.encode("utf-8") + b"\n"


def _simplify(value: object) -> object:
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, Mapping):
        return {make_encodable(str(key)): _simplify(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_simplify(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
