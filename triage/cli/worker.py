"""``triage worker`` and ``triage scheduler``: they run beside the API of a large installation."""

import importlib
from typing import Annotated

import typer

from triage.cli.extras import require_service_packages

WORKER_HELP = """
Run a worker of the service, woken by Redis or RabbitMQ.

It needs TRIAGE_DATABASE_URL, TRIAGE_BROKER_URL and the blob store of the API.
Start any number of workers, on any number of machines, beside one
`triage scheduler`. After SIGTERM, work in progress has 20 s to finish; what is
not finished goes back to the queue.
"""

SCHEDULER_HELP = """
Run the scheduler: it wakes workers for rows nobody holds.

Once a day it also removes what is too old, as `triage prune` does.
One scheduler is enough; a second does no harm.
"""


def worker(
    concurrency: Annotated[
        int,
        typer.Option(min=0, max=256, metavar="N", help="Tasks at once; 0 is one a processor."),
    ] = 0,
    pool: Annotated[
        str, typer.Option(metavar="NAME", help="Run tasks in processes (prefork) or in threads.")
    ] = "prefork",
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only parse, analyse, notify or retention; repeatable."),
    ] = None,
) -> int:
    """Run a worker; the help stands in ``WORKER_HELP``."""
    options = ["--concurrency", str(concurrency), "--pool", pool]
    options += [word for name in kind or [] for word in ("--kind", name)]
    with require_service_packages():
        # By name: the library knows no worker.
        return int(importlib.import_module("workers.worker").main(options))


def scheduler() -> int:
    """Run the scheduler; the help stands in ``SCHEDULER_HELP``."""
    with require_service_packages():
        return int(importlib.import_module("workers.scheduler").main())
