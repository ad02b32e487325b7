"""A service that starts on another database than its store's serves, and erases nothing."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.waiting import eventually
from tests.workers.running import serving, triage, upload
from triage.store.blobs.folder import FolderBlobs
from triage.store.database.ids import make_id


def days_old(blobs: FolderBlobs, num: int) -> set[str]:
    """Blobs of three days ago."""
    for _ in range(num):
        blob = blobs.begin(make_id("blob", datetime.now(UTC) - timedelta(days=3)))
        blob.write(b"bytes")
        blob.commit()
    return set(blobs.keys())


def daily_round(data: Path) -> str | None:
    """When the clean-up is next due, once a worker has looked at it."""
    with closing(sqlite3.connect(data / "triage.db")) as database:
        asked = "SELECT not_before FROM work WHERE key = 'prune' AND state = 'waiting'"
        rows = database.execute(f"{asked} AND not_before > datetime('now', '+50 minutes')")
        return next((at for (at,) in rows), None)


def test_a_service_whose_database_is_lost_erases_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    there = days_old(FolderBlobs(data / "blobs", min_free_bytes=0), 5)

    with serving(tmp_path) as (_, address):
        eventually(lambda: daily_round(data))
        assert upload(address, "goes-on", 0) == 201
        assert there < set(FolderBlobs(data / "blobs").keys())

    assert "blobs would be deleted" in triage("store", "sweep", TRIAGE_DATA_DIR=data).stderr
    assert triage("prune", TRIAGE_DATA_DIR=data).returncode == 0
    assert there < set(FolderBlobs(data / "blobs").keys())
