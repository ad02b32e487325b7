"""The service and its supervised worker, as real processes that are killed and stopped."""

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.waiting import eventually
from tests.workers.running import (
    alive,
    announce,
    call,
    children,
    environment,
    first_suspect,
    serving,
    suspects,
    upload,
)
from triage.services.schema import prepare_schema
from triage.settings import Settings
from triage.store.database.engine import open_database


def worker_of(process: subprocess.Popen[str]) -> int:
    """The supervised child of a `triage serve`."""

    def look() -> int:
        for pid in children(process.pid):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"workers.embedded" in command:
                return pid
        return 0

    return int(eventually(look))


def send_until_stopped(address: str, first_rank: int, taken: list[int]) -> None:
    """Uploads of one client: the ranks that were acknowledged go to `taken`."""
    for rank in range(first_rank, first_rank + 400):
        try:
            status = upload(address, "burst", rank % 8, as_rank=rank)
        except (urllib.error.URLError, OSError):
            return  # it has stopped, or stops just now: this one was not acknowledged
        assert status == 201
        taken.append(rank)


def test_the_whole_way_and_a_stop_that_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        incident = announce(address, "4711", expected_artifacts=8)
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda rank: upload(address, "4711", rank), range(8)))
        found = first_suspect(address, incident)
        answer = suspects(address, incident)
        family = children(process.pid)
        process.send_signal(signal.SIGTERM)

        assert process.wait(120) == 0
        assert statuses == [201] * 8
        assert (answer["state"], answer["provisional"]) == ("ready", False)
        assert found == ("ready", "n1")
        assert len(family) >= 2, "a worker, and a reader of its own"
        eventually(lambda: not any(map(alive, family)))
        assert process.stdout is not None
        assert process.stdout.read() == "", "one line on stdout, no more"


def test_killed_workers_and_services_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        first = worker_of(process)
        incident = announce(address, "4711", expected_artifacts=8)
        for rank in range(8):
            assert upload(address, "4711", rank) == 201
            if rank == 3:
                os.kill(first, signal.SIGKILL)
        eventually(lambda: worker_of(process) != first)
        eventually(lambda: "worker died" in (tmp_path / "serve.err").read_text())
        family = children(process.pid)
        process.kill()
        process.wait()
        eventually(lambda: not any(map(alive, family)))
    with serving(tmp_path) as (_, address):
        assert first_suspect(address, incident) == ("ready", "n1")


def test_a_stop_under_load_answers_what_it_took_and_keeps_it(tmp_path: Path) -> None:
    taken: list[int] = []
    with serving(tmp_path) as (process, address):
        incident = announce(address, "burst")
        clients = [
            threading.Thread(target=send_until_stopped, args=[address, 1000 * n, taken])
            for n in range(4)
        ]
        for client in clients:
            client.start()
        eventually(lambda: len(taken) > 20)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        for client in clients:
            client.join(120)
    with serving(tmp_path, "--no-worker") as (_, address):
        kept: list[dict[str, object]] = []
        page = f"{address}/v1/incidents/{incident}/artifacts?limit=500"
        cursor = ""
        while True:
            status, found = call(page + cursor)
            assert status == 200, found
            kept += found["items"]
            if found["next_cursor"] is None:
                break
            cursor = f"&cursor={found['next_cursor']}"

        assert set(taken) <= {one["rank"] for one in kept}


def test_a_broker_that_is_away_refuses_nothing(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        broker = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
        with serving(tmp_path, TRIAGE_BROKER_URL=broker) as (process, address):
            announce(address, "4711", expected_artifacts=8)
            assert [upload(address, "4711", rank) for rank in range(8)] == [201] * 8
            assert call(f"{address}/readyz")[0] == 200
            assert children(process.pid) == [], "workers of an external broker are elsewhere"


def test_a_worker_ends_in_good_order_when_its_pipe_does(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    database = open_database(settings)
    prepare_schema(settings, database)
    database.close()
    log = tmp_path / "worker.err"
    with log.open("w") as stderr:
        worker = subprocess.Popen(
            [sys.executable, "-m", "workers.child", str(os.getpid()), "workers.embedded", "1"],
            stdin=subprocess.PIPE, stdout=stderr, stderr=stderr,
            env=environment(TRIAGE_DATA_DIR=tmp_path / "data"),
        )  # fmt: skip
    try:
        eventually(lambda: "embedded worker started" in log.read_text())
        assert worker.stdin is not None
        worker.stdin.close()
        assert worker.wait(120) == 0
    finally:
        worker.kill()
        worker.wait()
    assert "embedded worker ended" in log.read_text()
