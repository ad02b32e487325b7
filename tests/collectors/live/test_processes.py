"""Who is a rank, a worker, a launcher; which ranks are missing; which job is meant."""

import os
import signal
import time

import pytest

from tests.collectors.live.conftest import seen
from triage.collectors.artifact import Deadline
from triage.collectors.live.options import LiveOptions
from triage.collectors.live.processes import ProcessTable, find_jobs, read_process, read_table
from triage.collectors.live.pull import find_job
from triage.collectors.options import Misuse

MEETING = {"MASTER_ADDR": "n0", "MASTER_PORT": "29500"}


def torchrun(rank: int, local: int, world: int = 16, here: int = 4) -> dict[str, str]:
    return {
        "RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(here), "TORCHELASTIC_RUN_ID": "run7", **MEETING,
    }  # fmt: skip


def table(*rows: object) -> ProcessTable:
    return ProcessTable({one.pid: one for one in rows}, ())  # type: ignore[attr-defined]


def test_ranks_are_told_from_the_launcher_and_from_their_workers() -> None:
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_PROCID": "1", "SLURM_LOCALID": "0"}
    rows = [seen(10, environment=slurm)]
    rows += [seen(20 + n, 10, environment={**slurm, **torchrun(4 + n, n)}) for n in range(4)]
    rows += [seen(30, 21, environment={**slurm, **torchrun(5, 1)}, name="pt_data_worker")]
    rows += [seen(31, 30, environment={**slurm, **torchrun(5, 1)}, name="aws")]
    (job,) = find_jobs(table(*rows))

    assert [(one.rank, one.seen.pid) for one in job.ranks] == [(4, 20), (5, 21), (6, 22), (7, 23)]
    assert [one.pid for one in job.ranks[1].workers] == [30, 31]
    assert [one.pid for one in job.launchers] == [10]
    assert (job.job_id, job.world_size, job.missing) == ("4711", 16, ())


def test_a_number_of_a_node_is_not_taken_for_a_rank() -> None:
    """An operator gives RANK to a pod; torchrun in it gives each process its own."""
    pod = {"RANK": "1", "WORLD_SIZE": "2", **MEETING}
    rows = [seen(10, environment=pod)]
    rows += [seen(20 + n, 10, environment={**pod, **torchrun(4 + n, n)}) for n in range(4)]
    jobs = find_jobs(table(*rows))

    assert [one.rank for job in jobs for one in job.ranks] == [4, 5, 6, 7]


def test_a_shell_around_the_program_is_no_rank() -> None:
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"}
    shell = seen(10, environment=slurm, name="bash", argv=("bash",), executable="/bin/bash")
    (job,) = find_jobs(table(shell, seen(11, 10, environment=slurm)))

    assert [(one.rank, one.seen.pid) for one in job.ranks] == [(3, 11)]


def test_a_program_without_python_is_a_rank() -> None:
    given = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
    program = seen(10, environment=given, name="hpl", argv=("./hpl",), executable="/opt/hpl")
    (job,) = find_jobs(table(program))

    assert [(one.rank, one.seen.pid) for one in job.ranks] == [(2, 10)]


def test_a_rank_without_a_process_is_missing() -> None:
    rows = [seen(20 + n, environment=torchrun(8 + n, n)) for n in (0, 1, 3)]
    (job,) = find_jobs(table(*rows))

    assert job.missing == (10,)


def test_nothing_is_missing_where_nobody_says_how_many_belong_here() -> None:
    given = [{"RANK": str(rank), "WORLD_SIZE": "16", **MEETING} for rank in (0, 1)]
    (job,) = find_jobs(table(*(seen(20 + n, environment=row) for n, row in enumerate(given))))

    assert job.missing == ()


def test_of_two_processes_of_one_rank_the_newer_counts() -> None:
    rows = [seen(20, environment=torchrun(0, 0)), seen(40, environment=torchrun(0, 0))]
    (job,) = find_jobs(table(*rows))

    assert [one.seen.pid for one in job.ranks] == [40]
    assert "rank 0 has two processes" in job.notes[0]


def test_children_without_a_rank_are_numbered_below_a_pid() -> None:
    tracker = seen(11, 10, argv=("python3", "-c", "from multiprocessing.resource_tracker import m"))
    rows = [seen(10), tracker, seen(12, 10), seen(13, 10), seen(14, 13), seen(99)]
    (job,) = find_jobs(table(*rows), root=10)

    assert [(one.rank, one.seen.pid) for one in job.ranks] == [(0, 12), (1, 13)]
    assert "in the order of their start" in job.notes[0]


@pytest.mark.parametrize("rank", ["", "x", "-1", "٣", "99999999999"])
def test_what_is_no_number_is_no_rank(rank: str) -> None:
    assert find_jobs(table(seen(10, environment={"RANK": rank}))) == []


def test_a_process_of_our_own_is_found_with_its_state(start) -> None:
    process = start(RANK="6", WORLD_SIZE="8", SLURM_JOB_ID="815", TOKEN="secret")
    job = find_job(LiveOptions(job="815"), Deadline(60.0))

    (one,) = job.ranks
    assert (one.rank, one.seen.pid, one.seen.is_python) == (6, process.pid, True)
    assert "TOKEN" not in (one.seen.environment or {})
    os.kill(process.pid, signal.SIGSTOP)
    ends = time.monotonic() + 30
    while (again := read_process(process.pid)) is not None and again.state != "T":
        assert time.monotonic() < ends
    assert again is not None


def test_a_process_that_has_ended_is_none(start) -> None:
    process = start()
    process.kill()
    process.wait()

    assert read_process(process.pid) is None


def test_the_kernels_threads_and_this_process_are_left_out() -> None:
    found = read_table(Deadline(60.0)).processes

    assert os.getpid() not in found
    assert 2 not in found


def test_several_jobs_are_named(start) -> None:
    start(RANK="0", SLURM_JOB_ID="816001")
    start(RANK="0", SLURM_JOB_ID="816002")

    with pytest.raises(Misuse, match=r"several jobs run here: .*816001.*--job ID"):
        find_job(LiveOptions(), Deadline(60.0))
    with pytest.raises(Misuse, match="no process of job 816003 runs here"):
        find_job(LiveOptions(job="816003"), Deadline(60.0))


def test_a_pid_that_is_not_there_is_said() -> None:
    with pytest.raises(Misuse, match="no process 4194304 runs here"):
        find_job(LiveOptions(pid=4_194_304), Deadline(60.0))


def test_a_name_that_nothing_here_states_is_taken_for_the_only_job(monkeypatch) -> None:
    """In a pod no process knows what its job is called; under torchrun a run may be named."""
    bare = table(seen(10, environment={"RANK": "0", **MEETING}))
    named = table(seen(10, environment=torchrun(0, 0)))
    where = "triage.collectors.live.pull.read_table"
    monkeypatch.setattr(where, lambda *_: bare)
    job = find_job(LiveOptions(job="space/train"), Deadline(60.0))

    assert job.job_id == "space/train"
    assert "the only one here was taken" in job.notes[0]
    monkeypatch.setattr(where, lambda *_: named)
    with pytest.raises(Misuse, match="no process of job space/train runs here, but of run7"):
        find_job(LiveOptions(job="space/train"), Deadline(60.0))
