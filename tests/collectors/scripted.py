"""A service that answers as a test says, on a port of its own, and keeps what it was sent."""

import gzip
import io
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from triage.collectors.artifact import Deadline
from triage.collectors.collect import collect
from triage.collectors.options import Options

ROOT = Path(__file__).resolve().parent.parent.parent
TOKEN = "triage_a1b2c3_" + "S3cretS3cretS3cret"


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def members(self) -> dict[str, bytes]:
        body = self.body
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with tarfile.open(fileobj=io.BytesIO(body)) as tar:
            assert all(one.isreg() and one.uid == 0 for one in tar)
            return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


@dataclass
class Service:
    url: str = ""
    script: list[object] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    wanted: list[tuple] = field(default_factory=lambda: [refused(404)])
    """Answers to what is asked with GET, in order, the last one for ever."""
    questions: list[Request] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def next_wanted(self) -> tuple:
        return self.wanted.pop(0) if len(self.wanted) > 1 else self.wanted[0]

    def next_answer(self) -> object:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def accepted(**more):
    return (201, {}, {"incident_id": "inc_7", "artifacts": [], **more})


def refused(status, detail="no", hint="do this", **headers):
    said = {"type": "x", "title": "t", "status": status, "detail": detail, "hint": hint}
    return (status, headers, said)


class Answering(BaseHTTPRequestHandler):
    """Answers what is asked with GET; ``shown`` keeps it."""

    protocol_version = "HTTP/1.1"
    shown: Service

    def do_GET(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.shown.questions.append(Request(self.path, headers, b""))
        return self.answer(*self.shown.next_wanted())

    def answer(self, status, headers, said):
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def service(*script: object, certificate: Path | None = None) -> Iterator[Service]:
    """Answers in the order of ``script``, the last one for ever: (status, headers, JSON),
    or ``reset``, ``hang``, ``drip``, or ``("early", answer)`` before the body is read."""
    shown = Service(script=list(script))

    class Handler(Answering):
        def do_POST(self):
            headers = {name.lower(): value for name, value in self.headers.items()}
            todo = shown.next_answer()
            shown.arrived.set()
            if isinstance(todo, tuple) and todo[0] == "early":
                shown.requests.append(Request(self.path, headers, b""))
                self.close_connection = True
                return self.answer(*todo[1])
            if todo == "hang":
                shown.ended.wait(300)
                self.close_connection = True
                return None
            if todo == "slow":
                while self.rfile.read(4096) and not shown.ended.wait(0.02):
                    pass
                self.close_connection = True
                return None
            body = self.rfile.read(int(headers["content-length"]))
            shown.requests.append(Request(self.path, headers, body))
            if todo == "reset":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                self.connection.close()
                return None
            if todo == "drip":
                self.wfile.write(b"HTTP/1.1 201 Created\r\nX-A: ")
                while not shown.ended.wait(0.2):
                    try:
                        self.wfile.write(b"a")
                    except OSError:
                        break
                self.close_connection = True
                return None
            return self.answer(*todo)  # type: ignore[misc]

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # a client that was killed

    server = Server(("127.0.0.1", 0), Handler)
    Handler.shown = shown
    shown.url = f"http://127.0.0.1:{server.server_address[1]}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        # The handshake is done by the thread of the connection, not by the one that accepts.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        shown.url = shown.url.replace("http:", "https:")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield shown
    finally:
        shown.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def bare_environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """An environment that says nothing of this machine's jobs, homes or spools."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "PATH": f"{tools}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


def tool(tmp_path: Path, name: str, script: str) -> None:
    """A program of that name, found before the machine's own."""
    path = tmp_path / "tools" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def start(tmp_path: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """``python3 -m triage.collectors`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-S", "-m", "triage.collectors", *arguments],
        env=bare_environment(tmp_path, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )


def finished(tmp_path: Path, *arguments: str, **more: str) -> tuple[int, str, str]:
    """Status, stdout and stderr of the command."""
    process = start(tmp_path, *arguments, **more)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


def dump(folder: Path, rank: int, size: int = 1000) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"trace_rank_{rank}"
    path.write_bytes(os.urandom(size))
    return path


def waiting(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "spool").glob("*.bundle"))


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "spool" / "refused").glob("*.bundle"))


def run(options: Options, tmp_path: Path, **more: str):
    return collect(options, bare_environment(tmp_path, **more), Deadline(options.deadline_s))


def arguments(options: Options) -> list[str]:
    assert options.job_id
    assert options.node
    return [
        "--url", options.url, "--job-id", options.job_id, "--node", options.node,
        "--fr", options.fr[0], "--logs", options.logs[0], "--kernel-log", str(options.kernel_log),
        "--spool", str(options.spool), "--deadline", str(options.deadline_s), "--shared", "own",
    ]  # fmt: skip
