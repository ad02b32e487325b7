"""What becomes of a database's own troubles: a clear answer, and work again once they end."""

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import orjson
import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError, StatementError

from models import Audit, Base, Cluster, Job
from models.base import Name
from tests.store.conftest import NOW, uploaded
from tests.support.servers import postgres_database
from triage.errors import StorageFull, Unavailable, UsageError
from triage.settings import Settings
from triage.store import jobs, nodes
from triage.store.access import audit
from triage.store.database.engine import open_database
from triage.store.database.group_commit import GroupCommit
from triage.store.database.migrate import migrate
from triage.store.incidents import incidents
from triage.store.incidents.facts import read_facts_json
from triage.store.uploads import evidence
from triage.store.uploads.evidence import Reading

HOSTILE = {
    "nul": "a\x00b",
    "half of a pair": "a\ud83db",
    "beyond 16 bits": "gpu \U0001f525 \U0010ffff",
    "long": "".join(chr(33 + k * 7919 % 90) for k in range(5000)),
    "long, 4 bytes each": "".join(chr(0x10000 + k * 7919 % 60000) for k in range(5000)),
    "quotes": "'; DROP TABLE incident; -- \\ \" %s :x",
}


def test_sqlite_keeps_what_was_committed(tmp_path):
    found = open_database(Settings(data_dir=tmp_path / "new" / "folder"))
    with found.writing() as session:
        said = {
            name: session.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    found.close()
    assert said == {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000,
    }  # fmt: skip


def test_a_reference_to_nothing_is_refused(database):
    job = insert(Job).values(cluster_id=9999, job_id="x", last_turn=0, created_at=NOW)

    with pytest.raises(IntegrityError), database.writing() as session:
        session.execute(job)


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", "http://"])
def test_an_address_that_is_none_is_a_mistake_of_the_user(url):
    with pytest.raises(UsageError, match="TRIAGE_DATABASE_URL"):
        open_database(Settings(database_url=url))


def test_every_text_column_is_one_that_takes_any_text():
    from models.base import CleanText, Json

    for table in Base.metadata.tables.values():
        for column in table.columns:
            if column.type.python_type is str:
                assert isinstance(column.type, CleanText | Name | Json), column


@pytest.mark.parametrize("given", HOSTILE.values(), ids=HOSTILE)
def test_names_from_outside_can_be_kept_and_found(database, unique, opened, given):
    name = unique + given
    incident_id = opened(name, cluster=name, facts={"job_id": name, "nodes": [name], name: 1})
    with database.writing() as session:
        jobs.note_nodes_seen(session, jobs.find_cluster(session, incident_id), [name, name], NOW)
        later = NOW + timedelta(hours=1)
        jobs.note_nodes_seen(session, jobs.find_cluster(session, incident_id), [name], later)
        audit.note(session, name, "tested", name, NOW, {name: name})

    assert opened(name, cluster=name) == incident_id
    with database.reading() as session:
        [row] = incidents.list_incidents(session, job_id=name)
        found = nodes.read_history(session, name, NOW)
        facts = orjson.loads(read_facts_json(session, incident_id))
        assert incidents.find(session, given) is None
        assert incidents.list_incidents(session, node=given, state=given, category=given) == []
    assert row.id == incident_id
    assert found["last_seen_at"] == "2026-11-21T04:14:15.926Z"
    assert facts["nodes"][0].startswith(unique)
    if (given.isascii() and "\x00" not in given) or "\U0001f525" in given:
        assert facts["nodes"] == [name]


@pytest.mark.parametrize("given", HOSTILE.values(), ids=HOSTILE)
def test_rows_of_logs_hold_any_text_and_number(database, unique, opened, given):
    incident_id = opened(unique)
    _, made = uploaded(database, incident_id, "one")
    row = dict.fromkeys(evidence.COLUMNS, given) | {
        "role": "root", "at": "2026-11-21T03:14:15.926Z", "rank": 10**30, "line": -(10**30),
        "code": 2**40, "count": 2**63, "artifact": given, "extra": {given: given}, "n": 10**40,
    }  # fmt: skip
    with database.writing() as session:
        readings = [Reading(made["one"], b"\x00\xff", [row])]
        evidence.add_readings(session, incident_id, readings)
        evidence.add_readings(session, incident_id, readings)

    with database.reading() as session:
        [(_, kept)] = evidence.list_by_incident(session, incident_id, node=given, role="root")
        assert list(evidence.read_extracts(session, incident_id)) == [b"\x00\xff"]
    assert kept["code"] == 2**40
    assert (kept["rank"], kept["line"], kept["count"]) == (2**63 - 1, -(2**63 - 1), 2**63 - 1)
    if "\x00" not in given and "\ud83d" not in given:
        assert kept["text"] == kept["gpu"] == kept["signature"] == given


def test_facts_that_json_cannot_hold_are_kept_as_far_as_it_can(database, unique, opened):
    deep: dict = {}
    for _ in range(900):
        deep = {"d": deep}
    facts = {"big": 2**70, "deep": deep, "half": "\udc00", "fine": [1, None, 0.5], 5: "five"}

    incident_id = opened(unique, facts=facts)

    with database.reading() as session:
        kept = orjson.loads(read_facts_json(session, incident_id))
    assert (kept["big"], kept["half"], kept["fine"]) == (str(2**70), "\ufffd", [1, None, 0.5])
    assert kept["deep"]["d"]["d"]


def test_two_long_names_that_begin_alike_are_two(database, unique, opened):
    one, other = (opened(unique + "x" * 3000 + end) for end in ("a", "b"))

    assert one != other


def test_times_come_back_as_they_went_in(database, unique, opened):
    zone = timezone(timedelta(hours=5, minutes=30))
    at = NOW.astimezone(zone)
    incident_id = opened(unique, now=at)

    with database.reading() as session:
        found = incidents.find(session, incident_id)
    assert found.created_at == at
    assert found.created_at.tzinfo is UTC
    assert found.created_at.microsecond == 926535


def test_a_time_without_a_zone_is_refused(database, unique, opened):
    with pytest.raises(StatementError, match="without a zone"):
        opened(unique, now=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_server_that_is_not_there_is_unavailable():
    with socket.socket() as kept:  # bound, so that nobody else gets it, and not listening
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        found = open_database(Settings(database_url=f"postgresql://nobody@127.0.0.1:{port}/x"))

        with pytest.raises(Unavailable, match="does not answer"):
            found.check()
        with pytest.raises(Unavailable), found.writing() as session:
            session.execute(text("SELECT 1"))
        commit = GroupCommit(found)
        with pytest.raises(Unavailable):
            commit(lambda session: session.execute(text("SELECT 1")))
        commit.close()
        found.close()


def test_a_server_that_goes_away_in_between_is_found_again():
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        migrate(found)
        other = open_database(Settings(database_url=url))
        kill = text(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

        def interrupted():
            with found.writing() as session:
                session.add(Cluster(name="lost"))
                session.flush()
                with other.reading() as killer:
                    killer.execute(kill)
                session.execute(text("SELECT 1"))

        with pytest.raises(Unavailable):
            interrupted()
        with found.writing() as session:
            assert session.scalars(select(Cluster.name)).all() == []
            session.add(Cluster(name="kept"))
        with other.reading() as killer:
            assert killer.scalar(kill) >= 1
        with found.reading() as session:  # the connection in the pool is dead
            assert session.scalars(select(Cluster.name)).all() == ["kept"]
        other.close()
        found.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    where = tmp_path / "small"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(where)],
        capture_output=True, check=False,
    )  # fmt: skip
    if os.getuid() or made.returncode:
        pytest.skip("only root can make a small disk")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def test_a_full_disk_is_said_and_nothing_of_the_write_is_kept(small_disk: Path):
    found = open_database(Settings(data_dir=small_disk))
    migrate(found)
    commit = GroupCommit(found)
    commit(lambda session: session.add(Cluster(name="before")))
    filler = small_disk / "filler"
    full = False
    with filler.open("wb", buffering=0) as file:
        while not full:
            try:
                file.write(b"x" * 4096)
            except OSError:
                full = True

    def write(session):
        session.add(Cluster(name="large" + "y" * 400))
        session.add_all(
            [Audit(
                at=NOW, actor="z" * 100_000, action="x", subject="x", detail={}
            ) for _ in range(20)]
        )  # fmt: skip
        session.flush()

    for _ in range(2):
        with pytest.raises(StorageFull), found.writing() as session:
            write(session)
        with pytest.raises(StorageFull):
            commit(write)
    with found.reading() as session:
        assert session.scalars(select(Cluster.name)).all() == ["before"]

    filler.unlink()
    commit(lambda session: session.add(Cluster(name="after")))
    with found.reading() as session:
        assert sorted(session.scalars(select(Cluster.name))) == ["after", "before"]
    commit.close()
    found.close()


LOCK = """
import sqlite3, sys, time
one = sqlite3.connect(sys.argv[1], isolation_level=None)
one.execute("BEGIN IMMEDIATE")
one.execute("INSERT INTO cluster (name) VALUES ('theirs')")
print("held", flush=True)
sys.stdin.readline()
time.sleep(0.5)
one.execute("COMMIT")
"""


def test_while_another_process_writes_it_waits_and_readers_read(tmp_path):
    found = open_database(Settings(data_dir=tmp_path))
    migrate(found)
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, str(tmp_path / "triage.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as other:  # fmt: skip
        assert other.stdout.readline() == b"held\n"
        with found.reading() as session:
            assert session.scalars(select(Cluster.name)).all() == []
        other.stdin.write(b"let go, soon\n")
        other.stdin.flush()
        with found.writing() as session:
            assert session.scalars(select(Cluster.name)).all() == ["theirs"]
            session.add(Cluster(name="ours"))
    assert other.returncode == 0
    found.close()


def test_a_file_that_is_no_database_is_said(tmp_path):
    (tmp_path / "triage.db").write_bytes(b"not a database at all" * 100)
    found = open_database(Settings(data_dir=tmp_path))

    with pytest.raises(Unavailable):
        found.check()
    found.close()


def test_a_connection_in_use_ends_with_a_closed_database_when_it_is_given_back() -> None:
    with postgres_database() as url:
        database = open_database(Settings(database_url=url))
        with database.reading() as session:
            session.execute(text("SELECT 1"))
            used = session.connection().connection.driver_connection
            database.close()
        assert used is not None
        assert used.closed
