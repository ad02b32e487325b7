"""``triage serve`` and ``triage mcp``: the service, and the answers for agents, as processes."""

import gc
import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.extras import require_service_packages
from triage.cli.options import take, take_flag


def serve(
    host: Annotated[str, take("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, take("N", "Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = 8000,
    data_dir: Annotated[
        Path | None, take("DIR", "Folder for database and files [TRIAGE_DATA_DIR].")
    ] = None,
    workers: Annotated[
        int | None,
        take(
            "N",
            "Files its worker reads at once; one a processor, at most 4, if left out.",
            min=1,
            max=64,
        ),
    ] = None,
    no_worker: Annotated[
        bool, take_flag("--no-worker", "Run no worker: take uploads and answer, analyse nothing.")
    ] = False,
    open_access: Annotated[
        bool, take_flag("--open", "Ask for no token: everybody on this machine may do all.")
    ] = False,
) -> int:
    """Run the service: take uploads, analyse them, answer over HTTP.

    By default it needs nothing else: it keeps an SQLite database and the files in
    the data directory, and runs a worker of its own. In a larger installation,
    TRIAGE_DATABASE_URL, TRIAGE_BROKER_URL and TRIAGE_BLOB_URL name the database,
    the broker and the blob store, and `triage worker` and `triage scheduler` run
    beside it.

    \b
    It prints one line on stdout once it answers: http://HOST:PORT
    SIGTERM or Ctrl-C ends it within 30 s; nothing acknowledged is lost.
    """
    with _pause_collection(), require_service_packages():
        from triage.cli.service import run_service

        return run_service(
            host, port, data_dir, workers, no_worker=no_worker, open_access=open_access
        )


def worker(
    concurrency: Annotated[
        int, take("N", "Tasks at once; 0 is one a processor.", min=0, max=256)
    ] = 0,
    kind: Annotated[
        list[str] | None, take("NAME", "Only parse, analyse, notify or retention; repeatable.")
    ] = None,
) -> int:
    """Run a worker of the service, woken by Redis or RabbitMQ.

    It needs TRIAGE_DATABASE_URL, TRIAGE_BROKER_URL and the blob store of the API.
    Start any number of workers, on any number of machines, beside one
    `triage scheduler`. After SIGTERM, work in progress has 20 s to finish; what is
    not finished goes back to the queue.
    """
    options = ["--concurrency", str(concurrency)]
    options += [word for name in kind or [] for word in ("--kind", name)]
    with _pause_collection(), require_service_packages():
        # By name: the library knows no worker.
        return int(importlib.import_module("workers.worker").main(options))


def scheduler() -> int:
    """Run the scheduler: it wakes workers for rows nobody holds.

    Once a day it also removes what is too old, as `triage prune` does.
    One scheduler is enough; a second does no harm.
    """
    with require_service_packages():
        return int(importlib.import_module("workers.scheduler").main())


_SILENT_S = 20.0


def mcp(url: Url = "", token_file: TokenFile = None, ca_file: CaFile = None) -> None:
    """Answer the questions of an agent, over stdio (MCP).

    A client of the Model Context Protocol starts it. With --url it asks that
    service; without, it answers from files of this machine alone. It only reads.

    \b
    Examples:
      triage mcp
      triage mcp --url https://triage.example --token-file ~/read.token
    """
    with require_service_packages(), ExitStack() as stack:
        from anyio import to_thread

        from triage.agents.server import serve_stdio

        ask = None
        if url or os.environ.get("TRIAGE_URL"):
            # An agent is told at once that it has to wait; it can do something else meanwhile.
            client = open_client(url, token_file, ca_file, timeout_s=_SILENT_S, tries=1)
            get = stack.enter_context(client).get

            async def ask(path: str, query: Mapping[str, object]) -> dict[str, Any]:
                # In a thread: nothing waits for it but the question itself.
                return await to_thread.run_sync(get, path, query, abandon_on_cancel=True)

        serve_stdio(ask)


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Collect no garbage until the process is ready, and says so by ``gc.enable``: all that is
    loaded stays, and would be looked through again and again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
