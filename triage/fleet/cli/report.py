"""``triage fleet report``: the answers of one period on one page."""

from typing import Annotated, Any

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import Format, Output, ReportFormat
from triage.cli.output import emit, encode_output, get_output_columns, should_use_colour
from triage.errors import UsageError
from triage.fleet.cli.source import Cluster, Days, FleetUrl, Since, Until, open_source, parse_period

HELP = """
Say how often jobs stop, why, on which nodes, and what to plan with.

\b
Examples:
  triage fleet report --days 90 --cluster a
  triage fleet report --gpus 16384 --format html -o fleet.html
  triage fleet report --format json | jq .mtti

`triage fleet import` takes in what a rate rests on: who ran where, how long.
"""

_Gpus = Annotated[
    int | None,
    typer.Option("--gpus", metavar="N", help="GPUs of the job to plan for; else the usual one."),
]
_Cost = Annotated[
    float | None, typer.Option("--cost-s", metavar="S", help="Seconds a checkpoint stops the job.")
]
_Restart = Annotated[
    float | None,
    typer.Option("--restart-s", metavar="S", help="Seconds from a stop to the next step."),
]


def report(
    since: Since = None,
    until: Until = None,
    days: Days = 30,
    cluster: Cluster = None,
    gpus: _Gpus = None,
    cost_s: _Cost = None,
    restart_s: _Restart = None,
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Annotated[
        int, typer.Option("--top", metavar="N", help="Name at most so many nodes.")
    ] = 20,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the report; the help stands in ``HELP``."""
    if not 1 <= top <= 2_000:
        raise UsageError(f"--top {top}: give 1 to 2,000")
    asked = parse_period(since, until, days, cluster)
    with open_source(url, token_file, ca_file) as client:
        fleet = asked.asked(client, top=top, gpus=gpus, cost_s=cost_s, restart_s=restart_s)
        facts = fleet.to_dict()
        if format_ is Format.HTML:
            # The map of leaf switches shows every node.
            facts["standings"]["nodes"] = fleet.node_rows()
    emit(_render_answer(facts, format_, top, to_file=output is not None), output)


def _render_answer(facts: dict[str, Any], format_: Format, top: int, *, to_file: bool) -> bytes:
    """The answer in the form asked for; colours and width are those of stdout."""
    from triage.render.data.wire import encode

    if format_ is Format.JSON:
        return encode(facts)
    standings, num_checks = facts["standings"], facts["num_checks"]
    if format_ is Format.HTML:
        from triage.fleet.render.page import sections

        return sections.render(facts, standings, num_checks=num_checks).encode("utf-8")
    from triage.fleet.render.terminal import report as fleet_text

    text = fleet_text.render(
        facts,
        standings,
        colour=should_use_colour(to_file=to_file),
        width=get_output_columns(to_file=to_file),
        top=top,
        num_checks=num_checks,
    )
    return encode_output(text, to_file=to_file)
