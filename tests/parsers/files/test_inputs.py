"""The files below the paths given: one order, one name each, nothing opened."""

import os
import random
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.parsers.files.inputs import find_inputs


def plant(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def artifacts(*paths: Path) -> list[str]:
    return [file.artifact for file in find_inputs(paths).files]


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["b/2", "a", "b/1", "c/d/e", "b.x", "B"]
    for name in random.Random(1).sample(names, len(names)):
        plant(tmp_path, name)

    assert artifacts(tmp_path) == sorted(names)


def test_the_order_of_the_paths_does_not_show(tmp_path: Path) -> None:
    plant(tmp_path, "a/1", "b/2", "c")
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]

    for seed in range(5):
        random.Random(seed).shuffle(paths)
        assert artifacts(*paths) == ["a/1", "b/2", "c"]


def test_names_are_relative_to_the_one_folder_given(tmp_path: Path) -> None:
    plant(tmp_path, "job/nodes/n1/rank_1")

    assert artifacts(tmp_path / "job") == ["nodes/n1/rank_1"]
    assert artifacts(tmp_path / "job" / "nodes") == ["n1/rank_1"]


def test_a_file_alone_keeps_its_own_name(tmp_path: Path) -> None:
    plant(tmp_path, "job/rank_1")

    assert artifacts(tmp_path / "job" / "rank_1") == ["rank_1"]


def test_several_paths_share_what_they_have_in_common(tmp_path: Path) -> None:
    plant(tmp_path, "x/one/rank_1", "x/two/rank_1", "x/three/deep/rank_2")

    assert artifacts(tmp_path / "x/one", tmp_path / "x/two") == ["one/rank_1", "two/rank_1"]
    assert artifacts(tmp_path / "x/one/rank_1", tmp_path / "x/three") == [
        "one/rank_1",
        "three/deep/rank_2",
    ]


def test_a_file_given_twice_is_one_file(tmp_path: Path) -> None:
    plant(tmp_path, "a/rank_1")

    assert artifacts(tmp_path, tmp_path / "a", tmp_path / "a" / "rank_1") == ["a/rank_1"]


def test_a_relative_path_is_the_same_as_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "job/a/rank_1")
    monkeypatch.chdir(tmp_path)

    assert artifacts(Path("job")) == artifacts(tmp_path / "job") == ["a/rank_1"]


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    [file] = find_inputs([tmp_path]).files

    assert file.size_bytes == 5


def test_a_path_that_is_not_there_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        find_inputs([tmp_path / "nothing"])
    with pytest.raises(UsageError, match="no path"):
        find_inputs([])


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)

    inputs = find_inputs([tmp_path])

    assert inputs.files == inputs.refused == ()


def test_a_link_to_a_file_is_the_file_and_one_to_a_folder_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, "real/rank_1")
    (tmp_path / "rank_2").symlink_to("real/rank_1")
    (tmp_path / "again").symlink_to("real")

    inputs = find_inputs([tmp_path])

    assert [file.artifact for file in inputs.files] == ["rank_2", "real/rank_1"]
    [refused] = inputs.refused
    assert (refused.artifact, "links are not followed" in refused.why) == ("again", True)


def test_a_link_to_a_folder_given_by_name_is_followed(tmp_path: Path) -> None:
    plant(tmp_path, "real/rank_1")
    (tmp_path / "again").symlink_to("real")

    assert artifacts(tmp_path / "again") == ["rank_1"]


def test_a_pipe_given_by_name_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_1")

    [refused] = find_inputs([tmp_path / "rank_1"]).refused

    assert "not a regular file" in refused.why


def test_a_name_that_is_no_text_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff_rank_1")).write_bytes(b"x")

    assert artifacts(tmp_path) == ["\ufffd_rank_1"]


def test_an_empty_folder_that_is_named_like_a_dump_is_said(tmp_path: Path) -> None:
    (tmp_path / "comm_lib_trace_rank_3").mkdir()
    (tmp_path / "notes").mkdir()
    found = find_inputs([tmp_path])
    assert [one.artifact for one in found.refused] == ["comm_lib_trace_rank_3"]
    assert "named like a dump" in found.refused[0].why
