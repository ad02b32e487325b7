"""``triage fleet parts``: where a part is and was, by the identity that its maker gave it."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import Rows
from triage.cli.output import emit, get_output_columns, print_lines
from triage.errors import UsageError
from triage.fleet.cli.source import Cluster, FleetUrl, open_source

_HEAD = ("node", "cluster", "part", "identity", "slot", "first seen", "last seen")
_NOTHING = "Nothing has named it yet: docs/fleet.md says where identities come from."

HELP = """
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
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="All parts of this node.")
    ] = None,
    cluster: Cluster = None,
    format_: Annotated[
        Rows, typer.Option("--format", "-f", help="text for people, or one JSON object a line.")
    ] = Rows.TEXT,
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the stays; the help stands in ``HELP``."""
    if identity is None and node is None:
        raise UsageError("name a part by its identity, or a node with --node")
    with open_source(url, token_file, ca_file) as client:
        found = client.hardware_facts(identity, node=node, cluster=cluster)
    if format_ is Rows.JSONL:
        from triage.render.data.wire import encode_line

        emit(b"".join(map(encode_line, found["stays"])))
        return
    from triage.fleet.render.terminal.table import format_table_lines
    from triage.fleet.render.words import format_utc_day
    from triage.render.terminal.text import Line

    rows = [
        (
            *(stay[name] for name in ("node", "cluster", "kind", "identity", "slot")),
            format_utc_day(stay["first_at"]),
            format_utc_day(stay["last_at"]),
        )
        for stay in found["stays"]
    ]
    lines = (
        format_table_lines(_HEAD, rows, max(get_output_columns(), 100))
        if rows
        else [Line(_NOTHING)]
    )
    print_lines([*lines, *([Line("and more")] if found["more"] else [])])
