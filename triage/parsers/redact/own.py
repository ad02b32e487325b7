"""Patterns of one's own: what a site calls a secret, in a file beside the settings.

RE2 matches in time linear in the text, whatever the pattern is; what it cannot do (references
back, looking around) is refused when the file is read.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.errors import UsageError

_NAME: Final = compile_re(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)
_MOST: Final = 200
_LONGEST: Final = 1000
# The part of a match that is the secret, where it is not all of it.
_SECRET: Final = b"secret"


class OwnPatterns:
    """Replaces what they match within a line by ``[redacted:NAME]``."""

    def __init__(self, patterns: Mapping[str, Any]) -> None:
        self.patterns = patterns

    def replace(self, text: bytes, counts: dict[str, int]) -> bytes:
        """The text without what they match; how many of each is added to ``counts``."""
        for name, pattern in self.patterns.items():
            group = dict(pattern.groupindex).get(_SECRET, 0)
            parts, done = [], 0
            for found in pattern.finditer(text):
                first, last = found.span(group)
                if first == last:
                    continue
                parts += [text[done:first], b"[redacted:%b]" % name.encode()]
                done = last
            if parts:
                counts[name] = counts.get(name, 0) + len(parts) // 2
                text = b"".join([*parts, text[done:]])
        return text


NO_PATTERNS: Final = OwnPatterns({})


@cache
def own_patterns(file: str) -> OwnPatterns:
    """Those of a TOML file, ``_NAME = 'REGEX'`` each; none without a file.

    Read once in a process. Raises :class:`UsageError`, which names the file and the pattern.
    """
    if not file:
        return NO_PATTERNS
    try:
        patterns = tomllib.loads(Path(file).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"TRIAGE_REDACT_PATTERNS={file} cannot be read: {error}") from error
    if len(patterns) > _MOST:
        raise UsageError(f"TRIAGE_REDACT_PATTERNS={file}: more than {_MOST} patterns")
    return OwnPatterns({name: _compile_pattern(file, name, one) for name, one in patterns.items()})


def _compile_pattern(file: str, name: str, pattern: object) -> Any:
    import re2  # type: ignore[import-untyped]  # the service brings it, the command needs none

    where = f"TRIAGE_REDACT_PATTERNS={file}: {name!r}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where} is no name: lower case letters, digits, - and _, at most 40")
    if not isinstance(pattern, str) or not 1 <= len(pattern) <= _LONGEST:
        raise UsageError(f"{where} must be a text of 1 to {_LONGEST} characters")
    options = re2.Options()
    options.never_nl = True
    options.one_line = False
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    try:
        found = re2.compile(pattern.encode(), options)
    except re2.error as error:
        raise UsageError(
            f"{where} is no pattern of RE2 ({error}); it knows no references back and no looking"
            " around"
        ) from error
    if found.search(b"") is not None:
        raise UsageError(f"{where} matches nothing at all: it would be everywhere")
    return found
