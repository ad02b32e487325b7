"""What launchers and frameworks put before a job's lines.

Four numbers are kept apart: the global rank, the rank inside a process group, the
local rank on a node, and the CUDA device of a process.
"""

import re
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.logs.stamps import DATED, MONTHS, make_dated, make_wall
from triage.parsers.logs.state import Strip

_RANK: Final = compile_re(r"\[(?:rank[ :=_]{0,2}|RANK[ :=_]{0,2})(\d{1,7})\]:? ?")
_GLOG: Final = compile_re(
    r"\[[EWIF](\d{3,4}) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ([^\]\s]{1,200}:\d{1,7})\] ?"
)
# "[25/Feb/2026:23:10:09 +0900] ", as web servers print it, and who learned it from them.
_COMMON_LOG: Final = compile_re(
    r"\[(\d{1,2})/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?\][ \t]{0,8}"
)
_GLOG_BARE: Final = compile_re(r"\[[EWIF] [^\]\s]{1,200}\.(?:cpp|cc|hpp|h|cu):\d{1,7}\] ?")
_GLOG_OPEN: Final = compile_re(
    r"[EWIFCD](\d{3,4}) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? +(?:(\d{1,20}) +)?"
    r"([^\]\s]{1,300}:\d{1,7})\] ?"
)
_ROLE: Final = compile_re(r"\[([A-Za-z_][A-Za-z_.-]{0,40})(\d{1,4})(?:\|\d{1,7})?\]: ?")
# Things of which a node has several, and which are no roles of a launcher.
_NO_ROLE: Final = compile_re(
    r"cuda|gpu|mlx|mlx5_|eth|ib|node|host|nvme|sd|md|cpu|step|iter|epoch|layer|stage|rank"
    r"|device|dev|pg|pp|tp|dp|cp|ep",
    re.IGNORECASE,
)
_MPI: Final = compile_re(
    r"\[\d{1,7},(?:mpirank:)?(\d{1,7})(?:,([\w.-]{1,200}))?\]\s?<std(?:out|err|diag)>: ?"
)
_NCCL: Final = compile_re(
    r"([A-Za-z0-9_][\w.-]{0,253}):(\d{1,8}):(\d{1,8}) "
    r"(?:\[(-?\d{1,3})\] |(?=(?:[^ ]{1,80} )?NCCL ))"
)
_UCX: Final = compile_re(
    r"\[([A-Za-z][\w.-]{0,253}):(\d{2,8})(?::\d{1,6}:\d{1,8})?\] "
    r"(?=\*\*\*|Caught signal|Signal: |Signal code: |Failing at address: |\[)"
)
_SOURCE_FILE: Final = compile_re(r"\.(?:py|cpp|cc|c|cu|cuh|h|hpp|rs|go|js)$")
_NEMO: Final = compile_re(r"\[NeMo [A-Z] " + DATED + r"[^\]]{0,200}\] ?")
_RAY: Final = compile_re(
    r"\(([A-Za-z_][\w.:-]{0,100})(?:\[rank=(\d{1,7})\])?(?: (?:rank=|[A-Z]{2})\d{1,7}){0,4}"
    r" pid=(\d{1,8})"
    r"(?:, ip=([0-9a-fA-F.:]{3,45}))?\) ?"
)
_STREAM: Final = compile_re(r"(?:std(?:err|out)|\[std(?:err|out)\]): ?|\[std(?:err|out)\] ")
# torchtitan: "[titan] 2026-02-11 07:52:15,865 - root - INFO - step: 9"
_NAMED: Final = compile_re(
    r"\[[a-z][\w.-]{0,30}\] " + DATED + r" - [\w.]{1,80} - (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
)
_LEVEL: Final = compile_re(
    r"\[(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|ALERT)\] ?"
)
_LOGURU: Final = compile_re(
    r"\| *(?:TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) *\| (?:[\w.<>:-]{1,200} - )?"
)
_TASKCLUSTER: Final = compile_re(r"\[[a-z_-]{2,20} " + DATED + r"\] ?")
_METAFLOW: Final = compile_re(r"\[\d{1,20}/[\w.-]{1,80}/\d{1,20}(?: \(pid (\d{1,8})\))?\] ?")
_MONTH_FIRST: Final = compile_re(
    r"(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: [AP]M)?(?: -)? "
)
# How a job's line begins. Many things print a number and a colon, or a word and a bar, so what
# follows a label must itself begin so.
_BEGINS: Final = (
    r"(?=\[|[\w.-]{1,253}:\d{1,8}:\d{1,8} \[|[EWIF]\d{3,4} \d\d:|\d{4}-\d\d-\d\d[ T]"
    r"|Traceback \(most|  File \"|[\w.]{0,80}(?:Error|Exception|Interrupt)\b"
    r"|(?:ERROR|WARNING|INFO|CRITICAL)[: ]|slurmstepd|srun: |terminate called|Fatal Python|CUDA )"
)
# The label of `srun -l`, and of launchers of MPI.
_TASK: Final = compile_re(r"(?:(\d{1,6}): |\[(\d{1,6})\](?:: ?| )|<(\d{1,6})>: ?)" + _BEGINS)
# Where all lines of a log begin with a label, what follows it may be anything.
NUMBER_LABEL: Final = compile_re(r" {0,8}(?:(\d{1,6}): ?|\[(\d{1,6})\](?:: ?| )|<(\d{1,6})>: ?)")
# "trainer-2-0: ", "[cn-101-1] ", "worker-1  | ", "10.0.0.7: ", and "trainer-2-0 pytorch " as
# kubectl puts a pod and its container before what they say; "[default0]:" and "[rank3]:" are read
# as what they are.
NAME_LABEL: Final = compile_re(
    r" {0,8}(?!\[?[A-Za-z_][A-Za-z_.-]{0,40}\d{1,4}(?:\|\d{1,7})?\]:"
    r"|\[?(?i:rank|step|iter\w*|epoch|gpu|cuda|task|proc\w*|pid|line|stage|layer|device|dev|group"
    r"|pg|pp|tp|dp)[\d_.-])"
    r"\[?((?=[\w.-]{0,252}\d)(?:[A-Za-z][\w.-]{1,252}|\d{1,3}(?:\.\d{1,3}){3}))"
    r"(?:(?::\d{1,5})?\]:? |: | {1,40}\| ?| [a-z][a-z-]{2,40} (?=\S))"
)

# "train-worker-0 2026-05-23T11:05:26.000Z ...", "worker-4  | [rank4] ...": who gathers the output
# of several hosts, as kubectl and docker compose do, writes the host, pod or container first.
_NAME: Final = r"([A-Za-z](?=[\w.-]{0,252}\d)[\w.-]{1,252})"
_PRINTED_BY: Final = compile_re(
    _NAME
    + r"(?::| {1,40}\|)? (?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d)|"
    + _NAME
    + r" {1,40}\| "
    + _BEGINS
    # The containers of a training job's pods, as their operators name them.
    + "|"
    + _NAME
    + r" (?:pytorch|tensorflow|mpi|trainer|worker|master|launcher|main) "
    r"(?=Traceback \(most|  File \"|(?:\w{1,60}\.){0,8}\w{0,60}(?:Error|Exception|Interrupt)\b)"
)

_GROUP: Final = compile_re(r"\[(?:PG [^\[\]]{0,200} )?Rank (\d{1,7})\]")
_RANK_WORD: Final = compile_re(r"[Rr]ank[ :]{0,2}(\d{1,7})(?:: |, node )")


def _rank(strip: Strip, match: "re.Match[str]") -> bool:
    strip.rank = int(match[1])
    return True


def _take_glog(strip: Strip, match: "re.Match[str]") -> bool:
    digits = match[1]
    strip.clock(make_wall(None, int(digits[:-2]), int(digits[-2:]), match[2], match[3]))
    return True


def _take_open_glog(strip: Strip, match: "re.Match[str]") -> bool:
    number = match[4]
    # Fifteen digits are the address of a thread, which names no process.
    if number is not None and len(number) <= 8 and strip.pid is None:
        strip.pid = int(number)
    return _take_glog(strip, match)


def _take_nothing(_strip: Strip, _match: "re.Match[str]") -> bool:
    return True


def _take_role(strip: Strip, match: "re.Match[str]") -> bool:
    if _NO_ROLE.fullmatch(match[1]) is not None:
        return False
    strip.local_rank = int(match[2])
    return True


def _take_mpi(strip: Strip, match: "re.Match[str]") -> bool:
    strip.task = int(match[1])
    strip.host(match[2])
    return True


def _take_nccl(strip: Strip, match: "re.Match[str]") -> bool:
    name = match[1]
    if _SOURCE_FILE.search(name) or (name.isdecimal() and len(name) < 3):
        return False
    strip.node = name
    strip.pid = int(match[2])
    if match[4] is not None:
        strip.cuda_device = max(int(match[4]), 0) if match[4] != "-1" else None
    return True


def _take_ucx(strip: Strip, match: "re.Match[str]") -> bool:
    if _SOURCE_FILE.search(match[1]):
        return False
    strip.node = match[1]
    strip.pid = int(match[2])
    return True


def _take_dated(strip: Strip, match: "re.Match[str]") -> bool:
    strip.clock(make_dated(match))
    return True


def _take_ray(strip: Strip, match: "re.Match[str]") -> bool:
    if match[2] is not None:
        strip.rank = int(match[2])
    strip.pid = int(match[3])
    strip.actor = match[1]
    if match[4] is not None:
        strip.address = match[4]
    return True


def _take_metaflow(strip: Strip, match: "re.Match[str]") -> bool:
    if match[1] is not None and strip.pid is None:
        strip.pid = int(match[1])
    return True


def _take_month_first(strip: Strip, match: "re.Match[str]") -> bool:
    month, day = int(match[1]), int(match[2])
    if month > 12:
        month, day = day, month
    strip.clock(make_wall(int(match[3]), month, day, match[4], match[5]))
    return True


def _take_common_log(strip: Strip, match: "re.Match[str]") -> bool:
    month = MONTHS.get(match[2].casefold())
    if month is None:
        return False
    strip.clock(make_wall(int(match[3]), month, int(match[1]), match[4], None, match[5]))
    return True


def _take_task(strip: Strip, match: "re.Match[str]") -> bool:
    strip.task = int(match[1] or match[2] or match[3])
    return True


def labelled(strip: Strip, match: "re.Match[str]") -> None:
    """Take the label off: a name is that of a host until something says better."""
    value = next(part for part in match.groups() if part is not None)
    if match.re.pattern == NUMBER_LABEL.pattern:
        strip.task = int(value)
    else:
        strip.printed_by = value
        strip.host(value)
    strip.line = strip.line[match.end() :]


def _take_printed_by(strip: Strip, match: "re.Match[str]") -> bool:
    if strip.printed_by is None:
        strip.printed_by = match[1] or match[2] or match[3]
    return True


def peek(strip: Strip) -> None:
    """Read what stays in the text: the rank inside a group, or a rank that begins a sentence."""
    found = _GROUP.match(strip.line, strip.pos)
    if found is not None:
        strip.group_rank = int(found[1])
        if strip.rank is None and "(default_pg)" in found[0]:
            strip.rank = strip.group_rank  # of this group all ranks are global
        return
    if strip.rank is None:
        found = _RANK_WORD.match(strip.line, strip.pos)
        if found is not None:
            strip.rank = int(found[1])


# First character -> rules in the order in which they are tried.
RULES: Final = {
    "[": (
        (_RANK, _rank),
        (_GLOG, _take_glog),
        (_GLOG_BARE, _take_nothing),
        (_ROLE, _take_role),
        (_MPI, _take_mpi),
        (_LEVEL, _take_nothing),
        (_STREAM, _take_nothing),
        (_NEMO, _take_dated),
        (_NAMED, _take_dated),
        (_UCX, _take_ucx),
        (_TASKCLUSTER, _take_dated),
        (_METAFLOW, _take_metaflow),
        (_COMMON_LOG, _take_common_log),
        (_TASK, _take_task),
    ),
    "0": ((_NCCL, _take_nccl), (_MONTH_FIRST, _take_month_first), (_TASK, _take_task)),
    "A": ((_GLOG_OPEN, _take_open_glog), (_NCCL, _take_nccl), (_PRINTED_BY, _take_printed_by)),
    "a": ((_STREAM, _take_nothing), (_NCCL, _take_nccl), (_PRINTED_BY, _take_printed_by)),
    "(": ((_RAY, _take_ray),),
    "<": ((_TASK, _take_task),),
    "|": ((_LOGURU, _take_nothing),),
}
