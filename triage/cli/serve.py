"""``triage serve``: the service, on one machine by default."""

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from triage.cli.extras import require_service_packages


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 takes a free one."),
    ] = 8000,
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for database and files [TRIAGE_DATA_DIR]."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="Files its worker reads at once; one a processor, at most 4, if left out.",
        ),
    ] = None,
    no_worker: Annotated[
        bool,
        typer.Option(
            "--no-worker", help="Run no worker: take uploads and answer, analyse nothing."
        ),
    ] = False,
    open_access: Annotated[
        bool, typer.Option("--open", help="Ask for no token: everybody on this machine may do all.")
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
        from triage.cli.service import Options, run_service

        return run_service(Options(host, port, data_dir, workers, no_worker, open_access))


def worker(
    concurrency: Annotated[
        int, typer.Option(min=0, max=256, metavar="N", help="Tasks at once; 0 is one a processor.")
    ] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only parse, analyse, notify or retention; repeatable."),
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
