"""``triage node``: what the service knows of one node over all incidents."""

from enum import StrEnum
from typing import Annotated

import typer

from triage.cli.analyze import emit
from triage.cli.ask import CaFile, TokenFile, Url, asking
from triage.cli.incidents import columns, print_lines

__all__ = ["HELP", "node"]

HELP = """
Show the history of a node: incidents that suspect it, errors of its logs.

\b
Examples:
  triage node n3
  triage node n3 --format json | jq .rate
"""


class NodeFormat(StrEnum):
    """How the history is printed."""

    TEXT = "text"
    JSON = "json"


def node(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="As the scheduler names it.", show_default=False),
    ],
    format_: Annotated[
        NodeFormat, typer.Option("--format", "-f", help="text for people, or json.")
    ] = NodeFormat.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show; the help stands in ``HELP``."""
    with asking(url, token_file, ca_file) as client:
        history = client.node(name)
    if format_ is NodeFormat.JSON:
        from triage.render.data.wire import encode

        emit(encode(history.to_dict()))
        return
    from triage.render.terminal.listing import node_lines

    print_lines(node_lines(history.to_dict(), history.summary, columns()))
