"""cuda-gdb: kernels and exceptions of a GPU."""

import pytest

from triage.domain.live.look import Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.parsers.live.stacks.gdb import read_cuda_gdb_stacks
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.stack_looks import read_cuda_gdb_looks

CORE = """Opening GPU coredump: /var/cores/core_1773456067_gpu-n04_4100.nvcudmp

CUDA Exception: Warp Illegal Address
The exception was triggered at PC 0x7f31  gather(int*, int)
[Current focus set to CUDA kernel 0, grid 913, block (0,0,0), thread (0,0,0), device 3, sm 4]
#0  0x00007f31abb9f6e0 in gather(int*, int)<<<(1,1,1),(256,1,1)>>> ()
"""
ROWS = """  Kernel Parent Dev Grid Status   SMs Mask GridDim BlockDim Invocation
*      0      -   2 5216 Active 0x00000001 (1,1,1) (64,1,1) ncclDevKernel_AllReduce_Sum_f32()
       1      -   2 5217 Inactive 0x00000000 (1,1,1) (64,1,1) gemm(float*)
"""


def stacks(text: str) -> list[ThreadStack]:
    return read_cuda_gdb_stacks(split_clean_lines(text), UNKNOWN_PROCESS)


def test_a_core_tells_host_pid_gpu_kernel_and_exception() -> None:
    (one,) = stacks(CORE)

    assert one.process == Process(host="gpu-n04", pid=4100, gpu=3)
    assert one.frames == (StackFrame("gather", native=True),)
    assert (one.exception, one.line) == ("Warp Illegal Address", 5)


def test_a_kernel_that_hangs_is_no_exception() -> None:
    text = CORE.replace("CUDA Exception: Warp Illegal Address\n", "")

    assert stacks(text)[0].exception is None


def test_a_row_each_of_the_running_kernels() -> None:
    assert [(one.process.gpu, one.active, one.frames[0].function) for one in stacks(ROWS)] == [
        (2, True, "ncclDevKernel_AllReduce_Sum_f32"), (2, False, "gemm"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["mycore", "core_4100.nvcudmp", "core_gpu-n04.nvcudmp"])
def test_a_core_of_another_name_tells_no_process(name: str) -> None:
    text = CORE.replace("/var/cores/core_1773456067_gpu-n04_4100.nvcudmp", name)

    assert stacks(text)[0].process == Process(gpu=3)


def test_threads_of_the_host_are_a_look_of_their_own() -> None:
    text = CORE + '\nThread 1 (Thread 0x7f40 (LWP 4100) "python"):\n#0  0x00007f in poll ()\n'

    assert [look.tool for look in read_cuda_gdb_looks(text, "a.txt")] == [Tool.CUDA_GDB, Tool.GDB]
