"""Files that hold nothing but stacks, as looks: one for each time that the tool was run."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from triage.domain.evidence import NO_STAMP
from triage.domain.live.launchers import is_helper, is_launcher
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.live.file_names import parse_name_pid, rank_of_name, stamp_of_name
from triage.parsers.live.stacks.faulthandler import read_faulthandler_rounds, read_python_traceback
from triage.parsers.live.stacks.gdb import read_gdb_stacks
from triage.parsers.live.stacks.lines import MAX_THREADS, split_clean_lines
from triage.parsers.live.stacks.proc_files import read_proc_stacks
from triage.parsers.live.stacks.py_spy import read_py_spy, read_py_spy_json

_CUT: Final = "ends in the middle of a stack"
# One a minute for half a day; the last ones tell where a job stands now.
_MAX_ROUNDS: Final = 720


_ReadThreads = Callable[[Sequence[str], Process, int], list[ThreadStack]]


def _read_looks(tool: Tool, read: _ReadThreads, text: str, artifact: str) -> list[Look]:
    """The stacks of one process or many, with headings that say whose they are or without."""
    # Of a traceback nothing but the name of its file may tell the process.
    pid = parse_name_pid(artifact) if tool is Tool.TRACEBACK else None
    sections = _split_sections(split_clean_lines(text), Process(pid=pid))
    stacks = [stack for one in sections for stack in read(one.lines, one.process, one.first)]
    last = text.rpartition("\n")[2]
    cut = tool is Tool.PY_SPY and last.startswith("    ") and not last.rstrip().endswith(")")
    return make_looks(artifact, tool, split_into_rounds(stacks), _CUT if cut else None)


read_py_spy_looks: Final = partial(_read_looks, Tool.PY_SPY, read_py_spy)
read_gdb_looks: Final = partial(_read_looks, Tool.GDB, read_gdb_stacks)
read_python_traceback_looks: Final = partial(_read_looks, Tool.TRACEBACK, read_python_traceback)


def read_faulthandler_looks(text: str, artifact: str) -> list[Look]:
    """What faulthandler printed of one process, once or several times."""
    last = text.rpartition("\n")[2].strip()
    whole = not last or last.endswith(("<module>", "<no Python frame>", "_bootstrap"))
    sections = _split_sections(split_clean_lines(text), Process(pid=parse_name_pid(artifact)))
    rounds: list[list[ThreadStack]] = []
    times: Counter[Process] = Counter()
    for one in sections:
        ends_well = whole or one is not sections[-1]
        for dump in read_faulthandler_rounds(one.lines, one.process, one.first, ends_well):
            # Dumps of several processes below headings are of one look.
            number = times[one.process]
            times[one.process] += 1
            rounds += [[]] * (number + 1 - len(rounds))
            rounds[number] = [*rounds[number], *dump]
    return make_looks(artifact, Tool.FAULTHANDLER, rounds, None if whole else _CUT)


def read_py_spy_json_looks(text: str, artifact: str) -> list[Look]:
    """The output of ``py-spy dump --json``."""
    stacks, whole = read_py_spy_json(text)
    return make_looks(artifact, Tool.PY_SPY, split_into_rounds(stacks), None if whole else _CUT)


def read_proc_looks(text: str, artifact: str) -> list[Look]:
    """What the kernel says of one process or several."""
    stacks = read_proc_stacks(split_clean_lines(text), UNKNOWN_PROCESS, artifact)
    return make_looks(artifact, Tool.PROC, split_into_rounds(stacks))


def split_into_rounds(stacks: Iterable[ThreadStack]) -> list[list[ThreadStack]]:
    """Stacks parted where a thread is seen again: the tool was run once more."""
    rounds: list[list[ThreadStack]] = []
    seen: set[tuple[object, ...]] = set()
    for one in stacks:
        thread = (one.process.rank, one.process.host, one.process.pid, one.thread_id)
        if not rounds or thread in seen:
            rounds.append([])
            seen = set()
        seen.add(thread)
        rounds[-1].append(one)
    return rounds


def make_looks(
    artifact: str, tool: Tool, rounds: Sequence[Sequence[ThreadStack]], partial: str | None = None
) -> list[Look]:
    """One look a round, each process with its rank. Raises :class:`Corrupt` where there is none."""
    if not rounds:
        raise Corrupt(f"begins as {tool} prints it and holds no stack")
    pids = {one.process.pid for stacks in rounds for one in stacks} - {None}
    named = rank_of_name(artifact, [pid for pid in pids if pid is not None])
    if sum(map(len, rounds)) >= MAX_THREADS:
        partial = partial or f"more than {MAX_THREADS} threads: the rest was not read"
    if len(rounds) > _MAX_ROUNDS:
        rounds = rounds[-_MAX_ROUNDS:]
        partial = partial or f"more than {_MAX_ROUNDS} dumps: only the last ones are kept"
    last = len(rounds) - 1
    return [
        Look(
            artifact,
            tool,
            # The name of a file that was appended to tells when it was begun.
            NO_STAMP if place else stamp_of_name(artifact),
            stacks=_with_ranks(stacks, named),
            partial=partial if place == last else None,
        )
        for place, stacks in enumerate(rounds)
    ]


# A file named after a rank holds that rank's process, perhaps the launcher above it and the data
# loader's workers below it. Where several unrelated processes stand in it, the name says nothing.

# "python train.py --rank=5 --world-size 64"; "--local_rank 5" and "--node-rank" are others.
_OPTION: Final = compile_re(r"\s--?(?:global[_-]?)?rank[= ](\d{1,7})(?:\s|$)")


def _with_ranks(stacks: Sequence[ThreadStack], named: int | None) -> tuple[ThreadStack, ...]:
    """The stacks with the rank of each process; ``named`` is what the file's name claims.

    A worker process gets the rank of its parent; its ``parent_pid`` is the pid of that.
    """
    ranks = _infer_ranks({one.process: None for one in stacks}, named)
    if not ranks:
        return tuple(stacks)
    homes = {process: replace(process, rank=rank) for process, rank in ranks.items()}
    return tuple(
        replace(one, process=homes[one.process]) if one.process in homes else one for one in stacks
    )


def _infer_ranks(processes: Iterable[Process], named: int | None) -> dict[Process, int]:
    """The rank of each process that states none, where something else tells it."""
    known = list(processes)
    by_pid = {one.pid: one for one in known if one.pid is not None}
    found: dict[Process, int] = {}
    for process in known:
        stated = _OPTION.search((process.command or "")[:4096])
        if process.rank is None and stated is not None:
            found[process] = int(stated[1])
    tops = [
        one
        for one in known
        if _find_top_process(one, by_pid) is one
        and not (is_launcher(one.command) or is_helper(one.command))
    ]
    if named is not None and len(tops) == 1 and tops[0].rank is None:
        found[tops[0]] = named
    for process in known:
        above = _find_top_process(process, by_pid)
        rank = found.get(above, above.rank)
        if process.rank is None and rank is not None:
            found.setdefault(process, rank)
    return found


def _find_top_process(process: Process, by_pid: dict[int, Process]) -> Process:
    """The rank's own process above a worker; the process itself where there is none."""
    seen = {process.pid}
    while process.parent_pid in by_pid and process.parent_pid not in seen:
        above = by_pid[process.parent_pid]
        if is_launcher(above.command):
            break
        seen.add(above.pid)
        process = above
    return process


#     ##### rank 5 host gpu-m02 pid 4445 #####
#     === Rank: 5 | node=gpu-n02 | PID 4445 ===
#     ==> nodes/gpu-n02/rank_5.txt <==
#     [rank5] gpu-n02:4445

_MAX_CHARS: Final = 300
# A heading is marked as one, or begins with a word for whose stack it is.
_MARKED: Final = compile_re(
    r"(?:[#=*+>~-]{2,}|# |\[ ?(?:(?:global[ _-]?)?rank|host|node|pid)[\W\d_])", re.I
)
_WORDED: Final = compile_re(
    r"(?:(?:global[ _-]?)?rank|host(?:name)?|node|worker|pid)\b[ \t]{0,4}[:=#]?[ \t]{0,4}\[?\w",
    re.I,
)
# "==> nodes/gpu-n02/rank_5.txt <==", as head and tail print names of files
_OF_A_FILE: Final = compile_re(r"==> (\S{1,250}) <==$")
_SIGN: Final = r"[\"' ]{0,2}[:=#]?[\"' ]{0,3}"
_RANK: Final = compile_re(
    rf"(?<![A-Za-z0-9])(?:(?:global|world)[ _-]?)?rank[_-]?{_SIGN}(\d{{1,7}})\b", re.I
)
_OTHER_RANK: Final = compile_re(r"(?:local|node|group|role|tp|pp|dp|ep|cp)[ _-]$", re.I)
_PID: Final = compile_re(rf"(?<![A-Za-z0-9])(?:pid|process)[_-]?{_SIGN}(\d{{1,10}})\b", re.I)
_HOST: Final = compile_re(
    rf"(?:(?<![A-Za-z0-9])(?:host(?:name)?|node|on|at)|@){_SIGN}(?![\d.]{{1,6}}(?:[^\w.]|$))"
    r"([A-Za-z0-9][\w.-]{0,252})",
    re.I,
)
# "[rank5] gpu-n02:4445", "gpu-n02 (pid 4445)"
_HOST_AND_PID: Final = compile_re(r"(?<![\w.-])([A-Za-z][\w.-]{1,252}):(\d{1,10})(?![\w:])")
# "rank 5 (gpu-n02, pid 4445)": a name with a number, and none of what else is numbered
_NAME: Final = compile_re(r"(?<![\w.=/-])([A-Za-z][\w.-]{0,200}\d[\w.-]{0,50})")
_NUMBERED: Final = compile_re(
    r"(?:(?:global|local|world|node)?[_-]?rank|pid|tid|r|gpu|cuda|local|worker|stacks?|look|round|try"
    r"|dump|py-?spy|python|v|step|iter)[_.-]?\d[\d.]*$|\d{4}-",
    re.I,
)
_NO_HOSTS: Final = frozenset(
    {"rank", "pid", "local", "node", "host", "process", "the", "of", "time"}
)


class _Section(NamedTuple):
    """``lines`` below one heading, the first of which is line ``first`` of the file."""

    process: Process
    first: int
    lines: Sequence[str]


def _split_sections(lines: Sequence[str], asked: Process) -> list[_Section]:
    """The lines parted at headings that say whose they are; one section where there is none."""
    starts = [
        (place, process)
        for place, line in enumerate(lines)
        if line and line[0] != " " and (process := parse_process(line, asked)) is not None
    ]
    if not starts or starts[0][0]:
        starts.insert(0, (-1, asked))
    ends = [*(place for place, _ in starts[1:]), len(lines)]
    return [
        _Section(process, place + 2, lines[place + 1 : end])
        for (place, process), end in zip(starts, ends, strict=True)
    ]


def parse_process(line: str, asked: Process) -> Process | None:
    """Who a heading speaks of; None for a line that is none, or names neither rank nor process."""
    if len(line) > _MAX_CHARS:
        return None
    text = line.strip()
    if file := _OF_A_FILE.match(text):
        rank, pid, host = rank_of_name(file[1]), parse_name_pid(file[1]), parse_node(file[1])
    elif _MARKED.match(text) or _WORDED.match(text):
        rank, pid, host = _parse_heading(text)
    else:
        return None
    if rank is None and pid is None:
        return None
    return Process(
        rank=asked.rank if rank is None else rank, node=asked.node,
        host=host if host is not None else asked.host, pid=asked.pid if pid is None else pid,
    )  # fmt: skip


def _parse_heading(text: str) -> tuple[int | None, int | None, str | None]:
    ranks = (one for one in _RANK.finditer(text) if not _OTHER_RANK.search(text[: one.start()]))
    rank = next((int(one[1]) for one in ranks), None)
    pid = next((int(one[1]) for one in _PID.finditer(text)), None)
    host = next((one[1] for one in _HOST.finditer(text) if one[1].lower() not in _NO_HOSTS), None)
    both = _HOST_AND_PID.search(text)
    if both is not None and host is None:
        host = both[1]
        pid = int(both[2]) if pid is None else pid
    if host is None and rank is not None:
        names = (one[1].rstrip(".-") for one in _NAME.finditer(text))
        host = next((name for name in names if not _NUMBERED.match(name)), None)
    return rank, pid, host
