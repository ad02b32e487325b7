"""Deadlines, kills, full disks and lost tokens: nothing is lost, nobody is held up."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.collectors.scripted import (
    TOKEN,
    accepted,
    arguments,
    bare_environment,
    dump,
    finished,
    refused,
    run,
    service,
    start,
    tool,
    waiting,
)
from tests.support.waiting import eventually
from tests.workers.running import alive


@pytest.mark.parametrize("how", ["hang", "drip", "slow"])
def test_the_deadline_holds_against_a_service_that_never_answers(node, tmp_path, how) -> None:
    dump(tmp_path / "fr", 2, 9_000_000)
    with service(how) as there:
        options = node(there.url, deadline_s=4.0, compress=False)
        outcome = run(options, tmp_path)

    # Of four seconds; the machine may be busy, and the service would go on for minutes.
    assert outcome.seconds < 60
    assert outcome.bundles[0].answer.kind == "again"
    assert len(waiting(tmp_path)) == 1


def test_the_deadline_ends_a_call_that_nothing_else_ends(tmp_path) -> None:
    code = (
        "import time\n"
        "from triage.collectors.capture import end_process_at\n"
        "from triage.collectors.artifact import Deadline\n"
        "end_process_at(Deadline(0.2), 7)\n"
        "time.sleep(600)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=bare_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 7
    assert "deadline" in done.stderr


def test_a_kill_in_the_middle_of_sending_loses_nothing(node, tmp_path) -> None:
    dump(tmp_path / "fr", 2, 9_000_000)
    with service("slow") as there:
        process = start(tmp_path, *arguments(node(there.url)))
        assert there.arrived.wait(120)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=120)

    assert len(waiting(tmp_path)) == 1
    with service(accepted()) as there:
        finished(tmp_path, "--url", there.url, "--flush-spool", "--spool", str(tmp_path / "spool"))
    assert len(there.requests[0].members["fr/trace_rank_2"]) == 9_000_000
    assert waiting(tmp_path) == []


def test_the_token_is_seen_nowhere(node, tmp_path) -> None:
    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN}\n")
    secret.chmod(0o644)
    with service("hang", refused(401)) as there:
        process = start(tmp_path, *arguments(node(there.url)), "--token-file", str(secret))
        assert there.arrived.wait(120)
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        there.ended.set()
        out, err = process.communicate(timeout=120)

    assert b"collectors" in shown
    assert TOKEN.encode() not in shown
    assert TOKEN not in out + err
    assert "chmod 600" in err
    assert all(TOKEN.encode() not in path.read_bytes() for path in waiting(tmp_path))
    assert waiting(tmp_path)


@pytest.mark.parametrize(
    "how", [("--token", TOKEN), ("--token-file", TOKEN)], ids=lambda how: how[0]
)
def test_a_token_given_by_mistake_is_not_repeated(tmp_path, how) -> None:
    _, out, err = finished(
        tmp_path,
        "--url",
        "http://127.0.0.1:9",
        "--job-id",
        "1",
        "--no-kernel-log",
        "--spool",
        f"{tmp_path}/s",
        *how,
    )

    assert err
    assert TOKEN not in out + err


def test_without_its_token_file_it_spools(node, tmp_path) -> None:
    with service(accepted()) as there:
        status, _, err = finished(
            tmp_path, *arguments(node(there.url)), "--token-file", str(tmp_path / "none")
        )

    assert status == 0
    assert "cannot be read" in err
    assert there.requests == []
    assert len(waiting(tmp_path)) == 1


@pytest.mark.parametrize("text", ["two words", "line\nbreak: 1", "", "tab\tbed", "\x7f"])
def test_a_token_that_cannot_stand_in_a_header_is_not_sent(node, tmp_path, text) -> None:
    (tmp_path / "token").write_text(text)
    with service(accepted()) as there:
        outcome = run(node(there.url, token_file=str(tmp_path / "token")), tmp_path)

    assert there.requests == []
    assert outcome.trouble


def test_a_full_disk_is_said_and_not_fatal(node, tmp_path, monkeypatch) -> None:
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with service(accepted()) as there:
        outcome = run(node(there.url), tmp_path)

    assert "No space left" in outcome.trouble[0]
    assert there.requests == []
    assert not list((tmp_path / "spool").glob(".partial*"))


def test_waits_until_dumps_are_written(node, tmp_path, monkeypatch) -> None:
    """A dump that grows for twenty looks, and then no more."""
    now_s, looks = 0.0, 0

    def look_again(pause_s: float) -> None:
        nonlocal now_s, looks
        now_s, looks = now_s + pause_s, looks + 1
        if looks <= 20:
            with (tmp_path / "fr" / "trace_rank_2").open("ab") as file:
                file.write(b"x" * 1000)

    clock = SimpleNamespace(time=time.time, monotonic=lambda: now_s, sleep=look_again)
    monkeypatch.setattr("triage.collectors.sources.time", clock)
    with service(accepted()) as there:
        run(node(there.url, wait_for_dumps_s=10.0), tmp_path)

    assert len(there.requests[0].members["fr/trace_rank_2"]) == 20_000


def test_commands_that_hang_are_killed_with_their_children(node, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("triage.collectors.sources.COMMAND_S", 5.0)
    mark = tmp_path / "pid"
    for name in ("journalctl", "dmesg"):
        tool(tmp_path, name, f"sleep 300 & echo $! >>{mark}; echo a line; wait")
    with service(accepted()) as there:
        run(node(there.url, kernel_log=None), tmp_path)

    kernel = [data for name, data in there.requests[0].members.items() if "kernel.log" in name]
    assert kernel == [b"a line\n"]
    pid = int(mark.read_text().split()[0])
    eventually(lambda: not alive(pid))
