"""The environment in `.venv`: made from the lock, once, and known by a stamp.

The stamp is removed first and written last, so an environment without one was never finished and is
started over. Standard library only: nothing else is there yet.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = "run-py.stamp"

# Beneath any active environment: `.venv` may be the active one, and is about to be replaced.
BASE_PYTHON: str = getattr(sys, "_base_executable", sys.executable)


class NextStep(Exception):
    """Something the user has to mend; the message says how."""


def say(text: str) -> None:
    """Tell the user, on stderr: stdout is for answers."""
    print(f"run.py: {text}", file=sys.stderr, flush=True)


def tool(name: str) -> Path:
    """Path of a command inside the environment."""
    return VENV / "bin" / name


def environ() -> dict[str, str]:
    """The variables for a command inside the environment: its tools first, no foreign modules.

    Bytecode is kept, whatever the user's Python does elsewhere: without it each process of the
    service compiles all of its source when it starts, for a second.
    """
    foreign = {"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE"}
    inherited = {k: v for k, v in os.environ.items() if k not in foreign}
    path = os.pathsep.join([str(tool("")), os.environ.get("PATH", os.defpath)])
    return {**inherited, "PATH": path, "VIRTUAL_ENV": str(VENV), "PIP_USER": "0"}


def ensure(kind: str) -> None:
    """Make `.venv` hold what is locked for `server` or `dev`; instant when it already does.

    Raises:
        NextStep: it cannot be made; the message says what to do.
    """
    if ready(kind):
        return
    with alone():
        if ready(kind):
            return
        finished = ready("server")
        (VENV / STAMP).unlink(missing_ok=True)
        install(kind, fresh=not finished)
        (VENV / STAMP).write_text(digest(kind), "utf-8")
        say(f"{VENV.name} is ready")


def ready(kind: str) -> bool:
    """Whether `.venv` is finished and holds this kind; `dev` holds `server` as well."""
    stamp = VENV / STAMP
    if not (stamp.is_file() and tool("python").exists()):
        return False
    return stamp.read_text("utf-8") in {digest(kind), digest("dev")}


def digest(kind: str) -> str:
    """What the stamp of a finished environment of this kind says.

    It changes with the lock, with the project's metadata, with the Python, and
    with the place: the scripts of a checkout that was moved point to nowhere.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    metadata = [project[table] for table in ("build-system", "project")]
    hatch = project.get("tool", {}).get("hatch")
    state = json.dumps([metadata, hatch, sys.version, str(ROOT)], sort_keys=True).encode()
    return f"{kind} {hashlib.sha256(state + _lock_of(kind).read_bytes()).hexdigest()}"


def _lock_of(kind: str) -> Path:
    """The locked requirements: `server`, `dev`, or `uv`, the installer itself."""
    return ROOT / "requirements" / f"{kind}.txt"


@contextmanager
def alone() -> Iterator[None]:
    """Keep other runs waiting while the environment changes; the lock is on `run.py` itself."""
    try:
        import fcntl
    except ImportError:  # not POSIX: two first runs at once are then for the user to avoid
        yield
        return
    with (ROOT / "run.py").open("rb+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run.py is making the environment; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            say("this file system has no locks; start one run.py at a time")
        yield


def install(kind: str, *, fresh: bool) -> None:
    """Install the lock of this kind, then the checkout itself, by the first installer that can."""
    uv = shutil.which("uv")
    if fresh:
        make_venv(uv)
    for name, installer in _installers(uv):
        locked = [*installer, "--require-hashes", "-r", str(_lock_of(kind))]
        itself = [*installer, "--no-deps", "--no-build-isolation", "-e", str(ROOT)]
        if attempt(f"installing the locked packages ({kind}) with {name}", locked) and (
            attempt("installing this checkout", itself)
        ):
            return
    raise NextStep(
        "the packages could not be installed. Next: look at the last lines above; behind a proxy "
        "set HTTPS_PROXY or PIP_INDEX_URL, without a network set PIP_NO_INDEX=1 and "
        "PIP_FIND_LINKS=FOLDER_OF_WHEELS; then run the same command again"
    )


def _installers(uv: str | None) -> Iterator[tuple[str, list[str]]]:
    """Names and commands that install, fastest first; each is set up when the one before failed.

    uv reads no pip configuration, so where a proxy or a mirror is set up for pip
    alone, pip is the one that works.
    """
    pip = [str(tool("python")), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    fetch_uv = [*pip, "--require-hashes", "-r", str(_lock_of("uv"))]
    if uv is None and attempt("fetching uv, the fast installer", fetch_uv):
        uv = str(tool("uv"))
    if uv is not None:
        # Bytecode now, as pip does it: else every start of a user whose Python writes
        # none (PYTHONDONTWRITEBYTECODE) compiles numba and numpy again, for a second.
        compiling = "--compile-bytecode"
        yield "uv", [uv, "pip", "install", "--quiet", compiling, "--python", str(tool("python"))]
    if not tool("pip").exists():
        make_venv(None)
    yield "pip, in about a minute", pip


def make_venv(uv: str | None) -> None:
    """Start `.venv` over, empty; made without uv, it holds pip."""
    say(f"making {VENV.name} with Python {sys.version.split()[0]}")
    shutil.rmtree(VENV, ignore_errors=True)
    if uv and attempt(None, [uv, "venv", "--quiet", "--python", BASE_PYTHON, str(VENV)]):
        return
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        version = "{}.{}".format(*sys.version_info)
        raise NextStep(
            "this Python cannot make environments (its venv or ensurepip is missing). Next: on "
            f"Debian and Ubuntu `apt install python{version}-venv`, or put uv on PATH"
        )
    if not attempt(None, [BASE_PYTHON, "-m", "venv", "--clear", str(VENV)]):
        raise NextStep(f"{VENV} could not be made. Next: look at the last lines above")


def attempt(what: str | None, command: list[str]) -> bool:
    """Run a command quietly and say whether it worked; show the end of its output if not."""
    if what:
        say(what)
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environ(),
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as why:
        say(f"{name} could not be started: {why.strerror}")
        return False
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-12:]), file=sys.stderr)
        say(f"{name} failed with status {done.returncode}")
    return done.returncode == 0
