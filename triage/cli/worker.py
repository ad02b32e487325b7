"""``triage worker`` and ``triage scheduler``: the two that run beside the API at scale."""

import importlib
from typing import Annotated

import typer

from triage.cli.extras import service_packages

__all__ = ["SCHEDULER_HELP", "WORKER_HELP", "scheduler", "worker"]

WORKER_HELP = """
Do the work of the service, told by Redis or RabbitMQ.

Needs TRIAGE_DATABASE_URL, TRIAGE_BROKER_URL and the blob store of the API.
Start as many as you like, on as many machines; one `triage scheduler` beside.
SIGTERM: what is being done may finish for 20 s, the rest goes back.
"""

SCHEDULER_HELP = """
Wake workers again for rows that nobody holds, and keep house once a day.

One is enough; a second does no harm.
"""


def worker(
    concurrency: Annotated[
        int,
        typer.Option(min=0, max=256, metavar="N", help="Things done at once; 0: one a processor."),
    ] = 0,
    pool: Annotated[str, typer.Option(metavar="NAME", help="prefork or threads.")] = "prefork",
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only parse, analyse, notify or retention; again for more."
        ),
    ] = None,
) -> int:
    """Run a worker; the help stands in ``WORKER_HELP``."""
    options = ["--concurrency", str(concurrency), "--pool", pool]
    options += [word for one in kind or [] for word in ("--kind", one)]
    with service_packages():
        # By name: the library knows no worker.
        return int(importlib.import_module("workers.worker").main(options))


def scheduler() -> int:
    """Run the scheduler; the help stands in ``SCHEDULER_HELP``."""
    with service_packages():
        return int(importlib.import_module("workers.scheduler").main())
