"""API servers of Kubernetes for tests: a real one where its programs are, else one in memory.

The real one is ``kube-apiserver`` over ``etcd``, both on PATH or named by
``TRIAGE_TEST_KUBE_APISERVER`` and ``TRIAGE_TEST_ETCD``. The one in memory keeps nodes
with the rules of resource versions that matter here; most tests run on both, where both can be had.
"""

import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.support.waiting import eventually

ADMIN = "admin-token"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass
class Kube:
    """Where a server answers, and who may ask it: token by user."""

    url: str
    real: bool
    tokens: dict[str, str]
    ca: str | None = None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        user: str = "admin",
    ) -> tuple[int, Any]:
        """Ask as one of the users; the status and the answer as JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": kind}
        asked = urllib.request.Request(self.url + path, data, headers, method=method)
        context = ssl.create_default_context(cafile=self.ca) if self.ca else None
        try:
            with urllib.request.urlopen(asked, timeout=30, context=context) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json_or_text(error.read())

    def add_node(self, name: str, **status: object) -> None:
        """Make a node."""
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        assert self.request("POST", "/api/v1/nodes", body)[0] == 201
        if status:
            path = f"/api/v1/nodes/{name}/status"
            assert self.request("PATCH", path, {"status": status}, MERGE)[0] == 200

    def node(self, name: str) -> Any:
        """The node as it stands."""
        status, node = self.request("GET", f"/api/v1/nodes/{name}")
        assert status == 200, node
        return node

    def patch(self, name: str, change: Mapping[str, object]) -> None:
        """Change a node, as somebody else does."""
        status, said = self.request("PATCH", f"/api/v1/nodes/{name}", change, MERGE)
        assert status == 200, said


def json_or_text(body: bytes) -> Any:
    """An answer; a path that there is not is refused in a plain line."""
    try:
        return json.loads(body or b"null")
    except ValueError:
        return {"message": body.decode(errors="replace").strip()}


def write_kubeconfig(kube: Kube, path: Path, user: str = "admin") -> Path:
    """A kubeconfig for one of the server's users."""
    cluster: dict[str, str] = {"server": kube.url}
    if kube.ca:
        cluster["certificate-authority"] = kube.ca
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": kube.tokens[user]}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


def missing_programs() -> list[str]:
    """The programs of a real server that are not here."""
    return [name for name in ("kube-apiserver", "etcd") if program(name) is None]


def program(name: str) -> str | None:
    named = os.environ.get(f"TRIAGE_TEST_{name.upper().replace('-', '_')}")
    return named or shutil.which(name)


@contextmanager
def real_kube(folder: Path) -> Iterator[Kube]:
    """``kube-apiserver`` with RBAC on an ``etcd`` of its own; both end with the context."""
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    tokens = {"admin": ADMIN, "actuator": "actuator-token"}
    (folder / "tokens.csv").write_text(
        f'{ADMIN},admin,1,"system:masters"\nactuator-token,actuator,2\n', "ascii"
    )
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    etcd = [
        str(program("etcd")), "--data-dir", str(folder / "etcd"),
        "--listen-client-urls", f"http://127.0.0.1:{etcd_port}",
        "--advertise-client-urls", f"http://127.0.0.1:{etcd_port}",
        "--listen-peer-urls", f"http://127.0.0.1:{peer_port}",
        "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}",
        "--initial-cluster", f"default=http://127.0.0.1:{peer_port}",
    ]  # fmt: skip
    server = [
        str(program("kube-apiserver")), f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--secure-port={port}", "--bind-address=127.0.0.1", f"--cert-dir={folder}",
        f"--token-auth-file={folder / 'tokens.csv'}", "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount",
    ]  # fmt: skip
    with (
        (folder / "log").open("wb") as log,
        ending(subprocess.Popen(etcd, stdout=log, stderr=log)),
        ending(subprocess.Popen(server, stdout=log, stderr=log)),
    ):
        # The server makes its own certificate as it starts; it is its own authority.
        kube = Kube(f"https://127.0.0.1:{port}", True, tokens, str(folder / "apiserver.crt"))
        eventually(lambda: is_ready(kube))
        yield kube


def is_ready(kube: Kube) -> bool:
    try:
        asked = urllib.request.Request(
            kube.url + "/readyz", headers={"Authorization": f"Bearer {ADMIN}"}
        )
        context = ssl.create_default_context(cafile=kube.ca)
        with urllib.request.urlopen(asked, timeout=5, context=context) as answer:
            return bool(answer.read() == b"ok")
    except (OSError, ssl.SSLError):
        return False


@contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True)
class Asked:
    """A request to an API server; ``user`` is None for a token that it does not know."""

    user: str | None
    method: str
    path: str
    kind: str
    body: Any


class InMemory:
    """Objects by path; each change makes a new resource version."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, dict[str, Any]] = {}
        self.kinds = {"/api/v1/nodes"}
        self.forbidden: set[tuple[str, str]] = set()
        """(user, part of a path) that is answered with 403."""
        self.before: list[Any] = []
        """What somebody else does just before the next change of a node is taken."""

    def allowed(self, asked: Asked) -> tuple[int, Any]:
        """The answer to who may ask; others get 401 or 403."""
        if asked.user is None:
            return 401, {"kind": "Status", "message": "Unauthorized"}
        if any(asked.user == who and part in asked.path for who, part in self.forbidden):
            return 403, {"kind": "Status", "message": f"{asked.user} cannot {asked.method}"}
        if asked.method == "PATCH" and asked.user != "admin" and "/status" not in asked.path:
            while self.before:
                self.before.pop(0)()
        return self.answer(asked)

    def answer(self, asked: Asked) -> tuple[int, Any]:
        path = urlsplit(asked.path).path
        query = parse_qs(urlsplit(asked.path).query)
        if asked.method == "POST":
            return self.create(path, asked.body)
        if asked.method == "DELETE":
            return (200, self.objects.pop(path)) if path in self.objects else not_found(path)
        if asked.method == "PATCH":
            return self.patch(path, asked.kind, asked.body)
        if path in self.kinds:
            return self.page(path, query)
        return (200, self.objects[path]) if path in self.objects else not_found(path)

    def create(self, path: str, body: Any) -> tuple[int, Any]:
        if path not in self.kinds:
            return 404, {"kind": "Status", "message": "the server could not find the resource"}
        place = f"{path}/{body['metadata']['name']}"
        if place in self.objects:
            return 409, {"kind": "Status", "reason": "AlreadyExists", "message": "already exists"}
        self.objects[place] = json.loads(json.dumps({"spec": {}, "status": {}, **body}))
        self.touch(place)
        return 201, self.objects[place]

    def patch(self, path: str, kind: str, body: Any) -> tuple[int, Any]:
        place = path.removesuffix("/status")
        found = self.objects.get(place)
        if found is None:
            return not_found(path)
        given = body.get("metadata", {}).get("resourceVersion")
        if given not in (None, found["metadata"]["resourceVersion"]):
            why = "the object has been modified; please apply your changes to the latest version"
            return 409, {"kind": "Status", "reason": "Conflict", "message": why}
        before = json.dumps(found)
        if path.endswith("/status"):
            change = {"status": body.get("status", {})}
            if kind == STRATEGIC:
                merge_conditions(found["status"], change["status"])
            else:
                merge(found, change)
        else:
            metadata = {k: v for k, v in body.get("metadata", {}).items() if k != "resourceVersion"}
            merge(found, {"metadata": metadata, "spec": body.get("spec", {})})
        if json.dumps(found) != before:
            self.touch(place)
        return 200, found

    def page(self, path: str, query: Mapping[str, list[str]]) -> tuple[int, Any]:
        names = sorted(one for one in self.objects if one.rpartition("/")[0] == path)
        start = int(query.get("continue", ["0"])[0])
        end = start + int(query.get("limit", [str(len(names) or 1)])[0])
        metadata = {"continue": str(end)} if end < len(names) else {}
        items = [self.objects[one] for one in names[start:end]]
        return 200, {"kind": "List", "metadata": metadata, "items": items}

    def touch(self, place: str) -> None:
        self.version += 1
        self.objects[place]["metadata"]["resourceVersion"] = str(self.version)


def merge(into: dict[str, Any], change: Mapping[str, Any]) -> None:
    """JSON merge patch (RFC 7396)."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def merge_conditions(status: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Conditions are merged by their type, as strategic merge patches do."""
    for one in change.get("conditions", []):
        stands = status.setdefault("conditions", [])
        same = [old for old in stands if old["type"] == one["type"]]
        if one.get("$patch") == "delete":
            status["conditions"] = [old for old in stands if old["type"] != one["type"]]
        elif same:
            same[0].update(one)
        else:
            stands.append(one)


def not_found(path: str) -> tuple[int, Any]:
    return 404, {"kind": "Status", "reason": "NotFound", "message": f"{path} not found"}


@contextmanager
def kube_in_memory() -> Iterator[tuple[Kube, InMemory]]:
    """A server in this process, over plain HTTP on loopback."""
    memory = InMemory()
    with kube_of(memory.allowed) as kube:
        yield kube, memory


@contextmanager
def kube_of(answer: Callable[[Asked], tuple[int, Any]]) -> Iterator[Kube]:
    """A server in this process that answers each request, one at a time, with (status, JSON)."""
    tokens = {"admin": secrets.token_hex(8), "actuator": secrets.token_hex(8)}
    users = {f"Bearer {token}": user for user, token in tokens.items()}
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            user = users.get(self.headers.get("Authorization", ""))
            kind = self.headers.get("Content-Type") or ""
            asked = Asked(user, self.command, self.path, kind, json.loads(raw) if raw else None)
            with lock:
                status, body = answer(asked)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the base class's

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield Kube(f"http://127.0.0.1:{server.server_address[1]}", False, tokens)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
