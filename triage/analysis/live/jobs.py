"""Whose job a look is of: several jobs on one node share the port of RAS, and any may answer."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.rounds import (
    APART_NS,
    Round,
    find_latest_round,
)
from triage.analysis.placement.world_ranks import process_key
from triage.domain.live.look import Look, Tool


@dataclass(frozen=True, slots=True)
class OwnLooks:
    """``looks`` of this job, and ``notes`` on those that were set aside."""

    looks: tuple[Look, ...]
    notes: tuple[str, ...] = ()


def list_notes(case: LiveCase) -> list[str]:
    """What the reader should know: looks of another job, and of a job that moved."""
    tools = sorted({look.tool for look in case.looks if look.communicators})
    notes = [note for tool in tools for note in own_looks(case, tool).notes]
    return notes + [
        f"{tool}: counters moved between the last two looks: the job ran then, and who was behind"
        " is not taken as stuck"
        for tool in tools
        if (found := own_round(case, tool)) is not None and found.moved
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
    since_ns = _find_first_stacks_ns(case)
    for tool in {one.tool for one in case.looks if one.communicators}:
        found = own_round(case, tool)
        if found is None or not found.moved:
            continue
        half_ns = max((found.end_ns - found.begin_ns) // 2, APART_NS)
        if since_ns is None or not found.dated or found.begin_ns >= since_ns - half_ns:
            return True
    return False


def _find_first_stacks_ns(case: LiveCase) -> int | None:
    """When the stacks before the last ones were taken, as printed."""
    times = [one.stamp.wall_ns for one in case.stacks if one.stamp.wall_ns is not None]
    last_ns = max(times, default=0)
    return max((ns for ns in times if last_ns - ns >= APART_NS), default=None)


def own_round(case: LiveCase, tool: Tool) -> Round | None:
    """The last looks of ``tool`` at this job, compared with those before; found once."""
    key = ("round", tool)
    if key not in case.memo:
        case.memo[key] = find_latest_round(own_looks(case, tool).looks)
    found: Round | None = case.memo[key]
    return found


def find_standing_round(case: LiveCase, tool: Tool) -> Round | None:
    """As :func:`own_round`; None also where counters moved, so that nobody is stuck."""
    found = own_round(case, tool)
    return None if found is None or found.moved else found


def own_looks(case: LiveCase, tool: Tool) -> OwnLooks:
    """The looks of ``tool`` at this job, and notes on those of others; found once."""
    key = ("looks", tool)
    if key not in case.memo:
        case.memo[key] = _select_own_looks(case, tool)
    found: OwnLooks = case.memo[key]
    return found


def _select_own_looks(case: LiveCase, tool: Tool) -> OwnLooks:
    """The looks of ``tool`` at this job. A look at more ranks than the job has is of another; of
    several jobs that is ours whose processes are known, else the one that was seen last.
    """
    notes = []
    kept = []
    for look in case.looks:
        if look.tool is not tool:
            continue
        size = _count_ranks_at_least(look)
        if case.world_size is not None and size > case.world_size:
            notes.append(
                f"{look.artifact}: of a job of {size} ranks, not of this one with"
                f" {case.world_size}: not used"
            )
        else:
            kept.append(look)
    jobs = _split_by_job(kept)
    if len(jobs) > 1:
        ours = _choose_job(case, jobs)
        for job in jobs:
            if job is not ours:
                why = "of another job, or of an earlier attempt" if ours else "of several jobs"
                notes += [f"{look.artifact}: {why}: not used" for look in job]
        foreign = {id(look) for job in jobs if job is not ours for look in job}
        kept = [look for look in kept if id(look) not in foreign]
    return OwnLooks(tuple(kept), tuple(notes))


def _count_ranks_at_least(look: Look) -> int:
    """How many ranks the job of a look has at least."""
    return max([look.num_gpus or 0, *(one.size for one in look.communicators)])


def _split_by_job(looks: Sequence[Look]) -> list[list[Look]]:
    """Looks that show whole communicators, in groups that share none of them, nor a process."""
    groups: list[tuple[set[object], list[Look]]] = []
    for look in looks:
        if not any(len(one.ranks) == one.size > 1 for one in look.communicators):
            continue
        own: set[object] = {one.hash for one in look.communicators}
        for one in look.communicators:
            own |= {process_key(member.process) for member in one.ranks}
        own.discard(None)
        joined = [group for group in groups if group[0] & own]
        members = [other for group in joined for other in group[1]]
        groups = [group for group in groups if not group[0] & own]
        groups.append((own.union(*(group[0] for group in joined)), [*members, look]))
    return [members for _, members in groups]


def _choose_job(case: LiveCase, jobs: Sequence[list[Look]]) -> list[Look] | None:
    """The job whose processes logs know; else the one seen last; None where nothing tells."""
    known = {number: _count_known_processes(case, job) for number, job in enumerate(jobs)}
    best = max(known.values())
    if best and sum(count == best for count in known.values()) == 1:
        return jobs[next(number for number, count in known.items() if count == best)]
    whole = [job for job in jobs if max(map(_count_ranks_at_least, job)) == case.world_size]
    if len(whole) == 1:
        return whole[0]
    last: dict[int, list[list[Look]]] = defaultdict(list)
    for job in jobs:
        if any(look.stamp.wall_ns is None for look in job):
            return None
        last[max(look.stamp.wall_ns or 0 for look in job)].append(job)
    newest = last[max(last)]
    return newest[0] if len(newest) == 1 else None


def _count_known_processes(case: LiveCase, job: Iterable[Look]) -> int:
    """How many processes of a job's looks logs name too, by node and pid."""
    pids = set()
    for look in job:
        for communicator in look.communicators:
            for member in communicator.ranks:
                pid, node = member.process.pid, case.own_node_of(member.process, look)
                if pid is not None and node is not None:
                    pids.add((node, pid))
    return sum(case.fleet.rank_of_pid(node, pid) is not None for node, pid in pids)
