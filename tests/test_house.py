"""The house rules that no tool checks: locks, docstrings, what an import may load."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import triage

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
MODULES = sorted(ROOT.glob("triage/**/*.py")) + sorted(ROOT.glob("tools/**/*.py"))

# Loaded when first used, or not part of the core at all.
HEAVY_OR_FOREIGN = (
    "numba", "numpy", "pandas", "scipy", "sklearn", "typer", "rich", "pydantic",
    "fastapi", "uvicorn", "sqlalchemy", "celery", "kombu", "redis", "psycopg", "obstore",
)  # fmt: skip


def names_and_versions(lock: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock.read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0]


def test_importing_triage_loads_neither_the_analysis_nor_a_service() -> None:
    code = "import sys, triage; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    loaded = set(done.stdout.split())
    assert "triage" in loaded
    assert loaded.isdisjoint(HEAVY_OR_FOREIGN)


def test_a_service_that_takes_files_in_holds_no_compiler() -> None:
    """Thousands of uploads wait in its memory; numba and scipy alone are 60 MB."""
    code = "import sys, triage.server.application; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()).isdisjoint({"numba", "scipy", "pandas", "sklearn", "pyarrow"})


def test_triage_hands_on_what_it_promises() -> None:
    for name in triage.__all__:
        assert getattr(triage, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Reprot'"):
        triage.Reprot  # noqa: B018


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_address_and_hashes_everything(lock: Path) -> None:
    text = lock.read_text("utf-8")

    assert "://" not in text
    assert not re.search(r"(^|\s)/\w", text), "a path of the machine that made it"
    assert not re.search(r"^-", text, re.MULTILINE), "an option such as --index-url"
    for pinned in re.split(r"\n(?=[a-z0-9])", text):
        assert "--hash=sha256:" in pinned, pinned.splitlines()[0]


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        ("server", PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]),
        *[("server", EXTRAS[extra]) for extra in ("server", "postgres", "redis", "s3")],
        ("dev", EXTRAS["dev"]),
    ],
    ids=["core", "server", "postgres", "redis", "s3", "dev"],
)
def test_every_dependency_is_locked(lock: str, requirements: list[str]) -> None:
    locked = names_and_versions(ROOT / "requirements" / f"{lock}.txt")

    missing = {name_of(requirement) for requirement in requirements} - {*locked, "nccl-triage"}
    assert not missing, "run the two commands of docs/decisions/0002-locking-and-run-py.md"


def test_the_development_lock_holds_the_lock_of_the_service() -> None:
    server = names_and_versions(ROOT / "requirements" / "server.txt")
    dev = names_and_versions(ROOT / "requirements" / "dev.txt")

    assert server.items() <= dev.items()


def test_a_module_says_in_its_first_sentence_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert MODULES
    assert silent == []


@pytest.mark.parametrize(
    "page", ["README.md", "CHANGELOG.md", "LICENSE", "docs/README.md"], ids=str
)
def test_a_page_that_people_look_for_is_there(page: str) -> None:
    assert (ROOT / page).read_text("utf-8").strip()


def test_the_index_names_every_page_of_the_documentation() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]

    assert [
        str(page) for page in pages if str(page) not in index and page.name != "README.md"
    ] == []


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert "## Unreleased" in changelog or f"## {triage.__version__}" in changelog


# Functions and methods that no verb names, today. It only falls. Words that are nouns more often
# than verbs here, as `state`, are not in the list, nor does `_of` end the name of a deed.
CALLED_BY_NOUNS = 884


def named_functions(tree: ast.AST) -> Iterator[str]:
    """Names of all functions but properties, which are values, and what Python itself names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(ast.unparse(one) for one in node.decorator_list)
            if not node.name.startswith("__") and "property" not in decorators:
                yield node.name


def test_a_function_is_named_by_what_it_does() -> None:
    verbs = set((ROOT / "tests" / "verbs.txt").read_text("utf-8").split())
    files = [path for top in ("triage", "models", "workers") for path in (ROOT / top).rglob("*.py")]
    names = [name for file in files for name in named_functions(ast.parse(file.read_text("utf-8")))]
    nouns = [
        name
        for name in names
        if name.strip("_").split("_")[0] not in verbs
        or name.endswith(("_of", "_from", "_told", "_said"))
    ]

    assert len(nouns) <= CALLED_BY_NOUNS, "begin the name of a new function with a verb"
    assert len(nouns) == CALLED_BY_NOUNS, "fewer than before: lower the number"
