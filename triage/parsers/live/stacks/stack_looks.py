"""Files that hold nothing but stacks, as looks: one for each time that the tool was run."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from triage.domain.evidence import NO_STAMP
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.domain.live.stack import ThreadStack
from triage.errors import Corrupt
from triage.parsers.live.file_names import pid_in_name, rank_of_name, stamp_of_name
from triage.parsers.live.stacks.cuda_gdb import cuda_gdb_stacks
from triage.parsers.live.stacks.faulthandler import faulthandler_rounds
from triage.parsers.live.stacks.gdb import gdb_stacks
from triage.parsers.live.stacks.headings import sections_of
from triage.parsers.live.stacks.lines import lines_of
from triage.parsers.live.stacks.proc_files import proc_stacks
from triage.parsers.live.stacks.processes import with_ranks
from triage.parsers.live.stacks.py_spy import MAX_THREADS, py_spy_stacks
from triage.parsers.live.stacks.py_spy_json import py_spy_json_stacks
from triage.parsers.live.stacks.python_traceback import python_traceback_stacks

__all__ = [
    "cuda_gdb_looks",
    "faulthandler_looks",
    "gdb_looks",
    "in_rounds",
    "looks_of_stacks",
    "proc_looks",
    "py_spy_json_looks",
    "py_spy_looks",
    "python_traceback_looks",
]

CUT: Final = "ends in the middle of a stack"
# One a minute for half a day; the last ones tell where a job stands now.
MAX_ROUNDS: Final = 720


def py_spy_looks(text: str, artifact: str) -> list[Look]:
    """The text of ``py-spy dump``, of one process or many, once or several times."""
    stacks = of_sections(text, UNKNOWN_PROCESS, py_spy_stacks)
    last = text.rpartition("\n")[2]
    cut = last.startswith("    ") and not last.rstrip().endswith(")")
    return looks_of_stacks(artifact, Tool.PY_SPY, in_rounds(stacks), CUT if cut else None)


def faulthandler_looks(text: str, artifact: str) -> list[Look]:
    """What faulthandler printed of one process, once or several times."""
    process = Process(pid=pid_in_name(artifact))
    last = text.rpartition("\n")[2].strip()
    whole = not last or last.endswith(("<module>", "<no Python frame>", "_bootstrap"))
    sections = sections_of(lines_of(text), process)
    rounds: list[list[ThreadStack]] = []
    times: Counter[Process] = Counter()
    for one in sections:
        ends_well = whole or one is not sections[-1]
        for dump in faulthandler_rounds(one.lines, one.process, one.first, ends_well):
            # Dumps of several processes below headings are of one look.
            number = times[one.process]
            times[one.process] += 1
            rounds += [[]] * (number + 1 - len(rounds))
            rounds[number] = [*rounds[number], *dump]
    return looks_of_stacks(artifact, Tool.FAULTHANDLER, rounds, None if whole else CUT)


def py_spy_json_looks(text: str, artifact: str) -> list[Look]:
    """The output of ``py-spy dump --json``."""
    stacks, whole = py_spy_json_stacks(text)
    return looks_of_stacks(artifact, Tool.PY_SPY, in_rounds(stacks), None if whole else CUT)


def python_traceback_looks(text: str, artifact: str) -> list[Look]:
    """All threads of one process, each as Python prints a traceback."""
    process = Process(pid=pid_in_name(artifact))
    stacks = of_sections(text, process, python_traceback_stacks)
    return looks_of_stacks(artifact, Tool.TRACEBACK, in_rounds(stacks))


def gdb_looks(text: str, artifact: str) -> list[Look]:
    """Backtraces of all threads of one process or core file, or of several."""
    stacks = of_sections(text, UNKNOWN_PROCESS, gdb_stacks)
    return looks_of_stacks(artifact, Tool.GDB, in_rounds(stacks))


def cuda_gdb_looks(text: str, artifact: str) -> list[Look]:
    """Kernels of a GPU, and the threads of its process where they were asked for too."""
    lines = lines_of(text)
    kernels = cuda_gdb_stacks(lines, UNKNOWN_PROCESS)
    looks = looks_of_stacks(artifact, Tool.CUDA_GDB, [kernels] if kernels else [])
    threads = gdb_stacks(lines, UNKNOWN_PROCESS)
    return looks + (looks_of_stacks(artifact, Tool.GDB, in_rounds(threads)) if threads else [])


def proc_looks(text: str, artifact: str) -> list[Look]:
    """What the kernel says of one process or several."""
    stacks = proc_stacks(lines_of(text), UNKNOWN_PROCESS, artifact)
    return looks_of_stacks(artifact, Tool.PROC, in_rounds(stacks))


def of_sections(
    text: str, process: Process, read: Callable[[Sequence[str], Process, int], list[ThreadStack]]
) -> list[ThreadStack]:
    """The stacks below each heading that says whose they are, of all headings of a file."""
    return [
        stack
        for one in sections_of(lines_of(text), process)
        for stack in read(one.lines, one.process, one.first)
    ]


def in_rounds(stacks: Iterable[ThreadStack]) -> list[list[ThreadStack]]:
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


def looks_of_stacks(
    artifact: str,
    tool: Tool,
    rounds: Sequence[Sequence[ThreadStack]],
    partial: str | None = None,
) -> list[Look]:
    """One look a round, each process with its rank. Raises :class:`Corrupt` where there is none."""
    if not rounds:
        raise Corrupt(f"begins as {tool} prints it and holds no stack")
    pids = {one.process.pid for stacks in rounds for one in stacks} - {None}
    named = rank_of_name(artifact, [pid for pid in pids if pid is not None])
    stamp = stamp_of_name(artifact)
    if sum(map(len, rounds)) >= MAX_THREADS:
        partial = partial or f"more than {MAX_THREADS} threads: the rest was not read"
    if len(rounds) > MAX_ROUNDS:
        rounds = rounds[-MAX_ROUNDS:]
        partial = partial or f"more than {MAX_ROUNDS} dumps: only the last ones are kept"
    last = len(rounds) - 1
    return [
        Look(
            artifact,
            tool,
            # The name of a file that was appended to tells when it was begun.
            NO_STAMP if stamp is None or place else stamp,
            None if stamp is None or place else "name",
            stacks=with_ranks(stacks, named),
            partial=partial if place == last else None,
        )
        for place, stacks in enumerate(rounds)
    ]
