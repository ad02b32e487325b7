"""Folders to digests: neither the order of files nor the number of threads shows."""

import gzip
import pickle
import random
import shutil
from pathlib import Path

import pytest
import zstandard

from tests.parsers.flight_recorder.dumps import DATA, REAL, Recorder, differences, json_form
from triage.formats.dumps import read_dumps
from triage.parsers.files.inputs import find_inputs
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.limits import Limits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three jobs, some of it packed, cut, damaged or no dump at all."""
    target = tmp_path / "incident"
    # Beside the jobs lie samples of what is no dump.
    shutil.copytree(DATA, target, ignore=shutil.ignore_patterns("checkers", "*.log"))
    data = REAL[0].read_bytes()
    (target / "comm_lib_trace_rank_90.gz").write_bytes(gzip.compress(data))
    (target / "comm_lib_trace_rank_91.zst").write_bytes(zstandard.compress(data))
    (target / "comm_lib_trace_rank_92").write_bytes(data[: len(data) // 2])
    (target / "comm_lib_trace_rank_93").write_bytes(b"")
    (target / "comm_lib_trace_rank_94").write_bytes(b"\x80\x02cos\nsystem\n.")
    (target / "kern.log").write_bytes(b"[1.0] nothing to see\n")
    (target / "job.json").write_bytes(b'{"job_id": "1"}')
    return target


def assert_same(one: DumpSet, other: DumpSet) -> None:
    assert [digest.artifact for digest in one.digests] == [d.artifact for d in other.digests]
    for a, b in zip(one.digests, other.digests, strict=True):
        assert differences(a, b) == []
        assert a.rank == b.rank
    assert one.refused == other.refused
    assert one.foreign == other.foreign
    assert one.operations == other.operations


def test_a_mixed_folder_is_sorted_into_dumps_refusals_and_strangers(folder: Path) -> None:
    result = read_dumps(find_inputs([folder]).files)

    assert len(result.digests) == len(REAL) + 4  # .gz, .zst, the cut one, the JSON
    assert [one.artifact for one in result.refused] == [
        "comm_lib_trace_rank_93", "comm_lib_trace_rank_94",
    ]  # fmt: skip
    assert "empty" in result.refused[0].why
    assert "0x63" in result.refused[1].why
    assert result.foreign == ["job.json", "kern.log"]


def test_the_number_of_threads_changes_nothing(folder: Path) -> None:
    files = find_inputs([folder]).files
    once = read_dumps(files, threads=1)

    for threads in (2, 7):
        assert_same(once, read_dumps(files, threads=threads))


def test_the_order_of_files_changes_no_digest(folder: Path) -> None:
    files = list(find_inputs([folder]).files)
    once = {digest.artifact: digest for digest in read_dumps(files).digests}

    for seed in range(3):
        random.Random(seed).shuffle(files)
        result = read_dumps(files, threads=3)
        assert [digest.artifact for digest in result.digests] == [
            file.artifact for file in files if file.artifact in once
        ]
        for digest in result.digests:
            assert differences(once[digest.artifact], digest) == []


def test_reading_twice_gives_the_same(folder: Path) -> None:
    files = find_inputs([folder]).files

    assert_same(read_dumps(files), read_dumps(files))


def test_progress_ends_with_all_files(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    files = find_inputs([folder]).files

    read_dumps(files, progress=lambda done, total: seen.append((done, total)))

    assert seen == sorted(seen)
    assert seen[-1] == (len(files), len(files))


def test_no_file_is_no_work() -> None:
    assert read_dumps([]).digests == []


def test_packed_dumps_come_to_the_same_as_plain_ones(folder: Path) -> None:
    by_name = {d.artifact: d for d in read_dumps(find_inputs([folder]).files).digests}
    plain = by_name[str(REAL[0].relative_to(DATA))]

    for name in ("comm_lib_trace_rank_90.gz", "comm_lib_trace_rank_91.zst"):
        assert differences(plain, by_name[name], "rank") == []
        assert by_name[name].rank in (90, 91)


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "comm_lib_trace_rank_0").write_bytes(REAL[0].read_bytes())

    [refused] = read_dumps(find_inputs([tmp_path]).files, limits=Limits(file_bytes=1000)).refused

    assert "at most 1,000 are read" in refused.why


def test_a_file_that_vanished_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "comm_lib_trace_rank_0"
    path.write_bytes(REAL[0].read_bytes())
    inputs = find_inputs([tmp_path])
    path.unlink()

    [refused] = read_dumps(inputs.files).refused

    assert refused.why == "cannot be read: No such file or directory"


@pytest.mark.parametrize("size", [0, 1, 10_000_000])
def test_a_file_that_grew_or_shrank_meanwhile_is_read_as_far_as_it_goes(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "comm_lib_trace_rank_0"
    path.write_bytes(bytes(size))
    inputs = find_inputs([tmp_path])
    path.write_bytes(REAL[0].read_bytes())

    result = read_dumps(inputs.files)

    assert len(result.digests) == 1
    assert result.refused == []


@pytest.mark.parametrize(
    ("name", "data", "outcome"),
    [
        ("comm_lib_trace_rank_0", b"", "refused"),
        ("comm_lib_trace_rank_0", bytes(100), "refused"),
        ("comm_lib_trace_rank_0", b"\xff\xfe{", "refused"),
        ("comm_lib_trace_rank_0", b"{}", "refused"),
        ("rank_0", b"{}", "foreign"),
        ("stdout_rank_0", b"Traceback (most recent call last)", "foreign"),
        ("core.12", b"", "foreign"),
        ("core.12", bytes(100), "foreign"),
        ("core.12", b"\x80\x02}.", "refused"),
        ("anything", b'  {"entries": []}', "dump"),
        ("anything", b'{"a": {"entries" : 1}}', "refused"),
        ("job.json", b'{"nodes": ["a"]}', "foreign"),
        ("anything", b"\x80\x02}(X\x07\0\0\0entries]u.", "dump"),
    ],
)
def test_a_dump_is_known_by_its_content_and_its_ruins_by_their_name(
    tmp_path: Path, name: str, data: bytes, outcome: str
) -> None:
    (tmp_path / name).write_bytes(data)

    result = read_dumps(find_inputs([tmp_path]).files)

    counts = {
        "dump": len(result.digests), "refused": len(result.refused), "foreign": len(result.foreign),
    }  # fmt: skip
    assert counts == {**dict.fromkeys(counts, 0), outcome: 1}


@pytest.mark.parametrize("data", [b"\n", b"Traceback (most recent call last)", b"1, 2"])
def test_text_under_a_recorders_name_is_listed_and_read_as_a_log(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "comm_lib_trace_rank_0").write_bytes(data)

    result = read_dumps(find_inputs([tmp_path]).files)

    assert [one.artifact for one in result.refused] == ["comm_lib_trace_rank_0"]
    assert result.foreign == ["comm_lib_trace_rank_0"]


def test_equal_rank_lists_of_many_dumps_are_one_object(tmp_path: Path) -> None:
    recorder = Recorder({"0": list(range(500))})
    recorder.collective()
    for rank in range(20):
        data = pickle.dumps(recorder.value(), 2) if rank % 2 else json_form(recorder.value())
        (tmp_path / f"_dump_{rank}").write_bytes(data)

    digests = read_dumps(find_inputs([tmp_path]).files, threads=1).digests

    assert len({id(digest.groups[0].ranks) for digest in digests}) == 1
