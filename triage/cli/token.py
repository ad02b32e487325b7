"""``triage token``: made, listed, revoked."""

from datetime import timedelta
from typing import Annotated

import typer

from triage.cli.extras import service_context

__all__ = ["HELP", "app"]

HELP = """
Make, list and revoke tokens. A new token is valid at once.

\b
    triage token create --scope ingest --name epilogue > /etc/triage/token

Scopes: ingest (uploads and hooks), read (questions), admin (everything).
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


@app.command()
def create(
    scope: Annotated[
        list[str], typer.Option(metavar="NAME", help="ingest, read or admin; repeatable.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Who uses the token.")],
    expires_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Days until it expires; never if left out."),
    ] = None,
) -> int:
    """Print a new token on stdout. It is shown only once."""
    with service_context() as ctx:
        from triage.clock import utc_now
        from triage.services.tokens import create_token

        expires = None if expires_days is None else utc_now() + timedelta(days=expires_days)
        made, token = create_token(ctx, name, scope, "local", expires)
    typer.echo(token)
    typer.echo(f"triage: {made.id} made; it is not shown again", err=True)
    return 0


@app.command("list")
def list_all() -> int:
    """List all tokens with scopes and state, without their secrets."""
    with service_context() as ctx:
        from triage.render.words.clean import one_line
        from triage.services.tokens import list_tokens

        for key in list_tokens(ctx):
            until = "" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d %H:%M}Z"
            state = "revoked" if key.revoked_at is not None else until or "good"
            scopes = ",".join(sorted(key.scopes))
            typer.echo(f"{key.id}  {scopes:<12}  {state:<23}  {one_line(key.name)}")
    return 0


@app.command()
def revoke(
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="The token's id, from `triage token list`.")
    ],
) -> int:
    """End a token at once."""
    with service_context() as ctx:
        from triage.services.tokens import revoke_token

        revoke_token(ctx, key_id, "local")
    return 0
