"""Whether the database fits this release, and what to do when it does not."""

import structlog

from triage.clock import utc_now
from triage.errors import UsageError
from triage.settings import Settings
from triage.store.access import audit
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import current_revision, head_revision, known_revisions, migrate
from triage.store.messages.seals import seal_rows, unseal_rows

__all__ = ["bring_schema", "check_schema", "prepare_schema"]

log = structlog.get_logger(__name__)


def check_schema(settings: Settings) -> None:
    """Raises :class:`UsageError` with the next step for a database that is empty or older.

    One that is newer is taken: each migration works beside the release before it, and in
    an upgrade the database goes first.
    """
    database = open_database(settings)
    try:
        present, head = current_revision(database), head_revision()
        if present == head:
            return
        if present is None:
            raise UsageError("the database is empty: run `triage migrate` first")
        if present in known_revisions():
            raise UsageError(
                f"the database is at revision {present}, this release needs {head}:"
                " run `triage migrate` first"
            )
        log.warning("the database is newer than this release", revision=present, known=head)
    finally:
        database.close()


def prepare_schema(settings: Settings, database: Database) -> None:
    """Migrate an embedded database that is empty or older; check any other one.

    Raises :class:`UsageError`, also for an embedded database of a newer release.
    """
    if settings.embedded_database:
        if current_revision(database) != head_revision():
            before, after = current_revision(database), migrate(database)
            note_migration(database, before, after)
            log.info("database migrated", revision=after)
    else:
        check_schema(settings)


def bring_schema(database: Database, to: str = "head") -> str:
    """Bring the database to a revision, with seals as that revision knows them; the one it has.

    Raises :class:`UsageError` for a revision that is none.
    """
    present = current_revision(database)
    if to != "head" and present == head_revision():
        unseal_rows(database)
    revision = migrate(database, to)
    if revision == head_revision():
        seal_rows(database)
        note_migration(database, present, revision)
    return revision


def note_migration(database: Database, before: str | None, after: str) -> None:
    """Write down who brought the database to the newest revision."""
    if before != after:
        with database.writing() as session:
            audit.note(session, "local", "migrate", after, utc_now(), {"from": before})
