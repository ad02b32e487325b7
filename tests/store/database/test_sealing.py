"""What a receiver is addressed and signed with cannot be read out of a copy of the rows."""

import base64
import re
import secrets as randomness
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.support.databases import migrated_postgres, put_migrated_sqlite
from triage.errors import UsageError
from triage.services.schema import bring_schema
from triage.settings import Settings
from triage.store.database.engine import Database, open_database
from triage.store.database.sealing import KEY_FILE, Sealer, parse_keys
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.seals import seal_rows, unseal_rows
from triage.store.messages.subscriptions import UNOPENED, NewSubscription
from triage.store.views import NewDelivery

NOW = datetime(2026, 11, 24, 3, 14, 15, tzinfo=UTC)
SLACK = "https://hooks.slack.com/services/T0/B0/very-secret-part"
ROUTING = "R0UT1NGKEYR0UT1NGKEYR0UT1NGKEY00"
SIGNING = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
PLAIN = (SLACK, "very-secret-part", ROUTING, SIGNING)


def key() -> str:
    return base64.b64encode(randomness.token_bytes(32)).decode()


def fill(database: Database) -> None:
    """One receiver of each kind with a secret, and a message that holds the secret."""
    with database.writing() as session:
        subscriptions.add(
            session, NewSubscription("s1", "slack", SLACK, None, [], ["incident.ready"]), NOW
        )
        subscriptions.add(
            session,
            NewSubscription("s2", "pagerduty", "https://e/x", ROUTING, [], ["incident.ready"]),
            NOW,
        )
        subscriptions.add(
            session,
            NewSubscription("s3", "generic", "https://e/x", None, [SIGNING], ["incident.ready"]),
            NOW,
        )
        for number, (receiver, url, body) in enumerate(
            [
                ("s1", SLACK, b"{}"),
                ("s2", "https://e/x", b'{"routing_key":"%b"}' % ROUTING.encode()),
            ]
        ):
            deliveries.add(
                session,
                NewDelivery(f"d{number}", receiver, None, 0, "fleet.digest", "POST", url, {}, body),
                NOW,
            )


def assert_readable(database: Database) -> None:
    with database.reading() as session:
        assert next(one.url for one in subscriptions.list_subscriptions(session)) == SLACK
        assert subscriptions.find(session, "s2").routing_key == ROUTING
        assert subscriptions.find(session, "s3").secrets == (SIGNING,)
        assert deliveries.list_pending(session, "s1")[0].url == SLACK
        assert ROUTING.encode() in deliveries.list_pending(session, "s2")[0].body
        assert len(subscriptions.list_by_event(session, "incident.ready")) == 3


def rows_of(database: Database) -> str:
    with database.reading() as session:
        return repr(
            session.execute(text("SELECT url, routing_key, secrets FROM subscription")).all()
            + [(u, bytes(b)) for u, b in session.execute(text("SELECT url, body FROM delivery"))]
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Opens one database by the keys that are given."""
    if request.param == "sqlite":
        put_migrated_sqlite(tmp_path / "data")
        yield lambda keys: open_database(Settings(data_dir=tmp_path / "data", secret_key=keys))
        return
    with migrated_postgres() as url:
        yield lambda keys: open_database(Settings(database_url=url, secret_key=keys))


class TestRows:
    def test_hold_no_secret_of_a_receiver(self, place):
        database = place(key())
        fill(database)

        assert_readable(database)
        stored = rows_of(database)
        assert not [word for word in PLAIN if word in stored]
        database.close()

    def test_in_clear_are_sealed_at_the_next_start_and_once(self, place):
        sealed_by, database = key(), place("")
        database.info = {"sealer": Sealer()}  # as a release without seals writes
        fill(database)
        assert SIGNING in rows_of(database)
        database.close()

        database = place(sealed_by)
        assert_readable(database)
        assert seal_rows(database) == 5
        assert seal_rows(database) == 0
        assert not [word for word in PLAIN if word in rows_of(database)]
        assert_readable(database)
        database.close()

    def test_under_an_old_key_are_renewed_under_the_first(self, place):
        old, new = key(), key()
        database = place(old)
        fill(database)
        database.close()

        database = place(f"{new},{old}")
        assert_readable(database)
        assert seal_rows(database) == 5
        database.close()

        database = place(new)
        assert_readable(database)
        database.close()

    def test_without_their_key_turn_receivers_off_and_nothing_else(self, place):
        right, wrong = key(), key()
        database = place(right)
        fill(database)
        database.close()

        database = place(wrong)
        with database.reading() as session:
            for one in subscriptions.list_subscriptions(session):
                if one.id != "s3":
                    assert not one.url or one.routing_key is None
                assert (one.disabled_at, one.disabled_why) == (NOW, UNOPENED)
                assert one.secrets in ((), ("",))
            assert subscriptions.list_by_event(session, "incident.ready") == []
            assert subscriptions.list_by_event(session, "incident.ready", "nothing") == []
            assert deliveries.list_pending(session, "s1") == []
            assert deliveries.find(session, "d0").url == ""
        assert seal_rows(database) == 0, "what cannot be opened is left as it is"
        database.close()

        database = place(right)
        assert_readable(database)
        database.close()

    def test_are_in_clear_again_before_a_step_back(self, place):
        database = place(key())
        fill(database)

        assert bring_schema(database, "0008") == "0008"

        assert all(word in rows_of(database) for word in PLAIN)
        bring_schema(database)
        assert not [word for word in PLAIN if word in rows_of(database)]
        assert_readable(database)
        assert unseal_rows(database) == 5
        database.close()


class TestKeys:
    def test_one_is_made_beside_an_embedded_database_and_kept(self, tmp_path: Path):
        open_database(Settings(data_dir=tmp_path)).close()
        made = (tmp_path / KEY_FILE).read_text()
        open_database(Settings(data_dir=tmp_path)).close()

        assert (tmp_path / KEY_FILE).read_text() == made
        assert len(base64.b64decode(made)) == 32
        assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
        assert sorted(path.name for path in tmp_path.iterdir()) == [KEY_FILE]

    def test_none_is_made_for_postgresql(self, tmp_path: Path):
        settings = Settings(
            data_dir=tmp_path, database_url="postgresql+psycopg://nobody@127.0.0.1:1/x"
        )
        open_database(settings).close()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("given", ["hunter2", "AAAA", "=", "whsec_" + "A" * 40, " , "])
    def test_what_is_no_key_is_refused_without_being_repeated(self, given: str):
        with pytest.raises(UsageError) as refused:
            parse_keys(given, "TRIAGE_SECRET_KEY")
        assert "TRIAGE_SECRET_KEY" in str(refused.value)
        assert given.strip(" ,") == "" or not re.search(
            re.escape(given) + r"\b", str(refused.value)
        )

    def test_either_base64_and_several_are_taken(self):
        raw = randomness.token_bytes(32)
        urlsafe = base64.urlsafe_b64encode(raw).decode()
        standard = base64.b64encode(raw).decode()
        assert parse_keys(f"{urlsafe}\n{standard},{key()}", "x")[:2] == (raw, raw)

    def test_a_mark_in_a_value_from_outside_is_no_seal(self):
        assert Sealer(parse_keys(key(), "x")).open("sealed:1:whatever") is None
        assert Sealer().open("sealed:1:whatever") is None
        assert Sealer().seal("plain") == "plain"
