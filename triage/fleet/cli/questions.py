"""``triage fleet report``, ``nodes``, ``parts``, ``plan``, ``repairs``: what a record is asked."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import Format, Output, ReportFormat, Rows, TextOrJson, take
from triage.cli.output import (
    emit,
    encode_output,
    get_output_columns,
    print_lines,
    should_use_colour,
)
from triage.errors import UsageError
from triage.fleet.cli.source import (
    AsOf,
    Cluster,
    Days,
    FleetQuery,
    FleetUrl,
    Since,
    Until,
    open_source,
    parse_period,
)

REPORT_HELP = """
Say how often jobs stop, why, on which nodes, and what to plan with.

\b
Examples:
  triage fleet report --days 90 --cluster a
  triage fleet report --gpus 16384 --format html -o fleet.html
  triage fleet report --format json | jq .mtti

`triage fleet import` takes in what a rate rests on: who ran where, how long.
"""

_Gpus = Annotated[int | None, take("N", "GPUs of the job to plan for; else the usual one.")]
_Cost = Annotated[float | None, take("S", "Seconds a checkpoint stops the job.")]
_Restart = Annotated[float | None, take("S", "Seconds from a stop to the next step.")]

_RowsFormat = Annotated[
    Rows, take(None, "text for people, or one JSON object a line.", "--format", "-f")
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
    top: Annotated[int, take("N", "Name at most so many nodes.", min=1, max=2_000)] = 20,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the report; the help stands in ``REPORT_HELP``."""
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
        from triage.fleet.render import page

        return page.render(facts, standings, num_checks=num_checks).encode("utf-8")
    from triage.fleet.render.terminal import render

    text = render(
        facts,
        standings,
        colour=should_use_colour(to_file=to_file),
        width=get_output_columns(to_file=to_file),
        top=top,
        num_checks=num_checks,
    )
    return encode_output(text, to_file=to_file)


def _has_emitted(rows: Sequence[Mapping[str, Any]], format_: Rows) -> bool:
    """Whether the rows were printed one JSON object a line, as the format may ask."""
    if format_ is Rows.TEXT:
        return False
    from triage.render.data.wire import encode_line

    emit(b"".join(map(encode_line, rows)))
    return True


NODES_HELP = """
Say which nodes interrupt jobs more than chance explains, and why.

\b
Examples:
  triage fleet nodes --standing lemon
  triage fleet nodes --cluster a --format jsonl | jq -r .node

The worst come first; without --standing a text names lemons and nodes under
watch. A standing looks back over 112 days.
"""


class Standing(StrEnum):
    """The grades of ``triage.domain.standing``, which is not imported for a help."""

    GOLDEN = "golden"
    NORMAL = "normal"
    WATCH = "watch"
    LEMON = "lemon"
    UNKNOWN = "unknown"


def nodes(
    standing: Annotated[
        Standing | None, take("NAME", "golden, normal, watch, lemon or unknown.")
    ] = None,
    until: AsOf = None,
    cluster: Cluster = None,
    limit: Annotated[int, take("N", "At most so many.", min=1)] = 50,
    format_: _RowsFormat = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the standings; the help stands in ``NODES_HELP``."""
    asked = FleetQuery.as_of(until, cluster)
    wanted = None if standing is None else str(standing)
    with open_source(url, token_file, ca_file) as client:
        found = asked.asked(client).node_rows(wanted)
    if _has_emitted(found[:limit], format_):
        return
    from triage.fleet.render.terminal import format_standing_lines

    print_lines(format_standing_lines(found, get_output_columns(), wanted=wanted, most=limit))


_NO_PART = "Nothing has named it yet: docs/fleet.md says where identities come from."

PARTS_HELP = """
Say in which nodes a part is and was: a GPU, an adapter, a board, a chassis.

\b
Examples:
  triage fleet parts GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14
  triage fleet parts 1655023014410
  triage fleet parts --node n12 --format jsonl | jq -r .identity

The newest stay comes first, 200 at most. Parts come out of files of incidents
and of inventories that are imported.
"""


def parts(
    identity: Annotated[
        str | None,
        typer.Argument(metavar="[IDENTITY]", help="UUID, serial number or GUID of a part."),
    ] = None,
    node: Annotated[str | None, take("NAME", "All parts of this node.")] = None,
    cluster: Cluster = None,
    format_: _RowsFormat = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the stays; the help stands in ``PARTS_HELP``."""
    if identity is None and node is None:
        raise UsageError("name a part by its identity, or a node with --node")
    with open_source(url, token_file, ca_file) as client:
        found = client.hardware_facts(identity, node=node, cluster=cluster)
    if _has_emitted(found["stays"], format_):
        return
    from triage.fleet.render.tables import tabulate
    from triage.fleet.render.terminal import format_table_lines
    from triage.render.terminal.text import Line

    table, width = tabulate("stays", found["stays"]), max(get_output_columns(), 100)
    lines = format_table_lines(table.head, table.rows, width) if table else [Line(_NO_PART)]
    print_lines([*lines, *([Line("and more")] if found["more"] else [])])


PLAN_HELP = """
Plan a job of N GPUs: how often it stops, checkpoints, spares.

\b
Examples:
  triage fleet plan --gpus 16384
  triage fleet plan --gpus 131072 --hours 24 --cost-s 30 --confidence 0.999
"""


def plan(
    gpus: Annotated[int, take("N", "GPUs of the job.", min=1, max=10_000_000)],
    nodes: Annotated[
        int | None,
        take("N", "Nodes to keep spares for; else all of the record.", min=1, max=1_000_000),
    ] = None,
    hours: Annotated[float | None, take("H", "Also how likely it runs H hours unbroken.")] = None,
    cost_s: _Cost = None,
    restart_s: _Restart = None,
    repair_days: Annotated[
        float | None, take("D", "Days a node is away for repair; else as measured.")
    ] = None,
    confidence: Annotated[float, take("P", "How surely the spares are to suffice.")] = 0.99,
    since: Since = None,
    until: Until = None,
    days: Days = 30,
    cluster: Cluster = None,
    format_: Annotated[
        TextOrJson, take(None, "text for people, or json.", "--format", "-f")
    ] = TextOrJson.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the plan; the help stands in ``PLAN_HELP``."""
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
    if format_ is TextOrJson.JSON:
        from triage.render.data.wire import encode

        emit(encode(facts))
        return
    from triage.fleet.render.terminal import plan_lines

    print_lines(plan_lines(facts, get_output_columns()))


REPAIRS_HELP = """
Say which repairs hold, and which repaired nodes are likely to fail again.

\b
Examples:
  triage fleet repairs
  triage fleet repairs --cluster a --format jsonl | jq -r .node

A node is on probation while the chance of a fault within a week is more than
twice that of any node. JSON lines are the nodes on probation, the likeliest to
fail first. Outages and notes of the last two years count.
"""


def repairs(
    until: AsOf = None,
    cluster: Cluster = None,
    limit: Annotated[int, take("N", "At most so many nodes.", min=1)] = 50,
    format_: _RowsFormat = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the answer; the help stands in ``REPAIRS_HELP``."""
    asked = FleetQuery.as_of(until, cluster)
    with open_source(url, token_file, ca_file) as client:
        found = asked.asked(client).repair_facts()
    if _has_emitted(found["probation"][:limit], format_):
        return
    from triage.fleet.render.terminal import repair_lines

    print_lines(repair_lines(found, get_output_columns(), most=limit))
