"""Going back over a migration: what is lost is named first, and a copy is kept."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from models import Digest
from tests.parsers.extract.test_earlier import read_by_first_release
from tests.services.incidents.test_incident_life import JOB, announce_and_settle
from tests.support.databases import migrated_postgres, put_migrated_sqlite
from triage.cli.main import main
from triage.errors import UsageError
from triage.parsers.extract.wire import COMPACT, pack, unpack
from triage.sandbox.pool import Readers
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.schema import bring_schema, keep_copy, prepare_schema, refuse_loss
from triage.settings import Settings
from triage.store.database import migrate as copying
from triage.store.database.engine import open_database
from triage.store.database.migrate import migrate, read_current_revision


def no(what: str) -> bool:
    return False


@pytest.fixture
def filled(ctx: Context, readers: Readers) -> Context:
    """A database with an incident."""
    announce_and_settle(ctx, readers, JOB)
    return ctx


def test_going_back_is_asked_for_and_going_on_is_not(filled: Context) -> None:
    with pytest.raises(UsageError, match=r"to base deletes for good.*Nothing was done; --yes-del"):
        refuse_loss(filled.database, "base", no)
    refuse_loss(filled.database, "base", lambda what: "deletes for good" in what)
    refuse_loss(filled.database, "head", no)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: Readers) -> Path:
    """The data directory of a stopped service with an incident."""
    settings = Settings(data_dir=tmp_path / "service", min_free_bytes=0)
    put_migrated_sqlite(settings.data_dir)
    ctx = open_context(settings)
    announce_and_settle(ctx, readers, JOB)
    ctx.close()
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(settings.data_dir))
    return settings.data_dir


def rows(path: Path, table: str = "incident") -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_finding_19_without_a_terminal_nothing_is_deleted(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate", "--to", "base"]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "--yes-delete" in said.err
    assert rows(data / "triage.db") == 1


def test_finding_19_a_copy_is_kept_for_its_user_alone(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate", "--to", "base", "--yes-delete"]) == 0

    [copy] = data.glob("triage-before-*.db")
    assert str(copy) in capsys.readouterr().err
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert rows(copy) == 1
    assert rows(copy, "artifact") == len(JOB)


def test_finding_19_serve_copies_an_older_database_before_it_migrates(data: Path) -> None:
    settings = Settings(data_dir=data)
    database = open_database(settings)
    migrate(database, "0008")
    prepare_schema(settings, database)
    prepare_schema(settings, database)
    database.close()

    [copy] = data.glob("triage-before-0008-*.db")
    assert rows(copy) == 1


def test_without_room_for_the_copy_nothing_is_migrated(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=data)
    database = open_database(settings)
    migrate(database, "0008")
    monkeypatch.setattr(copying, "ROOM_BYTES", 1 << 60)

    with pytest.raises(UsageError, match="do not fit"):
        prepare_schema(settings, database)
    assert read_current_revision(database) == "0008"
    assert list(data.glob("triage-before-*")) == []
    database.close()


def test_postgresql_is_told_of_pg_dump(readers: Readers, tmp_path: Path) -> None:
    with migrated_postgres() as url:
        ctx = open_context(Settings(data_dir=tmp_path, database_url=url, min_free_bytes=0))
        announce_and_settle(ctx, readers, {"a.log": b"x\n"})
        assert keep_copy(ctx.database, "base") is None
        with pytest.raises(UsageError, match="pg_dump"):
            refuse_loss(ctx.database, "base", no)
        ctx.close()


@pytest.mark.parametrize("to", ["0007", "0008"])
def test_extracts_are_written_for_the_release_that_is_gone_back_to(
    filled: Context, to: str
) -> None:
    damaged = b"TRX\x03damaged"
    with filled.database.writing() as session:
        keys = session.scalars(select(Digest.artifact_id).order_by(Digest.artifact_id)).all()
        for key in keys:
            row = session.scalars(select(Digest).where(Digest.artifact_id == key)).one()
            row.extract = pack(unpack(row.extract), compact=True)
        row.extract = damaged

    assert bring_schema(filled.database, to) == to

    with filled.database.reading() as session:
        found = {one.artifact_id: one.extract for one in session.scalars(select(Digest))}
    assert found.pop(keys[-1]) == damaged
    for extract in found.values():
        unpack(extract)
        assert not extract.startswith(COMPACT)
        if to == "0007":
            read_by_first_release(extract)
    assert len(found) == len(keys) - 1 > 0
