"""Patterns that are compiled when they are first used.

A process imports the patterns of every tool and log that the product knows, more than a thousand,
and reads few of them: to compile them all takes a fifth of the start of a server or a worker.
"""

import re
from typing import AnyStr, Generic, cast

# What a pattern offers; looked up once, so that later uses cost what those of a plain one cost.
_OFFERED = (
    "search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn",
    "groups", "groupindex",
)  # fmt: skip


class LazyPattern(Generic[AnyStr]):
    """Stands for ``re.compile(pattern, flags)`` until something of it is asked for."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update((offered, getattr(compiled, offered)) for offered in _OFFERED)
        return getattr(compiled, name)


def compile_re(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """The pattern, compiled at its first use. A test compiles all that the product holds."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
