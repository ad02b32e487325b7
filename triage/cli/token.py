"""``triage token``: made, listed, revoked."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from triage.cli.extras import open_service_context
from triage.cli.options import make_group, parse_zoned_time, take

if TYPE_CHECKING:
    from triage.store.views import KeyView

_MOST_SHOWN: Final = 20

HELP = """
Make, list, revoke and disbelieve tokens. A new token is valid at once.

\b
    triage token create --scope ingest --cluster a --name epilogue > /etc/triage/token

Scopes: ingest (uploads and hooks), read (questions), admin (everything).
A token with bounds reaches its cluster, nodes or job alone.
"""

app = make_group(HELP)


@app.command()
def create(
    scope: Annotated[list[str], take("NAME", "ingest, read or admin; repeatable.")],
    name: Annotated[str, take("NAME", "Who uses the token.")],
    cluster: Annotated[str | None, take("NAME", "Bind it to this cluster.")] = None,
    node_pattern: Annotated[
        str | None, take("GLOB", "Bind it to files of these nodes, such as gpu-0*.")
    ] = None,
    job: Annotated[str | None, take("ID", "Bind it to this job.")] = None,
    expires_days: Annotated[
        float | None,
        take(
            "N",
            "Days until it expires; 0 is never. By default 365 with ingest, else never.",
            min=0,
            max=36_500,
        ),
    ] = None,
) -> int:
    """Print a new token on stdout. It is shown only once."""
    with open_service_context() as ctx:
        from triage.services.tokens import compute_end, create_token

        made, token = create_token(
            ctx,
            name,
            scope,
            "local",
            compute_end(scope, expires_days),
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
    with open_service_context() as ctx:
        from triage.services.tokens import list_tokens

        for key in list_tokens(ctx):
            typer.echo(_format_token_line(key))
    return 0


def _format_token_line(key: "KeyView") -> str:
    """A token in a line: id, scopes, state, last use, name, bounds."""
    from triage.render.words.clean import format_one_line

    until = "" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d %H:%M}Z"
    state = "revoked" if key.revoked_at is not None else until or "good"
    state = "tainted" if key.tainted_at is not None else state
    used = "never used" if key.last_used_at is None else f"used {key.last_used_at:%Y-%m-%d %H:%M}Z"
    scopes = ",".join(sorted(key.scopes))
    bounds = {"cluster": key.cluster, "nodes": key.node_pattern, "job": key.job_id}
    bound = "".join(f"  {name}={format_one_line(value)}" for name, value in bounds.items() if value)
    return f"{key.id}  {scopes:<12}  {state:<23}  {used:<22}  {format_one_line(key.name)}{bound}"


_KeyId = Annotated[
    str, typer.Argument(metavar="ID", help="The token's id, from `triage token list`.")
]
_Since = Annotated[
    str | None, take("TIME", "Only what came then or later, such as 2026-11-21T03:14Z.")
]


@app.command()
def show(key_id: _KeyId, since: _Since = None) -> int:
    """What a token is bound to, and what it has brought."""
    with open_service_context() as ctx:
        from triage.services.taint import count_contribution

        found = count_contribution(ctx, key_id, parse_zoned_time(since))
        typer.echo(_format_token_line(found.key))
        for what, number in found.counts.items():
            typer.echo(f"{what.replace('_', ' ')}: {number:,}")
        typer.echo(f"incidents: {len(found.incidents):,}")
        for incident_id in found.incidents[:_MOST_SHOWN]:
            typer.echo(f"  {incident_id}")
    return 0


@app.command()
def taint(key_id: _KeyId, since: _Since = None) -> int:
    """End a token, set apart all that it brought, and answer its incidents again."""
    with open_service_context() as ctx:
        from triage.services.taint import taint_token

        done = taint_token(ctx, key_id, "local", parse_zoned_time(since))
    counts = ", ".join(
        f"{number:,} {what.replace('_', ' ')}" for what, number in done.counts.items()
    )
    typer.echo(f"set apart: {counts}; {len(done.incidents):,} incidents are answered again")
    return 0


@app.command()
def revoke(
    key_id: _KeyId,
) -> int:
    """End a token at once."""
    with open_service_context() as ctx:
        from triage.services.tokens import revoke_token

        revoke_token(ctx, key_id, "local")
    return 0
