"""A service that starts on another database than its store's serves, says so, erases nothing."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.waiting import eventually
from tests.workers.running import call, serving, triage, upload
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


def test_finding_2_a_service_whose_database_is_lost_erases_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    there = days_old(FolderBlobs(data / "blobs", min_free_bytes=0), 5)

    with serving(tmp_path) as (_, address):

        def told() -> bool:
            parts = {one["name"]: one for one in call(f"{address}/readyz")[1]["parts"]}
            blobs = parts["blobs"]
            return blobs["state"] == "warn" and "does not know" in blobs["detail"]

        eventually(told)
        eventually(lambda: daily_round(data))
        assert upload(address, "goes-on", 0) == 201
        assert there < set(FolderBlobs(data / "blobs").keys())

    def command(*words: str) -> int:
        return triage(*words, TRIAGE_DATA_DIR=data).returncode

    assert "does not know" in triage("doctor", TRIAGE_DATA_DIR=data).stdout
    assert [command("prune"), command("store", "status"), command("store", "adopt")] == [2, 1, 2]
    assert command("store", "adopt", "--yes") == 0
    assert [command("store", "status"), command("prune")] == [0, 0]
    assert there < set(FolderBlobs(data / "blobs").keys())
