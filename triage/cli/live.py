"""``triage live``: ask the processes of a running job, write a folder, answer."""

from argparse import Namespace
from typing import Annotated, Any

import typer

from triage.cli.interrupt import TIDY_S, stop_at_once
from triage.cli.options import Format, ReportFormat, Top
from triage.collectors.live.options import LIVE_OPTIONS

HELP = """
Say which rank, node and line of code a running job waits for.

Run it on a node of a job that hangs or crawls. It asks the job's processes
twice (stacks by py-spy, PyTorch's debug server, the recorder's pipe, NCCL RAS,
the kernel, GPU states), writes an incident folder and analyses it. It stops,
kills and changes nothing.

\b
Examples:
  triage live
  triage live --job 4711 --all-nodes
  triage live --pid 20640 --out incident/
  triage live --job 4711 --send --url https://triage.example --token-file F
  triage live --every 60 --send --url https://triage.example --token-file F

\b
Exit status: 0 analysed or sent, whatever was found; 1 not sent;
2 wrong usage, or no job found here; 130 interrupted by Ctrl-C.
"""


def _make_option(name: str, *, flag: bool = False) -> Any:  # noqa: ANN401 - typer's own type
    option = LIVE_OPTIONS[name]
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    return typer.Option(name, metavar=None if flag else option.metavar, help=sentence)


def live(
    job: Annotated[str | None, _make_option("--job")] = None,
    pid: Annotated[int | None, _make_option("--pid")] = None,
    all_nodes: Annotated[bool, _make_option("--all-nodes", flag=True)] = False,
    nodes: Annotated[str | None, _make_option("--nodes")] = None,
    via: Annotated[str, _make_option("--via")] = "auto",
    out: Annotated[str | None, _make_option("--out")] = None,
    looks: Annotated[int, _make_option("--looks")] = 2,
    budget: Annotated[float, _make_option("--budget")] = 30.0,
    max_bytes: Annotated[str, _make_option("--max-bytes")] = "256M",
    without: Annotated[list[str] | None, _make_option("--without")] = None,
    node: Annotated[str | None, _make_option("--node")] = None,
    cluster: Annotated[str | None, _make_option("--cluster")] = None,
    send: Annotated[bool, _make_option("--send", flag=True)] = False,
    url: Annotated[str, _make_option("--url")] = "",
    token_file: Annotated[str | None, _make_option("--token-file")] = None,
    ca_file: Annotated[str | None, _make_option("--ca-file")] = None,
    every: Annotated[float, _make_option("--every")] = 0.0,
    format_: ReportFormat = Format.TEXT,
    top: Top = None,
) -> None:
    """Pull, then analyse or send; ``HELP`` is what people read of it."""
    # The parameters are named as the options of the collectors' own command are.
    arguments = Namespace(**locals())
    from triage.cli.live_pull import pull

    with stop_at_once(TIDY_S):
        pull(arguments, format_, top)
