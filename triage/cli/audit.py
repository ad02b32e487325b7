"""``triage audit``: who changed what."""

import json
from typing import Annotated

import typer

from triage.cli.extras import open_service_context
from triage.errors import UsageError

HELP = """
List who changed what, newest first.

\b
    triage audit --actor key_01... --since 2026-11-21T03:00Z
    triage audit --subject inc_01...

An act has a time, the id of a token (or local), what was done, to what, and
details as JSON. GET /v1/audit lists the same to tokens with the scope admin.
"""


def audit(
    actor: Annotated[
        str | None, typer.Option(metavar="ID", help="Only acts of this token, or local.")
    ] = None,
    action: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only such acts: taint token, log in ...")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what was done to this.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only what was done then or later.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Lines at most.")] = 100,
) -> int:
    """List acts; the help stands in ``HELP``."""
    with open_service_context() as ctx:
        from triage.domain.wire import format_iso_utc
        from triage.render.words.clean import format_one_line
        from triage.services.hooks.times import parse_moment
        from triage.store.access.audit import list_acts

        at = None if since is None else parse_moment(since)
        if since is not None and at is None:
            raise UsageError("--since needs a time with its zone, such as 2026-11-21T03:14:15Z")
        with ctx.database.reading() as session:
            acts = list_acts(session, limit, actor=actor, action=action, subject=subject, since=at)
        for act in acts:
            detail = json.dumps(act.detail, ensure_ascii=False, default=str) if act.detail else ""
            line = f"{format_iso_utc(act.at)}  {act.actor}  {act.action}  {act.subject}  {detail}"
            typer.echo(format_one_line(line).rstrip())
    return 0
