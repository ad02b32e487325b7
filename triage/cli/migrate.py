"""``triage migrate``: brings the database to a revision."""

from typing import Annotated

import typer

from triage.cli.extras import service_packages

__all__ = ["HELP", "migrate"]

HELP = """
Bring the database to the newest revision, or to another.

It may run while the release before is still running, and may run twice.
`triage serve` does it by itself for the database in its data directory.
"""


def migrate(
    to: Annotated[
        str,
        typer.Option(metavar="REVISION", help="A revision; head is the newest, base is none."),
    ] = "head",
) -> int:
    """Migrate; the help stands in ``HELP``."""
    with service_packages():
        from triage.logging import configure_logging
        from triage.services.schema import bring_schema
        from triage.settings import load_settings
        from triage.store.database.engine import open_database
        from triage.store.database.migrate import current_revision

        settings = load_settings()
        configure_logging(settings)
        database = open_database(settings)
        try:
            before = current_revision(database) or "base"
            after = bring_schema(database, to)
        finally:
            database.close()
        typer.echo(f"{before} -> {after}" if before != after else f"{after}, nothing to do")
        return 0
