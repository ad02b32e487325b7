"""The output of tools that looked at a running job, as formats: one table, and how each begins."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.live.look import Look
from triage.domain.patterns import compile_re
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.format import Head, ReadLines
from triage.formats.health.check_format import CheckFormat
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.live import debug_server
from triage.parsers.live.gpu_tables import read_amd_smi, read_dmon, read_gpu_table, read_smi_tables
from triage.parsers.live.inspector import read_inspector
from triage.parsers.live.process_list import SCHEMA, process_list_looks
from triage.parsers.live.ras.report_json import is_ras_json, parse_json
from triage.parsers.live.ras.report_text import is_ras_text, parse_text
from triage.parsers.live.stacks import faulthandler, gdb, proc_files, py_spy
from triage.parsers.live.stacks import stack_looks as stacks
from triage.parsers.live.stacks.faulthandler import MARK
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream, ReadAhead
from triage.parsers.telemetry.labels import is_gpu_table, parse_header

# The stacks of 16,384 ranks in one file have some 80 MB.
MAX_BYTES: Final = 128 << 20


@dataclass(frozen=True, slots=True)
class LiveFormat:
    """The output of one tool: ``begins`` looks at its first 64 KiB, ``parse`` at the whole text.

    ``parse`` gets the text and the artifact's name, and raises :class:`ArtifactError` only where
    nothing can be used; of a file that is cut it gives what it has, as :attr:`Look.partial` says.
    ``also_log`` is whether the lines of the file are read as those of a log as well, for formats
    that stand inside logs, and as a report of ``checks`` where that is given. ``words`` are those
    of :class:`~triage.formats.format.Format`.
    """

    name: str
    begins: Callable[[Head], bool]
    parse: Callable[[str, str], Sequence[Look]]
    words: tuple[str, ...] = ()
    also_log: bool = False
    checks: CheckFormat | None = None

    @property
    def kind(self) -> None:
        """A log, for the service: secrets are looked for in its lines."""
        return

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is the output of this tool."""
        return self.begins(head)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """The looks, or why there are none. Of more than 128 MiB the beginning is read."""
        data = stream.read_up_to(MAX_BYTES + 1)
        text = data[:MAX_BYTES].decode("utf-8", "replace")
        try:
            looks = tuple(self.parse(text, stream.artifact))
        except ArtifactError as error:
            return Refused(stream.artifact, str(error))
        if len(data) > MAX_BYTES:
            why = f"more than {MAX_BYTES >> 20} MiB: the rest was not read"
            looks = tuple(replace(look, partial=look.partial or why) for look in looks)
        node = parse_node(stream.artifact)
        looks = tuple(look if look.node else replace(look, node=node) for look in looks)
        if self.also_log:
            again = ReadAhead(data[len(stream.head) :], stream)
            log = LogStream(stream.artifact, stream.head, again.read, stream.notes)
            checks = self.checks
            outcome = read_lines(log) if checks is None else checks.read(log, read_lines)
            return replace(outcome, looks=looks)
        file = LogFile(
            stream.artifact,
            LogKind.LIVE,
            node=node,
            lines=text.count("\n") + (not text.endswith("\n")),
            notes=(*stream.notes, *(note for look in looks for note in look.notes)),
        )
        return Outcome(file, size_bytes=len(data), looks=looks)


def _match_text(pattern: str) -> Callable[[Head], bool]:
    """Claims files whose text begins as ``pattern`` says."""
    compiled = compile_re(pattern)
    return lambda head: compiled.match(head.text) is not None


def _match_bytes(pattern: bytes) -> Callable[[Head], bool]:
    """Claims files whose first 8 KiB begin as ``pattern`` says."""
    compiled = compile_re(pattern)
    return lambda head: compiled.match(head.data[:_LOOKED_AT]) is not None


# Characters of a file that are looked at for the mark of a tool.
_LOOKED_AT: Final = 8 << 10


def _is_process_list(head: Head) -> bool:
    return head.text.lstrip().startswith("{") and f'"{SCHEMA}"' in head.text[:512]


def _is_ras_json_report(head: Head) -> bool:
    return head.data.lstrip()[:1] in (b"{", b"O", b"S", b"\xef") and is_ras_json(head.whole_text)


# How busy the GPUs of a node are at one moment. A job's log may hold the table of nvidia-smi too,
# behind other lines.

_AMD_BEGINS: Final = compile_re(
    r'\s{0,20}(?:\{\s{0,20}"gpu_data"\s{0,4}:\s{0,4})?\[\s{0,20}\{\s{0,20}"gpu"\s{0,4}:'
)
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


# What PyTorch's debug server leaves: periodic files, pages, and answers of single handlers.

_PAGE_WORDS: Final = ("<!doctype html", "<html", "<head", "<!-- saved from")
_PAGE_STARTS: Final = tuple(word.encode() for word in _PAGE_WORDS)
# "debug_server/rank0: b'http://gpu-n01:41701'", somewhere among the keys of a store
_STORED: Final = compile_re(rb"(?:\A|\n)(?:\S{1,256}/)?debug_server/rank\d{1,7}: b?['\"]?https?://")
# "default_pg/0//1//cpu//0/0: b'\x02...'"
_KEY: Final = compile_re(rb"[^\s:]{1,300}: (?:b['\"]|<)")
# "Handler dump_nccl_trace_json not found: Failed to find handler dump_nccl_trace_json", alone
_REFUSAL: Final = compile_re(rb"Handler \w{1,64} (?:not found|failed): [^\n]{0,2000}\n?\Z")


def _is_frontend_page(head: Head) -> bool:
    """The frontend's page: its title, and a heading of a rank."""
    if not head.data[:512].lstrip().lower().startswith(_PAGE_STARTS):
        return False
    return b"Torch Distributed Debug Server" in head.data and b"<h2>Rank " in head.data


def _is_store_listing(head: Head) -> bool:
    """Lines of keys with bytes, the addresses of the debug server among them."""
    start = head.data[:_LOOKED_AT]
    return _KEY.match(start) is not None and _STORED.search(start) is not None


def _is_handler_refusal(head: Head) -> bool:
    """One line alone: there is no such handler, or it failed."""
    return head.data.startswith(b"Handler ") and _REFUSAL.match(head.data[:4096]) is not None


# Stacks, by themselves in a file. Dumps also stand in the middle of job logs; such a file stays a
# log. What is claimed here begins with a dump, but for some lines of a script above it, and holds
# hardly anything else.

_DUMP_LINE: Final = compile_re(r"    |Thread [\dx]|Process \d|Parent Process \d|Python v\d")
_FAULT_LINE: Final = compile_re(
    r"  |Thread 0x|Current thread |Stack \(|\.\.\.$|Timeout \(|Extension modules: "
)
_TRACEBACK_LINE: Final = compile_re(r" |File:? ")
# What gdb says of itself, of the process and of its threads.
_GDB_LINE: Final = compile_re(
    r"$|#\d|\s|Thread \d|\[|0x[0-9a-f]|\d+\t|GNU gdb|Copyright|License|This |There|Type |For |Find"
    r"|Attaching|Reading|Using host|warning:|Core was|Program |To |[_A-Za-z:]\w* \(|\(More stack"
    r"|NVIDIA|Portions|Opening|CUDA|Detaching|Download|Traceback \(most recent call first\)"
)
# Hundreds of "[New LWP 51342]" may stand above the first thread.
_MOST_LINES: Final = 2000
# A file of "/proc" itself: status, or stack.
_PROC_START: Final = compile_re(
    rb"(?:Name:\t[^\n]{0,64}\n(?:Umask:\t\d{1,8}\n)?State:\t[A-Za-z] \()"
    rb"|(?:\[<[0-9a-f]{1,16}>\] [\w.]{1,100}\+0x[0-9a-f]{1,8}/0x)"
)
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


def _is_mostly_tool_output(lines: Sequence[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool, whose first dump begins at ``first``: few headings above
    it, and hardly a foreign line anywhere. A job log with a dump at its end is a log.
    """
    if first > _MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    whole = lines[:-1] if len(lines) > first + 1 else lines
    foreign = sum(known.match(line) is None and _HEADING.match(line) is None for line in whole)
    return foreign * 100 <= _MOST_FOREIGN_PERCENT * len(whole)


def _match_dump(
    marks: tuple[str, str],
    header: re.Pattern[str],
    below: re.Pattern[str],
    known: re.Pattern[str],
    never: bytes = b"\0",
    anywhere: bool = False,
) -> Callable[[Head], bool]:
    """Claims dumps with both ``marks``, a line like ``header`` and one like ``below`` under it,
    of lines like ``known``; ``anywhere`` is whether many of these may stand above the first.
    """

    def begins(head: Head) -> bool:
        data = head.data if anywhere else head.data[:_LOOKED_AT]
        if never in data or any(mark.encode() not in data for mark in marks):
            return False
        lines = split_clean_lines(head.whole_text if anywhere else head.text)[:_MOST_LINES]
        for place, line in enumerate(lines):
            if header.match(line) and below.match("".join(lines[place + 1 : place + 2])):
                return _is_mostly_tool_output(lines, 0 if anywhere else place, known)
        return False

    return begins


def _is_proc_files(head: Head) -> bool:
    """A file of ``/proc``, or several below headings."""
    if _PROC_START.match(head.data) is not None:
        return True
    start = head.data[:_LOOKED_AT]
    if b"State:\t" not in start and b"\n[<" not in start:
        return False
    first = next((line for line in split_clean_lines(head.text) if line.strip()), "")
    heading = proc_files.HEADING.match(first)
    return heading is not None and bool(heading["mark"] or heading["path"])


# The formats of looks at a running job, the surest first.
LIVE: Final[tuple[LiveFormat, ...]] = (
    LiveFormat("process_list", _is_process_list, process_list_looks, (SCHEMA,)),
    LiveFormat("ras_text", lambda head: is_ras_text(head.text), parse_text, ("Job summary",)),
    LiveFormat("ras_json", _is_ras_json_report, parse_json),
    # "=== Rank 0: http://gpu-n01:33767/handler/dump_traceback? ===", or "PARTIAL DATA: 2/4 workers
    # responded", then "  Rank 2: ..." up to the first section
    LiveFormat(
        "debug_server_file",
        _match_bytes(
            rb"\s{0,64}=== Rank \d{1,7}: https?://[^\s/]{1,300}/handler/\w"
            rb"|\s{0,64}PARTIAL DATA: \d{1,7}/\d{1,7} workers responded\r?\n"
        ),
        debug_server.read_debug_file,
        ("=== Rank ", "PARTIAL DATA: "),
    ),
    LiveFormat("debug_server_page", _is_frontend_page, debug_server.page_looks, _PAGE_WORDS),
    LiveFormat("store_keys", _is_store_listing, debug_server.store_looks, ("debug_server/rank",)),
    # "=== FR Trace ===", the CPU recorder's tables, before "=== FR Trace NCCL ==="
    LiveFormat(
        "trace_tables",
        _match_bytes(rb"\s{0,64}=== FR Trace(?: \w{1,32})? ===\r?\n"),
        debug_server.read_trace_tables,
        ("=== FR Trace",),
    ),
    # '{"pytorch.wait_counter.TCPStore__get":{"active_count":0,...'
    LiveFormat(
        "wait_counters",
        _match_bytes(
            rb'\s{0,64}\{\s{0,64}"pytorch\.wait_counter\.[^"]{1,300}"\s{0,16}:\s{0,16}'
            rb'\{\s{0,64}"\w{1,32}"'
        ),
        debug_server.read_counter_answer,
        ("pytorch.wait_counter.",),
    ),
    LiveFormat(
        "handler_refusal", _is_handler_refusal, debug_server.read_refusal_answer, ("Handler ",)
    ),
    # "Process 20640: python train.py", and in the next line "Python v3.11.7 (...)"
    LiveFormat(
        "py_spy",
        _match_dump(
            ("Process ", "Python v"), py_spy.HEADER, compile_re(py_spy.VERSION), _DUMP_LINE
        ),
        stacks.read_py_spy_looks,
        ("Python v",),
    ),
    # "Thread 0x00007f5ee27fc6c0 (most recent call first):". A crash ("Fatal Python error: ...") is
    # an event, and stays a line of a log.
    LiveFormat(
        "faulthandler",
        _match_dump(
            (MARK, MARK), faulthandler.THREAD, compile_re(""), _FAULT_LINE, b"Fatal Python error: "
        ),
        stacks.read_faulthandler_looks,
        (MARK,),
    ),
    # {"header":{"id":"0x1f","comm_name":"default_pg",...},"metadata":{"inspector_output_...
    LiveFormat(
        "inspector",
        _match_text(
            r'\s{0,20}\{(?=[^\n]{0,2000}"inspector_output_format_version")'
            r'[^\n]{0,200}"(?:header|dump_stats|metadata)"'
        ),
        read_inspector,
        ('"inspector_output_format_version"',),
    ),
    LiveFormat("gpu_table", _is_table_of_gpus, read_gpu_table, ("utilization.gpu",)),
    # # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
    LiveFormat(
        "gpu_dmon",
        _match_text(r"\s{0,20}# gpu\s[^\n]{0,200}\bsm\s[^\n]{0,200}\n# Idx\s"),
        read_dmon,
        ("# Idx",),
    ),
    LiveFormat("amd_smi_usage", _is_amd_usage, read_amd_smi),
    LiveFormat(
        "nvidia_smi_table",
        lambda head: _SMI_BEGINS.match(head.plain_text) is not None,
        read_smi_tables,
        ("| NVIDIA-SMI ",),
        also_log=True,
    ),
    # '[{"pid": 20639, "thread_id": 139741064300224, ...'
    LiveFormat(
        "py_spy_json",
        _match_bytes(
            rb'\s{0,64}\[\s{0,64}\{\s{0,64}"pid"\s{0,8}:\s{0,8}\d{1,10}\s{0,8},\s{0,64}'
            rb'"thread_id"\s{0,8}:'
        ),
        stacks.read_py_spy_json_looks,
        ('"thread_id"',),
    ),
    # 'Thread 1 (Thread 0x7f40d13f7740 (LWP 51306) "python"):', then "#0  ..."
    LiveFormat(
        "gdb",
        _match_dump(("(LWP ", "\n#0  "), gdb.THREAD, compile_re("#0 "), _GDB_LINE, anywhere=True),
        stacks.read_gdb_looks,
    ),
    LiveFormat("proc_files", _is_proc_files, stacks.read_proc_looks, ("State:\t", "[<")),
    # "# Thread 139741924293504 (MainThread)", and frames of tracebacks below
    LiveFormat(
        "python_traceback",
        _match_dump(("# Thread", "File"), faulthandler.HEADER, faulthandler.FRAME, _TRACEBACK_LINE),
        stacks.read_python_traceback_looks,
        ("# Thread",),
    ),
)
