"""What a module takes from another one is public there, and no module needs itself to load."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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
def public_names(tree: ast.Module) -> set[str] | None:
    """What ``__all__`` lists; None without one: then an underscore alone makes a name private."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and "__all__" in {
            target.id for target in node.targets if isinstance(target, ast.Name)
        }:
            return set(ast.literal_eval(node.value))
    return None


def is_public(module: str, name: str) -> bool:
    listed = public_names(tree_of(module))
    if listed is not None:
        return name in listed
    is_private = name.startswith("_") and not name.startswith("__")
    return not is_private and name in defined_names(tree_of(module))


@cache
def defined_names(tree: ast.Module) -> set[str]:
    """What the module itself defines at its top; what it imports belongs to another one."""
    found = {node.name for node in tree.body if isinstance(node, _DEFINITIONS)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                name.id for one in targets for name in ast.walk(one) if isinstance(name, ast.Name)
            }
    return found


def not_public(tree: ast.Module) -> list[str]:
    return [
        f"{module}.{name}"
        for module, name in imports_of(tree)
        if name not in {"", "*"} and not is_public(module, name)
    ]


def test_a_module_imports_only_public_names() -> None:
    private = {module: not_public(tree_of(module)) for module in FILES}

    assert {module: names for module, names in private.items() if names} == {}, (
        "list the name in the other module's __all__, or drop that list and the underscore"
    )


def test_a_package_alone_lists_its_names() -> None:
    """In a plain module an underscore says the same, at the name itself."""
    assert [
        name
        for name, path in FILES.items()
        if path.name != "__init__.py" and public_names(tree_of(name)) is not None
    ] == []


def test_an_import_in_a_function_is_held_to_the_same_rule() -> None:
    hidden = "def f():\n    from triage.version import not_there\n"

    assert not_public(ast.parse(hidden)) == ["triage.version.not_there"]
    assert not_public(ast.parse("from triage.version import __version__")) == []


def test_without_a_list_an_underscore_and_a_name_of_another_module_are_private() -> None:
    module = "from triage.render.pictures import alone\nfrom triage.render.pictures.alone import "

    assert not_public(ast.parse(f"{module}Picture, make_picture")) == []
    assert [one.rpartition(".")[2] for one in not_public(ast.parse(f"{module}_HEAD, CSS"))] == [
        "_HEAD", "CSS",
    ]  # fmt: skip


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
