"""A disk that fails, or is full: no 2xx, nothing half kept, and on it goes when it is mended."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.service_client import Client
from benchmarks.service_processes import Installation, installed
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
DUMPS = ROOT / "examples" / "stuck-job" / "fr"
# The lease is longer than a busy machine keeps a thread from renewing it.
SETTINGS = {"TRIAGE_QUIET_S": "1", "TRIAGE_LEASE_S": "15"}
# All that this test needs beside the upload: tables, and the log that SQLite writes first.
DISK_BYTES = 24 << 20


def dump(rank: int) -> bytes:
    return (DUMPS / f"comm_lib_trace_rank_{rank}").read_bytes()


def send(made: Installation, rank: int, data: bytes, job: str = "disk") -> int:
    path = f"/v1/jobs/{job}/artifacts?node=n0&rank={rank}"
    return Client(made.port).send("POST", path, data, "application/octet-stream").status


def stored(made: Installation) -> list[str]:
    """Ranks of what is listed, once everything is read."""
    client = Client(made.port)

    def settled() -> list[str]:
        found = client.get("/v1/incidents?job_id=disk")["items"]
        if len(found) != 1 or found[0]["state"] != "ready":
            return []
        rows = client.get(f"/v1/incidents/{found[0]['id']}/artifacts")["items"]
        return sorted(f"{row['rank']} {row['state']}" for row in rows)

    return eventually(settled, 300.0, every_s=0.3)


def test_a_failed_fsync_is_never_acknowledged(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None or os.geteuid() != 0:
        pytest.skip("strace as root makes fsync fail")
    with installed("embedded", tmp_path, SETTINGS) as made:
        assert send(made, 0, dump(0)) == 201

        with failing_fsync(strace, made.api.pid):
            refused = [send(made, rank, dump(rank)) for rank in (1, 2, 3)]

        assert all(status in (503, 507) for status in refused), refused
        assert send(made, 1, dump(1)) == 201  # without a restart; nothing of it was kept
        assert stored(made) == ["0 analysed", "1 analysed"]


@contextmanager
def failing_fsync(strace: str, pid: int) -> Iterator[None]:
    """While this lasts, the process is told EIO by every fsync and fdatasync."""
    calls = "fsync,fdatasync"
    command = [
        strace, "-f", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={calls}",
        "-e", f"inject={calls}:error=EIO",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE) as tracing:
        assert tracing.stderr is not None
        said = tracing.stderr.readline()
        if b"attached" not in said:
            tracing.kill()
            pytest.skip(f"strace may not attach: {said.decode()}")
        try:
            yield
        finally:
            tracing.terminate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_takes_nothing_and_recovers_when_there_is_room(small_disk: Path) -> None:
    with installed("embedded", small_disk, SETTINGS) as made:
        assert send(made, 0, dump(0)) == 201
        stored(made)
        ballast = small_disk / "ballast"
        fill(small_disk, ballast)

        # Random bytes, so that they need the room that they say.
        refused = [send(made, 1, dump(1) + os.urandom(1 << 20)) for _ in range(3)]
        found = Client(made.port).get("/v1/incidents?job_id=disk")["items"]
        ballast.unlink()

        assert all(status in (503, 507) for status in refused), refused
        assert [one["state"] for one in found] == ["ready"]  # what was there is still answered
        assert eventually(lambda: send(made, 2, dump(2)) == 201, 180.0, every_s=0.5)
        assert stored(made) == ["0 analysed", "2 analysed"]


def fill(place: Path, ballast: Path) -> None:
    """Take all that is free; the service may be quicker with the last of it."""
    with ballast.open("wb", buffering=0) as target:
        try:
            while free_bytes(place) > 0:
                target.write(bytes(min(1 << 16, free_bytes(place))))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def free_bytes(place: Path) -> int:
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize
