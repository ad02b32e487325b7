"""The checks that CI runs: format, lint, types, import contracts, tests."""

import subprocess
from collections.abc import Sequence
from typing import Final

from tools.environment import ROOT, environ, say, tool

__all__ = ["FIX", "LINT", "all_checks", "quick", "run", "types"]

Check = tuple[str, list[str]]

TYPED: Final = ("triage", "models", "workers", "migrations", "run.py", "tools", "benchmarks")
LINT: Final[list[Check]] = [
    ("format", ["ruff", "format", "--check", "."]),
    ("lint", ["ruff", "check", "."]),
    ("imports", ["lint-imports", "--no-logo"]),
]
FIX: Final[list[Check]] = [
    ("lint", ["ruff", "check", "--fix", "."]),
    ("format", ["ruff", "format", "."]),
]
# One more than the processors that CI has: many tests wait for processes that they started.
PYTEST: Final = ["pytest", "-n", "3", "--dist", "worksteal"]
# The core: these tests start no server.
QUICK: Final = ("analysis", "domain", "parsers", "perturb", "render", "signatures", "statistics")


def types() -> list[Check]:
    """The type checker over all code of ours."""
    return [("types", ["mypy", "--strict", *(path for path in TYPED if (ROOT / path).exists())])]


def all_checks(pytest_options: Sequence[str]) -> list[Check]:
    """What CI runs, the tests last; pytest takes the options."""
    return [*LINT, *types(), ("tests", [*PYTEST, *pytest_options])]


def quick(pytest_options: Sequence[str]) -> list[Check]:
    """What is worth running before every commit."""
    folders = [f"tests/{name}" for name in QUICK]
    return [*LINT, *types(), ("tests", [*PYTEST, "-q", *folders, *pytest_options])]


def run(checks: Sequence[Check]) -> int:
    """Run every check and say which failed; 0 when none did."""
    failed = [name for name, command in checks if not passes(name, command)]
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def passes(name: str, command: list[str]) -> bool:
    """Announce a check, run it, and say whether it passed."""
    say(f"{name}: {' '.join(command)}")
    located = [str(tool(command[0])), *command[1:]]
    return subprocess.run(located, cwd=ROOT, env=environ(), check=False).returncode == 0
