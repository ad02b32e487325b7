"""Slurm by what its versions print, and by programs that hang, lie, refuse and are missing.

Layouts and state words are those of public samples (SchedMD's manual pages, exporters' test
data, sites' guides) of Slurm 22.05, 23.02, 23.11, 24.11 and 25.11; all values are made up.
"""

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from triage.actions.schedulers.interface import (
    NoSuchNode,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
)
from triage.actions.schedulers.slurm import SlurmScheduler, open_scheduler
from triage.errors import UsageError
from triage.settings import Settings

OURS = "triage:inc_7:gpu_hbm:0.97"
HEAD = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc={alloc} CPUEfctv=8 CPUTot=8 CPULoad=0.10 "
)
BODY = "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:h100:8 NodeAddr=n1 NodeHostName=n1 "
TAIL = "ThreadsPerCore=1 TmpDisk=0 Owner=N/A MCS_label=N/A Partitions=batch  BootTime={boot} "


def record(state: str, end: str, alloc: int = 0, boot: str = "2026-01-02T03:04:05") -> str:
    """One node as ``scontrol -o show node`` prints it; ``end`` is what follows AllocTRES."""
    head = HEAD.format(alloc=alloc) + BODY + "Version=22.05.8 OS=Linux 5.14.0 #1 SMP "
    return f"{head}State={state} {TAIL.format(boot=boot)}SlurmdStartTime=None AllocTRES= {end}\n"


WATTS = "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsTemp=n/s "
CASES = [
    ("22.05 idle", record("IDLE", WATTS), False, "", ""),
    ("22.05 drained", record("IDLE+DRAIN", WATTS + f"Reason={OURS} [root@2026-01-02T04:00:00]"),
     True, OURS, "root"),
    ("22.05 draining", record("MIXED+DRAIN", WATTS + "Reason=NHC: fan  [nhc@2026-01-02T04:00:00]",
     alloc=3), True, "NHC: fan", "nhc"),
    ("23.02 silent", record("MIXED+DRAIN+NOT_RESPONDING", "Reason=x y [a@2026-01-02T04:00:00]"),
     True, "x y", "a"),
    ("23.11 reserved", record("IDLE+DRAIN+MAINTENANCE+RESERVED",
     "Reason=Prolog error: xid 13 [root@2026-01-02T04:00:00] ReservationName=week"),
     True, "Prolog error: xid 13", "root"),
    ("24.11 comment", record("DOWN+DRAIN+DYNAMIC_NORM", "Reason=a b [s@2026-01-02T04:00:00]"
     " Comment=Reason=no State=IDLE Extra={}"), True, "a b", "s"),
    ("25.11 gres", record("IDLE+DRAIN+DYNAMIC_NORM+INVALID_REG", "Reason=gres/gpu count reported"
     " lower than configured (0 < 8) [slurm@2026-01-02T04:00:00] Topology=default:s1"),
     True, "gres/gpu count reported lower than configured (0 < 8)", "slurm"),
    ("marks of old", record("IDLE*+DRAIN", "Reason=z [root@Unknown]"), True, "z", "root"),
    ("powered down", record("IDLE~", ""), False, "", ""),
    ("powering up", record("ALLOCATED#", "", alloc=8), False, "", ""),
    ("completing", record("IDLE+COMPLETING", ""), False, "", ""),
    ("down only", record("DOWN*", "Reason=Not responding [slurm@2026-01-02T04:00:00]"),
     False, "Not responding", "slurm"),
    ("power drain is no drain", record("IDLE+POWER_DRAIN", ""), False, "", ""),
    ("failing", record("MIXED+FAIL", "Reason=soon [op@2026-01-02T04:00:00]"),
     True, "soon", "op"),
    ("a reason like a field", record("IDLE+DRAIN",
     "Reason=see State=IDLE BootTime=x [b@2026-01-02T04:00:00] [c@2026-01-03T04:00:00]"),
     True, "see State=IDLE BootTime=x [b@2026-01-02T04:00:00]", "c"),
    ("no user", record("IDLE+DRAIN", "Reason=bare words"), True, "bare words", ""),
]  # fmt: skip


def put(folder: Path, program: str, script: str) -> None:
    (folder / program).write_text(f"#!/bin/sh\n{script}\n")
    (folder / program).chmod(0o755)


def printing(folder: Path, text: str, status: int = 0, stream: int = 1) -> SlurmScheduler:
    """Slurm whose ``scontrol`` prints the text, and writes down what it was asked."""
    (folder / "text").write_text(text)
    put(folder, "scontrol", f'printf "%s\\n" "$*" >>{folder}/asked\n'
        f'cat {folder}/text >&{stream}\nexit {status}')  # fmt: skip
    return SlurmScheduler(str(folder), timeout_s=10.0)


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize(
    ("text", "drained", "reason", "by"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_reads_a_node_of_each_version(
    tmp_path: Path, text: str, drained: bool, reason: str, by: str
) -> None:
    seen = printing(tmp_path, text).node("n1")
    assert (seen.drained, seen.reason, seen.by) == (drained, reason, by)
    assert seen.details["boot_time"] == "2026-01-02T03:04:05"
    assert asked(tmp_path) == ["-o show node n1"]


def test_says_no_time_of_boot_where_slurm_knows_none(tmp_path: Path) -> None:
    seen = printing(tmp_path, record("IDLE+NOT_RESPONDING", "", boot="None")).node("n1")
    assert seen.details == {"state": "IDLE+NOT_RESPONDING"}


@pytest.mark.parametrize(
    "text", ["", "garbage\n", "NodeName=n1 \n", "NodeName=n11 State=IDLE\n", "\x00\xff" * 9000,
             "NodeName=n1 " + " Reason=" * 9000, "NodeName=n1" + " \t" * 99999],
)  # fmt: skip
def test_takes_garbage_for_no_answer(tmp_path: Path, text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(SchedulerAway, match="did not print a node"):
        printing(tmp_path, text).node("n1")
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(
    ("text", "status", "stream"),
    [("Node n1 not found", 1, 1), ("Node n1 not found", 0, 1),
     ("slurm_load_node error: Invalid node name specified", 1, 2)],
)  # fmt: skip
def test_knows_no_node_that_slurm_does_not(
    tmp_path: Path, text: str, status: int, stream: int
) -> None:
    scheduler = printing(tmp_path, text, status, stream)
    for ask in (lambda: scheduler.node("n1"), lambda: scheduler.drain("n1", OURS)):
        with pytest.raises(NoSuchNode, match="knows no such node"):
            ask()


@pytest.mark.parametrize(
    "words",
    ["slurm_load_node error: Unable to contact slurm controller (connect failure)",
     "slurm_load_node error: Socket timed out on send/recv operation",
     "slurm_load_node error: Slurm backup controller in standby mode",
     "Munge encode failed: Failed to access the socket", "words that no version has",
     "slurm_update error: Invalid node state specified"],
)  # fmt: skip
def test_is_away_while_slurm_does_not_answer(tmp_path: Path, words: str) -> None:
    scheduler = printing(tmp_path, words, 1, 2)
    for ask in (lambda: scheduler.node("n1"), lambda: scheduler.drain("n1", OURS)):
        with pytest.raises(SchedulerAway):
            ask()


@pytest.mark.parametrize(
    ("words", "advice"),
    [("slurm_update error: Invalid user id", "AdminLevel=Operator"),
     ("slurm_update error: Access/permission denied", "AdminLevel=Operator")],
)  # fmt: skip
def test_refuses_with_what_to_do(tmp_path: Path, words: str, advice: str) -> None:
    (tmp_path / "record").write_text(record("IDLE", ""))
    put(tmp_path, "scontrol", f'case $1 in -o) cat {tmp_path}/record;;'
        f' *) echo "{words}" >&2; exit 1;; esac')  # fmt: skip
    with pytest.raises(SchedulerRefused, match=advice):
        SlurmScheduler(str(tmp_path)).drain("n1", OURS)


def test_ends_a_program_that_hangs_and_its_children(tmp_path: Path) -> None:
    put(tmp_path, "scontrol", f"sleep 60 & echo $! >{tmp_path}/child; wait")
    begun = time.monotonic()
    with pytest.raises(SchedulerAway, match=r"did not end within 0\.5 s"):
        SlurmScheduler(str(tmp_path), timeout_s=0.5).node("n1")
    assert time.monotonic() - begun < 5.0
    child = (tmp_path / "child").read_text().strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", child], capture_output=True, check=False)
    assert state.stdout.strip()[:1] in {b"", b"Z"}


def test_is_away_where_the_program_has_gone(tmp_path: Path) -> None:
    with pytest.raises(SchedulerAway, match="TRIAGE_ACT_SLURM_BIN"):
        SlurmScheduler(str(tmp_path)).node("n1")
    with pytest.raises(UsageError, match="scontrol is not in"):
        open_scheduler(Settings(act_slurm_bin=str(tmp_path)))


@pytest.mark.parametrize(
    "node", ["n[1-900]", "ALL", "all", "-n1", "n1,n2", "n1 state=down", "", "$(x)"]
)
def test_hands_no_list_and_no_option_to_slurm(tmp_path: Path, node: str) -> None:
    scheduler = printing(tmp_path, record("IDLE", ""))
    with pytest.raises(SchedulerRefused, match="no name of a node"):
        scheduler.drain(node, OURS)
    assert not (tmp_path / "asked").exists()


def test_does_not_give_its_secrets_to_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIAGE_ADMIN_TOKEN", "secret")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CLUSTERS", "another")
    monkeypatch.setenv("SLURM_CONF", "/there")
    (tmp_path / "record").write_text(record("IDLE", ""))
    put(tmp_path, "scontrol", f"env >{tmp_path}/env; cat {tmp_path}/record")
    SlurmScheduler(str(tmp_path)).node("n1")
    given = (tmp_path / "env").read_text()
    assert {"LC_ALL=C", "SLURM_CONF=/there"} <= set(given.splitlines())
    assert [word for word in ("secret", "relative", "another") if word in given] == []


DRAINED_BY_US = record("IDLE+DRAIN", f"Reason={OURS} [root@2026-01-02T04:00:00]")
DRAINED_BY_OTHERS = record("IDLE+DRAIN", "Reason=fan [root@2026-01-02T04:00:00]")
OF_ANOTHER = record("IDLE+DRAIN", "Reason=triage:inc_8:gpu:0.96 [root@2026-01-02T04:00:00]")


def test_leaves_a_node_that_it_drained_already(tmp_path: Path) -> None:
    printing(tmp_path, DRAINED_BY_US).drain("n1", "triage:inc_7:gpu_hbm:0.99")
    assert asked(tmp_path) == ["-o show node n1"]


@pytest.mark.parametrize("text", [DRAINED_BY_OTHERS, OF_ANOTHER])
def test_leaves_what_others_drained(tmp_path: Path, text: str) -> None:
    scheduler = printing(tmp_path, text)
    for act in (scheduler.drain, lambda n, r: scheduler.undrain(n, r, "")):
        with pytest.raises(SchedulerRefused, match="another reason"):
            act("n1", OURS)
    assert set(asked(tmp_path)) == {"-o show node n1"}


def test_undrain_of_a_node_that_is_not_drained_changes_nothing(tmp_path: Path) -> None:
    printing(tmp_path, record("IDLE", "")).undrain("n1", OURS, "")
    assert asked(tmp_path) == ["-o show node n1"]


def test_counts_each_node_once(tmp_path: Path) -> None:
    since = "2026-01-02T03:04:05"
    lines = ("n1 |Unknown|none", f"n2|{since}|{OURS}", "n1|Unknown|none", f"n2|{since}|{OURS}",
             f"n3|Unknown|{OURS} : reboot issued", f"n4|{since}|fan | {OURS}", f"n5|{since}|triage",
             "n6", "")  # fmt: skip
    put(tmp_path, "sinfo", f"cat <<'END'\n{chr(10).join(lines)}\nEND")
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert SlurmScheduler(str(tmp_path)).pool() == PoolView(6, {"n2": moment, "n3": None})
