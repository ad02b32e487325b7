"""``triage incidents``: what the service knows of, newest first."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import Rows, parse_since_time
from triage.cli.output import emit, get_output_columns, print_lines

HELP = """
List the incidents of a service, newest first.

\b
Examples:
  triage incidents
  triage incidents --node n3 --since 30d
  triage incidents --state ready --category gpu_hbm --format jsonl | jq .id

TRIAGE_URL and TRIAGE_TOKEN_FILE stand for --url and --token-file.
"""


def incidents(
    job_id: Annotated[
        str | None, typer.Option("--job-id", metavar="ID", help="Only incidents of this job.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="NAME", help="Only incidents of this cluster."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME", help="Only incidents that suspect this node."),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option("--category", metavar="NAME", help="Only this cause, such as gpu_hbm."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="NAME", help="Only collecting, analysing, ready or failed."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Opened since: 6h or 30d ago, or RFC 3339."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="List at most N.")] = 20,
    format_: Annotated[
        Rows, typer.Option("--format", "-f", help="text for people, or one JSON object a line.")
    ] = Rows.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List; the help stands in ``HELP``."""
    after = None if since is None else parse_since_time(since)
    with open_client(url, token_file, ca_file) as client:
        filters = {
            "job_id": job_id,
            "cluster": cluster,
            "node": node,
            "category": category,
            "state": state,
            "since": after,
        }
        # One more than is shown tells whether there are more.
        rows = client.incident_rows(filters, limit=limit + 1)
    if format_ is Rows.JSONL:
        from triage.render.data.wire import encode_line

        emit(b"".join(map(encode_line, rows[:limit])))
        return
    from triage.render.terminal.listing import format_incident_lines

    print_lines(
        format_incident_lines(rows[:limit], more=len(rows) > limit, width=get_output_columns())
    )
