"""The processes that know secrets show them to nobody of the same user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process so")

READ_BY_CHILD = """
import os, sys
from triage.sandbox.confinement.seccomp import keep_private, call_prctl
if os.getuid() == 0:
    os.setuid(65534)
    call_prctl(4, 1)  # as it is for a process that always was an ordinary user's
if sys.argv[1] == "private":
    keep_private()
parent = os.getpid()
child = os.fork()
if child == 0:
    try:
        found = open(f"/proc/{parent}/environ", "rb").read()
    except PermissionError:
        os._exit(1)
    os._exit(0 if b"a-secret" in found else 2)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
ASK = """
import ctypes
from pathlib import Path
from triage.server.context import open_context
from triage.settings import Settings
before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
open_context(Settings(data_dir=Path("."))).close()
print(before, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


def run(code: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRIAGE_DATABASE_URL": "", "KEY": "a-secret"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_child_of_the_same_user_cannot_read_the_environment(tmp_path: Path) -> None:
    assert run(READ_BY_CHILD, tmp_path, "open").returncode == 0
    assert run(READ_BY_CHILD, tmp_path, "private").returncode == 1


def test_every_process_of_the_service_is_private_before_it_works(tmp_path: Path) -> None:
    done = run(ASK, tmp_path)
    assert done.stdout.split() == ["1", "0"], done.stderr
