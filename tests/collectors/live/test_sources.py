"""What each source gives of processes of our own: pipes, the kernel's view, py-spy."""

import os
import threading
import time
from pathlib import Path

import pytest

from tests.collectors.live.conftest import seen
from triage.collectors.artifact import Deadline
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE
from triage.collectors.live.processes import RankProcess
from triage.collectors.live.program import run_all, run_program
from triage.collectors.live.servers import find_addresses, parse_ports
from triage.collectors.live.sources import (
    dump_by_pipe,
    dump_stacks,
    find_listening,
    find_py_spy,
    read_kernel_view,
    state_by,
)


def rank(tmp_path: Path, pid: int | None = None, number: int = 3) -> RankProcess:
    environment = {
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{tmp_path}/pipe_",
        "TORCH_FR_DUMP_TEMP_FILE": f"{tmp_path}/trace_rank_",
    }
    process = seen(pid or os.getpid(), uid=os.geteuid(), environment=environment)
    return RankProcess(process, number, number)


def test_a_pipe_without_a_reader_is_said_and_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_3.pipe")
    began = time.monotonic()
    asked, data = dump_by_pipe(rank(tmp_path), Deadline(60.0))

    assert time.monotonic() - began < 30.0
    assert (asked.reply, data) == (UNREACHABLE, b"")
    assert "has no reader" in asked.why


def test_a_rank_that_reads_its_pipe_writes_a_dump(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_3.pipe")
    (tmp_path / "trace_rank_3").write_bytes(b"an older dump")
    reader = os.open(tmp_path / "pipe_3.pipe", os.O_RDONLY | os.O_NONBLOCK)

    def answer() -> None:
        while True:
            try:
                if os.read(reader, 1):
                    break
            except BlockingIOError:
                pass
            time.sleep(0.01)
        (tmp_path / "trace_rank_3").write_bytes(b"the new dump")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    asked, data = dump_by_pipe(rank(tmp_path), Deadline(60.0))
    thread.join()
    os.close(reader)

    assert (asked.reply, data) == (ANSWERED, b"the new dump")


def test_a_rank_that_writes_nothing_is_silent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_3.pipe")
    (tmp_path / "trace_rank_3").write_bytes(b"an older dump")
    reader = os.open(tmp_path / "pipe_3.pipe", os.O_RDONLY | os.O_NONBLOCK)
    asked, data = dump_by_pipe(rank(tmp_path), Deadline(0.5))
    os.close(reader)

    assert (asked.reply, data) == (SILENT, b"")


@pytest.mark.parametrize("kind", ["file", "link", "absent"])
def test_what_is_no_pipe_is_not_written_to(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pipe_3.pipe"
    (tmp_path / "other").write_bytes(b"kept")
    if kind == "file":
        path.write_bytes(b"kept")
    elif kind == "link":
        path.symlink_to(tmp_path / "other")
    asked, data = dump_by_pipe(rank(tmp_path), Deadline(5.0))

    assert asked.reply in {TOOL_FAILED, UNREACHABLE}
    assert data == b""
    assert (tmp_path / "other").read_bytes() == b"kept"


def test_the_kernels_view_of_a_process(start, tmp_path: Path) -> None:
    process = start()
    asked, data = read_kernel_view(rank(tmp_path, process.pid))

    assert asked.reply == ANSWERED
    assert data.startswith(b"== status\nName:\t")
    assert f"Pid:\t{process.pid}\n".encode() in data


def test_a_process_that_dies_while_it_is_asked_is_unreachable(start, tmp_path: Path) -> None:
    process = start()
    process.kill()
    process.wait()
    asked, data = read_kernel_view(rank(tmp_path, process.pid))

    assert (asked.reply, data) == (UNREACHABLE, b"")


@pytest.mark.parametrize(
    ("script", "reply"),
    [
        ("echo Process 7: python; exit 0", ANSWERED),
        ("echo 'Error: No such process (os error 3)' >&2; exit 1", UNREACHABLE),
        ("echo 'Permission Denied: Try running again with elevated permissions' >&2; exit 1",
         TOOL_FAILED),
        ("echo 'Error: Failed to merge stacks' >&2; exit 1", TOOL_FAILED),
        ("sleep 600", SILENT),
        ("yes", SILENT),
    ],
)  # fmt: skip
def test_py_spy_is_bounded_and_what_it_says_is_told(tmp_path: Path, script, reply) -> None:
    py_spy = tmp_path / "py-spy"
    py_spy.write_text(f"#!/bin/sh\n{script}\n")
    py_spy.chmod(0o755)
    began = time.monotonic()
    asked, _ = dump_stacks(str(py_spy), rank(tmp_path), Deadline(1.0))

    assert time.monotonic() - began < 30.0
    if script != "yes":
        assert asked.reply == reply
    assert (asked.why == "") == (asked.reply == ANSWERED)


def test_py_spy_that_is_not_there_is_said(tmp_path: Path) -> None:
    bare = rank(tmp_path)._replace(seen=seen(7, argv=(), executable="", environment={}))
    path, why = find_py_spy(str(tmp_path), (bare,))

    assert path == "" or not path.startswith(str(tmp_path))
    assert path or "pip install py-spy" in why


def test_a_program_is_killed_at_the_deadline_with_its_children() -> None:
    began = time.monotonic()
    got = run_program(("/bin/sh", "-c", "echo up; sleep 600 & sleep 600"), Deadline(1.0), 1000)

    assert time.monotonic() - began < 30.0
    assert (got.data, got.status) == (b"up\n", None)
    assert "did not end in time" in got.why


def test_a_tool_of_gpus_that_fails_is_said() -> None:
    asked, _ = state_by("nvidia-smi", ("/bin/sh", "-c", "exit 9"), Deadline(20.0))

    assert (asked.reply, asked.why) == (TOOL_FAILED, "nvidia-smi ended with status 9")


def test_calls_that_hang_are_left_behind() -> None:
    tasks = {"slow": (time.sleep, (600,)), "fast": (str, (7,)), "wrong": (int, ("x",))}
    began = time.monotonic()
    got = run_all(tasks, Deadline(1.0), 3)

    assert time.monotonic() - began < 30.0
    assert got["fast"] == "7"
    assert isinstance(got["wrong"], ValueError)
    assert "slow" not in got


LISTEN = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""


def test_only_ports_of_the_jobs_processes_are_known(start, serve) -> None:
    foreign = serve(lambda line: None)[1]
    process = start(LISTEN)
    ports = find_listening([process.pid])

    assert list(ports.values()) == [process.pid]
    assert foreign not in ports


def test_a_port_that_the_store_makes_up_is_not_asked(tmp_path: Path) -> None:
    page = (
        b"<li>debug_server/rank3: b&#39;http://n1:41701&#39;</li>debug_server/rank4: b'http://e:22'"
    )
    stored = parse_ports(page)
    one = rank(tmp_path, 77)

    assert stored == {3: ("n1", 41701), 4: ("e", 22)}
    assert find_addresses([one], stored, {41701: 77}) == {77: ("localhost", 41701)}
    assert find_addresses([one], stored, {41701: 78}) == {}
    assert find_addresses([one], {3: ("n1", 22)}, {}) == {}
