"""A receiver of webhooks on loopback that keeps what it gets; it can be closed and come back."""

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook

from benchmarks.service_processes import free_port


@dataclass(frozen=True, slots=True)
class Got:
    """One request that came, whole."""

    path: str
    at: float
    """Of ``time.monotonic``."""
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """Its ``webhook-id``."""
        return self.headers.get("webhook-id", "")

    @property
    def said(self) -> dict[str, Any]:
        """Its body."""
        return dict(json.loads(self.body))


class Receiver:
    """Answers 200 to every POST, or ``status``; ``got`` is what came, in its order.

    ``lose`` of every ten requests are taken and answered with 500, so that they come again.
    """

    def __init__(self, *, lose: int = 0) -> None:
        self.port = free_port()
        self.lose = lose
        self.status = 200
        self.got: list[Got] = []
        self.lock = threading.Lock()
        self.server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        """Listen, from now on."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = receiver.take(Got(self.path, time.monotonic(), headers, body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True).start()

    def take(self, one: Got) -> int:
        """Keep it; the status to answer with."""
        with self.lock:
            self.got.append(one)
            unlucky = self.lose and len(self.got) % 10 < self.lose
        return 500 if unlucky else self.status

    def close(self) -> None:
        """Refuse connections, from now on."""
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def kept(self) -> list[Got]:
        """What came until now."""
        with self.lock:
            return list(self.got)

    def of(self, event: str, incident_id: str | None = None) -> list[Got]:
        """What came of this type, of one incident or of all."""
        return [
            one
            for one in self.kept()
            if one.said["type"] == event and incident_id in (None, one.said["data"]["incident_id"])
        ]

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def verified(one: Got, secret: str) -> bool:
    """Whether the signature is right, by the library that Standard Webhooks publishes."""
    return bool(Webhook(secret).verify(one.body.decode(), one.headers))


def identity_faults(got: list[Got]) -> list[str]:
    """Where one message had two ids or two bodies, or two messages one id."""
    faults = []
    by_id: dict[str, bytes] = {}
    by_message: dict[tuple[str, ...], str] = {}
    for one in got:
        data = one.said["data"]
        message = (one.path, data["incident_id"], str(data["revision"]), one.said["type"])
        if by_id.setdefault(one.id, one.body) != one.body:
            faults.append(f"{one.id} came with two bodies")
        if (
            one.said["type"] != "incident.resolved"
            and by_message.setdefault(message, one.id) != one.id
        ):
            faults.append(f"{message} came with two ids")
    return faults
