"""The files, pages and single answers of PyTorch's debug server as looks.

Stacks come as from faulthandler and py-spy, each thread with rank and host. The server's own
threads are among them: ``<no Python frame>``, under py-spy a thread without a name.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from zlib import crc32

from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.live.file_names import rank_of_name, stamp_of_name
from triage.parsers.live.foreign_values import get_count, get_json_object
from triage.parsers.live.stacks.faulthandler import read_faulthandler_rounds
from triage.parsers.live.stacks.lines import shorten_name, split_clean_lines
from triage.parsers.live.stacks.py_spy import read_py_spy

_TOOLS: Final = {
    "dump_traceback": Tool.FAULTHANDLER,
    "pyspy_dump": Tool.PY_SPY,
    "wait_counter_values": Tool.WAIT_COUNTERS,
}
# "Handler dump_nccl_trace_json not found: Failed to find handler dump_nccl_trace_json"
_REFUSAL: Final = compile_re(r"Handler (\w{1,64}) (not found|failed): (.{0,300})")
# "debug_server/rank2: b'http://gpu-n02:46249'"
_STORED: Final = compile_re(
    r"^(?:\S{0,256}/)?debug_server/rank(\d{1,7}): b?['\"]?https?://(\[[^\]]{1,64}\]|[^\s:/'\"]{1,253})",
    re.M,
)


#     PARTIAL DATA: 2/4 workers responded
#       Rank 2: ClientConnectorError: Cannot connect to host gpu-n02:43381 ...
#       Rank 3: TimeoutError:
#
#     === Rank 0: http://gpu-n01:33767/handler/dump_traceback? ===
#     (body)
#     === Rank 2: http://gpu-n02:43381/handler/dump_traceback? ===
#     Error: 503
#
# Every ``=== Rank`` begins a line. A page has ``<h2>Rank 0: address</h2>`` instead, then
# ``<p>Failed to fetch: status=404</p>`` where there was no answer, and a body that is not escaped.

_MAX_RANKS: Final = 1 << 17
# "=== Rank 0: http://gpu-n01:33767/handler/pyspy_dump?nonblocking=1 ==="
_SECTION: Final = compile_re(r"^=== Rank (\d{1,7}): (\S{1,512}) ===[ \t]*$", re.M)
# "<h2>Rank 0: http://gpu-n01:41701/handler/dump_traceback?</h2>"
_HEADING: Final = compile_re(r"<h2>\s*Rank (\d{1,7}): ([^<\s]{1,512})\s*</h2>")
# "http://gpu-n01:33767/handler/pyspy_dump?nonblocking=1", "http://[fd00::7]:41701/handler/ping"
_ADDRESS: Final = compile_re(
    r"https?://(?P<host>\[[0-9A-Fa-f:.%\w]{1,64}\]|[^\s/:?\[\]]{1,253})(?::\d{1,5})?"
    r"(?:/handler/(?P<handler>\w{1,64}))?"
)
# "Error: 503", the whole body
_ERROR: Final = compile_re(r"Error: (\d{3})\s*")
# "<p>Failed to fetch: status=404</p>"
_FAILED: Final = compile_re(r"<p>Failed to fetch: status=(\d{3})</p>")
# "PARTIAL DATA: 2/4 workers responded", and below it "  Rank 2: TimeoutError: "
_WHY: Final = compile_re(r"^  Rank (\d{1,7}): (.*)$", re.M)
_MAX_DETAIL: Final = 300


class _Answer(NamedTuple):
    """What one rank answered. ``status`` is None where it did, else the number of the failure.

    ``body`` begins in line ``line``, from 1. ``why`` is what is said of a failure.
    """

    process: Process
    handler: str
    status: int | None
    body: str
    line: int
    why: str = ""


def _iterate_sections(
    text: str, heading: re.Pattern[str]
) -> Iterator[tuple[Process, str, int, int, int]]:
    """(process, handler, end of heading, end of section, line of the former) of each rank."""
    marks = list(islice(heading.finditer(text), _MAX_RANKS))
    line, counted = 1, 0
    for mark, stop in zip(marks, [*(one.start() for one in marks[1:]), len(text)], strict=False):
        line += text.count("\n", counted, mark.end())
        counted = mark.end()
        address = _ADDRESS.match(mark[2])
        host = None if address is None else address["host"].strip("[]")
        handler = "" if address is None else address["handler"] or ""
        yield Process(rank=int(mark[1]), host=host), handler, mark.end(), stop, line


def read_debug_file(text: str, artifact: str) -> list[Look]:
    """A periodic file: stacks, ``pyspy_dump``, ``wait_counters``, ``torchcomms_health_check``."""
    first = _SECTION.search(text)
    why = {int(one[1]): one[2] for one in _WHY.finditer(text[: first.start() if first else 0])}
    found: list[_Answer] = []
    for process, handler, begin, end, line in _iterate_sections(text, _SECTION):
        body = text[begin + 1 : end].rstrip("\n")
        error = _ERROR.fullmatch(body) if len(body) < _MAX_DETAIL else None
        line += begin < len(text)
        reason = why.get(process.rank or 0, "")
        found.append(_make_answer(process, handler, error, body, line, reason))
    return _build_looks(found, artifact)


def page_looks(text: str, artifact: str) -> list[Look]:
    """A page of the frontend, as it was sent or as a browser saved it."""
    found: list[_Answer] = []
    for process, handler, start, end, line in _iterate_sections(text, _HEADING):
        begin = text.find("<pre>", start, end)
        failed = _FAILED.search(text, start, end if begin < 0 else begin)
        close = text.rfind("</pre>", max(begin, start), end)
        begin = begin + len("<pre>") if begin >= 0 else start
        body = text[begin : close if close >= begin else end]
        line += text.count("\n", start, begin)
        if "&lt;" in body or "&quot;" in body:  # saved by a browser
            body = html.unescape(body)
        found.append(_make_answer(process, handler, failed, body, line, body))
    return _build_looks(found, artifact)


def _make_answer(
    process: Process, handler: str, error: re.Match[str] | None, body: str, line: int, why: str
) -> _Answer:
    if error is None:
        return _Answer(process, handler, None, body, line)
    reason = " ".join(why[:_MAX_DETAIL].split())
    return _Answer(process, handler, int(error[1]), "", line, reason)


# What a status says of the process that was asked: 404 and 500 say nothing of it.
_REPLY_KINDS: Final = {None: ReplyKind.ANSWERED, 408: ReplyKind.SILENT, 503: ReplyKind.UNREACHABLE}


def _build_looks(answers: Sequence[_Answer], artifact: str) -> list[Look]:
    if not answers:
        raise Corrupt("begins as the debug server prints it and holds no answer of a rank")
    by_handler: dict[str, list[_Answer]] = {}
    for one in answers:
        by_handler.setdefault(one.handler, []).append(one)
    return [
        Look(
            artifact,
            _TOOLS.get(handler, Tool.DEBUG_SERVER),
            stamp_of_name(artifact),
            stacks=tuple(stack for one in asked for stack in _read_answer_stacks(one)),
            replies=tuple(map(_make_reply, asked)),
            counters=tuple(value for one in asked for value in _read_answer_counters(one)),
        )
        for handler, asked in by_handler.items()
    ]


def _read_answer_stacks(answer: _Answer) -> list[ThreadStack]:
    lines = split_clean_lines(answer.body)
    if answer.handler == "dump_traceback":
        rounds = read_faulthandler_rounds(lines, answer.process, answer.line)
        return rounds[-1] if rounds else []
    if answer.handler == "pyspy_dump":
        return read_py_spy(lines, answer.process, answer.line)
    return []


def _read_answer_counters(answer: _Answer) -> list[WaitCounter]:
    counted = answer.handler == "wait_counter_values"
    return _read_process_counters(answer.body, answer.process) if counted else []


def _make_reply(answer: _Answer) -> Reply:
    """A rank's reply; of a health check what it says of itself."""
    detail = answer.why
    if answer.handler == "torchcomms_health_check" and answer.status is None:
        # The body is ``{"healthy": true}``.
        healthy = _load_object(answer.body[:4096]).get("healthy")
        known = isinstance(healthy, bool)
        detail = ("healthy" if healthy else "unhealthy") if known else ""
    kind = _REPLY_KINDS.get(answer.status, ReplyKind.TOOL_FAILED)
    return Reply(answer.process, answer.handler, kind, detail, answer.line)


def _load_object(text: str) -> dict[str, Any]:
    """The object that a body is; empty where it is cut, or anything else."""
    try:
        return get_json_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def store_looks(text: str, artifact: str) -> list[Look]:
    """A dump of the store: which rank's server listens where, so which rank sits on which host."""
    found = {
        int(one[1]): Process(rank=int(one[1]), host=one[2].strip("[]"))
        for one in _STORED.finditer(text)
    }
    processes = tuple(found[rank] for rank in sorted(found))
    return [Look(artifact, Tool.DEBUG_SERVER, stamp_of_name(artifact), processes=processes)]


def read_counter_answer(text: str, artifact: str) -> list[Look]:
    """One rank's answer of ``wait_counter_values``; the rank is in the file's name."""
    process = Process(rank=rank_of_name(artifact))
    counters = tuple(_read_process_counters(text, process))
    if not counters:
        raise Corrupt("begins with a wait counter and is no JSON")
    reply = Reply(process, "wait_counter_values", ReplyKind.ANSWERED)
    return [Look(artifact, Tool.WAIT_COUNTERS, replies=(reply,), counters=counters)]


def read_refusal_answer(text: str, artifact: str) -> list[Look]:
    """One rank's answer that it has no such handler, or that the handler failed."""
    match = _REFUSAL.match(text)
    if match is None:
        raise Corrupt("no answer of a handler")
    process = Process(rank=rank_of_name(artifact))
    detail = " ".join(match[3].split())
    reply = Reply(process, match[1], ReplyKind.TOOL_FAILED, detail, 1)
    return [Look(artifact, Tool.DEBUG_SERVER, replies=(reply,))]


# {"pytorch.wait_counter.TCPStore__wait": {"active_count": 1, "max_time_us": 1530,
#                                          "total_calls": 6, "total_time_us": 1658}}
_PREFIX: Final = "pytorch.wait_counter."
_MAX_COUNTERS: Final = 256
_MAX_CHARACTERS: Final = 1 << 20


def _read_process_counters(body: str, process: Process) -> list[WaitCounter]:
    """The counters of one process by name; none where the body is not whole."""
    if len(body) > _MAX_CHARACTERS:
        return []
    found: list[WaitCounter] = []
    for name, value in list(_load_object(body).items())[:_MAX_COUNTERS]:
        if isinstance(value, dict) and "active_count" in value:
            numbers = [get_count(value.get(key)) or 0 for key in ("active_count", "total_calls")]
            found.append(WaitCounter(process, shorten_name(name.removeprefix(_PREFIX)), *numbers))
    return sorted(found, key=lambda one: one.name)


# Text tables of recorders, as PyTorch's debug server writes them: ``fr_trace_*.txt``.
#
# ::
#
#     === FR Trace NCCL ===
#     --- Groups ---
#     --- Collectives ---
#       id    group_id  pass_check      collective_seq_id  ...  expected_ranks  ...  missing_ranks
#        2           0  True                           22  ...  {0, 2, 4, 5}    ...  {5}
#
# Of value is which ranks of a group came to which operation. What the server's own analyzer makes
# of it (``pass_check``, ``mismatch_collectives``) is not used: it names victims.

_TABLE: Final = "--- Collectives ---"
# Up to the state, no cell is empty; behind it blanks alone tell the columns.
_ROW: Final = compile_re(
    r"\s{0,64}\d{1,9}\s{1,64}(?P<group>\S{1,64})\s{1,64}(?:True|False)\s{1,64}(?P<seq>\d{1,18})"
    r"\s{1,64}\d{1,18}\s{1,64}\d{1,18}\s{1,64}(?P<desc>\S{1,128})\s{1,64}(?P<op>\S{1,128})"
    r"\s[^{}]{0,4000}\{(?P<expected>[\d, ]{1,400000})\}"
)
_ABSENT_RANKS: Final = compile_re(r"\s{0,4000}\{(?P<ranks>[\d, ]{1,400000})\}")
_MAX_LINE: Final = 1 << 20
_MAX_ROWS: Final = 100_000


class _TableRow(NamedTuple):
    """One operation that has not ended: who has to come, and who did not."""

    group: str
    seq: int
    desc: str
    expected: frozenset[int]
    missing: frozenset[int]
    line: int


def read_trace_tables(text: str, artifact: str) -> list[Look]:
    """One look: of each group how far its ranks came. Empty tables are an empty look."""
    rows = list(_iterate_table_rows(text))
    note = (
        f"tables of PyTorch's debug server, {len(rows)} unfinished operations: what its analyzer"
        " says of culprits is not used; fr_trace_json and the dumps of all ranks say more"
    )
    return [
        Look(
            artifact,
            Tool.TRACE_TABLE,
            stamp_of_name(artifact),
            communicators=tuple(_iterate_communicators(rows)),
            notes=(note,),
        )
    ]


def _iterate_table_rows(text: str) -> Iterator[_TableRow]:
    inside, column, count = False, -1, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("---", "===")):
            inside, column = line.strip() == _TABLE, -1
        elif inside and column < 0:
            column = line.find("missing_ranks")
            inside = column >= 0
        elif inside and len(line) <= _MAX_LINE and (found := _ROW.match(line)) is not None:
            count += 1
            if count > _MAX_ROWS:
                return
            absent = _ABSENT_RANKS.match(line[column : column + _MAX_LINE])
            yield _TableRow(
                found["group"],
                int(found["seq"]),
                found["desc"],
                _parse_ranks(found["expected"]),
                _parse_ranks(absent["ranks"]) if absent else frozenset(),
                number,
            )


def _parse_ranks(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in text.split(",") if one.strip() and len(one) <= 9)


def _iterate_communicators(rows: list[_TableRow]) -> Iterator[Communicator]:
    """Each group once: the furthest operation that each of its ranks came to."""
    groups: dict[tuple[str, frozenset[int]], list[_TableRow]] = {}
    for row in rows:
        if row.expected and row.missing < row.expected:
            groups.setdefault((row.group, row.expected), []).append(row)
    for (group, expected), own in sorted(groups.items(), key=lambda item: item[1][0].line):
        first = min(row.seq for row in own)
        came = dict.fromkeys(expected, first - 1)
        for row in own:
            for rank in expected - row.missing:
                came[rank] = max(came[rank], row.seq)
        yield Communicator(
            crc32(f"{group}/{sorted(expected)}".encode()),
            len(expected),
            tuple(
                CommunicatorRank(place, Process(rank=rank), launched={"all": came[rank]})
                for place, rank in enumerate(sorted(expected))
            ),
            name=own[0].desc,
            line=own[0].line,
        )
