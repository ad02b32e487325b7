"""``triage collect``: the options of the node's collector, as typer shows them."""

import os
from argparse import Namespace
from typing import Annotated

import typer

from triage.collectors.command import options_of, run
from triage.collectors.options import Misuse
from triage.errors import UsageError

__all__ = ["HELP", "collect"]

HELP = """
Send this node's dumps, kernel log and job logs to the service.

It finds the files of one job, puts them into a spool on disk, and sends them.
What cannot be sent now is sent by the next run. A node without this package
runs the same command as: python3 -m triage.collectors

SIZE is in bytes, or has a unit: 64M, 1G. S is in seconds.

\b
Examples:
  triage collect --url https://triage.example --token-file /etc/triage/token
  triage collect --url URL --job-id 4711 --fr '/shared/4711/fr/trace_rank_*'
  triage collect --url URL --job-id 4711 --dry-run
  triage collect --url URL --flush-spool

\b
Exit status: 0 sent, or safe in the spool; 1 with --strict when the
service does not have everything; 2 wrong usage.
"""


def collect(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Address of the service.")] = "",
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file", metavar="FILE", help="File that holds the token; else TRIAGE_TOKEN."
        ),
    ] = None,
    job_id: Annotated[
        str | None, typer.Option("--job-id", metavar="ID", help="The job [SLURM_JOB_ID].")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME", help="This node [SLURMD_NODENAME, NODE_NAME]."),
    ] = None,
    incident: Annotated[
        str | None,
        typer.Option(
            "--incident", metavar="ID", help="Add to this incident, not to the job's newest."
        ),
    ] = None,
    fr: Annotated[
        list[str] | None,
        typer.Option("--fr", metavar="GLOB", help="Dumps, repeatable; else where PyTorch writes."),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option("--logs", metavar="GLOB", help="Job logs, repeatable; else Slurm's files."),
    ] = None,
    kernel_log: Annotated[
        str | None,
        typer.Option(
            "--kernel-log", metavar="FILE", help="Kernel log; else that of journalctl or dmesg."
        ),
    ] = None,
    no_kernel_log: Annotated[
        bool, typer.Option("--no-kernel-log", help="Send no kernel log.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only what is newer: 6h, @EPOCH or RFC 3339."),
    ] = None,
    shared: Annotated[
        str,
        typer.Option(
            "--shared", metavar="HOW", help="Files that all nodes see: auto, send, skip, own."
        ),
    ] = "auto",
    only_with_dumps: Annotated[
        bool, typer.Option("--only-with-dumps", help="Send nothing if no dump is found.")
    ] = False,
    wait_for_dumps: Annotated[
        float,
        typer.Option(
            "--wait-for-dumps", metavar="S", help="Wait up to S seconds until dumps are written."
        ),
    ] = 0.0,
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="S", help="Seconds that the whole run may take.")
    ] = 60.0,
    max_bytes: Annotated[
        str, typer.Option("--max-bytes", metavar="SIZE", help="Most of a bundle, uncompressed.")
    ] = "1G",
    max_log_bytes: Annotated[
        str,
        typer.Option(
            "--max-log-bytes", metavar="SIZE", help="Send at most this much of the end of a log."
        ),
    ] = "64M",
    spool: Annotated[
        str | None,
        typer.Option("--spool", metavar="DIR", help="Folder where bundles wait to be sent."),
    ] = None,
    spool_max_bytes: Annotated[
        str,
        typer.Option("--spool-max-bytes", metavar="SIZE", help="Most of all bundles that wait."),
    ] = "4G",
    flush_spool: Annotated[
        bool, typer.Option("--flush-spool", help="Send the bundles that wait; collect nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be sent; send nothing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if the service lacks anything.")
    ] = False,
    no_compress: Annotated[bool, typer.Option("--no-compress", help="Send without gzip.")] = False,
    ca_file: Annotated[
        str | None,
        typer.Option(
            "--ca-file", metavar="FILE", help="Certificate authorities to trust for https."
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Check no certificate; only for loopback.")
    ] = False,
) -> None:
    """Collect and send; ``HELP`` is what people read of it."""
    # The parameters are named as the options of the collector's own command are.
    given = Namespace(**locals())
    try:
        options = options_of(given)
    except Misuse as error:
        raise UsageError(str(error)) from error
    status = run(options, os.environ)
    if status:
        raise typer.Exit(status)
