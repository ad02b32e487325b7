"""Senders that drip: given up in time, and no hindrance to those that send."""

import json
import random
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.api.service import Service, context_at, serving
from tests.api.test_uploads import LOG, answer_of, request_head, send
from tests.support.waiting import eventually

PLACES = 2
# Long beside any pause that a busy machine makes in those that drip.
GRACE_S = 3.0
IDLE_S = 4.0
RATE = 1 << 14
LONG = f"Content-Length: {1 << 20}"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with few places and little patience."""
    with few_places(tmp_path_factory.mktemp("strict"), GRACE_S, IDLE_S) as found:
        yield found


@contextmanager
def few_places(folder: Path, grace_s: float, idle_s: float) -> Iterator[Service]:
    ctx = context_at(
        folder, max_uploads=PLACES, min_body_rate=RATE, body_grace_s=grace_s, body_idle_s=idle_s
    )
    with serving(ctx) as found:
        yield found
    ctx.close()


class Drippers:
    """Connections that send ``first`` of a long body, then a byte now and then."""

    def __init__(self, service: Service, number: int, first: bytes = b"") -> None:
        self.stopped = threading.Event()
        self.connections = [
            socket.create_connection(("127.0.0.1", service.port)) for _ in range(number)
        ]
        for one in self.connections:
            one.sendall(request_head(service, "/v1/jobs/drip/artifacts?node=n0", LONG) + first)
        self.thread = threading.Thread(target=self.drip)

    def drip(self) -> None:
        while not self.stopped.wait(0.2):
            for one in self.connections:
                with suppress(OSError):
                    one.sendall(b"x")

    def __enter__(self) -> "Drippers":
        self.thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stopped.set()
        self.thread.join()
        for one in self.connections:
            one.close()


def wait_for_gate(service: Service, active: int) -> None:
    """Until so many bodies are being read."""
    gate = service.app.state.triage.gate
    eventually(lambda: gate.active == active)


def refusal_of(connection: socket.socket) -> dict:
    """The problem document, and nothing behind it: the connection is closed.

    Whoever goes on sending behind the answer is reset.
    """
    connection.settimeout(60)
    got = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            got += part
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 "), got[:200]
    assert b"\r\nconnection: close" in head.lower()
    return json.loads(body)


def test_drippers_hold_no_place_from_who_sends(tmp_path: Path) -> None:
    with few_places(tmp_path, 600.0, 600.0) as patient, Drippers(patient, 20) as many:
        assert patient.app.state.triage.gate.active == 0
        assert send(patient, "honest", LOG, "?node=n1").status == 201
        answered, _, _ = select.select(many.connections, [], [], 0)
        assert answered == [], "they are waited for all the while"


def test_drippers_are_refused_and_leave_nothing(strict: Service) -> None:
    before = strict.stored_files()
    with Drippers(strict, 20) as many:
        told = [refusal_of(one)["detail"] for one in many.connections]
    assert set(told) == {f"the body comes with fewer than {RATE:,} bytes a second"}
    assert strict.stored_files() == before
    assert strict.get("/v1/incidents?job_id=drip").json()["items"] == []


def test_who_begins_well_and_drips_then_gives_its_place_back(strict: Service) -> None:
    before = strict.stored_files()
    with Drippers(strict, 3 * PLACES, first=random.Random(1).randbytes(RATE)) as many:
        wait_for_gate(strict, PLACES)
        assert send(strict, "honest", LOG, "?node=n2").status == 201
        for one in many.connections:
            assert "bytes a second" in refusal_of(one)["detail"]
    wait_for_gate(strict, 0)
    assert len(strict.stored_files()) == len(before) + 1
    assert strict.get("/v1/incidents?job_id=drip").json()["items"] == []


@pytest.mark.parametrize("path", ["/v1/jobs/silent/artifacts", "/v1/hooks/job-failed"])
def test_a_body_that_stops_coming_is_given_up(strict: Service, path: str) -> None:
    before = strict.stored_files()
    with socket.create_connection(("127.0.0.1", strict.port)) as connection:
        connection.sendall(request_head(strict, path, "Content-Length: 99") + b"{")
        said = re.fullmatch(
            r"no byte of the body came for (\d+) s", refusal_of(connection)["detail"]
        )
        assert said is not None
        assert int(said[1]) >= GRACE_S
    assert strict.stored_files() == before


def test_a_good_sender_may_pause_for_longer_than_the_grace(tmp_path: Path) -> None:
    body = LOG * (1 + 60 * RATE // len(LOG))  # it earns a minute
    with (
        few_places(tmp_path, GRACE_S, 120.0) as generous,
        socket.create_connection(("127.0.0.1", generous.port)) as connection,
    ):
        length = f"Content-Length: {len(body) + len(LOG)}"
        connection.sendall(request_head(generous, "/v1/jobs/pause/artifacts", length) + body)
        time.sleep(1.5 * GRACE_S)
        connection.sendall(LOG)
        assert answer_of(connection).startswith(b"HTTP/1.1 201 ")


def test_waiting_for_a_place_is_not_held_against_the_sender(
    strict: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triage.api.limits import admission_gate
    from triage.api.routers import uploads

    # Longer than the test: who is sent away for waiting too long is another test's.
    monkeypatch.setattr(admission_gate, "MAX_WAIT_S", 120.0)
    free, take = threading.Event(), uploads.take_artifact

    def held(*given: object) -> object:
        free.wait(120)
        return take(*given)

    monkeypatch.setattr(uploads, "take_artifact", held)
    statuses: list[int] = []

    def upload(number: int) -> None:
        body = LOG * (RATE // len(LOG) * 8)
        statuses.append(send(strict, "queue", body, f"?node=n{number}").status)

    threads = [threading.Thread(target=upload, args=[number]) for number in range(3 * PLACES)]
    for thread in threads:
        thread.start()
    wait_for_gate(strict, PLACES)
    time.sleep(1.5 * IDLE_S)
    free.set()
    for thread in threads:
        thread.join()
    assert statuses == [201] * len(threads)
