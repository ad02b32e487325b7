"""/proc: state, wait channel and stack of the kernel, together or each by itself."""

import pytest

from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.proc_files import read_proc_stacks
from triage.parsers.live.stacks.stack_looks import read_proc_looks

STATUS = (
    "Name:\tpython\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4100\nPid:\t4100\nPPid:\t4000\n"
)
STACK = "[<0>] rpc_wait_bit_killable+0x11/0x70 [sunrpc]\n[<0>] __x64_sys_fsync+0x37/0x60\n"
FRAMES = (
    StackFrame("rpc_wait_bit_killable", "sunrpc", None, True),
    StackFrame("__x64_sys_fsync", "", None, True),
)


def stacks(text: str, name: str = "x.txt") -> list[ThreadStack]:
    return read_proc_stacks(split_clean_lines(text), UNKNOWN_PROCESS, name)


@pytest.mark.parametrize(
    "text",
    [
        f"== status\n{STATUS}== wchan\nrpc_wait\n== stack\n{STACK}== syscall\n74 0x5c 0x0\n",
        f"==> /proc/4100/status <==\n{STATUS}\n==> /proc/4100/wchan <==\nrpc_wait\n"
        f"==> /proc/4100/stack <==\n{STACK}",
        f"/proc/4100/status:\n{STATUS}/proc/4100/wchan:\nrpc_wait\n/proc/4100/stack:\n{STACK}",
    ],
    ids=["script", "head", "paths"],
)
def test_files_below_headings_are_one_thread(text: str) -> None:
    (one,) = stacks(text)

    assert one.process == Process(pid=4100, parent_pid=4000)
    assert (one.state, one.waits_in, one.thread_name) == ("D", "rpc_wait", "python")
    assert (one.is_main, one.thread_id) == (True, 4100)
    assert one.frames == FRAMES


def test_a_wait_channel_of_0_says_nothing() -> None:
    assert stacks(f"== status\n{STATUS}== wchan\n0\n")[0].waits_in is None


def test_a_file_that_comes_again_is_of_another_process() -> None:
    one = f"== status\n{STATUS}== wchan\nrpc_wait\n"
    found = stacks(one + one.replace("4100", "5100").replace("rpc_wait", "futex_wait"))

    assert [(stack.process.pid, stack.waits_in) for stack in found] == [
        (4100, "rpc_wait"), (5100, "futex_wait"),
    ]  # fmt: skip


def test_threads_of_one_process_are_told_apart() -> None:
    text = "".join(f"==> /proc/4100/task/{thread}/stack <==\n{STACK}" for thread in (4100, 4107))

    assert [(one.process.pid, one.thread_id, one.is_main) for one in stacks(text)] == [
        (4100, 4100, True), (4100, 4107, False),
    ]  # fmt: skip


def test_a_file_alone_takes_the_pid_from_its_path() -> None:
    (stack,) = stacks(STACK, "nodes/n1/proc/4100/stack")
    (status,) = stacks(STATUS, "status")

    assert (stack.process.pid, stack.frames) == (4100, FRAMES)
    assert (status.process.pid, status.process.parent_pid, status.state) == (4100, 4000, "D")


def test_the_parent_of_a_rank_does_not_make_it_a_worker() -> None:
    (look,) = read_proc_looks(f"== status\n{STATUS}", "proc/rank_2.txt")

    assert look.stacks[0].process == Process(rank=2, pid=4100, parent_pid=4000)
