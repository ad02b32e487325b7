"""``triage fleet plan``: a job of N GPUs on this fleet."""

from enum import StrEnum
from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.output import emit, get_output_columns, print_lines
from triage.fleet.cli.source import Cluster, Days, FleetUrl, Since, Until, open_source, parse_period

HELP = """
Plan a job of N GPUs: how often it stops, checkpoints, spares.

\b
Examples:
  triage fleet plan --gpus 16384
  triage fleet plan --gpus 131072 --hours 24 --cost-s 30 --confidence 0.999
"""


class PlanFormat(StrEnum):
    """How the plan is printed."""

    TEXT = "text"
    JSON = "json"


def plan(
    gpus: Annotated[
        int,
        typer.Option("--gpus", min=1, max=10_000_000, metavar="N", help="GPUs of the job."),
    ],
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            min=1,
            max=1_000_000,
            metavar="N",
            help="Nodes to keep spares for; else all of the record.",
        ),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="H", help="Also how likely it runs H hours unbroken."),
    ] = None,
    cost_s: Annotated[
        float, typer.Option("--cost-s", metavar="S", help="Seconds a checkpoint stops the job.")
    ] = 10.0,
    restart_s: Annotated[
        float,
        typer.Option("--restart-s", metavar="S", help="Seconds from a stop to the next step."),
    ] = 300.0,
    repair_days: Annotated[
        float | None,
        typer.Option(
            "--repair-days", metavar="D", help="Days a node is away for repair; else as measured."
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", metavar="P", help="How surely the spares are to suffice."),
    ] = 0.99,
    since: Since = None,
    until: Until = None,
    days: Days = 30,
    cluster: Cluster = None,
    format_: Annotated[
        PlanFormat, typer.Option("--format", "-f", help="text for people, or json.")
    ] = PlanFormat.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the plan; the help stands in ``HELP``."""
    asked = parse_period(since, until, days, cluster)
    with open_source(url, token_file, ca_file) as client:
        facts = asked.asked(client).plan(
            gpus,
            hours=hours,
            cost_s=cost_s,
            restart_s=restart_s,
            nodes=nodes,
            repair_days=repair_days,
            confidence=confidence,
        )
    if format_ is PlanFormat.JSON:
        from triage.render.data.wire import encode

        emit(encode(facts))
        return
    from triage.fleet.render.terminal.plan import plan_lines

    print_lines(plan_lines(facts, get_output_columns()))
