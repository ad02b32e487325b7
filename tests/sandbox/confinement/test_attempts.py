"""What a process may no more when it is confined; the same attempts succeed when it is not."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from triage.sandbox.confinement.probe import probe_confinement_gaps
from triage.sandbox.confinement.seccomp import (
    ALLOWED,
    CONDITIONS,
    FATAL,
    LOOKED_AT,
    MACHINE,
    build_filter_program,
    map_call_numbers,
)

ROOT = Path(__file__).parents[3]
MISSING = probe_confinement_gaps()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"this system cannot: {'; '.join(MISSING)}")

PRELUDE = """
import ctypes, fcntl, os, socket, subprocess, sys, threading
from pathlib import Path
from triage.sandbox.confinement.confine import confine
inside, outside = Path(sys.argv[1]), Path(sys.argv[2])
call = ctypes.CDLL(None, use_errno=True).syscall
if sys.argv[3] == "confined":
    missing = confine([inside])
    assert missing == (), missing
"""
# What none of our readers asks for: the process ends.
ENDS: Final = {
    "connect to the network": "socket.socket()",
    "talk to a service of the machine": "socket.socketpair()",
    "become another program": "os.execv('/bin/sh', ['sh', '-c', 'exit 0'])",
    "start a program": "os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 0'], {})",
    "fork": "os._exit(0) if os.fork() == 0 else os.wait()",
    "be traced": "assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "signal its parent": "os.kill(os.getppid(), 0)",
    "signal its group": "os.kill(0, 0)",
    "signal a thread of its parent": "signal_of = os.getppid(); assert call("
    "{tgkill}, signal_of, signal_of, 0) == 0",
    "hold another process": "os.pidfd_open(os.getppid())",
}
# What code of others tries now and then: it is refused, and goes on without.
REFUSED: Final = {
    "read a file elsewhere": "(outside / 'secret').read_bytes()",
    "list a folder elsewhere": "os.listdir(outside)",
    "read it by a link inside": "(inside / 'link').read_bytes()",
    "write a file elsewhere": "(outside / 'secret').write_bytes(b'x')",
    "make a file inside": "(inside / 'new').write_bytes(b'x')",
    "write its input": "(inside / 'input').write_bytes(b'x')",
    "remove its input": "(inside / 'input').unlink()",
    "rename its input": "(inside / 'input').rename(inside / 'other')",
    "change who reads it": "(inside / 'input').chmod(0o777)",
    "cut a file": "os.truncate(inside / 'input', 0)",
    "make a folder": "(inside / 'folder').mkdir()",
    "make a link": "(inside / 'another').symlink_to('/')",
    "read its parent's environment": "Path(f'/proc/{os.getppid()}/environ').read_bytes()",
    "write its own memory": "open('/proc/self/mem', 'r+b').close()",
    "run a program and read what it prints": "subprocess.run(['/bin/sh', '-c', 'exit 0'])",
    "make a file in memory": "os.memfd_create('x')",
    "open by the call that no filter looks into": "if call(437, -100, bytes(inside / 'input'),"
    " (ctypes.c_ulonglong * 3)(0, 0, 0), 24) < 0: raise OSError",
}
MAY: Final = {
    "read its input": "assert (inside / 'input').read_bytes() == b'input'",
    "start a thread": "one = threading.Thread(target=print); one.start(); one.join()",
    "load code": "import decimal, sqlite3",
    "end itself as a crash does": "assert call({tgkill}, os.getpid(), threading.get_native_id(), 0)"
    " == 0",
    "count processors": "assert os.cpu_count()",
    "fail with a traceback": "import traceback; traceback.print_stack()",
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "input").write_bytes(b"input")
    (outside / "secret").write_bytes(b"secret")
    (inside / "link").symlink_to(outside / "secret")
    return inside, outside


def attempt(code: str, folders: tuple[Path, Path], how: str) -> "subprocess.CompletedProcess[str]":
    assert MACHINE is not None
    text = code.replace("{tgkill}", str(map_call_numbers(LOOKED_AT, MACHINE)["tgkill"]))
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + text, *map(str, folders), how],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("what", ENDS)
def test_a_confined_process_that_tries_to_is_ended(what: str, folders: tuple[Path, Path]) -> None:
    unconfined = attempt(ENDS[what], folders, "unconfined")
    assert unconfined.returncode == 0, unconfined.stderr
    assert attempt(ENDS[what], folders, "confined").returncode == -signal.SIGSYS


@pytest.mark.parametrize("what", REFUSED)
def test_a_confined_process_is_refused_to(what: str, folders: tuple[Path, Path]) -> None:
    refused = attempt(REFUSED[what], folders, "confined")
    assert refused.returncode == 1, refused.stderr
    assert refused.stderr.splitlines()[-1].startswith(("PermissionError", "OSError"))
    unconfined = attempt(REFUSED[what], folders, "unconfined")
    assert unconfined.returncode == 0, unconfined.stderr


@pytest.mark.parametrize("what", MAY)
def test_a_confined_process_may(what: str, folders: tuple[Path, Path]) -> None:
    done = attempt(MAY[what], folders, "confined")
    assert done.returncode == 0, done.stderr


EACH_CALL = """
import json
ended = {}
for name, number in json.loads(sys.argv[4]).items():
    child = os.fork()
    if child == 0:
        confine([inside])
        call(number, 0, 0, 0, 0, 0, 0)
        os._exit(0)
    ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""


def test_every_call_that_no_reader_makes_ends_the_process() -> None:
    assert MACHINE is not None
    calls = map_call_numbers(FATAL, MACHINE)
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + EACH_CALL, "/", "/", "unconfined", json.dumps(calls)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    ended = json.loads(done.stdout.splitlines()[-1])
    assert ended == dict.fromkeys(calls, -signal.SIGSYS)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_each_call_has_one_number_and_one_rule(machine: str) -> None:
    tables = [map_call_numbers(table, machine) for table in (ALLOWED, FATAL, LOOKED_AT)]
    every = [number for table in tables for number in table.values()]
    assert len(every) == len(set(every))
    assert set(tables[2]) == set(CONDITIONS) - ({"open"} if machine == "aarch64" else set())
    assert len(build_filter_program(machine, 1)) < 8 * 4096


WITHOUT = """
import errno, triage.sandbox.confinement.confine as steps
def lacks(*_):
    raise OSError(errno.ENOSYS, "Function not implemented")
setattr(steps, sys.argv[4], lacks)
print(*confine([inside]), sep="\\n", flush=True)
assert (inside / "input").read_bytes() == b"input"
"""


@pytest.mark.parametrize(
    ("step", "missing", "tried", "ends"),
    [
        ("_read_only_below", "it reads and writes all files", "make a file inside", 1),
        ("filter_system_calls", "it makes all system calls", "make a file inside", 1),
        ("_read_only_below", "it reads and writes all files", "fork", -signal.SIGSYS),
        ("keep_private", "other processes may look into it", "fork", -signal.SIGSYS),
    ],
)
def test_what_the_kernel_lacks_is_left_out_and_the_rest_holds(
    step: str, missing: str, tried: str, ends: int, folders: tuple[Path, Path]
) -> None:
    code = PRELUDE + WITHOUT + (REFUSED | ENDS)[tried]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, folders), "unconfined", step],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ends, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith(missing)
    assert line.endswith("(Function not implemented)")


def test_files_stay_open_to_a_process_with_threads_that_landlock_would_not_reach(
    folders: tuple[Path, Path],
) -> None:
    code = (
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print(*confine([inside]))\nsys.stdout.flush(); os.close(1); os.fork()"
    )
    done = attempt(code, folders, "unconfined")
    assert done.returncode == -signal.SIGSYS, done.stderr
    assert done.stdout.strip() == (
        "it reads and writes all files of its user (it has other threads already)"
    )
