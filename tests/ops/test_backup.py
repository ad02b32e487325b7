"""Backup and restore: the commands of the operator's page, as they stand, while uploads go on."""

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.servers import postgres_database
from tests.support.waiting import eventually
from tests.workers.running import announce, call, first_suspect, serving, triage, upload

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "upgrades.md").read_text("utf-8")
SECTION = PAGE.partition("## Backup and restore")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.M | re.S)
BACKUP, RESTORE, BACKUP_AT_SCALE, RESTORE_AT_SCALE = BLOCKS
STAMP = re.compile(r"triage-\d{4}-\d\d-\d\d-\d{6}\.(db|dump)")
BUCKETS = ("triage", "triage-restored")
RANKS = 8
# Jobs that are over before the backup, and those that one sender goes on with meanwhile.
BEFORE, MEANWHILE = 3, 12


def run(block: str, *changes: tuple[str, str], **more: object) -> None:
    """The commands of a block, with our places in the place of the page's."""
    for page, ours in changes:
        assert page in block, (page, block)
        block = block.replace(page, ours)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], capture_output=True, text=True, check=False,
        timeout=600, env={**os.environ, **{key: str(value) for key, value in more.items()}},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def newest(folder: Path, pattern: str) -> Path:
    [found] = folder.glob(pattern)
    assert STAMP.fullmatch(found.name)
    return found


class Sender(threading.Thread):
    """Sends whole jobs, rank by rank, until told to end; remembers what was acknowledged."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.over = threading.Event()
        self.looked_at = threading.Event()
        self.acknowledged: list[tuple[str, int]] = []
        self.incidents: dict[str, str] = {}
        self.errors: list[object] = []

    def job(self, job_id: str) -> None:
        """One job with all of its dumps."""
        self.incidents[job_id] = announce(self.address, job_id, expected_artifacts=RANKS)
        for rank in range(RANKS):
            status = upload(self.address, job_id, rank)
            assert status == 201, status
            self.acknowledged.append((job_id, rank))

    def so_far(self) -> list[tuple[str, int]]:
        """What was acknowledged until now; more will be, unless it is told to end."""
        found = list(self.acknowledged)
        self.looked_at.set()
        return found

    def run(self) -> None:
        """Job after job; the last one not before somebody has looked."""
        try:
            for number in range(MEANWHILE):
                if number == MEANWHILE - 1:
                    self.looked_at.wait(180)
                if self.over.is_set():
                    return
                self.job(f"meanwhile-{number}")
                time.sleep(0.02)
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.errors.append(error)


@contextmanager
def sending(address: str) -> Iterator[Sender]:
    """Some jobs are in; one goes on sending until the block ends."""
    sender = Sender(address)
    for number in range(BEFORE):
        sender.job(f"before-{number}")
    sender.start()
    # In the middle of a job, so that the backup cuts it.
    eventually(lambda: len(sender.acknowledged) > BEFORE * RANKS + 2)
    try:
        yield sender
    finally:
        sender.over.set()
        sender.join(180)
    assert not sender.errors


def artifacts_of(address: str, incident: str) -> list[dict]:
    status, page = call(f"{address}/v1/incidents/{incident}/artifacts?limit=500")
    assert status == 200, page
    return page["items"]


def all_incidents(address: str) -> list[str]:
    status, page = call(f"{address}/v1/incidents?limit=500")
    assert status == 200, page
    return [one["id"] for one in page["items"]]


def check_restored(
    address: str, acknowledged: list[tuple[str, int]], incidents: dict[str, str]
) -> None:
    """All that was acknowledged is there and read; so is everything else that has a row."""
    for job_id in {job_id for job_id, _ in acknowledged}:
        wanted = {rank for job, rank in acknowledged if job == job_id}
        assert wanted <= {one["rank"] for one in artifacts_of(address, incidents[job_id])}

    def states() -> set[str]:
        found = all_incidents(address)
        return {one["state"] for incident in found for one in artifacts_of(address, incident)}

    eventually(lambda: "stored" not in states(), within_s=400)
    # A row without its blob would be set apart here.
    assert states() == {"analysed"}
    for number in range(BEFORE):
        assert first_suspect(address, incidents[f"before-{number}"]) == ("ready", "n1")


def test_embedded_while_uploads_go_on(tmp_path: Path) -> None:
    needs("rsync", "python3")
    backup, source, restored = (tmp_path / name for name in ("backup", "source", "restored"))
    for folder in (backup, source, restored):
        folder.mkdir()
    # Nothing is read before the backup: all of it has to be done after the restore.
    with serving(source, "--no-worker") as (_, address), sending(address) as sender:
        acknowledged = sender.so_far()
        run(BACKUP, ("cd /backup", f"cd {backup}"), TRIAGE_DATA_DIR=source / "data")
        eventually(lambda: len(sender.acknowledged) > len(acknowledged))
    assert not list((backup / "blobs").glob("incoming/*"))

    run(
        RESTORE,
        ("/var/lib/triage-restored", str(restored / "data")),
        ("/backup/triage-2026-11-21-030000.db", str(newest(backup, "triage-*.db"))),
        ("/backup/secret.key", str(backup / "secret.key")),
        ("/backup/blobs", str(backup / "blobs")),
    )
    with serving(restored, TRIAGE_QUIET_S=2) as (_, address):
        check_restored(address, acknowledged, sender.incidents)
        # It goes on where it was: the rest of a job that the backup cut, sent once more.
        assert upload(address, "before-0", 0) == 200
        assert upload(address, "after", 0) == 201


@pytest.fixture
def s3() -> Iterator[str]:
    """The address of an object store with both buckets."""
    pytest.importorskip("obstore")
    server = pytest.importorskip("moto.server")
    import httpx2

    one = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    for bucket in BUCKETS:
        httpx2.put(f"http://{host}:{port}/{bucket}").raise_for_status()
    yield f"http://{host}:{port}"
    one.stop()


def test_postgresql_and_an_object_store_while_uploads_go_on(tmp_path: Path, s3: str) -> None:
    needs("pg_dump", "pg_restore", "createdb", "aws")
    backup, source, restored = (tmp_path / name for name in ("backup", "source", "restored"))
    for folder in (backup, source, restored):
        folder.mkdir()
    client = {
        "AWS_ENDPOINT_URL": s3, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    keys = {
        "TRIAGE_S3_ENDPOINT": s3, "TRIAGE_S3_ACCESS_KEY_ID": "testing",
        "TRIAGE_S3_SECRET_ACCESS_KEY": "testing",
    }  # fmt: skip
    # The second database is there only to be made anew, and dropped, under its own name.
    with postgres_database() as first, postgres_database() as second:
        settings = {**keys, "TRIAGE_DATABASE_URL": first, "TRIAGE_BLOB_URL": "s3://triage/packs"}
        plain, target = (url.replace("+psycopg", "") for url in (first, second))
        server, _, name = target.rpartition("/")
        done = triage("migrate", TRIAGE_DATA_DIR=source / "data", **settings)
        assert done.returncode == 0, done.stderr
        with (
            serving(source, "--no-worker", **settings) as (_, address),
            sending(address) as sender,
        ):
            acknowledged = sender.so_far()
            run(
                BACKUP_AT_SCALE,
                ("cd /backup", f"cd {backup}"), ("postgresql://triage@db/triage", plain),
                **client,
            )  # fmt: skip
            eventually(lambda: len(sender.acknowledged) > len(acknowledged))

        subprocess.run(["dropdb", f"--maintenance-db={server}/postgres", name], check=True)
        run(
            RESTORE_AT_SCALE,
            ("postgresql://triage@db/postgres triage_restored", f"{server}/postgres {name}"),
            ("postgresql://triage@db/triage_restored", target),
            ("/backup/triage-2026-11-21-030000.dump", str(newest(backup, "triage-*.dump"))),
            ("/backup/packs", str(backup / "packs")),
            **client,
        )
        settings |= {"TRIAGE_DATABASE_URL": second, "TRIAGE_BLOB_URL": "s3://triage-restored/packs"}
        with serving(restored, TRIAGE_QUIET_S=2, **settings) as (_, address):
            check_restored(address, acknowledged, sender.incidents)
