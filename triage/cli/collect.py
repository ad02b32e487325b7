"""``triage collect``: the options of the node's collector, as typer shows them."""

import os
from argparse import Namespace
from typing import Annotated, Any

import typer

from triage.cli.interrupt import TIDY_S, stop_at_once
from triage.collectors.options import OPTIONS, Misuse
from triage.errors import UsageError

HELP = """
Send this node's dumps, kernel log and job logs to a service.

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
service does not have everything; 2 wrong usage; 130 interrupted by Ctrl-C.
"""


def _make_option(name: str) -> Any:  # noqa: ANN401 - typer's own type
    option = OPTIONS[name]
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    return typer.Option(name, metavar=option.metavar or None, help=sentence)


def collect(
    url: Annotated[str, _make_option("--url")] = "",
    token_file: Annotated[str | None, _make_option("--token-file")] = None,
    job_id: Annotated[str | None, _make_option("--job-id")] = None,
    node: Annotated[str | None, _make_option("--node")] = None,
    cluster: Annotated[str | None, _make_option("--cluster")] = None,
    attempt: Annotated[str | None, _make_option("--attempt")] = None,
    incident: Annotated[str | None, _make_option("--incident")] = None,
    fr: Annotated[list[str] | None, _make_option("--fr")] = None,
    logs: Annotated[list[str] | None, _make_option("--logs")] = None,
    literal: Annotated[list[str] | None, _make_option("--literal")] = None,
    kernel_log: Annotated[str | None, _make_option("--kernel-log")] = None,
    no_kernel_log: Annotated[bool, _make_option("--no-kernel-log")] = False,
    since: Annotated[str | None, _make_option("--since")] = None,
    shared: Annotated[str, _make_option("--shared")] = "auto",
    digest: Annotated[bool, _make_option("--digest")] = False,
    wait_for_wanted: Annotated[float | None, _make_option("--wait-for-wanted")] = None,
    only_with_dumps: Annotated[bool, _make_option("--only-with-dumps")] = False,
    wait_for_dumps: Annotated[float, _make_option("--wait-for-dumps")] = 0.0,
    deadline: Annotated[float, _make_option("--deadline")] = 60.0,
    max_bytes: Annotated[str, _make_option("--max-bytes")] = "1G",
    max_log_bytes: Annotated[str, _make_option("--max-log-bytes")] = "64M",
    spool: Annotated[str | None, _make_option("--spool")] = None,
    spool_max_bytes: Annotated[str, _make_option("--spool-max-bytes")] = "4G",
    flush_spool: Annotated[bool, _make_option("--flush-spool")] = False,
    dry_run: Annotated[bool, _make_option("--dry-run")] = False,
    strict: Annotated[bool, _make_option("--strict")] = False,
    no_compress: Annotated[bool, _make_option("--no-compress")] = False,
    ca_file: Annotated[str | None, _make_option("--ca-file")] = None,
    insecure: Annotated[bool, _make_option("--insecure")] = False,
) -> None:
    """Collect and send; ``HELP`` is what people read of it."""
    # The parameters are named as the options of the collector's own command are.
    given = Namespace(**locals())
    from triage.collectors.command import list_options, run

    try:
        options = list_options(given)
    except Misuse as error:
        raise UsageError(str(error)) from error
    with stop_at_once(TIDY_S):
        status = run(options, os.environ)
    if status:
        raise typer.Exit(status)
