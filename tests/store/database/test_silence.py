"""A connection to PostgreSQL that falls silent is given up, and no thread waits without end."""

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from tests.support.databases import migrated_postgres
from tests.support.proxy import Fault, Proxy, proxied
from triage.errors import Unavailable
from triage.settings import Settings
from triage.store.database import postgres
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import migrate

# Of what is bounded by a second or so, on a busy machine.
SOON_S = 60.0


@pytest.fixture
def proxy() -> Iterator[tuple[Proxy, str]]:
    with migrated_postgres() as address:
        url = make_url(address)
        with proxied(url.host or "127.0.0.1", url.port or 5432) as found:
            through = url.set(host="127.0.0.1", port=found.port)
            yield found, through.render_as_string(hide_password=False)


@pytest.fixture
def database(proxy, monkeypatch) -> Iterator[Database]:
    monkeypatch.setattr(postgres, "PING_S", 0.5)
    monkeypatch.setattr(postgres, "MARGIN_S", 0.2)
    found = open_database(Settings(database_url=proxy[1], database_timeout_s=1.0))
    yield found
    threading.Thread(target=found.close, daemon=True).start()


def ended(act, within_s: float = SOON_S) -> object:
    """What ``act`` returned or raised; a failure where it still waits."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(act())
        except Exception as error:  # noqa: BLE001 - it is what is asked for
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(within_s)
    assert outcome, "it waits without end"
    return outcome[0]


def test_a_pooled_connection_that_went_silent_is_replaced(database: Database, proxy) -> None:
    database.check()
    proxy[0].set(Fault.HANG)
    assert ended(database.check) is None


def test_all_pooled_connections_that_went_silent_are_replaced(database: Database, proxy) -> None:
    gate = threading.Barrier(6)

    def hold() -> None:
        with database.reading() as session:
            session.execute(text("SELECT 1"))
            gate.wait(60)

    threads = [threading.Thread(target=hold) for _ in range(5)]
    for one in threads:
        one.start()
    gate.wait(60)
    for one in threads:
        one.join()
    proxy[0].set(Fault.HANG)
    assert [ended(database.check) for _ in range(6)] == [None] * 6


def test_a_statement_whose_answer_never_comes_is_given_up(database: Database, proxy) -> None:
    def ask() -> None:
        with database.writing() as session:
            session.execute(text("SELECT 1"))
            proxy[0].set(Fault.HANG)
            session.execute(text("SELECT 1"))

    assert isinstance(ended(ask), Unavailable)
    assert ended(database.check) is None, "the next one is made anew"


def test_a_commit_that_is_never_answered_is_given_up(database: Database, proxy) -> None:
    def write() -> None:
        with database.writing() as session:
            session.execute(text("CREATE TEMPORARY TABLE one (a int)"))
            proxy[0].set(Fault.HANG)

    assert isinstance(ended(write), Unavailable)


def test_a_server_that_is_silent_to_all_is_unavailable(database: Database, proxy) -> None:
    database.check()
    proxy[0].set(Fault.SILENT)
    assert isinstance(ended(database.check), Unavailable)
    proxy[0].set(Fault.NONE)
    assert ended(database.check) is None


def test_a_statement_that_takes_too_long_is_ended_by_the_server(database: Database) -> None:
    def ask() -> None:
        with database.reading() as session:
            session.execute(text("SELECT pg_sleep(30)"))

    began = time.monotonic()
    assert isinstance(ended(ask), Unavailable)
    assert time.monotonic() - began < 30


def test_a_migration_may_take_as_long_as_it_needs(database: Database) -> None:
    with database.engine.connect() as connection:
        postgres.lift_statement_limit(connection)
        connection.execute(text("SELECT pg_sleep(2)"))
    database.check()
    migrate(database)
