"""A blob is there as a whole or not at all, whatever the disk and the power do."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from triage.errors import NotFound, StorageFull, Unavailable, UsageError
from triage.store.blobs.files import BlobWriter
from triage.store.blobs.interface import Blobs, open_blobs

ROOT = Path(__file__).parents[3]
BUCKET = "packs"


@pytest.fixture
def folder(tmp_path):
    return open_blobs(None, tmp_path, min_free_bytes=0)


@pytest.fixture(scope="module")
def s3():
    """Address and keys of a store on loopback."""
    pytest.importorskip("obstore")
    server = pytest.importorskip("moto.server")
    pytest.importorskip("obstore.store")
    # What the server's own libraries warn of is none of ours.
    one = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    environ = {
        "TRIAGE_S3_ENDPOINT": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
    }
    import httpx2

    httpx2.put(f"{environ['TRIAGE_S3_ENDPOINT']}/{BUCKET}").raise_for_status()
    yield environ
    one.stop()


@pytest.fixture(params=["folder", "object"])
def blobs(request, tmp_path) -> Blobs:
    if request.param == "folder":
        return request.getfixturevalue("folder")
    environ = request.getfixturevalue("s3")
    url = f"s3://{BUCKET}/{tmp_path.name}"
    return open_blobs(url, tmp_path, environ=environ, min_free_bytes=0)


def stored(blobs: Blobs, key: str, data: bytes) -> None:
    finish(blobs.begin(key), data)


def finish(writer: BlobWriter, *parts: bytes) -> None:
    try:
        for part in parts:
            writer.write(part)
        writer.commit()
    finally:
        writer.abort()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class TestBoth:
    def test_gives_back_what_was_written(self, blobs):
        writer = blobs.begin("one")
        writer.write(b"hello ")
        assert writer.tell() == 6
        writer.write(b"world")
        writer.commit()

        assert blobs.read("one", 0, 100) == b"hello world"
        assert blobs.read("one", 6, 3) == b"wor"
        assert blobs.read("one", 100, 3) == b""
        assert blobs.read("one", 3, 0) == b""
        with blobs.open("one", 6, 100) as part:
            assert part.read(2) == b"wo"
            assert part.read() == b"rld"
            assert part.read() == b""

    def test_rewinds(self, blobs):
        writer = blobs.begin("one")
        writer.write(b"kept")
        writer.write(b"dropped for good")
        writer.rewind(4)
        assert writer.tell() == 4
        writer.write(b"!")
        writer.commit()

        assert blobs.read("one", 0, 100) == b"kept!"

    def test_holds_an_empty_blob_and_a_large_one(self, blobs):
        large = os.urandom(1 << 20) * 20
        stored(blobs, "empty", b"")
        stored(blobs, "large", large)

        assert blobs.read("empty", 0, 10) == b""
        assert blobs.read("large", 0, 1 << 30) == large
        with blobs.open("large", 1, len(large)) as part:
            assert part.read() == large[1:]

    def test_shows_nothing_before_the_commit_and_nothing_after_an_abort(self, blobs, tmp_path):
        writer = blobs.begin("one")
        writer.write(b"half")
        with pytest.raises(NotFound):
            blobs.read("one", 0, 4)
        writer.abort()
        writer.abort()

        with pytest.raises(NotFound):
            blobs.open("one", 0, 4)
        assert not files_below(tmp_path)

    def test_an_abort_after_the_commit_takes_nothing_back(self, blobs):
        writer = blobs.begin("one")
        writer.write(b"kept")
        writer.commit()
        writer.abort()

        assert blobs.read("one", 0, 4) == b"kept"
        with pytest.raises(ValueError, match="committed"):
            writer.commit()

    def test_deletes_also_what_is_not_there(self, blobs):
        stored(blobs, "one", b"x")
        blobs.delete("one")
        blobs.delete("one")

        with pytest.raises(NotFound):
            blobs.read("one", 0, 1)

    def test_is_checked_without_leaving_a_trace(self, blobs, tmp_path):
        blobs.check()

        assert not files_below(tmp_path)

    @pytest.mark.parametrize(
        "key", ["", "../x", "a/b", "/etc/passwd", "a\0b", ".hidden", "a" * 200]
    )
    def test_takes_no_name_from_outside_as_a_key(self, blobs, key):
        with pytest.raises(ValueError, match="key"):
            blobs.begin(key)
        with pytest.raises(ValueError, match="key"):
            blobs.read(key, 0, 1)

    def test_is_written_to_by_many_at_once(self, blobs):
        def write(number: int) -> None:
            stored(blobs, f"blob-{number}", bytes([number]) * 10_000)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

        for number in range(16):
            assert blobs.read(f"blob-{number}", 0, 20_000) == bytes([number]) * 10_000

    def test_sweeps_only_what_is_old(self, blobs, tmp_path):
        writer = blobs.begin("one")
        writer.write(b"unfinished")
        stored(blobs, "two", b"kept")

        assert blobs.sweep() == 0
        [part] = [path for path in files_below(tmp_path) if path.name.startswith("one")]
        os.utime(part, (time.time() - 90_000,) * 2)
        assert blobs.sweep() == 1
        assert blobs.read("two", 0, 4) == b"kept"

    def test_keeps_some_room_free(self, blobs):
        blobs.min_free_bytes = 1 << 60

        with pytest.raises(StorageFull, match="stay free"):
            blobs.begin("one")


class TestFolder:
    def test_is_readable_by_its_owner_alone(self, folder, tmp_path):
        stored(folder, "one", b"x")

        for path in (tmp_path / "blobs").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path

    @pytest.mark.parametrize(
        ("number", "error"),
        [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, Unavailable)],
    )
    @pytest.mark.parametrize("call", ["fsync", "write", "rename"])
    def test_a_failing_disk_refuses_and_keeps_nothing(
        self, folder, tmp_path, monkeypatch, call, number, error
    ):
        def fail(*arguments):
            raise OSError(number, os.strerror(number))

        writer = folder.begin("one")
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(error):
                finish(writer, b"data")
            writer.abort()

        assert not files_below(tmp_path)
        stored(folder, "one", b"again")
        assert folder.read("one", 0, 5) == b"again"

    def test_a_folder_that_cannot_be_synced_takes_the_name_back(
        self, folder, tmp_path, monkeypatch
    ):
        stored(folder, "warm", b"")
        synced = []
        real = os.fsync

        def fail_for_folders(descriptor):
            synced.append(descriptor)
            if len(synced) > 1:
                raise OSError(errno.EIO, "I/O error")
            real(descriptor)

        writer = folder.begin("warm-2")
        monkeypatch.setattr(os, "fsync", fail_for_folders)
        with pytest.raises(Unavailable):
            writer.commit()

        assert [path.name for path in files_below(tmp_path)] == ["warm"]

    def test_syncs_the_data_then_renames_then_syncs_the_folder(self, folder, monkeypatch):
        stored(folder, "one", b"")
        folder.delete("one")
        calls = []
        real_sync, real_rename = os.fsync, os.rename
        monkeypatch.setattr(os, "fsync", lambda one: (calls.append("sync"), real_sync(one))[1])
        monkeypatch.setattr(
            os, "rename", lambda *two: (calls.append("rename"), real_rename(*two))[1]
        )
        stored(folder, "one", b"x")

        assert calls == ["sync", "rename", "sync"]

    def test_a_process_killed_before_its_commit_leaves_no_blob(self, tmp_path):
        code = (
            "import sys, time; from pathlib import Path\n"
            "from triage.store.blobs.interface import open_blobs\n"
            "blobs = open_blobs(None, Path(sys.argv[1]), min_free_bytes=0)\n"
            "writer = blobs.begin('one'); writer.write(b'x' * 1000)\n"
            "print('written', flush=True); time.sleep(600)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"written\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()

        blobs = open_blobs(None, tmp_path, min_free_bytes=0)
        with pytest.raises(NotFound):
            blobs.read("one", 0, 1)
        assert blobs.sweep(older_than_s=-10) == 1
        assert not files_below(tmp_path)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
    def test_a_full_disk_refuses_and_heals(self, tmp_path):
        place = tmp_path / "small"
        place.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(place)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip("tmpfs cannot be mounted here")
        try:
            blobs = open_blobs(None, place, min_free_bytes=0)
            stored(blobs, "first", b"f" * 1000)
            writer = blobs.begin("big")
            with pytest.raises(StorageFull):
                finish(writer, *[b"x" * 16_384] * 100)

            assert blobs.read("first", 0, 2000) == b"f" * 1000
            stored(blobs, "second", b"s" * 200_000)
            assert blobs.read("second", 0, 1 << 20) == b"s" * 200_000
            assert len(files_below(place)) == 2
            watched = open_blobs(None, place)
            stored(blobs, "third", b"t" * 300_000)
            with pytest.raises(StorageFull, match="stay free"):
                watched.begin("late")
            with pytest.raises(StorageFull):
                watched.check()
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)

    def test_reads_on_when_the_blob_is_removed_meanwhile(self, folder):
        stored(folder, "one", b"x" * 1_000_000)
        with folder.open("one", 0, 1_000_000) as part:
            part.read(10)
            folder.delete("one")

            assert len(part.read()) == 999_990


class TestObject:
    def test_a_store_that_does_not_answer_is_unavailable(self, tmp_path, monkeypatch):
        pytest.importorskip("obstore")
        monkeypatch.setattr("triage.store.blobs.object_store.RETRIES", 0)
        environ = {
            "TRIAGE_S3_ENDPOINT": "http://127.0.0.1:9",
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "y",
        }
        blobs = open_blobs("s3://nowhere/", tmp_path, environ=environ, min_free_bytes=0)

        with pytest.raises(Unavailable, match="object store"):
            blobs.check()
        with pytest.raises(Unavailable):
            stored(blobs, "one", b"x")
        assert not files_below(tmp_path)

    def test_a_bucket_that_is_not_there_keeps_nothing(self, s3, tmp_path):
        blobs = open_blobs("s3://no-such-bucket", tmp_path, environ=s3, min_free_bytes=0)

        with pytest.raises((Unavailable, NotFound)):
            stored(blobs, "one", b"x")
        assert not files_below(tmp_path)


@pytest.mark.parametrize("url", ["", "http://x/y", "gs://bucket", "s3://", "/var/blobs"])
def test_a_url_of_another_kind_is_refused_with_what_to_give(url, tmp_path):
    with pytest.raises(UsageError, match="TRIAGE_BLOB_URL"):
        open_blobs(url, tmp_path)
