"""The HTTP interface behind a real server on a free port, and a plain client."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from tests.api import described
from tests.support.databases import put_migrated_sqlite
from tests.support.waiting import eventually
from triage.server.application import create_app
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.tokens import create_token
from triage.settings import Settings

SCOPES = ("read", "ingest", "admin")


@dataclass(frozen=True)
class Answer:
    """One answer, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def problem(self) -> dict[str, Any]:
        """The problem document that this is; it must be a whole one."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        found = self.json()
        assert found["status"] == self.status
        assert found["type"].startswith("/docs#problem-")
        assert found["title"]
        assert found["detail"]
        assert found["instance"].startswith("/")
        assert isinstance(found["errors"], list)
        for one in found["errors"]:
            assert one["message"]
            assert {"pointer", "parameter", "place"} & one.keys()
        assert found["request_id"] == self.headers["x-request-id"]
        return found


@dataclass
class Service:
    """A running interface; ``tokens`` by scope."""

    ctx: Context
    app: Any
    port: int
    tokens: dict[str, str]

    def call(
        self,
        method: str,
        path: str,
        body: bytes | str | Mapping[str, Any] | list[Any] | None = None,
        *,
        token: str | None = "admin",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 90,
    ) -> Answer:
        """One request; the path goes out as it is. ``token`` is a scope, None for none."""
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {self.tokens.get(token, token)}")
        if isinstance(body, Mapping | list):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            names = {key.lower(): value for key, value in answer.getheaders()}
            found = Answer(answer.status, names, answer.read())
        finally:
            connection.close()
        described.check(method, path, found.status, names, found.body)
        return found

    def get(self, path: str, **more: Any) -> Answer:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any = b"", **more: Any) -> Answer:
        return self.call("POST", path, body, **more)

    def opened(self, job_id: str, **more: Any) -> str:
        """The id of a new incident of that job."""
        answer = self.post("/v1/hooks/job-failed", {"job_id": job_id, **more}, token="ingest")
        assert answer.status == 202, answer.body
        return answer.json()["incident"]["id"]

    def stored_files(self) -> list[Path]:
        """What lies in the blob store, half written or whole."""
        folder = self.ctx.settings.data_dir
        others = ("triage.db", "secret.key")
        return [p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(others)]


def context_at(folder: Path, **more: Any) -> Context:
    """A migrated context on SQLite."""
    given = {"min_free_bytes": 0, "webhook_allow": ("127.0.0.0/8",), **more}
    put_migrated_sqlite(folder)
    return open_context(Settings(data_dir=folder, **given))


@contextmanager
def serving(ctx: Context, *, open_access: bool = False) -> Iterator[Service]:
    """The interface over a context, on a port of its own, until the block ends.

    It runs in this process, so it is quiet: log lines are looked at where a test is about them.
    """
    said = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    app = create_app(ctx, open_access=open_access)
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    tokens = {scope: create_token(ctx, scope, [scope], "test")[1] for scope in SCOPES}
    try:
        yield Service(ctx, app, port, tokens)
    finally:
        loop = server.servers[0].get_loop()
        loop.call_soon_threadsafe(app.state.triage.watch.end)
        server.should_exit = True
        thread.join(60)
        structlog.configure(**said)
        assert not thread.is_alive()
