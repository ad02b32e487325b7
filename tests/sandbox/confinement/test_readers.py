"""Readers as they run: confined, and reading all that they read unconfined."""

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.formats.examples import EXAMPLES
from tests.hostile.inputs import everything
from tests.support.crash_readers import build_crash_environment
from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack
from triage.parsers.files.inputs import InputFile, find_inputs
from triage.sandbox.confinement.probe import probe_confinement_gaps
from triage.sandbox.errors import ReaderDied
from triage.sandbox.pool import FileToRead, Sandbox
from triage.sandbox.process import InputFolder

ROOT = Path(__file__).parents[3]
INCIDENTS = ROOT / "tests" / "incidents"
PATIENT_S = 300.0
MISSING = probe_confinement_gaps()
# One of each way in which dumps and logs are written.
FOLDERS = (
    "logs-gpu-lost-with-dumps-w8", "nccl-p2p-mismatch-w8", "gloo-crash-w4",
    "nccl-straggler-w8", "logs-nic-w16", "stories/leaf-switch-not-to-blame/files",
)  # fmt: skip


@pytest.fixture(scope="module")
def reader() -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in build_crash_environment("by-network=network").items():
            patch.setenv(name, value)
        with Sandbox(2 << 30) as one:
            one.ready_child()
            yield one


def member(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        about = tarfile.TarInfo(name)
        about.size = len(data)
        archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def every_format(tmp_path_factory: pytest.TempPathFactory) -> list[FileToRead]:
    """Each format plain and in each packing, whole incidents, and all hostile inputs."""
    data = {}
    for name, text in EXAMPLES.items():
        plain = text.encode()
        data |= {
            name: plain,
            f"{name}.gz": gzip.compress(plain),
            f"{name}.zst": zstandard.compress(plain),
            f"{name}.xz": lzma.compress(plain, preset=0),
            f"{name}.tar.gz": member(name, plain),
        }
    data["steps.log"] = b"".join(b"[rank0]: step %d loss 2.31\n" % step for step in range(5000))
    data |= {one.name: one.make("/nonexistent") for one in everything() if not one.heavy}
    folder = tmp_path_factory.mktemp("formats")
    files = []
    for number, (name, content) in enumerate(data.items()):
        path = folder / str(number)
        path.write_bytes(content)
        files.append(FileToRead(path, name, len(content)))
    found = find_inputs([INCIDENTS / name for name in FOLDERS]).files
    return [*files, *(FileToRead(one.path, one.artifact, one.size_bytes) for one in found)]


def test_a_reader_is_confined_as_far_as_this_system_can(reader: Sandbox) -> None:
    child = reader.ready_child()
    assert child.missing == MISSING
    status = Path(f"/proc/{child.pid}/status")
    if MISSING or not status.exists():
        pytest.skip(f"this system cannot: {MISSING}")
    lines = dict(line.split(":\t") for line in status.read_text("utf-8").splitlines())
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")


def test_a_reader_holds_no_file_of_its_parent(reader: Sandbox) -> None:
    folder = Path(f"/proc/{reader.ready_child().pid}/fd")
    try:
        opened = {os.readlink(one).split(":")[0] for one in folder.iterdir()}
    except OSError as error:
        pytest.skip(f"only root looks into a reader: {error}")
    pipes_and_errors = {"pipe", "/dev/null", os.readlink("/proc/self/fd/2").split(":")[0]}
    assert opened - pipes_and_errors == {f"/proc/{reader.pid}/statm"}


def test_a_confined_reader_reads_every_format_as_one_that_is_not(
    reader: Sandbox, every_format: list[FileToRead]
) -> None:
    pid = reader.pid
    found = [one for file in every_format for one in reader.extract([file], deadline_s=PATIENT_S)]
    plain = Extractor()
    for file, extracted in zip(every_format, found, strict=True):
        (here,) = plain.extract([InputFile(file.path, file.artifact, file.size_bytes)])
        assert extracted.packed == pack(here), file.artifact
    assert reader.pid == pid  # nobody was killed over one of them
    reader.analyse([one.packed for one in found], deadline_s=PATIENT_S)
    assert reader.pid == pid


COMPILED = """
import gc, json, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from triage.formats.extractor import Extractor
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.report import build_study
from triage.sandbox.warm_up import warm_up

def compiled():
    every = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    ours = [one for one in every if one.py_func.__module__.startswith("triage.")]
    return {f"{one.py_func.__module__}.{one.py_func.__name__}{one.signatures}" for one in ours}

extractor = Extractor()
warm_up(extractor)
before = compiled()
extracts = [
    extractor.one(InputFile(Path(path), name, size), None)
    for path, name, size in json.load(sys.stdin)
]
build_study(extracts, parse_job(b"{}")[0])
print(json.dumps(sorted(compiled() - before)))
"""


def test_after_warming_up_nothing_compiles(every_format: list[FileToRead]) -> None:
    """A confined reader could keep nothing of it: each would compile for seconds."""
    listed = [[str(one.path), one.artifact, one.size_bytes] for one in every_format]
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        input=json.dumps(listed).encode(),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.skipif(bool(MISSING), reason="this system cannot")
def test_a_reader_that_tries_what_none_needs_dies_of_that_and_another_goes_on(
    reader: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "a.log"
    path.write_text("[rank3]: step 12 loss 2.31\n")
    bad = FileToRead(path, "by-network", path.stat().st_size)
    with pytest.raises(ReaderDied, match="tried what no reader needs") as caught:
        reader.extract([bad], deadline_s=PATIENT_S)
    assert not caught.value.out_of_memory
    good = FileToRead(path, "a.log", path.stat().st_size)
    assert len(reader.extract([good], deadline_s=PATIENT_S)) == 1


def test_a_reader_sees_the_files_of_its_request_and_none_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x")
    folder = InputFolder()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    with folder.lent([path]) as inside:
        assert Path(inside[0]).read_bytes() == b"x"
        assert os.listdir(folder.path) == ["0"]
    assert os.listdir(folder.path) == []
    folder.remove()
    assert not folder.path.exists()
    assert path.read_bytes() == b"x"


def test_an_ended_reader_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Sandbox() as one:
        one.ready_child()
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []
