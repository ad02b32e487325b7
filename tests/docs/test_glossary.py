"""The glossary: words that were retired stay out of names."""

import ast
import re

import pytest

from tests.docs.pages import ROOT, page

ROW = re.compile(r"^\| ([^|`]+) \| ([^|]+) \|$", re.M)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SOURCES = sorted(
    path for top in ("triage", "workers", "models") for path in (ROOT / top).rglob("*.py")
)


def retired() -> dict[str, str]:
    """Each retired word, and what to say instead."""
    rows = ROW.findall(page("glossary.md").partition("## Retired")[2])
    return {word: say for words, say in rows for word in words.split(", ") if words != "word"}


def words_of(name: str) -> set[str]:
    return {word.lower() for word in WORD.findall(name)}


@pytest.mark.parametrize(
    ("name", "words"),
    [("PipeDoorbell", {"pipe", "doorbell"}), ("set_station", {"set", "station"})],
)
def test_a_name_is_its_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_no_name_has_a_retired_word() -> None:
    instead = retired()
    assert len(instead) > 8
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        names = {path.stem} | {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for name in sorted(names):
            found += [
                f"{path.relative_to(ROOT)}: {name}: say {instead[word]}"
                for word in sorted(words_of(name) & instead.keys())
            ]
    assert found == []


def test_no_word_has_two_rows() -> None:
    words = [
        row.split("|")[1].strip() for row in page("glossary.md").splitlines() if row[:2] == "| "
    ]
    words = [word for word in words if word != "word"]
    assert len(words) == len(set(words)) > 50
