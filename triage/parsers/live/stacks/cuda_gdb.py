"""What cuda-gdb says of a GPU: of a CUDA core dump, or of the kernels that run.

::

    Opening GPU coredump: core_gpu-n02_51306.nvcudmp

    CUDA Exception: Warp Illegal Address
    [Current focus set to CUDA kernel 0, grid 913, block (0,0,0), thread (0,0,0), device 0, ...]
    #0  0x00007f31abb9f6e0 in fused_gather_kernel(int*, int)<<<(1,1,1),(256,1,1)>>> ()

    Kernel Parent Dev Grid Status   SMs Mask GridDim BlockDim Invocation
    *    0      -   0  913 Active 0x00000001 (1,1,1) (64,1,1) ncclDevKernel_AllReduce_Sum_f32()
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.gdb import strip_arguments
from triage.parsers.live.stacks.lines import clip_line, limit_frames, shorten_name
from triage.parsers.live.stacks.py_spy import MAX_THREADS

# "Opening GPU coredump: core_gpu-n02_51306.nvcudmp"
OPENING: Final = compile_re(r"Opening GPU coredump: (\S{1,1024})")
# "CUDA Exception: Warp Illegal Address"
_EXCEPTION: Final = compile_re(r"CUDA Exception: (.{1,200})")
# "[Current focus set to CUDA kernel 0, grid 41820, block (0,0,0), thread (0,0,0), device 0, ..."
FOCUS: Final = compile_re(
    r"\[?(?:Current f|F|Switching f)ocus (?:set )?to CUDA kernel (?P<kernel>\d{1,9}), "
    r"grid (?P<grid>\d{1,19}),.{0,200}?\bdevice (?P<device>\d{1,4})\b"
)
# "#0  0x00007f1c4bff3a40 in ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)<<<(24,1,1),...>>> ()"
_FRAME: Final = compile_re(r"#\d{1,6}\s{1,6}(?:0x[0-9a-f]{1,16} in )?(?P<call>.*)$")
_LAUNCH: Final = compile_re(r"<<<.*$")
# "  Kernel Parent Dev Grid Status   SMs Mask GridDim BlockDim Invocation"
KERNELS: Final = compile_re(r"\s{0,32}Kernel +Parent +Dev +Grid +Status +SMs Mask +GridDim")
# "*      0      -   0 52162520 Active 0x00000001 (1,1,1) (64,1,1) ncclDevKernel_AllReduce_Sum()"
_ROW: Final = compile_re(
    r"[* ] {0,16}(?P<kernel>\d{1,9}) +\S{1,16} +(?P<device>\d{1,4}) +(?P<grid>\d{1,19}) +"
    r"(?P<status>\w{1,32}) +0x\w{1,64} +\(\S{1,64}\) +\(\S{1,64}\) +(?P<call>.+)$"
)
# "core_gpu-n02_51306.nvcudmp", "core_1773456067_gpu-n02_51306.nvcudmp", "cuda_coredump_n02_51306"
_OF_CORE: Final = compile_re(
    r"(?:cuda_?)?core(?:dump)?[_.](?:cuda[_.])?(?:\d{9,11}[_.])?"
    r"(?P<host>[A-Za-z][A-Za-z0-9.-]{0,252}?)[_.](?P<pid>\d{1,10})(?:\.nvcudmp)?$"
)


def read_cuda_gdb_stacks(
    lines: Sequence[str], process: Process, first: int = 1
) -> list[ThreadStack]:
    """A stack for each focus, and one for each kernel that is listed; frames are of the device."""
    stacks: list[ThreadStack] = []
    focus: ThreadStack | None = None
    frames: list[StackFrame] = []
    exception: str | None = None

    def end_focus() -> None:
        if focus is not None and frames and len(stacks) < MAX_THREADS:
            stacks.append(replace(focus, frames=limit_frames(frames), exception=exception))

    for number, whole in enumerate(lines, first):
        line = clip_line(whole)
        if match := OPENING.match(line):
            end_focus()
            focus, frames, exception = None, [], None
            process = _process_of_core(match[1], process)
        elif match := _EXCEPTION.match(line):
            end_focus()
            focus, frames, exception = None, [], match[1].strip()
        elif match := FOCUS.match(line):
            end_focus()
            frames = []
            owner = replace(process, gpu=int(match["device"]))
            name = f"kernel {match['kernel']}, grid {match['grid']}"
            focus = ThreadStack(owner, (), name, line=number)
        elif focus is not None and (match := _FRAME.match(line)):
            frames.append(_parse_kernel(match["call"]))
        elif (match := _ROW.match(line)) and len(stacks) < MAX_THREADS:
            owner = replace(process, gpu=int(match["device"]))
            name = f"kernel {match['kernel']}, grid {match['grid']}"
            active = match["status"].lower() == "active"
            stacks.append(
                ThreadStack(
                    owner, (_parse_kernel(match["call"]),), name, active=active, line=number
                )
            )
    end_focus()
    return stacks


def _parse_kernel(call: str) -> StackFrame:
    """A kernel without its parameters and the shape of its launch."""
    return StackFrame(shorten_name(strip_arguments(_LAUNCH.sub("", call))), native=True)


def _process_of_core(path: str, process: Process) -> Process:
    """Host and pid, as the driver writes them into the name of a core dump."""
    match = _OF_CORE.match(path.rpartition("/")[2][-512:])
    if match is None:
        return process
    return replace(process, host=match["host"], pid=int(match["pid"]))
