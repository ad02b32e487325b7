"""What every use-case needs: settings, database, blobs, and wake-ups."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from triage.queue import NoWakeups, Wakeups
from triage.services.uploads.queue_length import Line
from triage.settings import Settings
from triage.store.blobs import Blobs, blobs_from
from triage.store.database import Database, open_database
from triage.store.group_commit import GroupCommit

__all__ = ["Context", "open_context", "utc_now"]


def utc_now() -> datetime:
    """The time; tests put another in its place."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Context:
    """One process's way to everything outside it; shared between its threads."""

    settings: Settings
    database: Database
    blobs: Blobs
    wakeups: Wakeups
    commit: GroupCommit
    line: Line = field(default_factory=Line)

    def close(self) -> None:
        """End threads and connections."""
        self.commit.close()
        self.database.close()


def open_context(settings: Settings, wakeups: Wakeups | None = None) -> Context:
    """The context of these settings; nothing is connected yet.

    Raises :class:`UsageError` for settings that cannot be.
    """
    database = open_database(settings)
    blobs = blobs_from(
        settings.blob_url or None,
        settings.data_dir,
        environ=settings.blob_options,
        min_free_bytes=settings.min_free_bytes,
    )
    return Context(settings, database, blobs, wakeups or NoWakeups(), GroupCommit(database))
