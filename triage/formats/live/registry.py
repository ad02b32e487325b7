"""The formats of looks at a running job, the surest first."""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head
from triage.formats.live.debug_server import (
    HANDLER_REFUSAL,
    SERVER_FILE,
    SERVER_PAGE,
    STORE_KEYS,
    TRACE_TABLES,
    WAIT_COUNTER_VALUES,
)
from triage.formats.live.gpu_states import AMD_SMI, GPU_DMON, GPU_TABLE, SMI_TABLE
from triage.formats.live.live_format import LiveFormat
from triage.formats.live.nccl_tools import (
    INSPECTOR,
    INSPECTOR_METRICS,
    PROFILER,
    PROXY_TRACE,
    REPLAY,
)
from triage.formats.live.stack_dumps import (
    FAULTHANDLER,
    LOOKED_AT,
    PY_SPY,
    PY_SPY_JSON,
    PYTHON_TRACEBACK,
    is_mostly_tool_output,
)
from triage.parsers.live.process_list import SCHEMA, process_list_looks
from triage.parsers.live.ras.monitor import is_ras_monitor, parse_monitor
from triage.parsers.live.ras.report_json import is_ras_json, parse_json
from triage.parsers.live.ras.report_text import is_ras_text, parse_text
from triage.parsers.live.stacks import gdb, proc_files
from triage.parsers.live.stacks.cuda_gdb import FOCUS, KERNELS, OPENING
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.stack_looks import (
    read_cuda_gdb_looks,
    read_gdb_looks,
    read_proc_looks,
)


def _has_schema_head(head: Head) -> bool:
    return head.text.lstrip().startswith("{") and f'"{SCHEMA}"' in head.text[:512]


_PROCESS_LIST: Final = LiveFormat(
    "process_list", _has_schema_head, process_list_looks, words=(SCHEMA,)
)


def _is_text(head: Head) -> bool:
    return is_ras_text(head.text)


def _is_json(head: Head) -> bool:
    return head.data.lstrip()[:1] in (b"{", b"O", b"S", b"\xef") and is_ras_json(head.whole_text)


def _is_monitor(head: Head) -> bool:
    return is_ras_monitor(head.text)


_RAS_TEXT: Final = LiveFormat("ras_text", _is_text, parse_text, words=("Job summary",))
_RAS_JSON: Final = LiveFormat("ras_json", _is_json, parse_json)
_RAS_MONITOR: Final = LiveFormat("ras_monitor", _is_monitor, parse_monitor, words=("PEER_",))


# What gdb says of itself, of the process and of its threads.
_GDB_LINE: Final = compile_re(
    r"$|#\d|\s|Thread \d|\[|0x[0-9a-f]|\d+\t|GNU gdb|Copyright|License|This |There|Type |For |Find"
    r"|Attaching|Reading|Using host|warning:|Core was|Program |To |[_A-Za-z:]\w* \(|\(More stack"
    r"|NVIDIA|Portions|Opening|CUDA|Detaching|Download|Traceback \(most recent call first\)"
)
_CUDA_LINE: Final = compile_re(_GDB_LINE.pattern + r"|The exception|\*? +(?:Kernel|\d)|\* ")
# Hundreds of "[New LWP 51342]" may stand above the first thread.
_MOST_LINES: Final = 2000
# A file of "/proc" itself: status, or stack.
_PROC_START: Final = compile_re(
    rb"(?:Name:\t[^\n]{0,64}\n(?:Umask:\t\d{1,8}\n)?State:\t[A-Za-z] \()"
    rb"|(?:\[<[0-9a-f]{1,16}>\] [\w.]{1,100}\+0x[0-9a-f]{1,8}/0x)"
)


def _is_gdb_output(head: Head) -> bool:
    """``Thread 1 (Thread 0x7f40d13f7740 (LWP 51306) "python"):``, then ``#0  ...``."""
    if b"(LWP " not in head.data or b"\n#0  " not in head.data:
        return False
    lines = split_clean_lines(head.whole_text)[:_MOST_LINES]
    for place, line in enumerate(lines[:-1]):
        if gdb.THREAD.match(line) and lines[place + 1].startswith("#0 "):
            return is_mostly_tool_output(lines, 0, _GDB_LINE)
    return False


def _is_cuda_gdb_output(head: Head) -> bool:
    """A GPU core dump that is opened, or the table of running kernels."""
    lines = split_clean_lines(head.text)
    found = any(OPENING.match(line) or FOCUS.match(line) or KERNELS.match(line) for line in lines)
    return found and is_mostly_tool_output(lines, 0, _CUDA_LINE)


def _is_proc_files(head: Head) -> bool:
    """A file of ``/proc``, or several below headings."""
    if _PROC_START.match(head.data) is not None:
        return True
    start = head.data[:LOOKED_AT]
    if b"State:\t" not in start and b"\n[<" not in start:
        return False
    first = next((line for line in split_clean_lines(head.text) if line.strip()), "")
    heading = proc_files.HEADING.match(first)
    return heading is not None and bool(heading["mark"] or heading["path"])


_CUDA_GDB: Final = LiveFormat(
    "cuda_gdb",
    _is_cuda_gdb_output,
    read_cuda_gdb_looks,
    words=("GPU coredump", "CUDA kernel", "SMs Mask"),
)
_GDB: Final = LiveFormat("gdb", _is_gdb_output, read_gdb_looks)
_PROC_FILES: Final = LiveFormat(
    "proc_files", _is_proc_files, read_proc_looks, words=("State:\t", "[<")
)


LIVE: Final[tuple[LiveFormat, ...]] = (
    _PROCESS_LIST,
    _RAS_TEXT,
    _RAS_JSON,
    _RAS_MONITOR,
    SERVER_FILE,
    SERVER_PAGE,
    STORE_KEYS,
    TRACE_TABLES,
    WAIT_COUNTER_VALUES,
    HANDLER_REFUSAL,
    PY_SPY,
    FAULTHANDLER,
    INSPECTOR,
    INSPECTOR_METRICS,
    PROFILER,
    REPLAY,
    PROXY_TRACE,
    GPU_TABLE,
    GPU_DMON,
    AMD_SMI,
    SMI_TABLE,
    PY_SPY_JSON,
    _CUDA_GDB,
    _GDB,
    _PROC_FILES,
    PYTHON_TRACEBACK,
)
