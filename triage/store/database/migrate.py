"""The database's revision: where it stands, and how it comes to another one."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import text

from triage.errors import UsageError
from triage.store.database.engine import Database, translated

__all__ = ["current_revision", "goes_back", "head_revision", "known_revisions", "migrate"]

FOLDER: Final = Path(__file__).resolve().parents[3] / "migrations"
# "triage" in ASCII: one migration at a time on one PostgreSQL server's database.
LOCK: Final = 0x747269616765


def config() -> Config:
    found = Config()
    found.set_main_option("script_location", str(FOLDER))
    return found


def head_revision() -> str:
    """The newest revision that this release knows."""
    head = ScriptDirectory.from_config(config()).get_current_head()
    return head or ""


def known_revisions() -> set[str]:
    """All revisions that this release knows."""
    return set(revisions())


def current_revision(database: Database) -> str | None:
    """The database's revision; None for an empty one."""
    with translated(), database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def goes_back(present: str | None, to: str) -> bool:
    """Whether ``to`` lies before the present revision."""
    order = revisions()
    if to == "base":
        return True
    return present in order and to in order and order.index(to) < order.index(present)


def revisions() -> list[str]:
    """All revisions that this release knows, oldest first."""
    script = ScriptDirectory.from_config(config())
    return [one.revision for one in script.walk_revisions()][::-1]


def migrate(database: Database, to: str = "head") -> str:
    """Bring the database to a revision; the one it has then. Safe to call by two at once.

    Raises :class:`UsageError` for a revision that is none.
    """
    settings = config()
    with translated(), database.engine.connect() as connection:
        if database.sqlite:
            connection.execution_options(writes=True)
        else:
            from triage.store.database.postgres import without_limit

            without_limit(connection)
            connection.execute(text(f"SELECT pg_advisory_lock({LOCK})"))
            connection.commit()
        try:
            settings.attributes["connection"] = connection
            run(settings, to, MigrationContext.configure(connection).get_current_revision())
            connection.commit()
        finally:
            if not database.sqlite:
                connection.rollback()
                connection.execute(text(f"SELECT pg_advisory_unlock({LOCK})"))
                connection.commit()
    return current_revision(database) or "base"


def run(settings: Config, to: str, present: str | None) -> None:
    script = ScriptDirectory.from_config(settings)
    try:
        known = known_revisions()
        if present is not None and present not in known:
            raise UsageError(
                f"the database is at revision {present}, which this release does not know:"
                " it was migrated by a newer one; use that release"
            )
        wanted = script.get_current_head() if to == "head" else to
        if wanted not in {*known, "base"}:
            raise UsageError(f"{to} is no revision; there are: base, {', '.join(revisions())}")
        back = goes_back(present, str(wanted))
        (command.downgrade if back else command.upgrade)(settings, str(wanted))
    except CommandError as error:
        raise UsageError(f"migration to {to}: {error}") from error
