"""``triage node``: what the service knows of one node over all incidents."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import TextOrJson
from triage.cli.output import emit, get_output_columns, print_lines

HELP = """
Show the history of a node: its incidents and errors.

\b
Examples:
  triage node n3
  triage node n3 --format json | jq .rate
"""


def node(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The node, as the scheduler names it.", show_default=False
        ),
    ],
    format_: Annotated[
        TextOrJson, typer.Option("--format", "-f", help="text for people, or json.")
    ] = TextOrJson.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show; the help stands in ``HELP``."""
    with open_client(url, token_file, ca_file) as client:
        history = client.node(name)
    if format_ is TextOrJson.JSON:
        from triage.render.data.wire import encode

        emit(encode(history.to_dict()))
        return
    from triage.render.terminal.listing import format_node_lines

    print_lines(format_node_lines(history.to_dict(), history.summary, get_output_columns()))
