"""``triage prune``: removes what is older than it has to be kept."""

from typing import Annotated

import typer

from triage.cli.extras import open_service_context

HELP = """
Remove incidents and files whose time to be kept is over.

TRIAGE_KEEP_DAYS says for how many days settled incidents are kept, and
TRIAGE_KEEP_BLOBS_DAYS for how many days the bytes of their files are. Answers,
evidence and labels stay readable without the bytes.
The scheduler does the same once a day.
"""


def prune(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be removed; remove nothing.")
    ] = False,
    older_than_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Days an incident is kept [TRIAGE_KEEP_DAYS]."),
    ] = None,
    blobs_older_than_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Days its files are kept [TRIAGE_KEEP_BLOBS_DAYS]."),
    ] = None,
    trust_clock: Annotated[
        bool, typer.Option("--trust-clock", help="Although it has jumped: the time is right.")
    ] = False,
) -> int:
    """Remove what is too old; the help stands in ``HELP``."""
    with open_service_context() as ctx:
        from triage.services.incidents.retention import believe_clock
        from triage.services.incidents.retention import prune as remove

        if not dry_run and not trust_clock:
            believe_clock(ctx)
        keep, keep_blobs = ctx.settings.keep_days, ctx.settings.keep_blobs_days
        gone = remove(
            ctx,
            keep if older_than_days is None else older_than_days,
            keep_blobs if blobs_older_than_days is None else blobs_older_than_days,
            dry_run=dry_run,
        )
    typer.echo(
        f"{'would remove' if dry_run else 'removed'} {gone.num_incidents} incidents,"
        f" {gone.num_uploads} blobs, {gone.stored_bytes / 1e6:.1f} MB"
    )
    if gone.swept is not None and gone.swept.words:
        typer.echo(f"{gone.swept.words}: `triage store sweep`", err=True)
    return 0
