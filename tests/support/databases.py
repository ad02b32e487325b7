"""Databases at the newest revision: copies of one that this process migrated once.

A migration from nothing takes longer than most tests. `tests/models` tests migrations; other
tests begin with a copy.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.servers import postgres_database
from triage.settings import Settings
from triage.store.database.engine import open_database
from triage.store.database.migrate import migrate

__all__ = ["drop_template", "migrated_postgres", "put_migrated_sqlite"]

TEMPLATE = ExitStack()


@cache
def sqlite_image() -> bytes:
    with TemporaryDirectory() as folder:
        database = open_database(Settings(data_dir=Path(folder)))
        migrate(database)
        database.close()
        (whole,) = Path(folder).glob("triage.db*")  # once closed, it has no log beside it
        return whole.read_bytes()


def put_migrated_sqlite(data_dir: Path) -> None:
    """Put a migrated SQLite database where a service with this data directory looks for it."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "triage.db").write_bytes(sqlite_image())


@cache
def postgres_template() -> str:
    url = TEMPLATE.enter_context(postgres_database())
    database = open_database(Settings(database_url=url))
    migrate(database)
    database.close()
    return url.rpartition("/")[2]


@contextmanager
def migrated_postgres() -> Iterator[str]:
    """The SQLAlchemy address of a migrated database, dropped afterwards."""
    with postgres_database(postgres_template()) as url:
        yield url


def drop_template() -> None:
    """Drop what the copies were made from."""
    postgres_template.cache_clear()
    TEMPLATE.close()
