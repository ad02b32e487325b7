"""Nobody else reads a service's files: narrowed where they are ours, refused where not."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from triage.cli.service import lock_data_dir
from triage.collectors.spool import Spool
from triage.errors import UsageError
from triage.settings import Settings
from triage.store.blobs.interface import open_blobs
from triage.store.database.engine import open_database
from triage.store.private_files import make_file_private, make_private_folder

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def wide():
    """The umask that most users have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.mark.usefixtures("wide")
class TestFolder:
    def test_is_made_for_us_alone(self, tmp_path: Path):
        assert mode(make_private_folder(tmp_path / "data")) == 0o700

    def test_of_the_release_before_is_narrowed(self, tmp_path: Path):
        data = tmp_path / "data"
        (data / "blobs" / "incoming").mkdir(parents=True)
        (data / "triage.db").touch()
        assert mode(data) == 0o755

        make_private_folder(data)

        assert mode(data) == 0o700

    def test_that_holds_other_things_is_refused_and_left_alone(self, tmp_path: Path):
        shared = tmp_path / "home"
        shared.mkdir()
        (shared / "thesis.tex").touch()

        with pytest.raises(UsageError, match=f"chmod 700 {shared}"):
            make_private_folder(shared)
        assert mode(shared) == 0o755

    def test_with_a_sticky_bit_is_never_narrowed(self, tmp_path: Path):
        shared = tmp_path / "tmp"
        shared.mkdir()
        shared.chmod(0o1777)

        with pytest.raises(UsageError, match="TRIAGE_DATA_DIR="):
            make_private_folder(shared)
        assert mode(shared) == 0o777 | stat.S_ISVTX

    def test_below_a_folder_where_all_may_rename_is_refused(self, tmp_path: Path):
        above = tmp_path / "open"
        (above / "data").mkdir(parents=True)
        above.chmod(0o777)

        with pytest.raises(UsageError, match=f"chmod o-w {above}"):
            make_private_folder(above / "data")

        above.chmod(0o1777)
        assert mode(make_private_folder(above / "data")) == 0o700

    @as_root
    def test_of_another_user_is_refused(self, tmp_path: Path):
        data = tmp_path / "data"
        data.mkdir(mode=0o700)
        os.chown(data, NOBODY, NOBODY)

        with pytest.raises(UsageError, match="chown root"):
            make_private_folder(data)


@pytest.mark.usefixtures("wide")
class TestFile:
    def test_is_narrowed(self, tmp_path: Path):
        (tmp_path / "a").touch()
        make_file_private(tmp_path / "a")
        make_file_private(tmp_path / "missing")
        assert mode(tmp_path / "a") == 0o600
        assert not (tmp_path / "missing").exists()

    def test_that_is_a_link_or_pipe_is_refused(self, tmp_path: Path):
        (tmp_path / "link").symlink_to("/etc/passwd")
        os.mkfifo(tmp_path / "pipe")
        for name in ("link", "pipe"):
            with pytest.raises(UsageError, match="no plain file"):
                make_file_private(tmp_path / name)

    @as_root
    def test_of_another_user_is_refused(self, tmp_path: Path):
        (tmp_path / "serve.lock").touch()
        os.chown(tmp_path / "serve.lock", NOBODY, NOBODY)
        with pytest.raises(UsageError, match="belongs to"), lock_data_dir(tmp_path):
            pass


@pytest.mark.usefixtures("wide")
def test_database_lock_blobs_and_spools_of_before_are_narrowed(tmp_path: Path):
    data = tmp_path / "data"
    (data / "blobs" / "incoming").mkdir(parents=True)
    for name in ("triage.db", "triage.db-wal", "triage.db-shm", "serve.lock"):
        (data / name).touch()

    open_database(Settings(data_dir=data)).close()
    open_blobs(None, data)
    with lock_data_dir(data):
        pass

    for name in ("triage.db", "triage.db-wal", "triage.db-shm", "serve.lock"):
        assert mode(data / name) == 0o600, name
    assert mode(data) == mode(data / "blobs") == 0o700

    (tmp_path / "spool").mkdir()
    Spool(str(tmp_path / "spool"))
    assert mode(tmp_path / "spool") == 0o700
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "notes").touch()
    Spool(str(tmp_path / "shared"))
    assert mode(tmp_path / "shared") == 0o755


@pytest.mark.usefixtures("wide")
def test_nothing_that_a_command_of_the_service_writes_is_open_to_others(tmp_path: Path):
    """A real process with the umask of a login, its database, log and key included."""
    command = "umask 022; exec {} -m triage.cli.main token create --scope admin --name me"
    subprocess.run(
        ["sh", "-c", command.format(sys.executable)],
        cwd=ROOT,
        env={
            **os.environ,
            "TRIAGE_DATA_DIR": str(tmp_path / "a" / "data"),
            "PYTHONPATH": str(ROOT),
        },
        check=True,
        capture_output=True,
    )

    made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert (tmp_path / "a" / "data" / "triage.db") in made
    assert {str(path): oct(mode(path)) for path in made if mode(path) & 0o077} == {}
