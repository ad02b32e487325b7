"""Whether the database fits this release, and what to do when it does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.errors import UsageError
from triage.settings import Settings
from triage.store.access import audit
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import (
    copy_sqlite,
    head_revision,
    is_downgrade,
    list_known_revisions,
    migrate,
    read_current_revision,
)
from triage.store.messages.seals import seal_rows, unseal_rows
from triage.store.uploads.evidence import rewrite_extracts

log = structlog.get_logger(__name__)
# The revision of 0.2.0; what lies before it is read by 0.1.
_SECOND_RELEASE: Final = "0008"


def check_schema(settings: Settings) -> None:
    """Raises :class:`UsageError` with the next step for a database that is empty or older.

    One that is newer is taken: each migration works beside the release before it, and in
    an upgrade the database goes first.
    """
    database = open_database(settings)
    try:
        present, head = read_current_revision(database), head_revision()
        if present == head:
            return
        if present is None:
            raise UsageError("the database is empty: run `triage migrate` first")
        if present in list_known_revisions():
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
        if read_current_revision(database) != head_revision():
            keep_copy(database)
            before, after = read_current_revision(database), migrate(database)
            _note_migration(database, before, after)
            log.info("database migrated", revision=after)
    else:
        check_schema(settings)


def keep_copy(database: Database, to: str = "head") -> Path | None:
    """A copy of an SQLite database that is about to change its revision; None where none is made.

    Raises :class:`UsageError` where it cannot be made.
    """
    present = read_current_revision(database)
    target = head_revision() if to == "head" else to
    if present is None or present == target or present not in list_known_revisions():
        return None
    if not database.sqlite:
        return None
    copy = copy_sqlite(database, present, read_utc_now())
    log.info("database copied before it is migrated", copy=str(copy))
    return copy


def refuse_loss(database: Database, to: str, agreed: Callable[[str], bool]) -> None:
    """Raises :class:`UsageError` where going back to a revision may lose rows, unless that is
    ``agreed`` to: it is asked with a sentence that says so.
    """
    present = read_current_revision(database)
    if present is None or not is_downgrade(present, to):
        return
    what = f"going from revision {present} to {to} deletes for good what {to} has no place for"
    if not agreed(what):
        backup = "a copy of the file is made before" if database.sqlite else "run pg_dump before"
        raise UsageError(f"{what}. Nothing was done; --yes-delete does it ({backup})")


def bring_schema(database: Database, to: str = "head") -> str:
    """Bring the database to a revision, with seals and extracts as its release reads them.

    Returns the revision that it has. Raises :class:`UsageError` for one that is none.
    """
    present = read_current_revision(database)
    if is_downgrade(present, to):
        if present == head_revision():
            unseal_rows(database)
        if to != "base":
            from triage.parsers.extract import earlier

            first = is_downgrade(_SECOND_RELEASE, to)
            rewrite_extracts(
                database,
                earlier.convert_for_first_release if first else earlier.convert_for_second_release,
            )
    revision = migrate(database, to)
    if revision == head_revision():
        seal_rows(database)
        _note_migration(database, present, revision)
    return revision


def _note_migration(database: Database, before: str | None, after: str) -> None:
    """Write down who brought the database to the newest revision."""
    if before != after:
        with database.writing() as session:
            audit.note(session, "local", "migrate", after, read_utc_now(), {"from": before})
