"""All names of the code: modules, classes, functions, arguments, fields, tables, metrics, logs."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

TREES = ("triage", "workers", "models", "migrations", "tools", "benchmarks", "tests")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
METRIC = re.compile(r"triage_[a-z_]+")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Name:
    """One name, and where it is given; ``kind`` is class, function, argument, ..."""

    text: str
    kind: str
    path: str

    @property
    def words(self) -> set[str]:
        """Its parts, in lower case."""
        return {word.lower() for word in WORD.findall(self.text)}

    @property
    def bare(self) -> str:
        """The name in lower case, without the underscores around it."""
        return self.text.strip("_").lower()


@cache
def all_names() -> tuple[Name, ...]:
    """The names that every file gives, once each."""
    return tuple(
        Name(text, kind, str(path.relative_to(ROOT)))
        for tree in TREES
        for path in sorted((ROOT / tree).rglob("*.py"))
        for text, kind in sorted(set(names_of(path)))
    )


def names_of(path: Path) -> Iterator[tuple[str, str]]:
    """Each name that one file gives, with its kind."""
    yield path.parent.name if path.stem == "__init__" else path.stem, "module"
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        yield from given_by(node)


def given_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that one node of a tree gives."""
    if isinstance(node, ast.ClassDef):
        yield node.name, "class"
        yield from ((name, "attribute") for name in fields(node))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, "function"
    elif isinstance(node, ast.arg):
        yield node.arg, "argument"
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr, "attribute"
    elif isinstance(node, ast.Call):
        yield from logged(node)
    elif isinstance(node, ast.Constant) and METRIC.fullmatch(str(node.value)):
        yield str(node.value), "metric"


def fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields of a class, its table's name too."""
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id
        elif isinstance(line, ast.Assign):
            names = [one.id for one in line.targets if isinstance(one, ast.Name)]
            yield from names
            if "__tablename__" in names and isinstance(line.value, ast.Constant):
                yield str(line.value.value)


def logged(node: ast.Call) -> Iterator[tuple[str, str]]:
    """The event of a call of ``log``, and the fields that it binds."""
    call = node.func
    if (
        isinstance(call, ast.Attribute)
        and call.attr in LEVELS
        and isinstance(call.value, ast.Name)
        and call.value.id == "log"
    ):
        yield from (
            (one.value, "log event")
            for one in node.args[:1]
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        )
        yield from ((one.arg, "log field") for one in node.keywords if one.arg)
