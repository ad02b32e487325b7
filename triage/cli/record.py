"""Commands that ask what a service has on record: ``incidents``, ``show``, ``node``."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import (
    AnswerFormat,
    Format,
    IncidentId,
    Output,
    ReportFormat,
    Rows,
    TextOrJson,
    Top,
    parse_since_time,
    take,
)
from triage.cli.output import emit, get_output_columns, print_lines, render_answer
from triage.errors import Conflict, UsageError


def incidents(
    job_id: Annotated[str | None, take("ID", "Only incidents of this job.")] = None,
    cluster: Annotated[str | None, take("NAME", "Only incidents of this cluster.")] = None,
    node: Annotated[str | None, take("NAME", "Only incidents that suspect this node.")] = None,
    category: Annotated[str | None, take("NAME", "Only this cause, such as gpu_hbm.")] = None,
    state: Annotated[
        str | None, take("NAME", "Only collecting, analysing, ready or failed.")
    ] = None,
    since: Annotated[str | None, take("TIME", "Opened since: 6h or 30d ago, or RFC 3339.")] = None,
    limit: Annotated[int, take("N", "List at most N.", "--limit", min=1)] = 20,
    format_: Annotated[
        Rows, take(None, "text for people, or one JSON object a line.", "--format", "-f")
    ] = Rows.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the incidents of a service, newest first.

    \b
    Examples:
      triage incidents
      triage incidents --node n3 --since 30d
      triage incidents --state ready --category gpu_hbm --format jsonl | jq .id

    TRIAGE_URL and TRIAGE_TOKEN_FILE stand for --url and --token-file.
    """
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


def show(
    incident_id: IncidentId,
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show the answer to one incident.

    It is printed as `triage analyze` prints it.

    \b
    Examples:
      triage show inc_01m7z63k2atd86c7aaq2
      triage show inc_01m7z63k2atd86c7aaq2 --format json | jq .verdict

    `triage incidents` lists the ids, `triage watch` waits for an answer.
    """
    with open_client(url, token_file, ca_file) as client:
        try:
            answer = client.incident(incident_id).report.answer
        except Conflict as error:
            raise UsageError(f"{error.detail}; triage watch {incident_id} waits for it") from error
    emit(render_answer(answer, format_, top, to_file=output is not None), output)


def node(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The node, as the scheduler names it.", show_default=False
        ),
    ],
    format_: AnswerFormat = TextOrJson.TEXT,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show the history of a node: its incidents and errors.

    \b
    Examples:
      triage node n3
      triage node n3 --format json | jq .rate
    """
    with open_client(url, token_file, ca_file) as client:
        history = client.node(name)
    if format_ is TextOrJson.JSON:
        from triage.render.data.wire import encode

        emit(encode(history.to_dict()))
        return
    from triage.render.terminal.listing import format_node_lines

    print_lines(format_node_lines(history.to_dict(), history.summary, get_output_columns()))
