"""Databases without tables, one of each kind."""

import pytest

from tests.support.servers import postgres_database
from triage.settings import Settings
from triage.store.database.engine import open_database


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request, tmp_path):
    """A database without tables."""
    if request.param == "sqlite":
        found = open_database(Settings(database_url=f"sqlite:///{tmp_path}/triage.db"))
        yield found
        found.close()
        return
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        yield found
        found.close()
