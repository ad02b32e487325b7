"""``triage collect``: the options of the node's collector, as typer shows them."""

import os
from typing import Annotated

import typer

from triage.collectors.command import run
from triage.collectors.options import Misuse, Options, bytes_of, seconds_of
from triage.errors import UsageError

__all__ = ["HELP", "collect"]

HELP = """
Send this node's dumps, kernel log and job logs to the service.

Finds the files of one job, puts them into the spool, and sends them. What
cannot be sent now is sent by the next collect. Nodes without this package
run the same command as: python3 -m triage.collectors

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
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The service.")] = "",
    token_file: Annotated[
        str | None,
        typer.Option("--token-file", metavar="FILE", help="Holds the token; else TRIAGE_TOKEN."),
    ] = None,
    job_id: Annotated[
        str | None, typer.Option("--job-id", metavar="ID", help="The job (SLURM_JOB_ID).")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME", help="This node (SLURMD_NODENAME, NODE_NAME)."),
    ] = None,
    incident: Annotated[
        str | None,
        typer.Option("--incident", metavar="ID", help="Join it, not the job's newest."),
    ] = None,
    fr: Annotated[
        list[str] | None,
        typer.Option("--fr", metavar="GLOB", help="Dumps; again for more (PyTorch's places)."),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option("--logs", metavar="GLOB", help="Job logs; again for more (Slurm's files)."),
    ] = None,
    kernel_log: Annotated[
        str | None,
        typer.Option("--kernel-log", metavar="FILE", help="Kernel log (journalctl, dmesg)."),
    ] = None,
    no_kernel_log: Annotated[
        bool, typer.Option("--no-kernel-log", help="Leave the kernel log out.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="From then on: 6h, @EPOCH or RFC 3339."),
    ] = None,
    shared: Annotated[
        str,
        typer.Option("--shared", metavar="HOW", help="What all nodes see: auto send skip own."),
    ] = "auto",
    only_with_dumps: Annotated[
        bool, typer.Option("--only-with-dumps", help="Send nothing where no dump is found.")
    ] = False,
    wait_for_dumps: Annotated[
        float,
        typer.Option("--wait-for-dumps", metavar="S", help="Wait until dumps are written."),
    ] = 0.0,
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="S", help="Seconds for all of it.")
    ] = 60.0,
    max_bytes: Annotated[
        str, typer.Option("--max-bytes", metavar="SIZE", help="Of a bundle, uncompressed.")
    ] = "1G",
    max_log_bytes: Annotated[
        str, typer.Option("--max-log-bytes", metavar="SIZE", help="Kept of the end of a log.")
    ] = "64M",
    spool: Annotated[
        str | None, typer.Option("--spool", metavar="DIR", help="Where bundles wait.")
    ] = None,
    spool_max_bytes: Annotated[
        str, typer.Option("--spool-max-bytes", metavar="SIZE", help="Of all that wait.")
    ] = "4G",
    flush_spool: Annotated[
        bool, typer.Option("--flush-spool", help="Send what waits, collect nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be sent.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 where not everything was taken.")
    ] = False,
    no_compress: Annotated[bool, typer.Option("--no-compress", help="Without gzip.")] = False,
    ca_file: Annotated[
        str | None, typer.Option("--ca-file", metavar="FILE", help="Authorities for https.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not check certificates; loopback alone.")
    ] = False,
) -> None:
    """Collect and send; ``HELP`` is what people read of it."""
    try:
        options = Options(
            url=url,
            token_file=token_file,
            job_id=job_id,
            node=node,
            incident=incident,
            fr=tuple(fr or ()),
            logs=tuple(logs or ()),
            kernel_log=kernel_log,
            no_kernel_log=no_kernel_log,
            since=None if since is None else seconds_of(since),
            shared=shared,
            only_with_dumps=only_with_dumps,
            wait_for_dumps_s=wait_for_dumps,
            deadline_s=deadline,
            max_bytes=bytes_of(max_bytes),
            max_log_bytes=bytes_of(max_log_bytes),
            spool=spool,
            spool_max_bytes=bytes_of(spool_max_bytes),
            flush_spool=flush_spool,
            dry_run=dry_run,
            strict=strict,
            compress=not no_compress,
            ca_file=ca_file,
            insecure=insecure,
        )
    except Misuse as error:
        raise UsageError(str(error)) from error
    status = run(options, os.environ)
    if status:
        raise typer.Exit(status)
