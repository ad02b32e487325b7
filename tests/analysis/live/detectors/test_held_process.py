"""What the kernel says of one process is told also where nobody else was looked at."""

from dataclasses import replace

import pytest

from tests.support.stacks import REDUCE, SAVE, case_of, frames, look, thread
from triage.analysis.live.detectors.stacks import find_held_processes
from triage.domain.category import Category, Role
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool

NFS = "rpc_wait_bit_killable (sunrpc) nfs_file_fsync (nfs) do_syscall_64 ()"
POLL = "poll_schedule_timeout (kernel) do_sys_poll (kernel)"


def kernel(rank: int | None, state: str, stack: str = NFS, **process: object) -> Look:
    one = thread(rank, REDUCE, state=state, **process)
    stopped = replace(one, frames=frames(stack, native=True))
    return look([stopped], f"proc/{rank}.txt", tool=Tool.PROC)


def found(*looks: Look) -> list[Finding]:
    return list(find_held_processes(case_of(*looks)))


@pytest.mark.parametrize(
    ("state", "category"),
    [("D", Category.STORAGE), ("T", Category.HOST_STALL), ("Z", Category.NCCL_TIMEOUT)],
)
def test_names_the_rank_that_the_kernel_holds(state: str, category: Category) -> None:
    (finding,) = found(kernel(3, state), kernel(2, "S"))
    assert (finding.ranks, finding.category) == ((3,), category)


def test_a_process_of_no_known_rank_accuses_nobody() -> None:
    (finding,) = found(kernel(None, "D", pid=51304))
    assert (finding.ranks, finding.nodes, finding.role) == ((), (), Role.POSSIBLE)
    assert "process 51304 stopped in the kernel" in finding.summary
    assert finding.category is Category.STORAGE


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([kernel(3, "S")], id="it sleeps"),
        pytest.param([kernel(3, "D", POLL)], id="held in nothing that is storage"),
        pytest.param([kernel(3, "R")], id="it runs"),
        pytest.param([], id="nothing"),
    ],
)
def test_stays_silent(looks: list[Look]) -> None:
    assert not found(*looks)


def test_leaves_to_the_odd_stack_whom_others_wait_for() -> None:
    stacks = [REDUCE] * 3 + [SAVE]
    assert not found(look(stacks), kernel(3, "D"))
