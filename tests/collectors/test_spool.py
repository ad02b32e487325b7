"""The spool: whole or not at all, one collector at a time, bounded."""

import os
import time

import pytest

from triage.collectors.options import Misuse
from triage.collectors.spool import Label, Spool, choose_default_folder

LABEL = Label("4711", "n3", "", "gzip")


def put(spool: Spool, body: bytes = b"body") -> str:
    with spool.writing(LABEL) as draft:
        draft.file.write(body)
    return draft.path


def test_what_was_written_is_read_back(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    path = put(spool, b"a\nb")

    with spool.opened(path) as entry:
        assert entry is not None
        assert entry.label == LABEL
        entry.file.seek(entry.offset)
        assert entry.file.read() == b"a\nb"
        assert entry.size_bytes == 3
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(spool.root).st_mode & 0o777 == 0o700


def test_a_bundle_that_was_not_finished_is_not_there(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))

    def broken() -> None:
        with spool.writing(LABEL) as draft:
            draft.file.write(b"half")
            assert spool.pending() == []
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()

    assert os.listdir(spool.root) == ["refused"]


def test_only_one_collector_has_a_bundle(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    path = put(spool)

    with spool.opened(path) as first, spool.opened(path) as second:
        assert first is not None
        assert second is None
    with spool.opened(path) as later:
        assert later is not None


def test_a_bundle_that_was_sent_meanwhile_is_nobodys(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    path = put(spool)
    spool.sent(path)

    with spool.opened(path) as entry:
        assert entry is None


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]\n", b"\xff\n", b'{"format":"triage.spool/2","job_id":"1"}\n',
     b'{"format":"triage.spool/1"}\n', b'{"format":"triage.spool/1","job_id":7}\n',
     b"[" * 3000 + b"\n", b"x" * 9000],
    ids=lambda line: repr(line[:40]),
)  # fmt: skip
def test_what_is_no_bundle_is_put_away(tmp_path, line) -> None:
    spool = Spool(str(tmp_path / "spool"))
    path = os.path.join(spool.root, "1-x.bundle")
    with open(path, "wb") as file:
        file.write(line)

    with spool.opened(path) as entry:
        assert entry is None
    assert os.listdir(spool.refused) == ["1-x.bundle"]


def test_the_oldest_go_when_it_is_full_and_the_new_one_stays(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    paths = []
    for _ in range(4):
        paths.append(put(spool, b"x" * 1000))
        time.sleep(0.002)
    put_away = spool.refuse(paths[1])

    gone = spool.prune(max_bytes=2500, max_age_s=1000.0, keep=(paths[3],))

    assert gone == [put_away, paths[0]]
    assert spool.pending() == [paths[2], paths[3]]


def test_what_is_too_old_goes(tmp_path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    old, young = put(spool), put(spool)
    os.utime(old, (1000, 1000))
    partial = tmp_path / "spool" / ".partial-x"
    partial.write_bytes(b"")
    scratch = tmp_path / "spool" / ".scratch-x"
    scratch.mkdir()
    for path in (partial, scratch):
        os.utime(path, (1000, 1000))
    (tmp_path / "spool" / ".partial-y").write_bytes(b"")

    assert spool.prune(max_bytes=1 << 30, max_age_s=1000.0) == [old]

    assert sorted(os.listdir(spool.root)) == sorted(
        [".partial-y", "refused", os.path.basename(young)]
    )


def test_a_link_is_no_spool(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(Misuse, match="a folder of the user"):
        Spool(str(tmp_path / "link"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_the_folder_of_another_user_is_no_spool(tmp_path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, -1)

    with pytest.raises(Misuse, match="a folder of the user"):
        Spool(str(tmp_path / "theirs"))


def test_the_default_is_the_systems_or_the_users(monkeypatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert choose_default_folder({}) == "/var/spool/triage"
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    monkeypatch.setenv("HOME", "/home/u")
    assert choose_default_folder({"XDG_STATE_HOME": "/state"}) == "/state/triage/spool"
    assert choose_default_folder({"XDG_STATE_HOME": "no"}) == "/home/u/.local/state/triage/spool"
