"""Texts that a function looks for: what its patterns match, each alternative once, and words."""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from triage.domain.patterns import LazyPattern
from triage.formats.health.table import Begins

PARSER: Final[Any] = importlib.import_module("re._parser")
OF_CATEGORY: Final = {
    "CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_DIGIT": "x",
    "CATEGORY_NOT_SPACE": "x", "CATEGORY_NOT_WORD": "-",
}  # fmt: skip


def looked_for(function: Callable[..., object]) -> list[str]:
    """What matches the patterns and is equal to the texts that a function names.

    Those of the functions of its module that it calls are among them.
    """
    found: set[str] = set()
    seen: set[object] = set()

    def look(one: object) -> None:
        if isinstance(one, Begins):
            for pattern in one.compiled:
                look(pattern)
        elif isinstance(one, re.Pattern | LazyPattern):
            found.update(texts_of(one))
        elif isinstance(one, str):
            found.add(one)
        elif isinstance(one, bytes):
            found.add(one.decode("latin-1"))
        elif isinstance(one, tuple):
            for part in one:
                look(part)
        elif isinstance(one, MethodType):
            look(one.__func__)
        elif isinstance(one, FunctionType) and one not in seen:
            seen.add(one)
            of_code(one.__code__, one.__globals__)

    def of_code(code: CodeType, names: Mapping[str, object]) -> None:
        for name in code.co_names:
            look(names.get(name))
        for one in code.co_consts:
            if isinstance(one, CodeType):
                of_code(one, names)
            else:
                look(one)

    look(function)
    return sorted(found)


def texts_of(pattern: "re.Pattern[Any]") -> list[str]:
    """Short texts that ``pattern`` matches; looks around it are passed over."""
    source = pattern.pattern
    return variants(PARSER.parse(source if isinstance(source, str) else source.decode("latin-1")))


def variants(items: Sequence[Any]) -> list[str]:
    """What a sequence matches: the first choice everywhere, and each other choice once."""
    parts = [choices(str(name), value) for name, value in items]
    first = [part[0] for part in parts]
    texts = ["".join(first)]
    for place, part in enumerate(parts):
        texts += ["".join([*first[:place], other, *first[place + 1 :]]) for other in part[1:]]
    return texts


def choices(name: str, value: Any) -> list[str]:
    """What one item matches."""
    if name == "LITERAL":
        return [chr(value)]
    if name in ("NOT_LITERAL", "ANY"):
        return ["x" if value != ord("x") else "y"]
    if name == "IN":
        return [of_set(value)]
    if name == "SUBPATTERN":
        return variants(value[3])
    if name == "BRANCH":
        return [text for branch in value[1] for text in variants(branch)]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        texts = [text * max(least, 1) for text in variants(inner)]
        return texts if least or not most else [*texts, ""]
    return [""]


def of_set(items: Sequence[Any]) -> str:
    """A character of a set."""
    name, value = str(items[0][0]), items[0][1]
    if name == "NEGATE":
        return next(one for one in "x -7\n" if not within(one, items[1:]))
    if name == "RANGE":
        return chr(value[0])
    return OF_CATEGORY[str(value)] if name == "CATEGORY" else chr(value)


def within(character: str, items: Sequence[Any]) -> bool:
    """Whether a set holds a character."""
    for name, value in items:
        if str(name) == "LITERAL" and value == ord(character):
            return True
        if str(name) == "RANGE" and value[0] <= ord(character) <= value[1]:
            return True
        if str(name) == "CATEGORY" and OF_CATEGORY[str(value)] == character:
            return True
    return False
