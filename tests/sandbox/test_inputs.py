"""The folder of a reader may be away or replaced: no file is to blame, and it is read later."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.domain.states import ArtifactState
from triage.queue.runner import find_missing_service
from triage.sandbox.errors import ReaderFailed
from triage.sandbox.pool import FileToRead, Sandbox

LOG = b"2026-11-21T03:14:15Z n0 kernel: NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off\n"


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary folder of its own."""
    place = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(place))
        patch.setattr(tempfile, "tempdir", str(place))
        yield place


@pytest.fixture(scope="module")
def reader(temporary: Path) -> Iterator[Sandbox]:
    """One for all tests, each of which leaves it able to read: starting takes seconds."""
    with Sandbox(warm=False) as found:
        yield found


def file_in(folder: Path) -> FileToRead:
    path = folder / "kernel.log"
    path.write_bytes(LOG)
    return FileToRead(path, "nodes/n0/kernel.log", len(LOG))


def states(reader: Sandbox, file: FileToRead) -> list[ArtifactState]:
    return [one.state for one in reader.extract([file], deadline_s=60)]


def test_a_folder_that_was_replaced_blames_no_file(
    reader: Sandbox, temporary: Path, tmp_path: Path
) -> None:
    file = file_in(tmp_path)
    assert states(reader, file) == [ArtifactState.ANALYSED]
    away = tmp_path / "away"
    temporary.rename(away)
    with pytest.raises(FileNotFoundError) as caught:
        states(reader, file)
    assert find_missing_service(caught.value)

    # As a worker does that starts meanwhile: the name is there again, and leads elsewhere.
    for folder in away.glob("triage-reader-*"):
        (temporary / folder.name).mkdir(parents=True)
    temporary.mkdir(exist_ok=True)
    assert states(reader, file) == [ArtifactState.ANALYSED]


def test_another_folder_under_the_name_blames_no_file(reader: Sandbox, tmp_path: Path) -> None:
    file = file_in(tmp_path)
    assert states(reader, file) == [ArtifactState.ANALYSED]
    folder = reader.ready_child().inputs.path
    folder.rename(tmp_path / "other")
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="was replaced") as caught:
        states(reader, file)
    assert find_missing_service(caught.value)
    assert states(reader, file) == [ArtifactState.ANALYSED]


def test_a_folder_that_goes_in_the_middle_of_a_call_blames_no_file(
    reader: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_in(tmp_path)
    link = os.link

    def then_away(source: Path, name: Path) -> None:
        link(source, name)
        name.parent.rename(tmp_path / "other")

    assert states(reader, file) == [ArtifactState.ANALYSED]
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", then_away)
        with pytest.raises(FileNotFoundError) as caught:
            states(reader, file)
    assert find_missing_service(caught.value)
    assert states(reader, file) == [ArtifactState.ANALYSED]


def test_a_file_that_is_not_there_is_waited_for(reader: Sandbox, tmp_path: Path) -> None:
    gone = FileToRead(tmp_path / "gone", "nodes/n0/kernel.log", 10)
    with pytest.raises(FileNotFoundError) as caught:
        states(reader, gone)
    assert find_missing_service(caught.value)


def test_a_reader_that_was_confined_while_its_folder_was_away_is_replaced(
    reader: Sandbox, temporary: Path, tmp_path: Path
) -> None:
    """It may look into nothing for good; what it says of files is about itself."""
    file = file_in(tmp_path)
    reader.close()
    child = reader.child = reader.new_child()
    away = tmp_path / "away"
    temporary.rename(away)
    child.wait_ready(time.monotonic() + 300)
    away.rename(temporary)
    with pytest.raises(ReaderFailed, match="PermissionError") as caught:
        states(reader, file)
    assert find_missing_service(caught.value)
    assert states(reader, file) == [ArtifactState.ANALYSED]
    assert reader.pid != child.pid
