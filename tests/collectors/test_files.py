"""Files and bundles: what is opened, what is cut, what a member is called."""

import io
import os
import tarfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.collectors import bundle as bundle_module
from triage.collectors.artifact import DUMP, JOB_LOG, Artifact, Deadline, Skipped
from triage.collectors.bundle import Bounds, pack
from triage.collectors.files import Match, open_regular, safe_name, search

HOUR = 3600.0


def found(folder: Path, pattern: str = "*", **more) -> tuple[list[str], dict[str, str]]:
    rows = list(search((str(folder / pattern),), Deadline(HOUR), **more))
    files = [os.path.basename(one.path) for one in rows if isinstance(one, Match)]
    return files, {os.path.basename(o.path): o.why for o in rows if isinstance(o, Skipped)}


def artifact(path: Path, member: str = "logs/a", **more) -> Artifact:
    given = {
        "kind": JOB_LOG, "member": member, "path": str(path), "max_bytes": 1 << 20,
        "tail": True, "owner": None, "named": False, "shared": False,
    }  # fmt: skip
    return Artifact(**{**given, **more})


def packed(tmp_path: Path, *artifacts: Artifact, max_bytes=1 << 30, compress=False, notes=()):
    target = io.BytesIO()
    bounds = Bounds(max_bytes, Deadline(HOUR), compress)
    said = pack(artifacts, target, str(tmp_path), bounds, notes)
    target.seek(0)
    with tarfile.open(fileobj=target, mode="r:*") as tar:
        members = {one.name: tar.extractfile(one).read() for one in tar}
    return members, said


def test_pipes_links_devices_and_folders_are_passed_by(tmp_path) -> None:
    (tmp_path / "good").write_bytes(b"x")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    files, left = found(tmp_path)

    assert files == ["good"]
    assert set(left) == {"zero", "link", "pipe"}


@pytest.mark.parametrize("name", ["zero", "pipe", "link", "folder"])
def test_what_became_something_else_since_is_not_opened(tmp_path, name) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match=r"not a regular file|links are not followed"):
        open_regular(str(tmp_path / name))


def test_a_folder_that_is_a_link_below_the_pattern_leads_nowhere(tmp_path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "token").write_bytes(b"x")
    (tmp_path / "job" / "fr").mkdir(parents=True)
    (tmp_path / "job" / "fr" / "rank_1").write_bytes(b"x")
    (tmp_path / "job" / "linked").symlink_to(tmp_path / "secret")
    rows = [
        one for one in search((f"{tmp_path}/job/*/*",), Deadline(HOUR)) if isinstance(one, Match)
    ]

    assert [one.under for one in rows] == ["fr/rank_1", "linked/token"]
    os.close(open_regular(rows[0].path, under=rows[0].under))
    with pytest.raises(OSError, match="links are not followed"):
        open_regular(rows[1].path, under=rows[1].under)
    # Above the pattern a link is the administrator's.
    (tmp_path / "way").symlink_to(tmp_path / "job")
    os.close(open_regular(f"{tmp_path}/way/fr/rank_1", under="fr/rank_1"))


def test_a_link_that_a_person_named_is_followed_but_not_to_a_device(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "zero").symlink_to("/dev/zero")

    os.close(open_regular(str(tmp_path / "link"), named=True))
    with pytest.raises(OSError, match="device"):
        open_regular(str(tmp_path / "zero"), named=True)


def test_files_of_another_user_are_left_to_them(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")

    os.close(open_regular(str(path), owner=os.getuid()))
    with pytest.raises(OSError, match="another user"):
        open_regular(str(path), owner=os.getuid() + 1)


def test_a_file_found_twice_is_one_and_an_old_one_is_none(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "old").write_bytes(b"x")
    os.utime(tmp_path / "old", (1000, 1000))

    files, left = found(tmp_path, since=2000)

    assert files == ["a"]
    assert set(left) == {"old"}


def test_a_pattern_that_is_too_wide_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("triage.collectors.files.MAX_MATCHES", 3)
    for number in range(5):
        (tmp_path / f"f{number}").write_bytes(b"x")

    files, left = found(tmp_path)

    assert files == ["f0", "f1", "f2"]
    assert "more than 3 files" in left["*"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("trace_rank_7", "trace_rank_7"),
        ("attempt_0/7/stderr.log", "attempt_0/7/stderr.log"),
        ("../../etc/passwd", "etc/passwd"),
        ("/a/./b", "a/b"),
        ("a\nb\\c%d", "a%0Ab%5Cc%25d"),
        (os.fsdecode(b"r\xff\x00_3"), "r%FF%00_3"),
        ("é_3", "é_3"),
        ("x" * 300 + "_3", "x" * 198 + "_3"),
        ("..", "unnamed"),
        ("a/b/c/d/e", "b/c/d/e"),
    ],
    ids=repr,
)
def test_a_member_is_named_without_surprises(path, name) -> None:
    assert safe_name(path) == name


@given(st.binary(max_size=400))
def test_no_name_leaves_the_bundle_or_breaks_a_line(raw) -> None:
    name = safe_name(os.fsdecode(raw))

    parts = name.split("/")
    assert all(part not in {"", ".", ".."} for part in parts)
    assert all(len(part.encode("utf-8")) <= 200 for part in parts)
    assert not any(ord(char) < 32 or char in "\\\x7f" for char in name)


def test_the_end_of_a_huge_log_is_kept_from_a_line_on(tmp_path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.truncate(5 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"".join(b"line %06d\n" % number for number in range(200_000)))

    members, said = packed(tmp_path, artifact(path))

    assert members["logs/a"].startswith(b"line ")
    assert members["logs/a"].endswith(b"line 199999\n")
    assert (1 << 20) - 20 < len(members["logs/a"]) <= 1 << 20
    assert b"huge.log: cut: of 5,37" in members["MANIFEST.txt"]
    assert len(said.notes) == 1


@pytest.mark.parametrize("size", [99, 100, 101, 110])
def test_a_log_of_about_the_limit_is_whole_lines(tmp_path, size) -> None:
    path = tmp_path / "a.log"
    path.write_bytes((b"123456789\n" * 20)[:size])

    members, _ = packed(tmp_path, artifact(path, max_bytes=100))

    assert members["logs/a"] == path.read_bytes()[(0 if size <= 100 else 10) :]


def test_a_huge_dump_is_left_out_whole(tmp_path) -> None:
    path = tmp_path / "rank_1"
    path.write_bytes(b"x" * 101)

    members, said = packed(tmp_path, artifact(path, kind=DUMP, tail=False, max_bytes=100))

    assert members == {}
    assert "101 bytes" in said.notes[0].why


def test_the_end_of_a_compressed_log_would_be_no_log(tmp_path) -> None:
    path = tmp_path / "kern.log.1.gz"
    path.write_bytes(b"\x1f\x8b" + b"x" * 200)

    members, _ = packed(tmp_path, artifact(path, max_bytes=100))

    assert members == {}


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_a_dump_that_changes_while_it_is_read_is_read_again(tmp_path, monkeypatch, change) -> None:
    path = tmp_path / "rank_1"
    path.write_bytes(b"a" * 5000)
    once = threading.Event()
    real = bundle_module._read

    def disturbed(*given):
        got = real(*given)
        if not once.is_set():
            once.set()
            path.write_bytes(b"b" * (9000 if change == "grows" else 100))
        return got

    monkeypatch.setattr(bundle_module, "_read", disturbed)
    monkeypatch.setattr(bundle_module, "PAUSE_S", 0.0)
    members, said = packed(tmp_path, artifact(path, "fr/rank_1", kind=DUMP, tail=False))

    assert members == {"fr/rank_1": b"b" * (9000 if change == "grows" else 100)}
    assert said.notes == ()


def test_a_log_that_grows_for_ever_is_read_to_where_it_ended(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 3000)
    real = bundle_module._read
    stop = threading.Event()

    def writer() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"y" * 1000)

    def racing(*given):
        thread = threading.Thread(target=writer)
        thread.start()
        try:
            return real(*given)
        finally:
            stop.set()
            thread.join()

    monkeypatch.setattr(bundle_module, "_read", racing)
    members, _ = packed(tmp_path, artifact(path))

    assert members == {"logs/a": b"x" * 3000}


def test_same_names_and_vanished_files(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    gone = artifact(tmp_path / "gone", "fr/x")

    members, said = packed(
        tmp_path, gone, artifact(tmp_path / "a", "fr/x"), artifact(tmp_path / "b", "fr/x")
    )

    assert members.pop("MANIFEST.txt").startswith(os.fsencode(tmp_path / "gone"))
    assert members == {"fr/x": b"a", "fr/2/x": b"b"}
    assert said.counts == {JOB_LOG: 2}


def test_a_full_bundle_keeps_what_came_first(tmp_path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"0123456789\n" * 10)
    rows = [artifact(tmp_path / name, name) for name in ("a", "b", "c")]

    members, said = packed(tmp_path, *rows, max_bytes=150)

    assert [len(members[name]) for name in ("a", "b")] == [110, 33]
    assert said.notes[-1] == Skipped(str(tmp_path / "c"), "the bundle is full") or "c" in members
    assert said.size_bytes <= 150


def test_the_same_files_give_the_same_bytes(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    bodies = []
    for _ in range(2):
        target = io.BytesIO()
        pack([artifact(tmp_path / "a")], target, str(tmp_path), Bounds(9999, Deadline(HOUR)))
        bodies.append(target.getvalue())

    assert bodies[0] == bodies[1]


def test_no_name_writes_a_line_of_the_manifest(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    note = Skipped("x\nNVRM: Xid 79\x1b[2J", "why\r\nnot")

    members, _ = packed(tmp_path, artifact(tmp_path / "a"), notes=[note])

    assert members["MANIFEST.txt"].count(b"\n") == 1
    assert b"\x1b" not in members["MANIFEST.txt"]


def test_when_time_is_up_nothing_more_is_read(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    bounds = Bounds(9999, Deadline(0.0))

    said = pack([artifact(tmp_path / "a")], io.BytesIO(), str(tmp_path), bounds)

    assert said.counts == {}
    assert "no time" in said.notes[0].why
