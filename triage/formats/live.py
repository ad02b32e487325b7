"""The output of a tool that looked at a running job, as a format."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.live.look import Look
from triage.domain.patterns import compile_re
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Head, ReadLines
from triage.formats.health.check_format import CheckFormat
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.live.comm_state import TRANSFER_LINE, read_comm_state, read_proxy_trace
from triage.parsers.live.debug_server import (
    page_looks,
    read_counter_answer,
    read_debug_file,
    read_refusal_answer,
    read_trace_tables,
    store_looks,
)
from triage.parsers.live.gpu_tables import read_amd_smi, read_dmon, read_gpu_table, read_smi_tables
from triage.parsers.live.inspector import read_inspector, read_inspector_metrics, read_profiler
from triage.parsers.live.process_list import SCHEMA, process_list_looks
from triage.parsers.live.ras.report_json import (
    is_ras_json,
    is_ras_monitor,
    parse_json,
    parse_monitor,
)
from triage.parsers.live.ras.report_text import is_ras_text, parse_text
from triage.parsers.live.replay import read_replay
from triage.parsers.live.stacks import faulthandler, gdb, proc_files
from triage.parsers.live.stacks.faulthandler import MARK, THREAD
from triage.parsers.live.stacks.gdb import FOCUS, KERNELS, OPENING
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.py_spy import HEADER, VERSION
from triage.parsers.live.stacks.stack_looks import (
    read_cuda_gdb_looks,
    read_faulthandler_looks,
    read_gdb_looks,
    read_proc_looks,
    read_py_spy_json_looks,
    read_py_spy_looks,
    read_python_traceback_looks,
)
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream, ReadAhead
from triage.parsers.telemetry.labels import is_gpu_table, parse_header

# The stacks of 16,384 ranks in one file have some 80 MB.
MAX_BYTES: Final = 128 << 20
_STEP_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class LiveFormat:
    """The output of one tool: ``begins`` looks at its first 64 KiB, ``parse`` at the whole text.

    ``parse`` gets the text and the artifact's name, and raises :class:`ArtifactError` only where
    nothing can be used; of a file that is cut it gives what it has, as :attr:`Look.partial` says.
    ``also_log`` is whether the lines of the file are read as those of a log as well, for formats
    that stand inside logs. ``words`` are those of :class:`~triage.formats.format.Format`.
    """

    name: str
    begins: Callable[[Head], bool]
    parse: Callable[[str, str], Sequence[Look]]
    words: tuple[str, ...] = ()
    also_log: bool = False
    binary: bool = False

    @property
    def kind(self) -> None:
        """A log, for the service: secrets are looked for in its lines."""
        return

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is the output of this tool."""
        return self.begins(head)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """The looks, or why there are none. Of more than 128 MiB the beginning is read."""
        data, cut = _read_beginning(stream)
        text = data.decode("utf-8", "replace")
        try:
            looks = tuple(self.parse(text, stream.artifact))
        except ArtifactError as error:
            return Refused(stream.artifact, str(error))
        if cut:
            why = f"more than {MAX_BYTES >> 20} MiB: the rest was not read"
            looks = tuple(replace(look, partial=look.partial or why) for look in looks)
        node = parse_node(stream.artifact)
        looks = tuple(look if look.node else replace(look, node=node) for look in looks)
        if self.also_log:
            behind = data[len(stream.head) :]
            log = LogStream(stream.artifact, stream.head, io.BytesIO(behind).read, stream.notes)
            if cut:
                log.read = ReadAhead(behind, stream).read
            outcome = read_lines(log)
            return replace(outcome, looks=looks)
        file = LogFile(
            stream.artifact,
            LogKind.LIVE,
            node=node,
            lines=text.count("\n") + (not text.endswith("\n")),
            notes=(*stream.notes, *(note for look in looks for note in look.notes)),
        )
        return Outcome(file, size_bytes=len(data), looks=looks)


def _read_beginning(stream: LogStream) -> tuple[bytes, bool]:
    """The bytes of a stream, at most :data:`MAX_BYTES`, and whether there are more."""
    data = bytearray()
    while len(data) <= MAX_BYTES:
        piece = bytearray(_STEP_BYTES)
        got = stream.fill(memoryview(piece))
        data += piece[:got]
        if got < _STEP_BYTES:
            break
    return bytes(data[:MAX_BYTES]), len(data) > MAX_BYTES


# A look at GPUs in which a check can be read, too: one file, both readers.


@dataclass(frozen=True, slots=True)
class LooksAndChecks:
    """What ``looks`` claims, with the results of ``checks`` beside the looks.

    The lines of such a file are read as those of a log (:attr:`LiveFormat.also_log`).
    """

    looks: LiveFormat
    checks: CheckFormat
    binary: bool = False

    @property
    def name(self) -> str:
        """That of the looks."""
        return self.looks.name

    @property
    def kind(self) -> None:
        """A log, as of the looks."""
        return

    @property
    def words(self) -> tuple[str, ...]:
        """Those of the looks."""
        return self.looks.words

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is one of these."""
        return self.looks.claims(head)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """The looks, and the rows of a log with the results among them."""
        return self.looks.read(stream, lambda log: self.checks.read(log, read_lines))


# What NCCL's own tools and its kin leave of a running job, by how their files begin.
#
# ::
#
#     {"version": "2.10", "nccl_comm_state": {"0x1f": {"commHash": "1f", "rank": "3", ...}}, ...}
#     createT:1790000067112, lastT:1790000067113, ..., 3->2(R), chan:0, status:RECEIVING, ...
#     { version : 1, CommInitRank : [size : 4, uniqueID : 1027, rank : 0, ...
#     [ {"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 881, "pid": 812, ...
#     {"header":{"id":"0x1f","comm_name":"default_pg",...},"metadata":{"inspector_output_...

_REPLAY_BEGINS: Final = compile_re(
    r"\s{0,20}\{\s{1,20}version : \d{1,4},\s{1,20}(?:CommInit\w{1,20}|[A-Z]\w{2,40}) : \["
)
_PROFILER_BEGINS: Final = compile_re(
    r'\s{0,20}\[\s{0,20}\{"name": "[^"\n]{1,80}", '
    r'"cat": "(?:GROUP|COLL|P2P|PROXY|NET|GPU)\w{0,20}", "ph": "[be]"'
)
_INSPECTOR_BEGINS: Final = compile_re(
    r'\s{0,20}\{(?=[^\n]{0,2000}"inspector_output_format_version")'
    r'[^\n]{0,200}"(?:header|dump_stats|metadata)"'
)

# 'nccl_bus_bandwidth_gbs{version="v5.1",slurm_job_id="7",node="n1",gpu="GPU0",comm_name=...'
_METRICS_BEGIN: Final = compile_re(
    r"\s{0,20}(?:#[^\n]{0,400}\n\s{0,20}){0,8}nccl_(?:p2p_)?"
    r"(?:bus_bandwidth_gbs|collective_exec_time_microseconds|exec_time_microseconds)"
    r"\{[^}\n]{0,400}comm_name="
)


def _is_json_dump(head: Head) -> bool:
    return head.data.lstrip()[:1] == b"{" and FLIGHT_RECORDER.claims(head)


def _is_proxy_trace(head: Head) -> bool:
    return b"createT:" in head.data and TRANSFER_LINE.search(head.whole_text) is not None


# Not in the table: a dump that its own reader hands on is read by this.
COMM_STATE: Final = LiveFormat("comm_state", _is_json_dump, read_comm_state)
PROXY_TRACE: Final = LiveFormat("proxy_trace", _is_proxy_trace, read_proxy_trace, also_log=True)
REPLAY: Final = LiveFormat(
    "replay",
    lambda head: _REPLAY_BEGINS.match(head.text) is not None,
    read_replay,
    words=("version : ",),
)
PROFILER: Final = LiveFormat(
    "profiler",
    lambda head: _PROFILER_BEGINS.match(head.text) is not None,
    read_profiler,
    words=('"cat": ',),
)
INSPECTOR: Final = LiveFormat(
    "inspector",
    lambda head: _INSPECTOR_BEGINS.match(head.text) is not None,
    read_inspector,
    words=('"inspector_output_format_version"',),
)
INSPECTOR_METRICS: Final = LiveFormat(
    "inspector_metrics",
    lambda head: _METRICS_BEGIN.match(head.text) is not None,
    read_inspector_metrics,
    words=("comm_name=",),
)


# How busy the GPUs of a node are at one moment, by how the tables begin.
#
# ::
#
#     index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W]
#     # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
#     [{"gpu": 0, "usage": {"gfx_activity": {"value": 100, "unit": "%"}, ...
#     | NVIDIA-SMI 550.90.07       Driver Version: 550.90.07    CUDA Version: 12.4 |

_DMON_BEGINS: Final = compile_re(r"\s{0,20}# gpu\s[^\n]{0,200}\bsm\s[^\n]{0,200}\n# Idx\s")
_AMD_BEGINS: Final = compile_re(
    r'\s{0,20}(?:\{\s{0,20}"gpu_data"\s{0,4}:\s{0,4})?\[\s{0,20}\{\s{0,20}"gpu"\s{0,4}:'
)


# A job's log may hold such a table too, behind other lines.
_SMI_BEGINS: Final = compile_re(
    r"\s{0,20}(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\s{1,4})?"
    r"\+-{20,120}\+\s{1,4}\| NVIDIA-SMI \d"
)


def _is_table_of_gpus(head: Head) -> bool:
    first = head.data.partition(b"\n")[0][:4096]
    if b"utilization.gpu" not in first:
        return False
    columns = parse_header(first)
    return columns is not None and is_gpu_table(columns)


def _is_amd_usage(head: Head) -> bool:
    return _AMD_BEGINS.match(head.text) is not None and b'"gfx_activity"' in head.data


GPU_TABLE: Final = LiveFormat(
    "gpu_table", _is_table_of_gpus, read_gpu_table, words=("utilization.gpu",)
)
GPU_DMON: Final = LiveFormat(
    "gpu_dmon",
    lambda head: _DMON_BEGINS.match(head.text) is not None,
    read_dmon,
    words=("# Idx",),
)
AMD_SMI: Final = LiveFormat("amd_smi_usage", _is_amd_usage, read_amd_smi)
SMI_TABLE: Final = LiveFormat(
    "nvidia_smi_table",
    lambda head: _SMI_BEGINS.match(head.plain_text) is not None,
    read_smi_tables,
    also_log=True,
    words=("| NVIDIA-SMI ",),
)


# What PyTorch's debug server leaves: periodic files, pages, and answers of single handlers.

_LOOKED_AT: Final = 8 << 10
# "=== Rank 0: http://gpu-n01:33767/handler/dump_traceback? ==="
_SECTION: Final = compile_re(rb"\s{0,64}=== Rank \d{1,7}: https?://[^\s/]{1,300}/handler/\w")
# "PARTIAL DATA: 2/4 workers responded", then "  Rank 2: ..." up to the first section
_PARTIAL: Final = compile_re(rb"\s{0,64}PARTIAL DATA: \d{1,7}/\d{1,7} workers responded\r?\n")
# '{"pytorch.wait_counter.TCPStore__get":{"active_count":0,...'
_COUNTER: Final = compile_re(
    rb'\s{0,64}\{\s{0,64}"pytorch\.wait_counter\.[^"]{1,300}"\s{0,16}:\s{0,16}\{\s{0,64}"\w{1,32}"'
)
# "Handler dump_nccl_trace_json not found: Failed to find handler dump_nccl_trace_json", alone
_REFUSAL: Final = compile_re(rb"Handler \w{1,64} (?:not found|failed): [^\n]{0,2000}\n?\Z")
# "debug_server/rank0: b'http://gpu-n01:41701'", somewhere among the keys of a store
_STORED: Final = compile_re(rb"(?:\A|\n)(?:\S{1,256}/)?debug_server/rank\d{1,7}: b?['\"]?https?://")
# "default_pg/0//1//cpu//0/0: b'\x02...'"
_KEY: Final = compile_re(rb"[^\s:]{1,300}: (?:b['\"]|<)")


# "=== FR Trace ===", the CPU recorder's tables, before "=== FR Trace NCCL ==="
_TABLES: Final = compile_re(rb"\s{0,64}=== FR Trace(?: \w{1,32})? ===\r?\n")
_PAGE_WORDS: Final = ("<!doctype html", "<html", "<head", "<!-- saved from")
_PAGE_STARTS: Final = tuple(word.encode() for word in _PAGE_WORDS)


def _is_table_page(head: Head) -> bool:
    """The heading of the tables."""
    return _TABLES.match(head.data[:256]) is not None


def _is_periodic_file(head: Head) -> bool:
    """A section of a rank, or the list of those that did not answer."""
    return _SECTION.match(head.data) is not None or _PARTIAL.match(head.data) is not None


def _is_frontend_page(head: Head) -> bool:
    """The frontend's page: its title, and a heading of a rank."""
    if not head.data[:512].lstrip().lower().startswith(_PAGE_STARTS):
        return False
    whole = head.data
    return b"Torch Distributed Debug Server" in whole and b"<h2>Rank " in whole


def _is_store_listing(head: Head) -> bool:
    """Lines of keys with bytes, the addresses of the debug server among them."""
    start = head.data[:_LOOKED_AT]
    return _KEY.match(start) is not None and _STORED.search(start) is not None


def _is_wait_counters(head: Head) -> bool:
    """A JSON object of wait counters."""
    return _COUNTER.match(head.data[:_LOOKED_AT]) is not None


def _is_handler_refusal(head: Head) -> bool:
    """One line alone: there is no such handler, or it failed."""
    return head.data.startswith(b"Handler ") and _REFUSAL.match(head.data[:4096]) is not None


SERVER_FILE: Final = LiveFormat(
    "debug_server_file", _is_periodic_file, read_debug_file, words=("=== Rank ", "PARTIAL DATA: ")
)
SERVER_PAGE: Final = LiveFormat(
    "debug_server_page", _is_frontend_page, page_looks, words=_PAGE_WORDS
)
STORE_KEYS: Final = LiveFormat(
    "store_keys", _is_store_listing, store_looks, words=("debug_server/rank",)
)
WAIT_COUNTER_VALUES: Final = LiveFormat(
    "wait_counters", _is_wait_counters, read_counter_answer, words=("pytorch.wait_counter.",)
)
TRACE_TABLES: Final = LiveFormat(
    "trace_tables", _is_table_page, read_trace_tables, words=("=== FR Trace",)
)
HANDLER_REFUSAL: Final = LiveFormat(
    "handler_refusal", _is_handler_refusal, read_refusal_answer, words=("Handler ",)
)


# Stacks as Python's own tools print them, by themselves in a file.
#
# Dumps also stand in the middle of job logs; such a file stays a log. What is claimed here begins
# with a dump, but for some lines of a script above it, and holds hardly anything else.

_DUMP_LINE: Final = compile_re(r"    |Thread [\dx]|Process \d|Parent Process \d|Python v\d")
_FAULT_LINE: Final = compile_re(
    r"  |Thread 0x|Current thread |Stack \(|\.\.\.$|Timeout \(|Extension modules: "
)
# '[{"pid": 20639, "thread_id": 139741064300224, ...'
_JSON_START: Final = compile_re(
    rb'\s{0,64}\[\s{0,64}\{\s{0,64}"pid"\s{0,8}:\s{0,8}\d{1,10}\s{0,8},\s{0,64}"thread_id"\s{0,8}:'
)
_TRACEBACK_LINE: Final = compile_re(r" |File:? ")


def _is_py_spy_dump(head: Head) -> bool:
    """``Process 20640: python train.py``, and in the next line ``Python v3.11.7 (...)``."""
    start = head.data[:LOOKED_AT]
    if b"Process " not in start or b"Python v" not in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines[:-1]):
        if HEADER.match(line) and lines[place + 1].startswith(VERSION):
            return is_mostly_tool_output(lines, place, _DUMP_LINE)
    return False


def _is_faulthandler_dump(head: Head) -> bool:
    """``Thread 0x00007f5ee27fc6c0 (most recent call first):``.

    A crash (``Fatal Python error: ...``) is an event, and stays a line of a log.
    """
    start = head.data[:LOOKED_AT]
    if MARK.encode() not in start or b"Fatal Python error: " in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines):
        if THREAD.match(line):
            return is_mostly_tool_output(lines, place, _FAULT_LINE)
    return False


def _is_py_spy_json(head: Head) -> bool:
    """An array of objects, each with a pid, a thread and its frames."""
    return _JSON_START.match(head.data[:1024]) is not None


def _is_traceback_dump(head: Head) -> bool:
    """``# Thread 139741924293504 (MainThread)``, and frames of tracebacks below."""
    start = head.data[:LOOKED_AT]
    if b"# Thread" not in start or b"File" not in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines[:-1]):
        if faulthandler.HEADER.match(line) and faulthandler.FRAME.match(lines[place + 1]):
            return is_mostly_tool_output(lines, place, _TRACEBACK_LINE)
    return False


PY_SPY: Final = LiveFormat("py_spy", _is_py_spy_dump, read_py_spy_looks, words=("Python v",))
PY_SPY_JSON: Final = LiveFormat(
    "py_spy_json", _is_py_spy_json, read_py_spy_json_looks, words=('"thread_id"',)
)
FAULTHANDLER: Final = LiveFormat(
    "faulthandler", _is_faulthandler_dump, read_faulthandler_looks, words=(MARK,)
)
PYTHON_TRACEBACK: Final = LiveFormat(
    "python_traceback", _is_traceback_dump, read_python_traceback_looks, words=("# Thread",)
)


# Characters of a file that are looked at for the mark of a tool.
LOOKED_AT: Final = 8 << 10
# Lines of a script above the first dump: its date, the rank, the command.
_MOST_ABOVE: Final = 12
# Of 100 lines that begin a file, as many may be of something else.
_MOST_FOREIGN_PERCENT: Final = 15
# "=== rank 3 ===", "rank 3 pid 4100", "Sat Nov 22 08:38:45 UTC 2026", "2026-11-22 08:38:45"
_HEADING: Final = compile_re(
    r"$|[=#*+>-]|(?:(?:global[_ ])?rank|pid|host|node|stacks?|dump|date|time|py-?spy)\b.{0,100}$"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8}.{0,16}$|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]{5,24}$",
    re.I,
)


def is_mostly_tool_output(lines: Sequence[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool, whose first dump begins at ``first``: few headings above
    it, and hardly a foreign line anywhere. A job log with a dump at its end is a log.
    """
    if first > _MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    whole = lines[:-1] if len(lines) > first + 1 else lines
    foreign = sum(known.match(line) is None and _HEADING.match(line) is None for line in whole)
    return foreign * 100 <= _MOST_FOREIGN_PERCENT * len(whole)


# The formats of looks at a running job, the surest first.


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
