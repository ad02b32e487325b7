"""Where each rank stands in its groups, as its watchdog prints it.

``WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8 ...)`` is what a rank waits in, ``last enqueued``
and ``last completed work`` how far it came. Numbers count within one group, and ``Rank N`` beside a
group is a rank of that group. The line with the operation often names no group; the line behind
it, with the same number, does.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.evidence import Evidence, Trait
from triage.signatures.numbers import parse_small_number

_WATCHDOG: Final = frozenset({"c10d.watchdog_timeout", "c10d.queue", "c10d.dump_signal"})
# Ranks of one hang give up within the longest of their timeouts; older lines are of another.
_ONE_HANG_NS: Final = 2 * 3600 * 10**9
_DEFAULT: Final = "default_pg"
# The group of lines that name none.
_UNNAMED: Final = ""
# Numbers of sends and receives count by pair, and a coalesced block may hold either.
_NOT_OF_ALL: Final = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"})
# Where all members give tensors of one size; in and out.
_SAME_SIZES: Final = frozenset(
    {
        "ALLREDUCE", "ALLREDUCE_COALESCED", "BROADCAST", "_BROADCAST_OOP", "REDUCE", "_REDUCE_OOP",
        "ALLGATHER", "_ALLGATHER_BASE", "ALLGATHER_COALESCED", "REDUCE_SCATTER",
        "_REDUCE_SCATTER_BASE",
    }
)  # fmt: skip
# Most ranks without a prefix must speak before their numbers are taken as those of the job.
_MOST: Final = 0.75


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """A rank in one group. ``waits`` is the number of the operation it gave up waiting for, with
    ``op`` and ``size`` where they are told; ``row`` says so. It issued up to ``enqueued`` and
    finished up to ``completed``; None where nothing says it.
    """

    rank: int
    row: Evidence
    waits: int | None = None
    op: str | None = None
    size: str | None = None
    enqueued: int | None = None
    completed: int | None = None


@dataclass(frozen=True, slots=True)
class GroupPositions:
    """The members of one group that say where they stand, by rank.

    ``numbers_agree`` is whether numbers of different ranks count the same operations; of lines
    that name no group only equal ones are taken to. ``ranks_are_told`` is whether prefixes name
    the ranks.
    """

    name: str
    desc: str
    of: Mapping[int, GroupPosition]
    numbers_agree: bool = True
    ranks_are_told: bool = True
    is_whole: bool = False
    """Whether every rank of the job speaks, of one number at most."""


@dataclass(slots=True)
class _WatchdogLine:
    """One line: its group (empty where it names none), its rank and its rank in the group."""

    row: Evidence
    group: str
    rank: int
    group_rank: int | None
    number: int | None


def find_positions(rows: Iterable[Evidence], world_size: int | None) -> list[GroupPositions]:
    """The groups in which ranks say where they stand; those alone whose lines fit each other."""
    telling = [
        row for row in rows if row.signature in _WATCHDOG and Trait.OUTLIVED not in row.traits
    ]
    # In the order of time, without those of an earlier stop in the same log.
    newest = max((row.at_ns for row in telling if row.at_ns is not None), default=0)
    telling = [row for row in telling if row.at_ns is None or row.at_ns >= newest - _ONE_HANG_NS]
    telling.sort(key=lambda row: (row.at_ns or 0, row.artifact, row.line or 0))
    told = all(row.rank is not None for row in telling)
    lines = [one for row in telling if (one := _parse_watchdog_line(row, world_size)) is not None]
    if not told and not _do_most_ranks_speak(lines, world_size):
        lines = [one for one in lines if one.row.rank is not None]
        told = True
    _with_groups(lines)
    lines = _drop_counters_of_others(lines)
    by_group: dict[str, list[_WatchdogLine]] = defaultdict(list)
    for one in lines:
        by_group[one.group].append(one)
    return [
        GroupPositions(
            name,
            next((one.row.fields["pg_desc"] for one in its if "pg_desc" in one.row.fields), ""),
            _collect_positions(its),
            name != _UNNAMED,
            told,
            _is_whole(its, world_size),
        )
        for name, its in sorted(by_group.items())
        if _is_one_group(name, its)
    ]


def _is_whole(lines: Iterable[_WatchdogLine], world_size: int | None) -> bool:
    """Whether every rank of a job speaks, of one operation at most, and says its own rank in the
    group.
    """
    numbers: dict[int, set[int]] = defaultdict(set)
    for one in lines:
        if one.group_rank not in (None, one.rank):
            return False
        numbers[one.rank] |= set() if one.number is None else {one.number}
    return len(numbers) == world_size and all(len(its) < 2 for its in numbers.values())


def _parse_watchdog_line(row: Evidence, world_size: int | None) -> _WatchdogLine | None:
    group_rank = parse_small_number(row.fields.get("group_rank", ""))
    unprefixed = group_rank if "pg" not in row.fields else None
    rank = row.rank if row.rank is not None else unprefixed
    if rank is None or (row.rank is None and world_size is not None and rank >= world_size):
        return None
    number = parse_small_number(row.fields.get("seq_id", row.fields.get("at_work", "")))
    group = row.fields.get("guid") or row.fields.get("pg_desc") or row.fields.get("pg", _UNNAMED)
    if row.fields.get("pg_desc") == _DEFAULT or ("guid" not in row.fields and group == "0"):
        group = _DEFAULT
    return _WatchdogLine(row, group, rank, group_rank, number)


def _do_most_ranks_speak(lines: Sequence[_WatchdogLine], world_size: int | None) -> bool:
    """Whether so many ranks without a prefix speak that theirs are ranks of the whole job."""
    numbers: dict[int, set[int | None]] = defaultdict(set)
    for one in lines:
        if one.row.rank is None:
            numbers[one.rank].add(one.number)
    if any(len(its) > 1 for its in numbers.values()):
        return False  # ranks of several groups, or several stops
    if world_size is None:
        return set(numbers) == set(range(len(numbers)))
    return len(numbers) >= _MOST * world_size


def _with_groups(lines: Sequence[_WatchdogLine]) -> None:
    """A line that names no group is of the group in which its rank waits for the same number."""
    named: dict[tuple[int, int], set[str]] = defaultdict(set)
    for one in lines:
        if one.group != _UNNAMED and one.number is not None:
            named[one.rank, one.number].add(one.group)
    for one in lines:
        if one.group == _UNNAMED and one.number is not None:
            groups = named.get((one.rank, one.number), set())
            if len(groups) == 1:
                (one.group,) = groups


def _drop_counters_of_others(lines: Sequence[_WatchdogLine]) -> list[_WatchdogLine]:
    """Lines without those whose counters are of another group than the one they name.

    The default group's monitor passes on the signal to dump, and some versions print with it the
    counters of the group whose watchdog gave up: those that hold the number it waits in.
    """
    waits: dict[int, set[tuple[str, int]]] = defaultdict(set)
    for one in lines:
        if one.number is not None:
            waits[one.rank].add((one.group, one.number))
    return [
        one
        for one in lines
        if one.number is not None
        or not any(
            group != one.group and _is_between(one.row.fields, number)
            for group, number in waits[one.rank]
        )
    ]


def _is_between(fields: Mapping[str, str], number: int) -> bool:
    """Whether ``number`` was issued and not finished by the counters of a line."""
    enqueued = _parse_counter(fields.get("last_enqueued"), None)
    completed = _parse_counter(fields.get("last_completed"), None)
    return enqueued is not None and completed is not None and completed < number <= enqueued


def _is_one_group(name: str, lines: Sequence[_WatchdogLine]) -> bool:
    """Whether lines are of one group whose numbers count collectives.

    Numbers of groups that each process counts for itself are the same for different groups, and
    so is the ``[Rank 1]`` of old versions: each rank of the group must then be one of the job.
    """
    local_number = name not in (_UNNAMED, _DEFAULT) and not any(
        "guid" in o.row.fields for o in lines
    )
    if local_number or any(one.row.fields.get("op") in _NOT_OF_ALL for one in lines):
        return False
    seats: dict[int, set[int]] = defaultdict(set)
    nodes: dict[int, set[str]] = defaultdict(set)
    for one in lines:
        if one.group_rank is not None and (name == _UNNAMED or "pg" in one.row.fields):
            seats[one.group_rank].add(one.rank)
        if one.row.node is not None:
            nodes[one.rank].add(one.row.node)
    whole = name in (_UNNAMED, _DEFAULT)
    one_each = all(len(its) == 1 for its in seats.values())
    one_each = one_each and all(len(its) == 1 for its in nodes.values())
    return one_each and not (whole and any(seats[seat] != {seat} for seat in seats))


def _collect_positions(lines: Sequence[_WatchdogLine]) -> dict[int, GroupPosition]:
    """The last word of each rank of a group; what it waits in is the oldest that it gave up."""
    found: dict[int, GroupPosition] = {}
    for one in lines:
        before = found.get(one.rank, GroupPosition(one.rank, one.row))
        found[one.rank] = _apply_line(before, one)
    for rank, last in found.items():
        issued, done = last.enqueued, last.completed
        if last.waits is None and issued is not None and done is not None and issued > done:
            # It waits in the next one, though no watchdog says so.
            found[rank] = replace(last, waits=done + 1)
    return {rank: found[rank] for rank in sorted(found)}


def _apply_line(before: GroupPosition, one: _WatchdogLine) -> GroupPosition:
    fields = one.row.fields
    enqueued = _parse_counter(fields.get("last_enqueued"), before.enqueued)
    completed = _parse_counter(fields.get("last_completed"), before.completed)
    now = replace(before, enqueued=enqueued, completed=completed)
    older = one.number is not None and (before.waits is None or one.number <= before.waits)
    if not older or (one.number == before.waits and before.op is not None):
        return now
    op, size = fields.get("op"), None
    if op in _SAME_SIZES and "numel_in" in fields:
        # All members must agree on it.
        size = f"{fields['numel_in']} -> {fields.get('numel_out', '?')} elements"
    return replace(now, row=one.row, waits=one.number, op=op, size=size)


def _parse_counter(text: str | None, otherwise: int | None) -> int | None:
    """A counter, -1 before the first operation."""
    if text == "-1":
        return 0
    number = parse_small_number(text or "")
    return otherwise if number is None else number
