r"""Safe text: text from logs made harmless for a receiver that gives text a meaning.

A chat turns ``<!channel>`` into a call to everybody, an address into a link, a terminal
escape into a hidden one. Log lines, node names and file names come from machines that may
be compromised, so what would act is replaced by what looks like it. Nothing is hidden:
other control characters are written out (``\x07``).
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from triage.domain.patterns import compile_re
from triage.render.words.clean import format_one_line

_ELLIPSIS = "…"

# Longer than any log line that a report quotes; the rest of a text is dropped.
_MOST_CHARS = 16_384

# OSC (window titles, OSC 8 links) up to BEL or ST; CSI (colour, cursor). Only closed ones:
# one that never ends must not swallow the line that it stands in.
_SEQUENCES = compile_re(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
)

# Text that chats and mailers turn into links by themselves, and Markdown's [text](address).
_LINKS = compile_re(r"(?P<scheme>:)(?=//)|(?<![\w.])(?P<www>www)\.(?=\w)|(?P<md>\])(?=\()", re.I)

_LOOKALIKE = str.maketrans({"@": "＠", "`": "'"})
_BRACKETS = str.maketrans({"<": "‹", ">": "›"})

# For our own address only, so strict: it stands where a receiver makes a link of it.
_WEB_LINK = compile_re(r"https?://[A-Za-z0-9._~:/?#\[\]@!$%&'()*+,;=-]{1,2000}")


def make_inert(text: str) -> str:
    """``text`` on one line that mentions nobody and links nowhere; ``<``, ``>``, ``&`` stay."""
    line = format_one_line(_SEQUENCES.sub("", text[:_MOST_CHARS]))
    return _LINKS.sub(_break_link, line).translate(_LOOKALIKE)


def format_plain(text: str, limit: int) -> str:
    """``text`` for receivers whose markup is not known, in at most ``limit`` characters.

    They hand it on to chats, mail and pages, so angle brackets become their look-alikes.
    """
    return cut_chars(make_inert(text).translate(_BRACKETS), limit)


def cut_chars(text: str, limit: int) -> str:
    """At most ``limit`` characters, with an ellipsis where it was cut.

    A letter is never parted from the marks that stand on it.
    """
    if len(text) <= limit:
        return text
    end = limit - len(_ELLIPSIS)
    while end > 0 and unicodedata.category(text[end]).startswith("M"):
        end -= 1
    return text[: max(end, 0)].rstrip() + _ELLIPSIS


def escape_to_fit(line: str, limit: int, escape: Callable[[str], str]) -> str:
    """``line`` escaped, in at most ``limit`` characters; no escape is cut in two."""
    line = cut_chars(line, limit)
    whole, keep = escape(line), len(line)
    while len(whole) > limit:
        keep = min(keep - 1, limit * keep // len(whole))
        whole = escape(cut_chars(line, keep))
    return whole


def format_commands(commands: Sequence[str], limit: int, safe: Callable[[str, int], str]) -> str:
    """Commands to copy, one a line, in about ``limit`` characters.

    Only whole commands are kept, as half of one is worse than none. ``safe(text, limit)`` is
    the receiver's own way to make text harmless.
    """
    kept: list[str] = []
    for command in commands:
        line = safe(command, limit)
        if _ELLIPSIS in line or sum(map(len, kept)) + len(kept) + len(line) > limit:
            kept.append(f"# {len(commands) - len(kept)} more in the report")
            break
        kept.append(line)
    return "\n".join(kept)


def find_web_link(url: str) -> str:
    """``url`` if it is a plain web address, else nothing."""
    return url if _WEB_LINK.fullmatch(url) else ""


def _break_link(match: re.Match[str]) -> str:
    if match["scheme"]:
        return "[:]"
    return "] " if match["md"] else f"{match['www']}[.]"
