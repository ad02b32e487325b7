"""Whether the hosts of a job work on between two looks at which all stood at the same lines.

A rank that is late in each step is seen at the same line twice, as one that is stuck is. But the
main thread of each rank goes to sleep and wakes again in every step, and the kernel counts how
often. Who is stuck in one call does not; who waits and looks now and then (a loader looks each
5 s) does so rarely. Assumption: not all ranks of a job that hangs poll; where they do, the answer
is "slow", which accuses of less.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from triage.domain.live.look import Look, Tool
from triage.domain.live.wait_counter import WaitCounter
from triage.parsers.live.process_list import SWITCHES

__all__ = ["hosts_move", "ranks_asleep"]

# Of fewer ranks nothing is said of the job.
LEAST_RANKS: Final = 3
# A loader that waits looks each 5 s, gloo and queues not at all: more than two of that is work.
LEAST_SWITCHES: Final = 3
LEAST_A_SECOND: Final = 0.5
SECOND_NS: Final = 1_000_000_000
LEAST_SLEEP_NS: Final = 3 * SECOND_NS


def hosts_move(looks: Sequence[Look]) -> bool:
    """Whether every rank that was counted twice went on; False where fewer than 3 were."""
    moves = [moved(rows) for rows in counts_of(looks).values()]
    return len(moves) >= LEAST_RANKS and all(moves)


def ranks_asleep(looks: Sequence[Look]) -> frozenset[int]:
    """The ranks whose main thread did not wake once between two looks at least 3 s apart."""
    return frozenset(rank for rank, rows in counts_of(looks).items() if slept(rows))


def slept(rows: Sequence[tuple[int, WaitCounter]]) -> bool:
    ordered = sorted(rows, key=lambda row: row[0])[-2:]
    if len(ordered) < 2:
        return False
    (before_ns, before), (after_ns, after) = ordered
    same = before.process.pid == after.process.pid and before.calls == after.calls
    return same and after_ns - before_ns >= LEAST_SLEEP_NS


def counts_of(looks: Sequence[Look]) -> dict[int, list[tuple[int, WaitCounter]]]:
    """The counters of each rank, with the time of their look."""
    counts: dict[int, list[tuple[int, WaitCounter]]] = defaultdict(list)
    for look in looks:
        at_ns = look.stamp.wall_ns
        if look.tool is not Tool.PROCESSES or at_ns is None:
            continue
        for counter in look.counters:
            if counter.name == SWITCHES and counter.process.rank is not None:
                counts[counter.process.rank].append((at_ns, counter))
    return counts


def moved(rows: Sequence[tuple[int, WaitCounter]]) -> bool:
    """Whether one rank went on between its last two looks; not known is no."""
    ordered = sorted(rows, key=lambda row: row[0])[-2:]
    if len(ordered) < 2:
        return False
    (before_ns, before), (after_ns, after) = ordered
    seconds = (after_ns - before_ns) / SECOND_NS
    if before.process.pid != after.process.pid or seconds < 1:
        return False
    switches = after.calls - before.calls
    return switches >= max(LEAST_SWITCHES, LEAST_A_SECOND * seconds)
