"""Which rank the processes of one file belong to.

A file named after a rank holds that rank's process, perhaps the launcher above it and the data
loader's workers below it. Where several unrelated processes stand in it, the name says nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.domain.live.launchers import is_helper, is_launcher
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack

__all__ = ["rank_in_command", "with_ranks"]

# "python train.py --rank=5 --world-size 64"; "--local_rank 5" and "--node-rank" are others.
OPTION: Final = re.compile(r"\s--?(?:global[_-]?)?rank[= ](\d{1,7})(?:\s|$)")


def rank_in_command(command: str | None) -> int | None:
    """The global rank that a command line states."""
    match = None if command is None else OPTION.search(command[:4096])
    return int(match[1]) if match else None


def with_ranks(stacks: Sequence[ThreadStack], named: int | None) -> tuple[ThreadStack, ...]:
    """The stacks with the rank of each process; ``named`` is what the file's name claims.

    A worker process gets the rank of its parent; its ``parent_pid`` is the pid of that.
    """
    ranks = ranks_of({one.process: None for one in stacks}, named)
    if not ranks:
        return tuple(stacks)
    homes = {process: replace(process, rank=rank) for process, rank in ranks.items()}
    return tuple(
        replace(one, process=homes[one.process]) if one.process in homes else one for one in stacks
    )


def ranks_of(processes: Iterable[Process], named: int | None) -> dict[Process, int]:
    """The rank of each process that states none, where something else tells it."""
    known = list(processes)
    by_pid = {one.pid: one for one in known if one.pid is not None}
    found: dict[Process, int] = {}
    for process in known:
        stated = rank_in_command(process.command)
        if process.rank is None and stated is not None:
            found[process] = stated
    tops = [one for one in known if one.parent_pid not in by_pid or below_launcher(one, by_pid)]
    tops = [one for one in tops if not (is_launcher(one.command) or is_helper(one.command))]
    if named is not None and len(tops) == 1 and tops[0].rank is None:
        found[tops[0]] = named
    for process in known:
        above = top_of(process, by_pid)
        rank = found.get(above, above.rank)
        if process.rank is None and rank is not None:
            found.setdefault(process, rank)
    return found


def below_launcher(process: Process, by_pid: dict[int, Process]) -> bool:
    parent = by_pid.get(process.parent_pid or -1)
    return parent is not None and is_launcher(parent.command)


def top_of(process: Process, by_pid: dict[int, Process]) -> Process:
    """The rank's own process above a worker; the process itself where there is none."""
    seen = {process.pid}
    while process.parent_pid in by_pid and process.parent_pid not in seen:
        above = by_pid[process.parent_pid]
        if is_launcher(above.command):
            break
        seen.add(above.pid)
        process = above
    return process
