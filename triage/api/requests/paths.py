"""Names in paths: each part of the path is decoded by itself.

``/v1/jobs/a%2Fb/bundle`` is the job ``a/b``. A server that decodes the whole path first
makes two parts of it, so a slash that came encoded goes through the routing as NUL. A NUL
from outside, and bytes that are not UTF-8, go as other control characters: no name may
hold any, so all of them are told from a slash, and refused.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from triage.domain.patterns import compile_re
from triage.errors import Place, Unprocessable

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
