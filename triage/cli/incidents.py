"""``triage incidents``: what the service knows of, newest first."""

import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli.analyze import colours, emit, width
from triage.cli.ask import CaFile, TokenFile, Url, asking
from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.render.terminal.text import Line

__all__ = ["HELP", "Rows", "columns", "incidents", "print_lines", "since_time"]

HELP = """
List the incidents of a service, newest first.

\b
Examples:
  triage incidents
  triage incidents --node n3 --since 30d
  triage incidents --state ready --category gpu_hbm --format jsonl | jq .id

TRIAGE_URL and TRIAGE_TOKEN_FILE stand for --url and --token-file.
"""


class Rows(StrEnum):
    """How rows are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def incidents(
    job_id: Annotated[
        str | None, typer.Option("--job-id", metavar="ID", help="Of this job.")
    ] = None,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="That suspect this node.")
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", metavar="NAME", help="Of this cause: gpu_hbm ...")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="NAME", help="collecting, analysing, ready or failed."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Opened then or later: 6h, 30d or RFC 3339."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")
    ] = 20,
    format_: Annotated[
        Rows, typer.Option("--format", "-f", help="text for people, or one JSON object a line.")
    ] = Rows.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List; the help stands in ``HELP``."""
    after = None if since is None else since_time(since)
    with asking(url, token_file, ca_file) as client:
        # One more than is shown tells whether there are more.
        asked = {
            "job_id": job_id, "node": node, "category": category, "state": state, "since": after,
        }  # fmt: skip
        found = client.incident_rows(asked, limit=limit + 1)
    if format_ is Rows.JSONL:
        from triage.render.data.wire import encode_line

        emit(b"".join(map(encode_line, found[:limit])))
        return
    from triage.render.terminal.listing import incident_lines

    print_lines(incident_lines(found[:limit], more=len(found) > limit, width=columns()))


def since_time(text: str) -> datetime:
    """``6h`` ago or an RFC 3339 time. Raises UsageError."""
    from triage.collectors.options import Misuse, seconds_of

    try:
        return datetime.fromtimestamp(seconds_of(text), UTC)
    except Misuse as error:
        raise UsageError(f"--since: {error}") from error
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"--since {text!r} is too long ago") from error


def columns() -> int:
    """Columns to fill on stdout."""
    return width(sys.stdout.isatty())


def print_lines(lines: "list[Line]") -> None:
    """Lines of text on stdout, in colour on a terminal that wants it."""
    from triage.render.terminal.text import painted

    colour = sys.stdout.isatty() and colours()
    shown = "".join(f"{painted(line, colour)}\n" for line in lines)
    emit(shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
