"""``triage fleet nodes``: how the nodes stand, the worst first."""

from enum import StrEnum
from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import Rows
from triage.cli.output import emit, get_output_columns, print_lines
from triage.errors import UsageError
from triage.fleet.cli.source import AsOf, Cluster, FleetQuery, FleetUrl, open_source

HELP = """
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
        Standing | None,
        typer.Option("--standing", metavar="NAME", help="golden, normal, watch, lemon or unknown."),
    ] = None,
    until: AsOf = None,
    cluster: Cluster = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many.")] = 50,
    format_: Annotated[
        Rows, typer.Option("--format", "-f", help="text for people, or one JSON object a line.")
    ] = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the standings; the help stands in ``HELP``."""
    if limit < 1:
        raise UsageError(f"--limit {limit} shows nothing; give 1 or more")
    asked = FleetQuery.as_of(until, cluster)
    wanted = None if standing is None else str(standing)
    with open_source(url, token_file, ca_file) as client:
        found = asked.asked(client).node_rows(wanted)
    if format_ is Rows.JSONL:
        from triage.render.data.wire import encode_line

        emit(b"".join(map(encode_line, found[:limit])))
        return
    from triage.fleet.render.terminal.standings import format_standing_lines

    print_lines(format_standing_lines(found, get_output_columns(), wanted=wanted, most=limit))
