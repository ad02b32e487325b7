"""``triage store``: whose the blob store is, and what of it may go."""

from typing import Annotated

import typer

from triage.cli.extras import open_service_context

HELP = """
Say whose the blob store is, and make it this database's again.

Every database leaves a mark in its blob store. Where a mark of another one lies
there, nothing is deleted: it may be another installation's store, or this
database is new, a copy, or was restored to an older state.
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
_Yes = Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what it means.")]


@app.command()
def status() -> int:
    """Say whose the store is. Exit status: 0 this database's alone; 1 not."""
    with open_service_context() as ctx:
        from triage.services.retention.ownership import find_owner

        owner = find_owner(ctx)
    typer.echo(owner.words or "the blob store is this database's alone")
    for mark in owner.strangers:
        typer.echo(f"  {mark}")
    return 1 if owner.strangers else 0


@app.command()
def adopt(yes: _Yes = False) -> int:
    """Make the store this database's alone. Nothing else may write to it then.

    A week later, blobs that this database does not know are deleted, unless they are many.
    """
    with open_service_context() as ctx:
        from triage.errors import UsageError
        from triage.services.retention.ownership import adopt as take
        from triage.services.retention.ownership import find_owner

        owner = find_owner(ctx)
        if owner.strangers and not yes:
            raise UsageError(
                f"{owner.words}. With --yes the store is this database's alone, and a week later"
                " blobs that it does not know go: first see that no other service writes to"
                " TRIAGE_BLOB_URL, and that this database is the one to keep"
            )
        gone = take(ctx) if yes else ()
    typer.echo(f"adopted; {len(gone)} marks of others removed" if gone else "it is yours already")
    return 0


@app.command()
def sweep(yes: _Yes = False) -> int:
    """Delete blobs that no row has named for a week, however many they are."""
    with open_service_context() as ctx:
        from triage.clock import read_utc_now
        from triage.errors import UsageError
        from triage.services.retention.ownership import require_ownership
        from triage.services.retention.sweep import count_due_blobs
        from triage.services.retention.sweep import sweep as remove

        require_ownership(ctx)
        if not yes:
            num = count_due_blobs(ctx, read_utc_now())
            raise UsageError(f"{num:,} blobs would be deleted for good; --yes deletes them")
        done = remove(ctx, read_utc_now(), any_number=True)
    typer.echo(f"removed {done.num_removed:,} of {done.num_blobs:,} blobs")
    return 0
