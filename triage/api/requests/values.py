"""The values that queries hold, read strictly: what is not understood is refused, with its name.

Each part of a path is decoded by itself: ``/v1/jobs/a%2Fb/bundle`` is the job ``a/b``. A server
that decodes the whole path first makes two parts of it, so a slash that came encoded goes through
the routing as NUL. A NUL from outside, and bytes that are not UTF-8, go as other control
characters: no name may hold any, so all of them are told from a slash, and refused.
"""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from fastapi import Path, Query, Request
from pydantic import BeforeValidator, WithJsonSchema

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Kind
from triage.domain.file_kind import DECLARED
from triage.domain.patterns import compile_re
from triage.domain.states import IncidentState
from triage.errors import NotFound, Place, Unprocessable
from triage.services.hooks.times import parse_rfc3339

_SLASH: Final = "\x00"
_NUL: Final = "\x01"
_NOT_UTF8: Final = "\x02"
MAX_NAME: Final = 256
_ABSOLUTE: Final = compile_re(rb"https?://([^/?#@]+)(?=[/?]|$)", re.IGNORECASE)


def normalize_path(raw: bytes) -> str:
    """The path to route by."""
    return "/".join(_normalize_part(part) for part in raw.partition(b"?")[0].split(b"/"))


def split_target(target: bytes) -> tuple[bytes | None, bytes]:
    """The server that a request target names, as one sent by a proxy may, and the path in it.

    ``http://node:8000/healthz`` is ``node:8000`` and ``/healthz``; what names no server is the
    path as it stands (RFC 9112, 3.2).
    """
    match = _ABSOLUTE.match(target)
    if match is None:
        return None, target
    return match[1], target[match.end() :] or b"/"


def _normalize_part(part: bytes) -> str:
    if b"%" not in part and part.isascii():
        return part.decode("ascii")
    try:
        text = unquote_to_bytes(part).decode("utf-8")
    except UnicodeDecodeError:
        return _NOT_UTF8
    return text.replace("\x00", _NUL).replace("/", _SLASH)


def name_in_path(parameter: str, value: str) -> str:
    """The name that a part of the path says.

    Raises :class:`Unprocessable` for more than 256 characters, a control character, or
    bytes that are not UTF-8.
    """
    name = value.replace(_SLASH, "/")
    if value == _NOT_UTF8:
        why = "is not UTF-8"
    elif len(name) > MAX_NAME:
        why = f"is longer than {MAX_NAME} characters"
    elif has_control_character(name):
        why = "holds a control character"
    else:
        return name
    raise Unprocessable(
        f"{parameter} {why}",
        hint="give the name as the scheduler says it, percent-encoded",
        places=(Place(f"path/{parameter}", why),),
    )


def has_control_character(text: str) -> bool:
    """Whether a C0 or C1 control character, or DEL, stands in the text."""
    return any(char < " " or "\x7f" <= char <= "\x9f" for char in text)


_MAX_LIMIT: Final = 500
_MAX_WAIT_S: Final = 60.0
_MAX_FILENAME: Final = 4096
FILE_KINDS: Final = tuple(map(str, DECLARED))
_ID: Final = compile_re(r"[A-Za-z0-9_.-]{1,200}", re.ASCII)
_RANK: Final = compile_re(r"[0-9]{1,7}", re.ASCII)
_COUNT: Final = compile_re(r"[0-9]{1,9}", re.ASCII)
_NUMBER: Final = compile_re(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)
NAME_SCHEMA: Final = {
    "type": "string", "minLength": 1, "maxLength": MAX_NAME,
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
}  # fmt: skip


def name(text: str) -> str:
    """The text, where it can be a name. Raises ValueError."""
    if not 1 <= len(text) <= MAX_NAME:
        raise ValueError(f"give 1 to {MAX_NAME} characters")
    if has_control_character(text):
        raise ValueError("holds a control character")
    return text


def _check_file_name(text: str) -> str:
    if not 1 <= len(text) <= _MAX_FILENAME:
        raise ValueError(f"give 1 to {_MAX_FILENAME} characters")
    return text


def _rank(text: str) -> int:
    if not _RANK.fullmatch(text):
        raise ValueError("give 1 to 7 digits")
    return int(text)


def _limit(text: Any) -> int:  # noqa: ANN401 - the default comes as a number
    if isinstance(text, int):
        return text
    if not _COUNT.fullmatch(text) or not 1 <= int(text) <= _MAX_LIMIT:
        raise ValueError(f"give a whole number from 1 to {_MAX_LIMIT}")
    return int(text)


def _wait(text: Any) -> float:  # noqa: ANN401
    if isinstance(text, float):
        return text
    if not _NUMBER.fullmatch(text):
        raise ValueError("give a number of seconds")
    seconds = float(text)
    if seconds < 0:
        raise ValueError("give 0 seconds or more")
    return min(seconds, _MAX_WAIT_S)


def _parse_at(text: str) -> datetime:
    at = parse_rfc3339(text)
    if at is None:
        raise ValueError("give an RFC 3339 time with its zone, such as 2026-11-21T03:14:15Z")
    return at


def check_choice(*known: str) -> BeforeValidator:
    """A check that the text is one of ``known``."""

    def check(text: str) -> str:
        if text not in known:
            raise ValueError(f"give one of {', '.join(known)}")
        return text

    return BeforeValidator(check)


def make_choice_schema(*known: str) -> WithJsonSchema:
    """The schema of a text that is one of ``known``."""
    return WithJsonSchema({"type": "string", "enum": list(known)})


Name = Annotated[str, BeforeValidator(name), WithJsonSchema(NAME_SCHEMA)]
# The path's own control characters are told apart by `name_in_path`.
PathName = Annotated[
    str, Path(description="As the scheduler says it; a slash as %2F."), WithJsonSchema(NAME_SCHEMA)
]
FileName = Annotated[
    str, BeforeValidator(_check_file_name),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _MAX_FILENAME}),
]  # fmt: skip
Rank = Annotated[
    int, BeforeValidator(_rank), WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,7}$"})
]
FileKind = Annotated[str, check_choice(*FILE_KINDS), make_choice_schema(*FILE_KINDS)]
CategoryName = Annotated[str, check_choice(*Category), make_choice_schema(*Category)]
StateName = Annotated[str, check_choice(*IncidentState), make_choice_schema(*IncidentState)]
Role = Annotated[str, check_choice(*EvidenceRole), make_choice_schema(*EvidenceRole)]
# Dumps, files of telemetry, and files that could not be read have rows of their own.
RowKind = Annotated[
    str, check_choice(*Kind, "fr", "telemetry"), make_choice_schema(*Kind, "fr", "telemetry")
]
Since = Annotated[
    datetime, BeforeValidator(_parse_at), WithJsonSchema({"type": "string", "format": "date-time"})
]
IncidentRef = Annotated[str, WithJsonSchema({"type": "string"})]
ProblemRef = Annotated[str, WithJsonSchema({"type": "string"})]
Limit = Annotated[
    int, Query(description="Rows of one page."), BeforeValidator(_limit),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": _MAX_LIMIT, "default": 50}),
]  # fmt: skip
Cursor = Annotated[
    str | None, Query(description="`next_cursor` of the page before; left out for the first.")
]
Wait = Annotated[
    float,
    Query(description="Seconds to wait for the incident to settle; more than 60 is 60."),
    BeforeValidator(_wait),
    WithJsonSchema({"type": "number", "minimum": 0, "default": 0}),
]


def check_id(value: str, what: str, hint: str) -> str:
    """An id as ours look; :class:`NotFound` for a text that cannot be one."""
    if not _ID.fullmatch(value):
        raise NotFound(f"there is no such {what}", hint=hint)
    return value


def check_name(text: str, where: str) -> str:
    """A node's name out of a body. Raises :class:`Unprocessable` with its place."""
    try:
        return name(text)
    except ValueError as error:
        raise Unprocessable(
            f"{where.rpartition('/')[2]}: {error}", places=(Place(where, str(error)),)
        ) from error


def check_query_keys(request: Request, known: Collection[str]) -> None:
    """Refuse a query that says one thing twice, or what nobody reads.

    A filter with a slip in its name would otherwise be no filter at all.
    """
    raw = request.scope.get("query_string", b"").decode("latin-1")
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Unprocessable(
            "the query is not UTF-8", places=(Place("query/", "not UTF-8"),)
        ) from error
    places = []
    seen: set[str] = set()
    for key, _ in pairs:
        shown = key[:80]
        if key not in known:
            places.append(Place(f"query/{shown}", "is not known here"))
        elif key in seen:
            places.append(Place(f"query/{shown}", "is said twice"))
        seen.add(key)
    if places:
        raise Unprocessable(
            "the query is not one of this route",
            hint=f"it takes {', '.join(known)}, each once" if known else "it takes no query",
            places=tuple(places[:20]),
        )


def check_query(*known: str) -> Any:  # noqa: ANN401 - a dependency
    """A dependency that refuses any other query; see :func:`check_query_keys`."""

    async def check(request: Request) -> None:
        check_query_keys(request, known)

    return check
