"""``triage token``: made, listed, revoked."""

from typing import Annotated

import typer

from triage.cli.extras import service_context

__all__ = ["HELP", "app"]

HELP = """
Make, list and revoke tokens. A new token is valid at once.

\b
    triage token create --scope ingest --cluster a --name epilogue > /etc/triage/token

Scopes: ingest (uploads and hooks), read (questions), admin (everything).
A token with bounds reaches its cluster, nodes or job alone.
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
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Bind it to this cluster.")
    ] = None,
    node_pattern: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="Bind it to files of these nodes, such as gpu-0*."),
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="ID", help="Bind it to this job.")] = None,
    expires_days: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=36_500,
            metavar="N",
            help="Days until it expires; 0 is never. By default 365 with ingest, else never.",
        ),
    ] = None,
) -> int:
    """Print a new token on stdout. It is shown only once."""
    with service_context() as ctx:
        from triage.services.tokens import create_token, end_of

        made, token = create_token(
            ctx,
            name,
            scope,
            "local",
            end_of(scope, expires_days),
            cluster=cluster,
            node_pattern=node_pattern,
            job_id=job,
        )
    typer.echo(token)
    until = "" if made.expires_at is None else f", good until {made.expires_at:%Y-%m-%d}"
    typer.echo(f"triage: {made.id} made{until}; it is not shown again", err=True)
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
