"""The folder of a worker: killed with -9 it leaves files, which the next one removes."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from triage.sandbox.scratch import YOUNG_S, own_scratch, remove_abandoned

# A worker as it works: it forks, both hold a file of an upload, and say where.
WORKER = """
import os, tempfile, time
from triage.sandbox.scratch import own_scratch
folder = own_scratch()
with tempfile.TemporaryDirectory(prefix="triage-parse-") as inside:
    open(os.path.join(inside, "upload"), "w").write("x")
    child = os.fork() if FORK else 0
    if child or not FORK:
        print(child, inside, flush=True)
    time.sleep(600)
"""


@contextmanager
def worker(root: Path, *, fork: bool = False) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A living worker: its process, the one that it forked, and the folder of its upload."""
    env = {**os.environ, "TMPDIR": str(root)}
    process = subprocess.Popen(
        [sys.executable, "-c", f"FORK = {fork}\n{WORKER}"], env=env, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        child, _, inside = process.stdout.readline().strip().partition(" ")
        yield process, int(child), Path(inside)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def aged(folder: Path) -> Path:
    past = folder.stat().st_mtime - YOUNG_S - 60
    os.utime(folder, (past, past))
    return folder


def test_what_a_killed_worker_left_is_removed(tmp_path: Path) -> None:
    with worker(tmp_path) as (process, _, inside):
        process.kill()
        process.wait()
        assert (inside / "upload").exists()
        remove_abandoned(tmp_path)
        assert (inside / "upload").exists()  # young: its worker may just begin
        aged(inside.parent)
        remove_abandoned(tmp_path)

        assert list(tmp_path.iterdir()) == []


def test_a_worker_that_lives_keeps_its_files(tmp_path: Path) -> None:
    with worker(tmp_path) as (_, _, inside):
        aged(inside.parent)
        remove_abandoned(tmp_path)

        assert (inside / "upload").read_text() == "x"


def test_a_process_that_a_killed_worker_forked_keeps_its_files(tmp_path: Path) -> None:
    with worker(tmp_path, fork=True) as (process, child, inside):
        process.kill()
        process.wait()
        aged(inside.parent)
        remove_abandoned(tmp_path)
        assert (inside / "upload").exists()
        os.kill(child, signal.SIGKILL)


def test_other_folders_and_links_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for name in ("triage-reader-x", "triage-workshop", "other"):
        aged_one = tmp_path / "root" / name
        aged_one.mkdir()
        aged(aged_one)
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "kept").write_text("x")
    aged(tmp_path / "target")
    (tmp_path / "root" / "triage-worker-link").symlink_to(tmp_path / "target")
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned(tmp_path / "root")

    assert sorted(tmp_path.rglob("*")) == before


def test_all_temporary_files_of_a_process_lie_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = own_scratch()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(tempfile.mkdtemp()).parent == folder
