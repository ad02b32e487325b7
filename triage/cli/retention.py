"""``triage retention``: for how long a cluster's incidents and files are kept."""

from typing import Annotated

import typer

from triage.cli.extras import open_service_context

HELP = """
Say for how long incidents and files of a cluster are kept.

A cluster without days of its own goes by TRIAGE_KEEP_DAYS and
TRIAGE_KEEP_BLOBS_DAYS.
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


@app.command("set")
def set_days(
    cluster: Annotated[str, typer.Option(metavar="NAME", help="The cluster, as jobs name it.")],
    days: Annotated[
        float | None, typer.Option(min=0.01, metavar="N", help="Days an incident is kept.")
    ] = None,
    blob_days: Annotated[
        float | None, typer.Option(min=0.01, metavar="N", help="Days its files are kept.")
    ] = None,
) -> int:
    """Set both for one cluster; what is left out goes by the settings."""
    with open_service_context() as ctx:
        from triage.services.incidents.retention import keep_for

        keep_for(ctx, cluster, days, blob_days, "local")
    typer.echo(f"{cluster}: {_describe_days(days)}, files {_describe_days(blob_days)}")
    return 0


@app.command("list")
def list_all() -> int:
    """List the clusters that have days of their own."""
    with open_service_context() as ctx:
        from triage.render.words.clean import format_one_line
        from triage.store.incidents.retention import own_periods

        with ctx.database.reading() as session:
            found = own_periods(session)
    for one in found:
        words = f"{_describe_days(one.keep_days)}, files {_describe_days(one.keep_blobs_days)}"
        typer.echo(f"{format_one_line(one.cluster)}: {words}")
    return 0


def _describe_days(days: float | None) -> str:
    return "as the settings say" if days is None else f"{days:g} days"
