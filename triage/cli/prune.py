"""``triage prune``: what is older than it has to be kept."""

from typing import Annotated

import typer

from triage.cli.extras import service_packages

__all__ = ["HELP", "prune"]

HELP = """
Remove settled incidents, and raw bytes, that are older than they are kept.

TRIAGE_KEEP_DAYS says how long incidents are kept, TRIAGE_KEEP_BLOBS_DAYS how
long the bytes of their files; answers, evidence and labels need no bytes.
The scheduler does the same once a day.
"""


def prune(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go; remove nothing.")
    ] = False,
    older_than_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Incidents older than this [TRIAGE_KEEP_DAYS]."),
    ] = None,
    blobs_older_than_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Bytes older than this [TRIAGE_KEEP_BLOBS_DAYS]."),
    ] = None,
) -> int:
    """Remove what is too old; the help stands in ``HELP``."""
    with service_packages():
        from triage.cli.token import open_ready
        from triage.services.incidents.retention import prune as remove

        ctx = open_ready()
        try:
            keep, keep_blobs = ctx.settings.keep_days, ctx.settings.keep_blobs_days
            gone = remove(
                ctx,
                keep if older_than_days is None else older_than_days,
                keep_blobs if blobs_older_than_days is None else blobs_older_than_days,
                dry_run=dry_run,
            )
        finally:
            ctx.close()
        typer.echo(
            f"{'would remove' if dry_run else 'removed'} {gone.num_incidents} incidents,"
            f" {gone.num_uploads} blobs, {gone.stored_bytes / 1e6:.1f} MB"
        )
        return 0
