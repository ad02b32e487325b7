"""The pattern of an own signature: RE2, which takes time linear in the line whatever it is.

What Python reads of it as well gives its literals, so that a pattern is of the part that both
know.
"""

import importlib
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

LONGEST: Final = 1000
"""Characters of a pattern, at most."""
_MOST_STEPS: Final = 4000
"""Instructions of a compiled pattern, at most: each byte of a line costs so many at worst."""
_MAX_MEMORY: Final = 4 << 20
_LONGEST_LITERAL: Final = 60
GROUPS: Final = frozenset(
    {
        "gpu", "node", "rank", "local_rank", "cuda_device", "pid", "code", "parent_code", "peer",
        "device", "netdev", "time",
    }
)  # fmt: skip
"""Names that a group may have; each fills the field of its name."""

# Python's own parser of patterns gives the tree; it is the same module in all versions from 3.11.
_PARSER: Final[Any] = importlib.import_module("re._parser")


class PatternFault(ValueError):
    """A pattern that cannot be used; the message says why."""


class Searched(Protocol):
    """A compiled pattern of RE2."""

    def search(self, text: str, pos: int) -> "re.Match[str] | None":
        """The first match at or behind ``pos``."""


class LinearPattern:
    """As much of a compiled pattern as a scan uses; texts with half a surrogate are no error."""

    def __init__(self, pattern: Searched) -> None:
        self.pattern = pattern

    def search(self, text: str, pos: int = 0) -> "re.Match[str] | None":
        """The first match at or behind ``pos``, None for none."""
        try:
            return self.pattern.search(text, pos)
        except UnicodeEncodeError:
            return self.pattern.search(text.encode("utf-8", "replace").decode("utf-8"), pos)


def compile_pattern(pattern: str) -> "re.Pattern[str]":
    """The pattern, matched without case. Raises :class:`PatternFault`."""
    import re2  # type: ignore[import-untyped]  # only who has own signatures loads it

    if not 1 <= len(pattern) <= LONGEST:
        raise PatternFault(f"the pattern must have 1 to {LONGEST} characters")
    options = re2.Options()
    options.case_sensitive = False
    options.never_nl = True
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        found = re2.compile(pattern, options)
    except UnicodeEncodeError as error:
        raise PatternFault("the pattern is no text of Unicode") from error
    except re2.error as error:
        message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise PatternFault(
            f"the pattern is none of RE2 ({message}); it knows no references back and no looking"
            " around"
        ) from error
    if found.programsize > _MOST_STEPS:
        raise PatternFault(
            f"the pattern compiles to {found.programsize:,} steps, of at most {_MOST_STEPS:,}:"
            " bound its repetitions lower"
        )
    if found.search("") is not None:
        raise PatternFault("the pattern matches the empty line, and so every line")
    unknown = sorted(set(found.groupindex) - GROUPS)
    if unknown:
        raise PatternFault(
            f"the group {unknown[0]!r} fills no field; groups are {', '.join(sorted(GROUPS))}, and"
            " (?:...) has no name"
        )
    return cast("re.Pattern[str]", LinearPattern(found))


def derive_literals(pattern: str) -> tuple[str, ...]:
    """Texts of which every match holds one, the rarest that the pattern gives; empty where it
    gives none. Raises :class:`PatternFault` where Python cannot read it.
    """
    try:
        tree = _PARSER.parse(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternFault(f"the pattern cannot be read: {error}") from error
    found = _find_required_texts(list(tree))
    return tuple(sorted(text[:_LONGEST_LITERAL] for text in found)) if found else ()


def _find_required_texts(items: Sequence[tuple[Any, Any]]) -> frozenset[str]:
    """The best set of texts of which one is in everything that ``items`` match; else empty."""
    best: frozenset[str] = frozenset()
    run = ""
    for name, value in [*((str(op), value) for op, value in items), ("END", None)]:
        if name == "LITERAL" and 32 <= value < 127:
            run += chr(value).lower()
            continue
        if name == "AT":
            continue  # a place has no width
        best = _choose_better(best, frozenset({run} if run else ()))
        run = ""
        best = _choose_better(best, _find_required_in_item(name, value))
    return best


def _find_required_in_item(name: str, value: Sequence[Any]) -> frozenset[str]:
    """As :func:`required`, of one item that is no literal."""
    if name == "SUBPATTERN":
        return _find_required_texts(list(value[3]))
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _find_required_texts(list(value[2]))
    if name == "BRANCH":
        parts = [_find_required_texts(list(branch)) for branch in value[1]]
        return frozenset().union(*parts) if all(parts) else frozenset()
    return frozenset()


def _choose_better(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """That whose shortest text is longer; of equal ones the smaller set."""

    def worth(texts: frozenset[str]) -> tuple[int, int]:
        return min(map(len, texts), default=0), -len(texts)

    return max(one, other, key=worth)
