"""Which dump is whose: by its name, by its groups, or unknown and said so."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.live_pulls import json_form
from simulator import simulate
from triage import analyze


def job(path: Path, **wishes: Any) -> Path:
    """A job of which rank 3 stops; its folder of dumps."""
    wanted = {"ranks": 8, "tp": 2, "pp": 2, "seed": 4, "entries": 200, "culprit": 3, "frames": 0}
    simulate("host-stall", path, **(wanted | wishes))
    return path / "fr"


def renamed(folder: Path, rank: int, name: str) -> None:
    (folder / f"comm_lib_trace_rank_{rank}").rename(folder / name)


def convicted(path: Path) -> list[int]:
    report = analyze(path).to_dict()
    return [r for one in report["suspects"] if one["role"] == "culprit" for r in one["ranks"]]


@pytest.mark.parametrize("rank", [0, 3, 6])
@pytest.mark.parametrize("name", ["control_200", "comm_lib_trace_rank_99999", "trace_of_a_friend"])
def test_a_name_that_contradicts_its_dump_loses(tmp_path: Path, rank: int, name: str) -> None:
    folder = job(tmp_path / "job")
    renamed(folder, rank, name)
    report = analyze(tmp_path / "job").to_dict()
    assert convicted(tmp_path / "job") == [3]
    assert report["coverage"]["dumps_read"] == 8
    assert report["coverage"]["ranks_without_dump"] == []
    assert any(name in note and f"rank {rank}" in note for note in report["coverage"]["notes"])


def test_the_rank_is_what_no_other_file_leaves_open(tmp_path: Path) -> None:
    """One kind of group: the dump alone says that it is one of two."""
    folder = job(tmp_path / "job", ranks=4, tp=2, pp=1, culprit=1)
    renamed(folder, 2, "control_200")
    report = analyze(tmp_path / "job").to_dict()
    assert report["coverage"]["dumps_read"] == 4
    assert convicted(tmp_path / "job") == [1]


def test_a_rank_that_stays_unknown_is_said_and_accuses_nobody(tmp_path: Path) -> None:
    folder = job(tmp_path / "job", ranks=4, tp=1, pp=1, culprit=1)
    renamed(folder, 2, "control_200")
    renamed(folder, 3, "control_201")
    report = analyze(tmp_path / "job").to_dict()
    why = [one["why"] for one in report["coverage"]["unreadable"]]
    assert len(why) == 2
    assert all("which rank it is does not follow" in one for one in why)
    assert set(convicted(tmp_path / "job")) <= {1}


def test_swapped_names_are_seen_where_groups_tell(tmp_path: Path) -> None:
    folder = job(tmp_path / "job")
    renamed(folder, 3, "keep")
    renamed(folder, 4, "comm_lib_trace_rank_3")
    (folder / "keep").rename(folder / "comm_lib_trace_rank_4")
    assert convicted(tmp_path / "job") == [3]


def test_order_of_files_does_not_matter(tmp_path: Path) -> None:
    folder = job(tmp_path / "job")
    renamed(folder, 1, "control_200")
    renamed(folder, 2, "control_300")
    files = sorted(folder.iterdir())
    answers = []
    for seed in range(4):
        random.Random(seed).shuffle(files)
        answers.append(analyze(files).to_dict()["verdict"])
    assert all(one == answers[0] for one in answers)


@pytest.mark.parametrize("text", ["step 1 loss 2.0\n", '{"answer": 42}', "\n"])
def test_a_file_named_like_a_dump_that_is_none_is_listed(tmp_path: Path, text: str) -> None:
    folder = job(tmp_path / "job")
    (folder / "nccl_trace_rank_77").write_text(text)
    report = analyze(tmp_path / "job").to_dict()
    assert [one["artifact"].rpartition("/")[2] for one in report["coverage"]["unreadable"]] == [
        "nccl_trace_rank_77"
    ]
    assert convicted(tmp_path / "job") == [3]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (bytes(4096), "4,096 bytes of zeros"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1327\n", "Git LFS"),
        (b"../../.git/annex/objects/Xq/9W/SHA256E-s1000--abc", "git-annex"),
        (b"<!DOCTYPE html>\n<html><head><title>403 Forbidden</title></head></html>",
         'a web page ("403 Forbidden")'),
        (b'<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>', '("NoSuchKey")'),
        (b"PK\x03\x04" + bytes(60), "a zip archive or checkpoint"),
        (b"\x80\x02}q\x00(X\x07\x00\x00\x00versionq\x01X\x04\x00", "cut short"),
        (gzip.compress(b"<html>moved</html>", mtime=0), "a web page"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["comm_lib_trace_rank_6", "trace-rank6.pickle"])
def test_what_stands_in_place_of_a_dump_is_said_and_read_as_nothing(
    tmp_path: Path, data: bytes, said: str, name: str
) -> None:
    folder = job(tmp_path / "job")
    (folder / "comm_lib_trace_rank_6").unlink()
    (folder / name).write_bytes(data)
    coverage = analyze(tmp_path / "job").to_dict()["coverage"]
    (refused,) = coverage["unreadable"]
    assert refused["artifact"].endswith(name)
    assert said in refused["why"]
    assert coverage["lines_read"] == 0
    assert convicted(tmp_path / "job") == [3]


def test_a_file_called_as_the_dumps_beside_it_is_listed(tmp_path: Path) -> None:
    folder = job(tmp_path / "job")
    for file in sorted(folder.iterdir()):
        file.rename(folder / f"pull.{file.name.rpartition('_')[2]}")
    (folder / "pull.6").write_text("scp: connection lost\n")
    (folder / "notes").write_text("we restarted it twice\n")
    (refused,) = analyze(tmp_path / "job").to_dict()["coverage"]["unreadable"]
    assert refused["artifact"].endswith("pull.6")
    assert "like the dumps beside it" in refused["why"]


@pytest.mark.parametrize("name", ["rank_3.log", "log_rank_3", "trace.txt", "rank3_stdout"])
def test_a_log_that_names_a_rank_is_a_log(tmp_path: Path, name: str) -> None:
    folder = job(tmp_path / "job")
    (folder / name).write_text("step 1 loss 2.0\n")
    assert analyze(tmp_path / "job").to_dict()["coverage"]["unreadable"] == []


@pytest.mark.parametrize(
    "field",
    ['"timeout_ms": ', '"record_id": ', '"time_created_ns": ', '"input_sizes": [[', '"pg_id": ',
     '"last_enqueued_collective": "', '"version": "2.', '"ranks": "[', '"p2p_seq_id": '],
)  # fmt: skip
def test_a_number_of_5000_digits_does_no_harm(tmp_path: Path, field: str) -> None:
    folder = job(tmp_path / "job")
    file = folder / "comm_lib_trace_rank_6"
    head, found, tail = json_form(file.read_bytes()).decode().partition(field)
    assert found
    file.write_text(head + field + "9" * 5000 + tail.lstrip("0123456789"))
    report = analyze(tmp_path / "job").to_dict()
    assert report["coverage"]["unreadable"] == []
    assert set(convicted(tmp_path / "job")) <= {3}


@pytest.mark.parametrize("seed", [0, 1])
def test_a_few_files_of_another_job_do_not_take_the_place_of_ours(
    tmp_path: Path, seed: int
) -> None:
    """They are later, and of as many ranks: the name that most files have decides."""
    simulate("mixed-jobs", tmp_path, ranks=16, seed=seed, entries=1000)
    (guilty,) = json.loads(tmp_path.with_name(f"{tmp_path.name}.truth.json").read_text())[
        "culprit_ranks"
    ]
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [[guilty]]
    strangers = [one["artifact"].rpartition("/")[2] for one in report["coverage"]["unreadable"]]
    assert strangers
    assert all(name.startswith("job") for name in strangers)


def as_text(value: Any) -> Any:
    """A dump whose numbers are all text."""
    if isinstance(value, dict):
        return {key: as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_text(one) for one in value]
    return str(value) if type(value) is int else value


@pytest.mark.parametrize("kind", ["host-stall", "mismatch-size", "straggler"])
def test_numbers_as_text_say_the_same(tmp_path: Path, kind: str) -> None:
    simulate(kind, tmp_path, ranks=8, tp=2, pp=2, seed=2, entries=300)
    dumps = sorted((tmp_path / "fr").iterdir())
    for file in dumps:
        file.write_bytes(json_form(file.read_bytes()))
    before = analyze(tmp_path).to_dict()
    for file in dumps:
        file.write_text(json.dumps(as_text(json.loads(file.read_bytes()))))
    after = analyze(tmp_path).to_dict()
    assert before["suspects"]
    assert (after["verdict"], after["suspects"]) == (before["verdict"], before["suspects"])
