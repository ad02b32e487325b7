"""Headings that scripts print above each stack in one file: whose stack follows.

::

    ##### rank 5 host gpu-m02 pid 4445 #####
    === Rank: 5 | node=gpu-n02 | PID 4445 ===
    ==> nodes/gpu-n02/rank_5.txt <==
    [rank5] gpu-n02:4445
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.live.process import Process
from triage.parsers.flight_recorder.naming import node_in_name
from triage.parsers.live.file_names import pid_in_name, rank_of_name

__all__ = ["Section", "sections_of"]

MAX_CHARS: Final = 300
# A heading is marked as one, or begins with a word for whose stack it is.
MARKED: Final = re.compile(
    r"(?:[#=*+>~-]{2,}|# |\[ ?(?:(?:global[ _-]?)?rank|host|node|pid)[\W\d_])", re.I
)
WORDED: Final = re.compile(
    r"(?:(?:global[ _-]?)?rank|host(?:name)?|node|worker|pid)\b[ \t]{0,4}[:=#]?[ \t]{0,4}\[?\w",
    re.I,
)
# "==> nodes/gpu-n02/rank_5.txt <==", as head and tail print names of files
OF_A_FILE: Final = re.compile(r"==> (\S{1,250}) <==$")
SIGN: Final = r"[\"' ]{0,2}[:=#]?[\"' ]{0,3}"
RANK: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?:global|world)[ _-]?)?rank[_-]?{SIGN}(\d{{1,7}})\b", re.I
)
OTHER_RANK: Final = re.compile(r"(?:local|node|group|role|tp|pp|dp|ep|cp)[ _-]$", re.I)
PID: Final = re.compile(rf"(?<![A-Za-z0-9])(?:pid|process)[_-]?{SIGN}(\d{{1,10}})\b", re.I)
HOST: Final = re.compile(
    rf"(?:(?<![A-Za-z0-9])(?:host(?:name)?|node|on|at)|@){SIGN}(?![\d.]{{1,6}}(?:[^\w.]|$))"
    r"([A-Za-z0-9][\w.-]{0,252})",
    re.I,
)
# "[rank5] gpu-n02:4445", "gpu-n02 (pid 4445)"
HOST_AND_PID: Final = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{1,252}):(\d{1,10})(?![\w:])")
# "rank 5 (gpu-n02, pid 4445)": a name with a number, and none of what else is numbered
NAME: Final = re.compile(r"(?<![\w.=/-])([A-Za-z][\w.-]{0,200}\d[\w.-]{0,50})")
NUMBERED: Final = re.compile(
    r"(?:(?:global|local|world|node)?[_-]?rank|pid|tid|r|gpu|cuda|local|worker|stacks?|look|round|try"
    r"|dump|py-?spy|python|v|step|iter)[_.-]?\d[\d.]*$|\d{4}-",
    re.I,
)
NO_HOSTS: Final = frozenset(
    {"rank", "pid", "local", "node", "host", "process", "the", "of", "time"}
)


@dataclass(frozen=True, slots=True)
class Section:
    """``lines`` below one heading, the first of which is line ``first`` of the file."""

    process: Process
    first: int
    lines: Sequence[str]


def sections_of(lines: Sequence[str], asked: Process) -> list[Section]:
    """The lines parted at headings that say whose they are; one section where there is none."""
    starts = [
        (place, process)
        for place, line in enumerate(lines)
        if line and line[0] != " " and (process := process_of(line, asked)) is not None
    ]
    if not starts:
        return [Section(asked, 1, lines)]
    ends = [place for place, _ in starts[1:]] + [len(lines)]
    parts = [Section(asked, 1, lines[: starts[0][0]])] if starts[0][0] else []
    return parts + [
        Section(process, place + 2, lines[place + 1 : end])
        for (place, process), end in zip(starts, ends, strict=True)
    ]


def process_of(line: str, asked: Process) -> Process | None:
    """Who a heading speaks of; None for a line that is none, or names neither rank nor process."""
    if len(line) > MAX_CHARS:
        return None
    text = line.strip()
    if file := OF_A_FILE.match(text):
        rank, pid, host = rank_of_name(file[1]), pid_in_name(file[1]), node_in_name(file[1])
    elif MARKED.match(text) or WORDED.match(text):
        rank, pid, host = words_of(text)
    else:
        return None
    if rank is None and pid is None:
        return None
    return Process(
        rank=asked.rank if rank is None else rank, node=asked.node,
        host=host if host is not None else asked.host, pid=asked.pid if pid is None else pid,
    )  # fmt: skip


def words_of(text: str) -> tuple[int | None, int | None, str | None]:
    """The global rank, the pid and the host that a heading names."""
    ranks = (one for one in RANK.finditer(text) if not OTHER_RANK.search(text[: one.start()]))
    rank = next((int(one[1]) for one in ranks), None)
    pid = next((int(one[1]) for one in PID.finditer(text)), None)
    host = next((one[1] for one in HOST.finditer(text) if one[1].lower() not in NO_HOSTS), None)
    both = HOST_AND_PID.search(text)
    if both is not None and host is None:
        host = both[1]
        pid = int(both[2]) if pid is None else pid
    if host is None and rank is not None:
        names = (one[1].rstrip(".-") for one in NAME.finditer(text))
        host = next((name for name in names if not NUMBERED.match(name)), None)
    return rank, pid, host
