"""``triage migrate``: brings the database to a revision."""

import sys
from typing import Annotated

import typer

from triage.cli.extras import require_service_packages

HELP = """
Bring the database to the newest revision, or to another.

It may run while the release before is still running, and may run twice.
Going back to a revision that has no place for some rows asks first, and needs
--yes-delete where nobody can be asked. An SQLite database is copied before.
`triage serve` does it by itself for the database in its data directory.
"""


def migrate(
    to: Annotated[
        str,
        typer.Option(metavar="REVISION", help="A revision; head is the newest, base is none."),
    ] = "head",
    yes_delete: Annotated[
        bool, typer.Option("--yes-delete", help="Delete rows that the revision has no place for.")
    ] = False,
    no_copy: Annotated[
        bool, typer.Option("--no-copy", help="Make no copy of an SQLite database before.")
    ] = False,
) -> int:
    """Migrate; the help stands in ``HELP``."""
    with require_service_packages():
        from triage.logging import configure_logging
        from triage.services.schema import bring_schema, keep_copy, refuse_loss
        from triage.settings import load_settings
        from triage.store.database.engine import open_database
        from triage.store.database.migrate import read_current_revision

        settings = load_settings()
        configure_logging(settings)
        database = open_database(settings)
        try:
            before = read_current_revision(database) or "base"
            refuse_loss(database, to, lambda what: yes_delete or _confirm_loss(what))
            copy = None if no_copy else keep_copy(database, to)
            after = bring_schema(database, to)
        finally:
            database.close()
        if copy is not None:
            typer.echo(f"triage: the database as it was is in {copy}", err=True)
        typer.echo(f"{before} -> {after}" if before != after else f"{after}, nothing to do")
        return 0


def _confirm_loss(what: str) -> bool:
    """Whether a person at a terminal says yes to a loss; without one, nobody does."""
    return sys.stdin.isatty() and typer.confirm(f"{what}. Do it?")
