"""``triage token``: made, listed, revoked."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli.extras import service_packages

if TYPE_CHECKING:
    from triage.services.context import Context

__all__ = ["HELP", "app", "open_ready"]

HELP = """
Make, list and revoke tokens. One that is made counts at once.

\b
    triage token create --scope ingest --name epilogue > /etc/triage/token

Scopes: ingest (uploads and hooks), read (questions), admin (everything).
"""

app = typer.Typer(
    help=HELP, rich_markup_mode=None, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)  # fmt: skip


@app.command()
def create(
    scope: Annotated[
        list[str], typer.Option(metavar="NAME", help="ingest, read or admin; again for more.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Who uses it.")],
    expires_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Good for so many days; else until revoked."),
    ] = None,
) -> int:
    """Print a new token, alone on stdout; it is shown only here."""
    with service_packages():
        from triage.clock import utc_now
        from triage.services.tokens import create_token

        ctx = open_ready()
        try:
            expires = None if expires_days is None else utc_now() + timedelta(days=expires_days)
            made, token = create_token(ctx, name, scope, "local", expires)
        finally:
            ctx.close()
        typer.echo(token)
        typer.echo(f"triage: {made.id} made; it is not shown again", err=True)
        return 0


@app.command("list")
def list_all() -> int:
    """Print all tokens, without what is secret of them."""
    with service_packages():
        from triage.render.words.clean import one_line
        from triage.services.tokens import list_tokens

        ctx = open_ready()
        try:
            for one in list_tokens(ctx):
                until = "" if one.expires_at is None else f"until {one.expires_at:%Y-%m-%d %H:%M}Z"
                state = "revoked" if one.revoked_at is not None else until or "good"
                scopes = ",".join(sorted(one.scopes))
                typer.echo(f"{one.id}  {scopes:<12}  {state:<23}  {one_line(one.name)}")
        finally:
            ctx.close()
        return 0


@app.command()
def revoke(
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="Its id, as `triage token list` says.")
    ],
) -> int:
    """End a token at once."""
    with service_packages():
        from triage.services.tokens import revoke_token

        ctx = open_ready()
        try:
            revoke_token(ctx, key_id, "local")
        finally:
            ctx.close()
        return 0


def open_ready() -> "Context":
    """The context on a database that is at this release's revision."""
    from triage.logging import configure_logging
    from triage.server.context import open_context
    from triage.services.schema import prepare_schema
    from triage.settings import load_settings

    settings = load_settings()
    configure_logging(settings)
    ctx = open_context(settings)
    prepare_schema(settings, ctx.database)
    return ctx
