"""A boot is not a stop, a daemon is not the job: what the place of a line takes from its words."""

from pathlib import Path

import pytest

from triage.domain.evidence import Evidence, Trait
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import InputFile


def read(tmp_path: Path, *lines: str) -> list[Evidence]:
    """The rows of one log."""
    path = tmp_path / "kern.log"
    path.write_text("\n".join(lines) + "\n")
    return read_logs([InputFile(path, path.name, path.stat().st_size)]).evidence


LINK = "mlx5_core 0000:1a:00.0 rdma6: Link down"


@pytest.mark.parametrize(
    ("lines", "role"),
    [
        pytest.param([f"[   14.210001] {LINK}"], "noise", id="seconds-after-boot"),
        pytest.param([f"[ 9814.210001] {LINK}"], "root", id="hours-after-boot"),
        pytest.param(
            [
                "Nov 22 10:00:01 n7 kernel: Linux version 6.8.0-45-x (b@h) (gcc 13.2.0) #45 SMP",
                f"Nov 22 10:00:31 n7 kernel: {LINK}",
            ],
            "noise",
            id="after-a-boot-that-is-printed",
        ),
        pytest.param(
            [
                "Nov 22 10:00:01 n7 kernel: Linux version 6.8.0-45-x (b@h) (gcc 13.2.0) #45 SMP",
                f"Nov 22 11:00:31 n7 kernel: {LINK}",
            ],
            "root",
            id="an-hour-behind-it",
        ),
        pytest.param([f"Nov 22 10:00:31 n7 kernel: {LINK}"], "root", id="no-boot-known"),
    ],
)
def test_a_link_that_comes_up_at_boot(tmp_path: Path, lines: list[str], role: str) -> None:
    (row,) = [one for one in read(tmp_path, *lines) if one.signature.startswith("nic.")]
    assert str(row.role) == role
    assert (Trait.TEARDOWN in row.traits) is (role == "noise")


def test_a_fault_at_boot_stays_one(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "[   12.000001] NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x23)")
    assert str(row.role) == "root"


SYSTEM = "Nov 22 10:00:00 n7 systemd[1]: Starting Daily apt upgrade and clean activities..."
MISSING = "ImportError: libgepub-0.7.so.0: cannot open shared object file: No such file"


@pytest.mark.parametrize(
    ("line", "role", "not_the_job"),
    [
        (f"Nov 22 10:00:01 n7 packagekitd[812]: {MISSING}", "noise", True),
        (f"Nov 22 10:00:01 n7 gnome-shell[812]: {MISSING}", "noise", True),
        (f"Nov 22 10:00:01 n7 frobnicated[1160]: {MISSING}", "advice", True),
        (f"Nov 22 10:00:01 n7 python3[88123]: {MISSING}", "root", False),
        (f"Nov 22 10:00:01 n7 train_llm.sh[88123]: {MISSING}", "root", False),
        (f"Nov 22 10:00:01 n7 slurmstepd[4411]: {MISSING}", "root", False),
        (f"Nov 22 10:00:01 n7 frobnicated[1160]: [rank3]: {MISSING}", "root", False),
    ],
)
def test_whose_words_they_are(tmp_path: Path, line: str, role: str, not_the_job: bool) -> None:
    (row,) = read(tmp_path, SYSTEM, line)
    assert str(row.role) == role
    assert (Trait.NOT_THE_JOB in row.traits) is not_the_job


def test_a_programs_own_log_is_not_a_system_log(tmp_path: Path) -> None:
    """A job that somebody wrote through syslog keeps its words, whatever it is called."""
    (row,) = read(tmp_path, f"Nov 22 10:00:01 n7 pretty[88123]: {MISSING}")
    assert str(row.role) == "root"
    assert Trait.NOT_THE_JOB not in row.traits


HANDED_OVER = "systemd-journald[340]: Received SIGTERM from PID 1 (systemd)."


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"[    9.110000] {HANDED_OVER}", id="kernel-log"),
        pytest.param(f"Nov 22 10:00:01 n7 {HANDED_OVER}", id="syslog"),
        pytest.param(
            "Nov 22 10:00:01 n7 dbus-daemon[881]: [session uid=1000 pid=1673] Activated service"
            " 'org.freedesktop.systemd1' failed: Process org.freedesktop.systemd1 exited with"
            " status 1",
            id="a-tag-that-is-stripped",
        ),
        pytest.param(
            '{"_HOSTNAME":"n7","SYSLOG_IDENTIFIER":"systemd-journald","_PID":"340",'
            '"MESSAGE":"Received SIGTERM from PID 1 (systemd)."}',
            id="journal-json",
        ),
    ],
)
def test_what_every_boot_and_desktop_says_ends_no_job(tmp_path: Path, line: str) -> None:
    assert [row for row in read(tmp_path, line) if str(row.role) != "noise"] == []


def test_a_job_that_is_told_to_stop_still_says_so(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "Nov 22 10:00:01 n7 python3[88123]: Received SIGTERM, stopping")
    assert str(row.role) == "consequence"
    assert Trait.NOT_THE_JOB not in row.traits
