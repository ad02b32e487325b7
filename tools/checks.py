"""The checks that CI runs: format, lint, types, import contracts, tests."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from subprocess import CompletedProcess
from typing import Final

from tools.environment import ROOT, environ, say, tool

_Check = tuple[str, list[str]]

_TYPED: Final = (
    "triage",
    "models",
    "workers",
    "migrations",
    "simulator",
    "run.py",
    "tools",
    "benchmarks",
)
LINT: Final[list[_Check]] = [
    ("format", ["ruff", "format", "--check", "."]),
    ("lint", ["ruff", "check", "."]),
    ("imports", ["lint-imports", "--no-logo"]),
]
FIX: Final[list[_Check]] = [
    ("lint", ["ruff", "check", "--fix", "."]),
    ("format", ["ruff", "format", "."]),
]
# Three test processes would each compile the same loops, for a minute of a processor.
_COMPILE: Final[_Check] = ("compile", ["python", "-m", "tests.support.compiling"])
# Twice the processors that CI has: half of the tests' time is waiting for processes they started.
_PYTEST: Final = ["pytest", "-n", "4", "--dist", "worksteal"]
# The core: these tests start no server.
QUICK: Final = ("analysis", "domain", "parsers", "perturb", "render", "signatures", "statistics")


def types() -> list[_Check]:
    """The type checker over all code of ours."""
    return [("types", ["mypy", "--strict", *(path for path in _TYPED if (ROOT / path).exists())])]


def all_checks(pytest_options: Sequence[str]) -> list[_Check]:
    """What CI runs, the tests last; pytest takes the options."""
    return [*LINT, _COMPILE, *types(), ("tests", [*_PYTEST, *pytest_options])]


def quick(pytest_options: Sequence[str]) -> list[_Check]:
    """What is worth running before every commit."""
    folders = [f"tests/{name}" for name in QUICK]
    return [*LINT, _COMPILE, *types(), ("tests", [*_PYTEST, "-q", *folders, *pytest_options])]


def run(checks: Sequence[_Check]) -> int:
    """Run every check, each after the other, and say which failed; 0 when none did."""
    return _verdict([name for name, command in checks if not _passes(name, command)])


def run_beside(checks: Sequence[_Check]) -> int:
    """As :func:`run`, but several at once; what they print stays in order.

    The last check, the tests, begins when all others have ended but the one before it. That is the
    type checker, which takes a minute of one processor, while tests wait for other processes.
    """
    *first, beside, last = checks
    with ThreadPoolExecutor(len(checks)) as pool:
        outputs = {name: pool.submit(_output_of, command) for name, command in (*first, beside)}
        failed = [name for name, command in first if not _show_result(name, command, outputs[name])]
        passes = _passes(*last)
        if not _show_result(*beside, outputs[beside[0]]):
            failed.append(beside[0])
    if not passes:
        failed.append(last[0])
    return _verdict(failed)


def _show_result(name: str, command: list[str], output: Future[CompletedProcess[str]]) -> bool:
    """Announce a check that was begun, print what it printed, and say whether it passed."""
    _announce(name, command)
    done = output.result()
    sys.stdout.write(done.stdout)
    sys.stdout.flush()
    return done.returncode == 0


def _verdict(failed: Sequence[str]) -> int:
    """Say which checks failed; the exit status."""
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _passes(name: str, command: list[str]) -> bool:
    """Announce a check, run it, and say whether it passed."""
    _announce(name, command)
    return subprocess.run(_located(command), cwd=ROOT, env=environ(), check=False).returncode == 0


def _output_of(command: list[str]) -> CompletedProcess[str]:
    """Run a check; what it prints on stdout and stderr comes back as ``stdout``."""
    return subprocess.run(
        _located(command),
        cwd=ROOT,
        env=environ(),
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def _announce(name: str, command: list[str]) -> None:
    """Say which check comes, and how to run it."""
    say(f"{name}: {' '.join(command)}")


def _located(command: list[str]) -> list[str]:
    """The command with the path of its tool in the environment."""
    return [str(tool(command[0])), *command[1:]]
