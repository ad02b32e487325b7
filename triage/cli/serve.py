"""``triage serve``: the service on one machine, one command."""

from pathlib import Path
from typing import Annotated

import typer

from triage.cli.extras import service_packages

__all__ = ["HELP", "serve"]

HELP = """
Run the service: take uploads, analyse them, answer over HTTP.

Needs nothing beside itself: SQLite, a folder and a worker of its own, all in
the data directory. With TRIAGE_DATABASE_URL, TRIAGE_BROKER_URL and
TRIAGE_BLOB_URL the same command is the API of a larger installation, whose
workers are `triage worker` and `triage scheduler`.

\b
Prints one line on stdout when it answers: http://HOST:PORT
SIGTERM or Ctrl-C ends it within 30 s; nothing acknowledged is lost, ever.
"""


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0: any free one.")
    ] = 8000,
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of database and files [TRIAGE_DATA_DIR]."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, metavar="N", help="Files read at once by its worker."),
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Take and answer only; analyse nothing.")
    ] = False,
    open_access: Annotated[
        bool, typer.Option("--open", help="No tokens: everybody on this machine may do all.")
    ] = False,
) -> int:
    """Run the service; the help stands in ``HELP``."""
    with service_packages():
        from triage.cli.service import Options, run_service

        return run_service(Options(host, port, data_dir, workers, no_worker, open_access))
