"""A PostgreSQL database that a test was done with is as new for the next one, or is dropped."""

import psycopg
import pytest

from tests.support import databases
from tests.support.databases import connected, contents_of, migrated_postgres


@pytest.fixture(autouse=True)
def no_other_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "FREE", [])


def test_rows_sequences_and_connections_of_the_last_test_are_gone() -> None:
    with migrated_postgres() as url, connected(url) as there:
        before = contents_of(there)
        insert = "INSERT INTO cluster (name) VALUES ('a') RETURNING id"
        [[first]] = there.execute(insert)
    with migrated_postgres() as again, connected(again) as now:
        assert again == url
        assert contents_of(now) == before
        assert now.execute(insert).fetchone() == (first,)
    with pytest.raises(psycopg.Error):
        there.execute("SELECT 1")


DROP_AN_INDEX = """
DO $$ BEGIN EXECUTE (
    SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index
     WHERE NOT indisunique AND indrelid = 'incident'::regclass LIMIT 1
); END $$
"""


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE cluster ADD COLUMN more int", "CREATE TABLE empty ()", DROP_AN_INDEX,
     "ALTER TABLE cluster ALTER COLUMN name DROP NOT NULL",
     "ALTER TABLE cluster DISABLE TRIGGER ALL"],
)  # fmt: skip
def test_what_a_test_has_changed_is_used_by_no_other(change: str) -> None:
    with migrated_postgres() as url, connected(url) as there:
        there.execute(change)
    with migrated_postgres() as again:
        assert again != url
    databases.FREE.pop()[1].close()
