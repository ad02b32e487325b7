r"""Clean: foreign text made safe to show.

Names, paths and log lines come from machines that may be compromised. An escape
sequence drives a terminal, a bidi override turns a sentence round, a newline forges
a line of the report. All of them are shown as what they are: ``\x1b``, ``\u202e``.
"""

import json
import unicodedata
from functools import lru_cache

from triage.domain.patterns import compile_re

ELLIPSIS = "..."

# Cc: C0, DEL, C1. Cf: bidi controls, zero width, soft hyphen, tags. Cs: lone surrogates
# (file names that are not UTF-8). Zl, Zp: line and paragraph separators. Co, Cn: unassigned.
_SHOWN_AS_ESCAPE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
# Of those, in UTF-8, what JSON lets stand as it is: DEL and C1 (0x9b begins a terminal's command),
# soft hyphen, marks of direction and of no width, separators of lines and paragraphs, marks of
# annotation, tags.
_UNSEEN_IN_JSON = compile_re(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xe1\xa0\x8e|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_AS_BLANK = frozenset("\t\n\v\f\r ")


def format_one_line(text: str, width: int | None = None) -> str:
    """``text`` on one line: runs of white space are one blank, controls are written out.

    ``width`` bounds it, in columns of a terminal.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(map(_make_visible, text))
    line = " ".join(text.split())
    return line if width is None else cut(line, width)


def make_encodable(text: str) -> str:
    r"""``text`` that UTF-8 can hold: a lone surrogate is written out as ``\udcff``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def escape_json(encoded: bytes) -> bytes:
    r"""The same JSON, with every character that a terminal does not show as ``\u202e``."""
    return _UNSEEN_IN_JSON.sub(
        lambda match: json.dumps(match[0].decode()).strip('"').encode(), encoded
    )


def count_cells(text: str) -> int:
    """Columns of a terminal that clean ``text`` takes."""
    return len(text) if text.isascii() else sum(map(_measure_width, text))


def cut(text: str, width: int) -> str:
    """Clean ``text`` in at most ``width`` columns, with an ellipsis where it was cut."""
    if count_cells(text) <= width:
        return text
    kept, used = [], len(ELLIPSIS)
    for char in text:
        used += _measure_width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS


@lru_cache(maxsize=4096)
def _make_visible(char: str) -> str:
    if char in _AS_BLANK:
        return " "
    if unicodedata.category(char) not in _SHOWN_AS_ESCAPE:
        return char
    point = ord(char)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


@lru_cache(maxsize=4096)
def _measure_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
