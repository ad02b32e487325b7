"""``triage fleet repairs``: which repairs hold, and who is on probation."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import Rows
from triage.cli.output import emit, get_output_columns, print_lines
from triage.errors import UsageError
from triage.fleet.cli.source import AsOf, Cluster, FleetQuery, FleetUrl, open_source

HELP = """
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
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many nodes.")] = 50,
    format_: Annotated[
        Rows, typer.Option("--format", "-f", help="text for people, or one JSON object a line.")
    ] = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the answer; the help stands in ``HELP``."""
    if limit < 1:
        raise UsageError(f"--limit {limit} shows nothing; give 1 or more")
    asked = FleetQuery.as_of(until, cluster)
    with open_source(url, token_file, ca_file) as client:
        found = asked.asked(client).repair_facts()
    if format_ is Rows.JSONL:
        from triage.render.data.wire import encode_line

        emit(b"".join(map(encode_line, found["probation"][:limit])))
        return
    from triage.fleet.render.terminal.repairs import repair_lines

    print_lines(repair_lines(found, get_output_columns(), most=limit))
