"""A store and a database know each other; where they do not, nothing of the store is deleted."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.services.incidents.test_incident_life import upload
from tests.support.databases import put_migrated_sqlite
from triage.errors import Conflict
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.retention import ownership
from triage.services.retention.ownership import adopt, announce, find_owner, prune, sweep
from triage.settings import Settings
from triage.store.database.ids import make_id


@pytest.fixture
def database_url() -> str:
    """SQLite: what is tested is in the store."""
    return ""


@pytest.fixture
def other(ctx: Context, tmp_path: Path) -> Iterator[Context]:
    """A service with an empty database on the same store."""
    settings = Settings(data_dir=tmp_path / "other", min_free_bytes=0)
    put_migrated_sqlite(settings.data_dir)
    found = open_context(settings)
    yield replace(found, blobs=ctx.blobs)
    found.close()


def stored(ctx: Context, num: int, days_ago: float = 3.0) -> None:
    """Blobs that no row of this database refers to."""
    for _ in range(num):
        blob = ctx.blobs.begin(make_id("blob", datetime.now(UTC) - timedelta(days=days_ago)))
        blob.write(b"bytes")
        blob.commit()


def num_blobs(ctx: Context) -> int:
    return len(list(ctx.blobs.keys()))


def days_of_rounds(ctx: Context, days: int) -> None:
    """One round a day, from now on."""
    for day in range(days):
        sweep(ctx, datetime.now(UTC) + timedelta(days=day))


def later(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    monkeypatch.setattr(ownership, "read_utc_now", lambda: datetime.now(UTC) + timedelta(days=days))


def test_finding_2_an_empty_database_erases_nothing(
    ctx: Context, other: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        upload(ctx, {f"{number}.log": b"x\n"}, job_id=str(number))
    announce(ctx)

    for day in range(3, 20):
        later(monkeypatch, day)
        with pytest.raises(Conflict, match="holds marks that this database does not know"):
            prune(other, 90, 30)

    assert num_blobs(ctx) == 5


def test_finding_2_a_store_of_0_1_and_an_empty_database_are_not_taken_for_a_pair(
    ctx: Context,
) -> None:
    stored(ctx, 5)

    assert announce(ctx).strangers
    assert announce(ctx).strangers  # also after a restart
    with pytest.raises(Conflict):
        prune(ctx, 90, 30)

    assert num_blobs(ctx) == 5


def test_a_store_of_0_1_is_taken_where_rows_name_its_blobs(ctx: Context) -> None:
    upload(ctx, {"a.log": b"x\n"})
    stored(ctx, 3)

    assert not announce(ctx).strangers
    assert not find_owner(ctx).strangers


def test_an_empty_pair_belongs_together_and_starts_change_nothing(ctx: Context) -> None:
    for _ in range(3):
        assert not announce(ctx).strangers

    assert len(ctx.blobs.marks()) == 1


def test_finding_2_a_restored_database_does_not_know_the_mark_of_later(
    ctx: Context, tmp_path: Path
) -> None:
    upload(ctx, {"a.log": b"x\n"})
    announce(ctx)
    older = copied(ctx, tmp_path / "older")
    announce(ctx)
    upload(ctx, {"b.log": b"x\n"}, job_id="later")

    assert announce(older).strangers
    with pytest.raises(Conflict):
        prune(older, 90, 30)
    older.close()


def test_finding_2_a_copy_of_the_database_and_its_original_see_each_other(
    ctx: Context, tmp_path: Path
) -> None:
    announce(ctx)
    copy = copied(ctx, tmp_path / "copy")

    assert not announce(copy).strangers  # the store still has the mark that both know

    assert announce(ctx, anew=False).strangers
    assert announce(copy, anew=False).strangers
    for one in (ctx, copy):
        with pytest.raises(Conflict):
            prune(one, 90, 30)
    copy.close()


def test_two_installations_on_one_store_both_stop(ctx: Context, other: Context) -> None:
    upload(ctx, {"a.log": b"x\n"})
    announce(ctx)
    announce(other)

    for one in (ctx, other):
        with pytest.raises(Conflict):
            prune(one, 90, 30)


def test_adopted_it_is_ours_and_who_still_writes_there_is_seen_again(
    ctx: Context, other: Context
) -> None:
    announce(other)
    upload(ctx, {"a.log": b"x\n"})
    announce(ctx)

    assert len(adopt(ctx)) == 1
    prune(ctx, 90, 30)
    assert adopt(ctx) == ()

    announce(other, anew=False)
    assert find_owner(ctx).strangers


def test_what_was_marked_before_the_adoption_has_its_week_from_then_on(
    ctx: Context, other: Context
) -> None:
    upload(ctx, {f"{number}.log": b"x\n" for number in range(3)})
    stored(ctx, 2)
    announce(ctx)
    days_of_rounds(ctx, 8)
    announce(other)

    adopt(ctx)

    assert sweep(ctx, datetime.now(UTC) + timedelta(days=9)).num_removed == 0


def copied(ctx: Context, folder: Path) -> Context:
    """A service on a copy of the database as it is now, and on the same store."""
    folder.mkdir(mode=0o700)
    with closing(sqlite3.connect(ctx.settings.data_dir / "triage.db")) as source:
        source.execute("VACUUM INTO ?", (str(folder / "triage.db"),))
    found = open_context(Settings(data_dir=folder, min_free_bytes=0))
    shutil.rmtree(folder / "blobs")
    return replace(found, blobs=ctx.blobs)
