"""Sources: where dumps, kernel logs and job logs of one job lie on a node."""

import os
import time
from pathlib import Path

import pytest

from tests.collectors.scripted import bare_environment, dump, tool
from triage.collectors.artifact import Artifact, Deadline, SearchContext, Skipped
from triage.collectors.collect import SOURCES
from triage.collectors.options import Options
from triage.collectors.sources import Dumps, JobLogs, KernelLog, explain_left, usual_patterns
from triage.collectors.surroundings import find_surroundings, get_first_node, on_network


def look(tmp_path: Path, options: Options | None = None, **environment: str) -> SearchContext:
    asked = (options or Options())._replace(job_id=(options and options.job_id) or "4711")
    around = find_surroundings(asked, bare_environment(tmp_path, **environment))
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return SearchContext(asked, around, str(scratch), Deadline(60))


def polled(source, where: SearchContext) -> list[Artifact]:
    return [one for one in source.poll(where) if isinstance(one, Artifact)]


def members(source, where: SearchContext) -> list[str]:
    return [one.member for one in polled(source, where)]


def mounts(tmp_path: Path, monkeypatch, kind: str, point: Path) -> None:
    table = tmp_path / "mountinfo"
    escaped = str(point).replace(" ", "\\040")
    table.write_text(
        "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
        f"30 22 0:40 / {escaped} rw,nosuid shared:5 - {kind} server:/x rw\n"
    )
    monkeypatch.setattr(
        "triage.collectors.sources.on_network", lambda path: on_network(path, str(table))
    )


def test_the_registry_begins_with_what_is_worth_most() -> None:
    assert [source.name for source in SOURCES] == ["dumps", "kernel_log", "job_logs"]


def test_dumps_are_found_where_pytorch_writes_them(tmp_path) -> None:
    for folder, name in [
        (tmp_path / "home/.cache/torch", "comm_lib_trace_rank_0"),
        (tmp_path / "home/.cache/torch", "nccl_trace_rank_1"),
        (tmp_path / "xdg/torch", "comm_lib_trace_rank_2"),
        (tmp_path / "new [x]", "fr_3"),
        (tmp_path / "old", "fr_4"),
        (tmp_path / "home/.cache/torch", "something_else"),
    ]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    where = look(
        tmp_path,
        XDG_CACHE_HOME=str(tmp_path / "xdg"),
        TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "new [x]" / "fr_"),
        TORCH_NCCL_DEBUG_INFO_TEMP_FILE=str(tmp_path / "old" / "fr_"),
    )

    own = [one for one in polled(Dumps(), where) if one.path.startswith(str(tmp_path))]

    assert [one.member for one in own] == [
        "fr/fr_3", "fr/fr_4", "fr/comm_lib_trace_rank_2",
        "fr/comm_lib_trace_rank_0", "fr/nccl_trace_rank_1",
    ]  # fmt: skip
    assert "/tmp/nccl_trace_rank_*" in usual_patterns(where.surroundings)
    assert "/tmp/comm_lib_trace_rank_*" in usual_patterns(where.surroundings)


@pytest.mark.parametrize(
    ("environment", "since", "ranks"),
    [
        ({}, None, [0, 1]),
        ({"SLURM_JOB_START_TIME": "5000"}, None, [1]),
        ({"SLURM_JOB_START_TIME": "5000"}, 500.0, [0, 1]),
        ({}, 5000.0, [1]),
    ],
    ids=["asked, no start", "start of the job", "--since wins", "--since"],
)
def test_dumps_of_an_earlier_job_are_left(tmp_path, environment, since, ranks) -> None:
    for rank, at in ((0, 1000), (1, 9000)):
        os.utime(dump(tmp_path / "fr", rank), (at, at))
    where = look(tmp_path, Options(fr=(f"{tmp_path}/fr/*",), since=since), **environment)

    assert members(Dumps(), where) == [f"fr/trace_rank_{rank}" for rank in ranks]


def test_old_dumps_in_the_usual_places_are_left(tmp_path) -> None:
    folder = tmp_path / "home/.cache/torch"
    folder.mkdir(parents=True)
    for name, age in (("nccl_trace_rank_0", 3 * 86_400), ("nccl_trace_rank_1", 60)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (time.time() - age,) * 2)

    got = [one for one in polled(Dumps(), look(tmp_path)) if one.path.startswith(str(tmp_path))]

    assert [one.member for one in got] == ["fr/nccl_trace_rank_1"]


def test_job_logs_of_slurm_are_those_of_this_job(tmp_path) -> None:
    work = tmp_path / "w [1]"
    work.mkdir()
    for name in ("slurm-4711.out", "slurm-4711_3.out", "slurm-47110.out", "slurm-1.out", "my.err"):
        (work / name).write_bytes(b"x")
    where = look(
        tmp_path,
        SLURM_JOB_ID="4711",
        SLURMD_NODENAME="n3",
        SLURM_JOB_WORK_DIR=str(work),
        SLURM_JOB_STDERR=str(work / "my.err"),
    )

    assert members(JobLogs(), where) == [
        "nodes/n3/my.err", "nodes/n3/slurm-4711.out", "nodes/n3/slurm-4711_3.out",
    ]  # fmt: skip


def test_the_rank_stays_in_the_path_of_a_log(tmp_path) -> None:
    path = tmp_path / "logs/run/attempt_0/7/stderr.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")

    where = look(tmp_path, Options(logs=(f"{tmp_path}/logs/**/*",), node="n3"))

    assert members(JobLogs(), where) == ["nodes/n3/run/attempt_0/7/stderr.log"]


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("nfs4", True), ("lustre", True), ("fuse.ceph", True), ("xfs", False), ("9p", False)],
)
def test_what_all_nodes_see_is_not_this_nodes(tmp_path, monkeypatch, kind, shared) -> None:
    point = tmp_path / "a share"
    dump(point / "fr", 3)
    (point / "fr" / "trace_rank_n3_5").write_bytes(b"x")
    (point / "fr" / "trace_rank_n33_6").write_bytes(b"x")
    mounts(tmp_path, monkeypatch, kind, point)
    where = look(tmp_path, Options(fr=(f"{point}/fr/*",), node="n3"))

    found = {one.member: one.shared for one in polled(Dumps(), where)}

    assert found == {
        "fr/trace_rank_3": shared,
        "fr/trace_rank_n33_6": shared,
        "fr/trace_rank_n3_5": False,
    }


@pytest.mark.parametrize(
    ("how", "nodes", "left"),
    [
        ("auto", None, ""),
        ("auto", "n[3-9]", ""),
        ("auto", "n[1-9]", "first node"),
        ("send", "n[1-9]", ""),
        ("skip", None, "--shared skip"),
    ],
)
def test_one_node_sends_what_all_see(tmp_path, how, nodes, left) -> None:
    environment = {} if nodes is None else {"SLURM_JOB_NODELIST": nodes}
    where = look(tmp_path, Options(shared=how, node="n3"), **environment)
    shared = Artifact("dump", "fr/a", "/x", 1, False, None, False, True)

    assert left in explain_left(shared, where)
    assert bool(left) == bool(explain_left(shared, where))
    assert explain_left(shared._replace(shared=False), where) == ""


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu[001-128,130]", "gpu001"),
        ("a1,a[3-5]", "a1"),
        ("n7", "n7"),
        ("rack[2,4]-gpu", "rack2-gpu"),
        ("a-b.c[07]", "a-b.c07"),
        ("", ""),
    ],
)
def test_the_first_of_a_host_list(nodes, first) -> None:
    assert get_first_node(nodes) == first


def test_a_mount_over_a_mount_is_the_one_that_is_seen(tmp_path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /home rw - nfs4 b rw\n"
        "3 2 0:3 / /home rw - xfs c rw\n4 1 0:4 / /data\\040x rw - lustre d rw\nbroken\n"
    )

    assert on_network("/home/u", str(table)) == ""
    assert on_network("/data x/u", str(table)) == "lustre"
    assert on_network("/data xy", str(table)) == ""
    assert on_network("/data x", str(tmp_path / "none")) == ""


def text_of(where: SearchContext) -> str:
    (one,) = polled(KernelLog(), where)
    assert one.member == f"nodes/{where.surroundings.node}/kernel.log"
    return Path(one.path).read_text()


def test_the_journal_comes_before_the_ring(tmp_path) -> None:
    tool(tmp_path, "journalctl", 'echo "journal $*"')
    tool(tmp_path, "dmesg", "echo ring")

    said = text_of(look(tmp_path, SLURM_JOB_START_TIME="1763690400"))

    assert said.startswith("journal ")
    assert "--since @1763686800" in said  # an hour before the job
    assert "_TRANSPORT=kernel" in said


@pytest.mark.parametrize("journal", ["exit 1", "exit 0", "echo >&2 no; exit 3"])
def test_the_ring_where_there_is_no_journal(tmp_path, journal) -> None:
    tool(tmp_path, "journalctl", journal)
    tool(tmp_path, "dmesg", 'echo "ring $*"')

    assert text_of(look(tmp_path)) == "ring --time-format iso\n"


def test_a_dmesg_that_knows_no_formats_is_asked_plainly(tmp_path) -> None:
    tool(tmp_path, "journalctl", "exit 1")
    tool(tmp_path, "dmesg", '[ $# -eq 0 ] || exit 1; echo "[1.0] plain"')

    assert text_of(look(tmp_path)) == "[1.0] plain\n"


def test_a_command_that_prints_without_end_is_bounded(tmp_path) -> None:
    tool(tmp_path, "journalctl", "seq 1 400000")
    where = look(tmp_path, Options(max_log_bytes=100_000))

    said = text_of(where)

    assert said.endswith("\n399999\n400000\n")
    assert 100_000 <= len(said) <= 200_000


def test_the_kernel_log_can_be_left_out(tmp_path) -> None:
    assert list(KernelLog().poll(look(tmp_path, Options(no_kernel_log=True)))) == []


def test_a_folder_that_cannot_be_listed_ends_nothing(tmp_path) -> None:
    where = look(tmp_path, Options(fr=("/proc/1/nothing/*", f"{tmp_path}/fr/*")))
    dump(tmp_path / "fr", 1)

    rows = list(Dumps().poll(where))

    assert [one.member for one in rows if not isinstance(one, Skipped)] == ["fr/trace_rank_1"]
