"""The commands of `run.py`; standard library only."""

import os
import shutil
import sys
from typing import NoReturn

from tools import checks, demo
from tools.environment import ROOT, VENV, NextStep, ensure, environ, say, tool
from tools.release import SIGNERS, release
from tools.wheels import PLATFORMS, fetch_wheels

USAGE = """\
usage: python3 run.py COMMAND

  demo [--once]         run the service on the bundled incident; --once prints and ends
  triage ARGUMENTS...   the command itself, for example: triage analyze DIR
  test [OPTIONS...]     all checks; the options go to pytest
  test --quick          lint, types, and the tests of the core, which start no server
  lint                  format, lint and import contracts
  types                 mypy --strict
  fix                   mend what ruff can mend, and format
  release [--rehearse] [--sign gpg|minisign|cosign]
                        packages, bill of materials and check sums of this commit
  wheels [x86_64|aarch64]
                        the locked wheels into wheels/, for an image built offline
  help                  this text
  clean                 remove .venv and var

The first run makes an environment in .venv from the locked packages; later ones are instant.
"""


def main(arguments: list[str]) -> int:
    """Run one command; exit status 2 for wrong usage, 1 for a failure, else the command's own."""
    try:
        return _dispatch(arguments)
    except NextStep as why:
        say(str(why))
        return 1
    except OSError as why:
        say(f"{why}. Next: see that this folder can be written to and has room, then try again")
        return 1
    except KeyboardInterrupt:
        say("stopped; the same command starts again where it is safe to")
        return 130


def _dispatch(arguments: list[str]) -> int:
    """Choose the command that the arguments name."""
    match arguments:
        case ["-h" | "--help" | "help"]:
            print(USAGE, end="")
            return 0
        case ["demo"] | ["demo", "--once"]:
            ensure("server")
            return demo.show(once="--once" in arguments)
        case ["test", *options]:
            ensure("dev")
            quick = "--quick" in options
            rest = [one for one in options if one != "--quick"]
            return checks.run_beside(checks.quick(rest) if quick else checks.all_checks(rest))
        case ["lint"]:
            ensure("dev")
            return checks.run(checks.LINT)
        case ["types"]:
            ensure("dev")
            return checks.run(checks.types())
        case ["fix"]:
            ensure("dev")
            return checks.run(checks.FIX)
        case ["release", *options] if (asked := release_options(options)) is not None:
            release(sign=asked[0], rehearse=asked[1])
            return 0
        case ["wheels"]:
            fetch_wheels()
            return 0
        case ["wheels", platform] if platform in PLATFORMS:
            fetch_wheels(platform)
            return 0
        case ["triage", *rest]:
            ensure("server")
            return _become_triage(rest)
        case ["clean"]:
            return _clean()
        case _:
            print(USAGE, end="", file=sys.stderr)
            return 2


def release_options(options: list[str]) -> tuple[str | None, bool] | None:
    """(who signs, whether it is a rehearsal); None for options that there are not."""
    rest = [one for one in options if one != "--rehearse"]
    match rest:
        case []:
            return None, "--rehearse" in options
        case ["--sign", signer] if signer in SIGNERS:
            return signer, "--rehearse" in options
        case _:
            return None


def _become_triage(arguments: list[str]) -> NoReturn:
    """Give this process over to the command, so that its exit status and signals are the user's."""
    os.execve(tool("triage"), ["triage", *arguments], environ())


def _clean() -> int:
    """Remove what `run.py` made."""
    for made in (VENV, ROOT / "var"):
        if made.exists():
            say(f"removing {made.name}")
            shutil.rmtree(made)
    return 0
