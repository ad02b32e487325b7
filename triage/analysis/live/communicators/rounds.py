"""Looks in rounds: what was asked at one moment belongs together, and two moments are compared.

One look at a job that runs shows ranks a step apart. The same counters in two looks are a hang;
counters that moved are none. Several jobs on one node share the port of RAS, and any may answer:
the looks at other jobs are set aside first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from triage.analysis.live.case import LiveCase
from triage.analysis.placement.world_ranks import process_key
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool

# Looks that are nearer to each other than this are one look at a job that may run.
APART_NS: Final = 20 * 1_000_000_000

_Counts = dict[tuple[int, int, str], int]
"""(communicator, rank, operation) -> how many; rank -1 is all that are not listed."""


@dataclass(frozen=True, slots=True)
class Round:
    """The last looks that were taken together. Compared with those before them, counters ``moved``,
    so that the job ran then, or are the same (``frozen``); neither where there is one look alone.

    ``dated`` is whether clocks say that both looks are apart, ``begin_ns`` and ``end_ns`` when they
    were taken, as printed.
    """

    looks: tuple[Look, ...]
    moved: bool = False
    frozen: bool = False
    dated: bool = False
    begin_ns: int = 0
    end_ns: int = 0

    @property
    def communicators(self) -> list[Communicator]:
        """All communicators of the round; what several looks say of one is put together."""
        found: dict[tuple[int, int], list[Communicator]] = defaultdict(list)
        for look in self.looks:
            # Two of one look are two, even where they have one hash.
            numbers: Counter[int] = Counter()
            for one in look.communicators:
                found[one.hash, numbers[one.hash]].append(one)
                numbers[one.hash] += 1
        return [parts[0] if len(parts) == 1 else _put_together(parts) for parts in found.values()]


def _put_together(parts: Sequence[Communicator]) -> Communicator:
    """One communicator of which each part tells some members; who comes first is believed."""
    by_rank: dict[int, CommunicatorRank] = {}
    for part in parts:
        for member in part.ranks:
            by_rank.setdefault(member.rank, member)
    return replace(
        parts[0],
        size=max(part.size for part in parts),
        ranks=tuple(by_rank[rank] for rank in sorted(by_rank)),
        rest=next((part.rest for part in parts if part.rest is not None), None),
        durations_us={rank: times for part in parts for rank, times in part.durations_us.items()},
    )


def find_latest_round(looks: Sequence[Look]) -> Round | None:
    """The last round of ``looks`` (of one tool and one job), compared with the one before it; None
    where no look holds a communicator.
    """
    rounds = _split_into_rounds([look for look in looks if look.communicators])
    if not rounds:
        return None
    last, counts = rounds[-1]
    end_ns = max((look.stamp.wall_ns or 0 for look in last), default=0)
    for earlier, before in reversed(rounds[:-1]):
        begin_ns = max((look.stamp.wall_ns or 0 for look in earlier), default=0)
        common = counts.keys() & before.keys()
        if not common:
            continue
        moved = any(counts[key] != before[key] for key in common)
        if not moved and begin_ns and end_ns and end_ns - begin_ns < APART_NS:
            continue
        dated = bool(begin_ns and end_ns)
        return Round(tuple(last), moved, not moved, dated, begin_ns, end_ns)
    return Round(tuple(last))


def _split_into_rounds(looks: Iterable[Look]) -> list[tuple[list[Look], _Counts]]:
    """The rounds and their counters, the earliest first. The k-th look at a rank is of round k;
    rounds without clocks are ordered by their counters, which only grow.
    """
    seen: Counter[tuple[int, int]] = Counter()
    by_number: dict[int, tuple[list[Look], _Counts]] = {}
    for look in sorted(looks, key=lambda look: look.order):
        ranks = {(one.hash, member.rank) for one in look.communicators for member in one.ranks}
        ranks |= {(one.hash, -1) for one in look.communicators if one.rest is not None}
        number = max((seen[rank] for rank in ranks), default=0)
        seen.update(ranks)
        members, known = by_number.setdefault(number, ([], {}))
        members.append(look)
        known.update(_collect_counts(look))
    rounds = [by_number[number] for number in sorted(by_number)]
    if all(look.stamp.wall_ns is not None for members, _ in rounds for look in members):
        return rounds
    common = set.intersection(*(set(counts) for _, counts in rounds))
    return sorted(rounds, key=lambda one: sum(one[1][key] for key in common))


def _collect_counts(look: Look) -> _Counts:
    found: _Counts = {}
    for one in look.communicators:
        for member in (*one.ranks, *((one.rest,) if one.rest is not None else ())):
            rank = -1 if member is one.rest else member.rank
            for word, counts in (("launched", member.launched), ("completed", member.completed)):
                for name, count in (counts or {}).items():
                    found[one.hash, rank, f"{word} {name}"] = count
    return found


class OwnLooks(NamedTuple):
    """``looks`` of this job, and ``notes`` on those that were set aside; ``last`` is their last
    round.
    """

    looks: tuple[Look, ...]
    notes: tuple[str, ...]
    last: Round | None


def own_looks(case: LiveCase, tool: Tool) -> OwnLooks:
    """The looks of ``tool`` at this job, and notes on those of others; found once."""
    if tool not in case.memo:
        case.memo[tool] = _select_own_looks(case, tool)
    found: OwnLooks = case.memo[tool]
    return found


def find_standing_round(case: LiveCase, tool: Tool) -> Round | None:
    """The last looks of ``tool`` at this job, compared with those before; None also where counters
    moved, so that nobody is stuck.
    """
    found = own_looks(case, tool).last
    return None if found is None or found.moved else found


def list_notes(case: LiveCase) -> list[str]:
    """What the reader should know: looks of another job, and of a job that moved."""
    tools = sorted({look.tool for look in case.looks if look.communicators})
    notes = [note for tool in tools for note in own_looks(case, tool).notes]
    return notes + [
        f"{tool}: counters moved between the last two looks: the job ran then, and who was behind"
        " is not taken as stuck"
        for tool in tools
        if (found := own_looks(case, tool).last) is not None and found.moved
    ]


def are_looks_moving(case: LiveCase) -> bool:
    """Whether anything shows that the job went on between two looks: its stacks, how often its
    hosts woke, or a tool's counters.
    """
    return case.picture.job_moves or case.hosts_move or are_counters_moving(case)


def are_counters_moving(case: LiveCase) -> bool:
    """Whether a tool's counters moved while its stacks were looked at, or at all where nothing
    dates both: a job that moved before may stand since.
    """
    # When the stacks before the last ones were taken, as printed.
    stamps = [look.stamp for look in case.looks if look.stacks]
    times = [stamp.wall_ns for stamp in stamps if stamp.wall_ns is not None]
    since_ns = max((ns for ns in times if max(times) - ns >= APART_NS), default=None)
    for tool in {one.tool for one in case.looks if one.communicators}:
        found = own_looks(case, tool).last
        if found is None or not found.moved:
            continue
        half_ns = max((found.end_ns - found.begin_ns) // 2, APART_NS)
        if since_ns is None or not found.dated or found.begin_ns >= since_ns - half_ns:
            return True
    return False


def _select_own_looks(case: LiveCase, tool: Tool) -> OwnLooks:
    """The looks of ``tool`` at this job. A look at more ranks than the job has is of another; of
    several jobs the only one of our size is ours, else the one that was seen last.
    """
    notes = []
    kept = []
    for look in case.looks:
        size = _count_ranks_at_least(look)
        if look.tool is tool and case.world_size is not None and size > case.world_size:
            notes.append(
                f"{look.artifact}: of a job of {size} ranks, not of this one with"
                f" {case.world_size}: not used"
            )
        elif look.tool is tool:
            kept.append(look)
    jobs = _split_by_job(kept)
    if len(jobs) > 1:
        ours = _choose_job(case, jobs)
        why = "of another job, or of an earlier attempt" if ours else "of several jobs"
        others = [look for job in jobs if job is not ours for look in job]
        notes += [f"{look.artifact}: {why}: not used" for look in others]
        foreign = {id(look) for look in others}
        kept = [look for look in kept if id(look) not in foreign]
    return OwnLooks(tuple(kept), tuple(notes), find_latest_round(kept))


def _count_ranks_at_least(look: Look) -> int:
    return max([look.num_gpus or 0, *(one.size for one in look.communicators)])


def _split_by_job(looks: Sequence[Look]) -> list[list[Look]]:
    """Looks that show whole communicators, in groups that share none of them, nor a process."""
    groups: list[tuple[set[object], list[Look]]] = []
    for look in looks:
        if not any(len(one.ranks) == one.size > 1 for one in look.communicators):
            continue
        own: set[object] = {one.hash for one in look.communicators}
        own |= {process_key(member.process) for one in look.communicators for member in one.ranks}
        own.discard(None)
        joined = [group for group in groups if group[0] & own]
        members = [other for group in joined for other in group[1]]
        groups = [group for group in groups if not group[0] & own]
        groups.append((own.union(*(group[0] for group in joined)), [*members, look]))
    return [members for _, members in groups]


def _choose_job(case: LiveCase, jobs: Sequence[list[Look]]) -> list[Look] | None:
    """The only job of our size; else the one seen last; None where nothing tells."""
    whole = [job for job in jobs if max(map(_count_ranks_at_least, job)) == case.world_size]
    if len(whole) == 1:
        return whole[0]
    if any(look.stamp.wall_ns is None for job in jobs for look in job):
        return None
    last = [max(look.stamp.wall_ns or 0 for look in job) for job in jobs]
    return jobs[last.index(max(last))] if last.count(max(last)) == 1 else None
