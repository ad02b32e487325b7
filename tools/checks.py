"""The checks that CI runs: format, lint, types, import contracts, tests."""

import subprocess

from tools.environment import ROOT, environ, say, tool

__all__ = ["run"]

TYPED = ("triage", "models", "workers", "migrations", "run.py", "tools", "benchmarks")


def run(pytest_options: list[str]) -> int:
    """Run every check, the tests last, and say which failed; 0 when none did."""
    failed = [name for name, command in steps(pytest_options) if not passes(name, command)]
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def steps(pytest_options: list[str]) -> list[tuple[str, list[str]]]:
    """Each check with its command; pytest takes the options."""
    typed = [path for path in TYPED if (ROOT / path).exists()]
    return [
        ("format", ["ruff", "format", "--check", "."]),
        ("lint", ["ruff", "check", "."]),
        ("types", ["mypy", "--strict", *typed]),
        ("imports", ["lint-imports", "--no-logo"]),
        ("tests", ["pytest", "-n", "2", *pytest_options]),
    ]


def passes(name: str, command: list[str]) -> bool:
    """Announce a check, run it, and say whether it passed."""
    say(f"{name}: {' '.join(command)}")
    located = [str(tool(command[0])), *command[1:]]
    return subprocess.run(located, cwd=ROOT, env=environ(), check=False).returncode == 0
