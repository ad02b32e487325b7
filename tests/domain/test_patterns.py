"""Patterns that wait for their first use: all that the product holds are patterns."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from triage.domain.patterns import LazyPattern, compile_re

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "triage").rglob("*.py"))
    if "compile_re(" in path.read_text("utf-8") and path.name != "patterns.py"
]


def test_it_is_the_pattern_that_is_compiled_at_once() -> None:
    lazy, plain = compile_re(r"(?P<a>x+)y", re.IGNORECASE), re.compile(r"(?P<a>x+)y", re.IGNORECASE)

    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)
    assert lazy.search("aXXy")["a"] == plain.search("aXXy")["a"]  # type: ignore[index]
    assert lazy.sub("-", "xy xy") == plain.sub("-", "xy xy")


def test_what_is_no_pattern_is_refused_at_its_first_use() -> None:
    with pytest.raises(re.error, match="missing"):
        compile_re("(").search("")


def patterns_in(value: object) -> list[object]:
    if isinstance(value, tuple | list | frozenset | set):
        return [found for one in value for found in patterns_in(one)]
    if isinstance(value, dict):
        return [found for one in (*value.keys(), *value.values()) for found in patterns_in(one)]
    return [value] if isinstance(value, LazyPattern) else []


@pytest.mark.parametrize("module", MODULES)
def test_all_patterns_of_a_module_can_be_compiled(module: str) -> None:
    for value in patterns_in(list(vars(import_module(module)).values())):
        assert value.groups >= 0  # type: ignore[attr-defined]
