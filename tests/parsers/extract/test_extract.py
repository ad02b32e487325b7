"""Extracts: read one by one they say what a whole folder says."""

import random
import shutil
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import triage
from simulator.incidents.whole import Wish, simulate_incident
from triage.domain.job import Job
from triage.domain.rank_digest import OpenHistory
from triage.formats.dumps import read_dumps
from triage.formats.extractor import Extractor
from triage.formats.streams import read_logs
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.extract import Extract, join
from triage.parsers.extract.history import PackedHistory
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile, find_inputs
from triage.parsers.logs import join as join_module
from triage.parsers.logs.read import DEFAULT_BOUNDS
from triage.report import build_report

INCIDENTS = Path(__file__).parents[2] / "incidents"
DATA = Path(__file__).parents[2] / "data"
FOLDERS = sorted([*(path.parent for path in INCIDENTS.glob("*/expected.json")), *DATA.iterdir()])
XID = "[Sat Nov 21 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"


def files_of(*paths: Path) -> list[InputFile]:
    return list(find_inputs(list(paths)).files)


def given(path: Path) -> InputFile:
    return InputFile(path, path.name, path.stat().st_size)


def same(one: object, other: object) -> bool:
    """Equality that looks into arrays, and wants equal types."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        assert isinstance(one, np.ndarray)
        assert isinstance(other, np.ndarray)
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, OpenHistory | PackedHistory):  # packed or not, it reads the same
        assert isinstance(other, OpenHistory | PackedHistory)
        return same(one.read(), other.read())
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and type(one) is type(other)
            and len(one) == len(other)
            and all(same(a, b) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and list(one) == list(other)
            and all(same(one[key], other[key]) for key in one)
        )
    return type(one) is type(other) and one == other


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    return Extractor()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_read_one_by_one_and_stored_give_the_answer_of_the_folder(
    folder: Path, extractor: Extractor
) -> None:
    whole = triage.analyze(folder).answer
    files = random.Random(5).sample(files_of(folder), len(files_of(folder)))
    stored = [pack(extractor.extract([file])[0]) for file in files]
    assert build_report(map(unpack, stored), Job()).answer == whole
    together = [pack(one) for one in extractor.extract(sorted(files, key=lambda f: f.artifact))]
    assert sorted(together) == sorted(stored)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_joined_they_are_what_the_readers_of_folders_give(
    folder: Path, extractor: Extractor
) -> None:
    files = files_of(folder)
    dumps, logs = join(unpack(pack(one)) for one in reversed(extractor.extract(files)))
    wanted = read_dumps(files, threads=1)
    assert same(dumps.digests, wanted.digests)
    assert (dumps.refused, dumps.foreign) == (wanted.refused, wanted.foreign)
    assert dict(dumps.operations) == wanted.operations
    assert same(logs, read_logs(files, frozenset(wanted.foreign), templates=True, threads=1))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_unpacked_is_what_was_packed(folder: Path, extractor: Extractor) -> None:
    interned = Interned()
    for one in extractor.extract(files_of(folder)):
        data = pack(one)
        found = unpack(data, interned)
        assert same(replace(found, operations=dict(found.operations)), one)
        assert pack(found) == data


def test_whole_logs_with_templates_say_the_same_in_any_order(tmp_path: Path) -> None:
    simulate_incident("nic-port", tmp_path / "job", Wish(ranks=64, seed=3, bury=500))
    whole = triage.analyze(tmp_path / "job").answer
    extracts = Extractor().extract(files_of(tmp_path / "job"))
    assert any(log.masks for one in extracts for log in one.logs)
    random.Random(2).shuffle(extracts)
    assert build_report((unpack(pack(one)) for one in extracts), Job()).answer == whole


def test_an_archive_is_one_extract(tmp_path: Path) -> None:
    folder = INCIDENTS / "logs-gpu-lost-with-dumps-w8" / "files"
    packed = shutil.make_archive(str(tmp_path / "incident"), "gztar", folder)
    (one,) = Extractor().extract(files_of(Path(packed)))
    assert (len(one.digests) > 0, len(one.logs) > 0, len(one.job_files)) == (True, True, 1)
    assert build_report([unpack(pack(one))], Job()).answer == triage.analyze(packed).answer


def test_what_many_ranks_repeat_is_kept_once() -> None:
    extracts = Extractor().extract(files_of(INCIDENTS / "nccl-never-joins-w8" / "fr"))
    stored = [pack(one) for one in extracts if one.digests]
    interned = Interned()
    first, second = (unpack(data, interned).digests[0] for data in stored[:2])
    assert first.groups[0].ranks is second.groups[0].ranks
    assert first.groups[0].ranks is not None
    apart = unpack(stored[1]).digests[0]
    assert apart.groups[0].ranks is not first.groups[0].ranks
    assert same(apart, second)


def test_one_dump_says_the_same_whatever_was_read_before_it() -> None:
    files = files_of(INCIDENTS / "nccl-order-mismatch-w8" / "fr")
    alone = Extractor().extract(files[-1:])
    assert pack(Extractor().extract(files)[-1]) == pack(alone[0])


@pytest.mark.parametrize(
    ("rank", "wanted"), [(None, 3), (7, 7), (0, 0)], ids=["by name", "given", "given as 0"]
)
def test_the_sender_knows_the_rank_of_a_dump_better_than_its_name(
    rank: int | None, wanted: int
) -> None:
    file = next(
        file
        for file in files_of(INCIDENTS / "nccl-never-joins-w8" / "fr")
        if file.artifact.endswith("rank_3")
    )
    ranks = {} if rank is None else {file.artifact: rank}
    (one,) = Extractor().extract([file], ranks=ranks)
    assert one.digests[0].rank == wanted


def test_lines_of_a_ranks_own_log_are_the_ranks_and_a_kernels_are_not(tmp_path: Path) -> None:
    job, kernel = tmp_path / "out.log", tmp_path / "kernel.log"
    job.write_text(
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        "[rank3]: RuntimeError: CUDA error: device-side assert triggered\n"
    )
    kernel.write_text(XID)
    ranks = {"out.log": 5, "kernel.log": 5}
    first, second = Extractor().extract([given(job), given(kernel)], ranks=ranks)
    found = {row.line: row.rank for row in first.logs[0].rows}
    assert found == {1: 5, 2: 3}
    assert [row.rank for row in second.logs[0].rows] == [None]


def test_a_job_json_among_the_files_fills_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text('{"job_id": "9", "world_size": 8, "gpus_per_node": 4, "nodes": ["a", "b"]}')
    (one,) = Extractor().extract([given(path)])
    assert [job.data for job in one.job_files] == [path.read_bytes()]
    report = build_report([unpack(pack(one))], Job(job_id="4711"))
    assert (report.answer.job.job_id, report.answer.job.world_size) == ("4711", 8)


def test_bad_bytes_are_refused_inside_their_extract(tmp_path: Path) -> None:
    for name, data in (
        ("trace_rank_1", b"\x80\x02broken"), ("trace_rank_2", b""), ("core", b"\x7fELF" * 90),
        ("gone", b""),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    files = files_of(tmp_path)
    (tmp_path / "gone").unlink()
    found = {one.artifact: unpack(pack(one)) for one in Extractor().extract(files)}
    refused = {name: [*one.refused, *one.refused_logs] for name, one in found.items()}
    assert {name: bool(whys) for name, whys in refused.items()} == dict.fromkeys(found, True)
    assert not any(one.usable for one in found.values())


def test_a_log_is_counted_by_templates_up_to_a_size(tmp_path: Path) -> None:
    line = b"Nov 21 03:14:15 n0 kernel: [ 12.5] veth12: entered promiscuous mode\n"
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    small.write_bytes(line * 10)
    large.write_bytes(line * (DEFAULT_BOUNDS.counted // len(line) + 1))
    first, second = Extractor().extract([given(small), given(large)])
    assert [mask[1] for mask in first.logs[0].masks] == [10]
    assert second.logs[0].masks == []
    assert second.lines == DEFAULT_BOUNDS.counted // len(line) + 1


def test_templates_are_used_where_all_logs_together_are_not_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(XID * 3)
    extracts = Extractor().extract(files_of(tmp_path))
    size_bytes = 6 * len(XID)
    for most, used in ((size_bytes, True), (size_bytes - 1, False)):
        monkeypatch.setattr(join_module, "MOST_COUNTED_BYTES", most)
        _, logs = join(extracts)
        assert [bool(file.templates) for file in logs.files] == [used, used]
        assert bool(logs.templates) == used
    assert not any(log.file.templates for one in extracts for log in one.logs)


def test_two_files_of_one_name_are_taken_in_an_order_of_their_own() -> None:
    files = files_of(INCIDENTS / "nccl-never-joins-w8" / "fr")
    extracts = [replace(one, artifact="same") for one in Extractor().extract(files) if one.digests]
    orders = []
    for seed in range(3):
        random.Random(seed).shuffle(extracts)
        orders.append([one.rank for one in join(extracts)[0].digests])
    assert orders[0] == orders[1] == orders[2]


def test_an_empty_extract_is_stored_too() -> None:
    one = Extract("nodes/n\udcff/é", 0)
    assert same(unpack(pack(one)), one)
