"""What a module takes from another one is public there, and no module needs itself to load."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("triage", "workers", "models")
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for top in TOPS
    for path in sorted((ROOT / top).rglob("*.py"))
}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text("utf-8"))


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of every import from our own code, in functions and for types too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in TOPS:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield (module, "") if module in FILES else (str(node.module), alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in FILES:
                    yield alias.name, ""


@cache
def public_names(tree: ast.Module) -> set[str]:
    """What ``__all__`` lists; without one what is defined there, but for a leading underscore."""
    defined = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if "__all__" in names and isinstance(node, ast.Assign):
                return set(ast.literal_eval(node.value))
            defined |= names
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
    return {name for name in defined if not name.startswith("_")}


def not_public(tree: ast.Module) -> list[str]:
    return [
        f"{module}.{name}"
        for module, name in imports_of(tree)
        if name not in {"", "*"} and name not in public_names(tree_of(module))
    ]


def test_a_module_imports_only_public_names() -> None:
    private = {module: not_public(tree_of(module)) for module in FILES}

    assert {module: names for module, names in private.items() if names} == {}, (
        "take the name from where it is defined, and list it in the other module's __all__"
    )


def test_an_import_in_a_function_is_held_to_the_same_rule() -> None:
    hidden = "def f():\n    from triage.version import not_there\n"

    assert not_public(ast.parse(hidden)) == ["triage.version.not_there"]
    assert not_public(ast.parse("from triage.version import __version__")) == []


def test_a_module_without_a_list_gives_what_it_defines_and_is_not_marked_private() -> None:
    tree = ast.parse(
        "from a import b\n_c = 1\nd: int = 2\ndef e(): ...\ndef _f(): ...\nclass G: ..."
    )

    assert public_names(tree) == {"d", "e", "G"}


def circle_in(needs: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as why:
        return list(why.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    """Imports in functions and under TYPE_CHECKING count: a circle hidden there is one."""
    needs = {name: {module for module, _ in imports_of(tree_of(name))} for name in FILES}

    assert circle_in(needs) == []


def test_a_circle_is_found() -> None:
    assert set(circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
