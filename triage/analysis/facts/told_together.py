"""What lines of one moment say together, and none of them alone.

A file server that does not answer is an everyday matter for one node, and an outage where all
nodes of a job lose it at once and none finds it again. An error that a unit of the chip met is the
memory's where the same GPU books a bad row of its memory beside it. And a kernel that gives up
takes its node with it, whatever it says of the reason. A process that a kernel killed ended when
its launcher says that it did.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from triage.analysis.facts.stop import AFTER_S, BEFORE_S, CLOCKS_APART_S, SECOND, is_by_process
from triage.domain.category import Category
from triage.domain.evidence import KERNEL_KINDS, Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.patterns import compile_re

# Nodes that lose one server lose it within this.
_TOGETHER_NS: Final = 60 * SECOND
# Two nodes are no accident where they are a third of the job.
_LEAST_NODES: Final = 2
_SHARE_OF_NODES: Final = 0.34
# A driver books a bad row within this of the error that showed it.
_BOOKED_NS: Final = 60 * SECOND
_ROW_XIDS: Final = frozenset({48, 63, 64})


def mark_found_again(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; what the same log says is over soon after was a hitch: a server that is found
    again, and a power supply that a controller sees again, unless its node booted in between.
    """
    found: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    boots: dict[str | None, list[int]] = defaultdict(list)
    for row in rows:
        if row.fields.get("cleared") == "yes" and (unit := _find_unit(row)) is not None:
            found[row.artifact, row.node, *unit].append(_get_clock_ns(row))
        elif row.kind is Kind.BOOT and row.at_ns is not None:
            boots[row.node].append(row.at_ns)
    kept = []
    for row in rows:
        unit = _find_unit(row) if row.role is EvidenceRole.ROOT else None
        is_storage = row.kind is Kind.STORAGE
        # What was hot may be why a job stopped, and cools down by that.
        if unit is not None and (is_storage or row.category is Category.POWER):
            limit_ns = _TOGETHER_NS if is_storage else _SEEN_AGAIN_NS
            clock_ns = _get_clock_ns(row)
            again = [
                ns
                for ns in found.get((row.artifact, row.node, *unit), ())
                if 0 <= ns - clock_ns <= limit_ns
            ]
            begun = row.at_ns if row.at_ns is not None else clock_ns
            if again and not any(
                begun <= ns <= begun + _BOOTED_NS for ns in boots.get(row.node, ())
            ):
                row = replace(row, role=EvidenceRole.ADVICE)
        kept.append(row)
    return kept


# A supply that is seen again within this had others beside it: its node went on.
_SEEN_AGAIN_NS: Final = 30 * 60 * SECOND
_BOOTED_NS: Final = 60 * 60 * SECOND
_FIGURE: Final = compile_re(r"\d{1,4}")


def _find_unit(row: Evidence) -> tuple[str | None, ...] | None:
    """What a row says is gone or back: a server, or a part by its sensor and number; None where it
    names neither.
    """
    if row.kind is Kind.STORAGE:
        return (row.peer,) if row.peer else None
    if row.kind is not Kind.POWER or "sensor" not in row.fields:
        return None
    figure = _FIGURE.search(row.fields.get("words", ""))
    return row.fields["sensor"], figure[0] if figure is not None else None


# What nodes say one by one at so many moments, over so long, is how their shared services are.
_EVERYDAY_MOMENTS: Final = 4
_EVERYDAY_NODES: Final = 3
_EVERYDAY_NS: Final = 15 * 60 * SECOND


def mark_everyday(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; what one node after the other complains of again and again, of something that all
    share, is everyday. An outage is what several of them say within a minute.
    """
    of_one: dict[str, list[Evidence]] = defaultdict(list)
    for row in rows:
        is_of_machine = row.blame is Blame.SHARED and not is_by_process(row)
        if row.role is EvidenceRole.ROOT and is_of_machine and None not in (row.node, row.at_ns):
            of_one[row.signature].append(row)
    everyday: set[int] = set()
    for ones in of_one.values():
        ones.sort(key=lambda row: row.at_ns or 0)
        together = {id(row) for row in _select_together(ones)}
        alone = [row for row in ones if id(row) not in together]
        lasted_ns = (ones[-1].end_ns or 0) - (ones[0].at_ns or 0)
        if (
            len(alone) >= max(_EVERYDAY_MOMENTS, len(together))
            and len({row.node for row in alone}) >= _EVERYDAY_NODES
            and lasted_ns >= _EVERYDAY_NS
        ):
            everyday.update(map(id, alone))
            # Of so many it is no accident that two meet.
            everyday.update(together if len(together) <= _LEAST_NODES else ())
    return [replace(row, role=EvidenceRole.ADVICE) if id(row) in everyday else row for row in rows]


def _get_clock_ns(row: Evidence) -> int:
    """When a row was last printed, by the clock that its log has."""
    stamp = row.last_stamp
    return stamp.uptime_ns if stamp.uptime_ns is not None else stamp.wall_ns or 0


def with_common_losses(rows: Sequence[Evidence], num_nodes: int) -> list[Evidence]:
    """``rows``, with what several nodes say together of something they share marked as that; a
    server that many nodes of a job lose at once, and that no node finds again, is lost: each of
    them is the other's second source.
    """
    of_one: dict[str, list[Evidence]] = defaultdict(list)
    found_again: dict[str, int] = {}
    for row in rows:
        if row.at_ns is None:
            continue
        if row.kind is Kind.STORAGE and row.peer and row.fields.get("cleared") == "yes":
            last_ns = row.end_ns or row.at_ns
            found_again[row.peer] = max(found_again.get(row.peer, last_ns), last_ns)
        elif (
            row.role is EvidenceRole.ROOT
            and row.node is not None
            and (
                # It complains of what others use too: of a server by its name, or in own words.
                row.peer is not None
                if row.is_generic and row.blame is Blame.SHARED
                else not row.is_generic and (row.blame is Blame.SHARED or is_by_process(row))
            )
        ):
            of_one[row.peer or row.signature].append(row)
    together: set[int] = set()
    lost: set[int] = set()
    for server, ones in of_one.items():
        said = _select_together(ones)
        together.update(map(id, said))
        since_ns = found_again.get(server)
        for_good = [row for row in said if since_ns is None or (row.at_ns or 0) > since_ns]
        lost.update(map(id, _find_common_loss(for_good, num_nodes)))
    kept = []
    for row in rows:
        told = row
        if id(row) in together:
            told = replace(told, traits=told.traits | {Trait.TOLD_TOGETHER})
        if id(row) in lost:
            told = replace(told, weak=False, traits=told.traits - {Trait.GENERIC})
        kept.append(told)
    return kept


def _select_together(rows: Iterable[Evidence]) -> list[Evidence]:
    """The rows next to which, within a minute, another node says the same."""
    in_order = sorted(rows, key=lambda row: row.at_ns or 0)
    said = {
        id(row)
        for pair in pairwise(in_order)
        if pair[0].node != pair[1].node
        and (pair[1].at_ns or 0) - (pair[0].at_ns or 0) <= _TOGETHER_NS
        for row in pair
    }
    return [row for row in in_order if id(row) in said]


def _find_common_loss(said: Sequence[Evidence], num_nodes: int) -> list[Evidence]:
    """The lines of the last time at which many nodes lost one server."""
    of_a_server = [row for row in said if row.kind is Kind.STORAGE and row.is_generic]
    if not of_a_server:
        return []
    last_ns = of_a_server[-1].at_ns or 0
    burst = [row for row in of_a_server if last_ns - (row.at_ns or 0) <= _TOGETHER_NS]
    nodes = {row.node for row in burst}
    least = max(_LEAST_NODES, _SHARE_OF_NODES * num_nodes)
    return burst if len(nodes) >= least else []


def with_memory_that_failed(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; an error in on-chip memory that may have come out of the GPU's own memory is of
    that memory where a row of it is booked as bad at the same time.
    """
    booked: dict[tuple[str | None, str | None], list[Evidence]] = defaultdict(list)
    for row in rows:
        is_row = row.kind is Kind.XID and row.code in _ROW_XIDS
        if is_row and row.category is Category.GPU_HBM and row.gpu is not None:
            booked[row.node, row.gpu].append(row)
    return [
        replace(row, category=Category.GPU_HBM, also=(Category.GPU_SRAM,))
        if row.kind is Kind.XID
        and row.category is Category.GPU_SRAM
        and Category.GPU_HBM in row.also
        and _is_booked(row, booked)
        else row
        for row in rows
    ]


def _is_booked(
    row: Evidence, booked: Mapping[tuple[str | None, str | None], Sequence[Evidence]]
) -> bool:
    """Whether its GPU books a bad row at the time of an error."""
    for other in booked.get((row.node, row.gpu), ()):
        at_ns, other_ns = _get_time_ns(row), _get_time_ns(other)
        if at_ns is None or other_ns is None:
            if at_ns is other_ns and row.artifact == other.artifact:
                return True
        elif abs(at_ns - other_ns) <= _BOOKED_NS:
            return True
    return False


def _get_time_ns(row: Evidence) -> int | None:
    """The time of a row, by whichever clock of its node."""
    return row.at_ns if row.at_ns is not None else row.stamp.uptime_ns


_PANIC: Final = "lockup.panic"
# A kernel that is told to give up where tasks wait: what they wait for may have come first.
_TOLD_TO: Final = "hung_task"
_BLOCKED: Final = "lockup.hung_task"
# Tasks wait two minutes or more before a kernel tells it, and as long again before it gives up.
_WAITED_NS: Final = 3600 * SECOND


def with_kernels_that_gave_up(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; a panic as a root that needs no other source: the node is gone with all of its
    processes, be it by a bug, a driver or a part.

    A kernel that gave up because tasks waited stays a consequence where a fault of its node came
    before it, or tasks of another node or its storage had to wait as well.
    """
    told_to = [row for row in rows if row.signature == _PANIC and _is_told_to(row)]
    causes = [row for row in rows if _explains_waiting(row)] if told_to else []
    led_to = {id(row) for row in told_to if any(_came_before(cause, row) for cause in causes)}
    return [
        replace(
            row,
            role=EvidenceRole.ROOT,
            weak=False,
            category=row.category
            or (Category.HOST_STALL if _is_told_to(row) else Category.SOFTWARE_FRAMEWORK),
        )
        if row.signature == _PANIC and id(row) not in led_to
        else row
        for row in rows
    ]


def _is_told_to(row: Evidence) -> bool:
    """Whether a panic is one that a kernel is told to make where tasks wait."""
    return _TOLD_TO in row.fields.get("reason", _TOLD_TO)


def _explains_waiting(row: Evidence) -> bool:
    """Whether a row tells of something for which tasks may wait, or of tasks that wait."""
    is_root = row.role is EvidenceRole.ROOT and row.kind in KERNEL_KINDS and row.is_firm
    waits = row.signature == _BLOCKED or row.kind is Kind.STORAGE
    return (is_root or waits) and Trait.OUTLIVED not in row.traits and row.signature != _PANIC


def _came_before(cause: Evidence, panic: Evidence) -> bool:
    """Whether a row may be why a kernel gave up: a fault of its own, or waiting elsewhere."""
    if cause.node == panic.node and not (cause.role is EvidenceRole.ROOT and cause.is_firm):
        return False
    if cause.node != panic.node and cause.signature != _BLOCKED and cause.kind is not Kind.STORAGE:
        return False
    if cause.at_ns is None or panic.at_ns is None:
        return True
    return panic.at_ns - _WAITED_NS <= cause.at_ns <= panic.at_ns


# A kernel writes all of one kill within this.
_ONE_KILL_NS: Final = 5 * SECOND


def with_killed_processes(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; a kernel's kill for want of memory by the clock of the launcher that tells of the
    end of the same process: a process ends once, and clocks of two nodes may be minutes apart.
    """
    ended: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in rows:
        tells = row.kind is Kind.ELASTIC and Trait.OUTLIVED not in row.traits
        if tells and row.node is not None and row.pid is not None and row.at_ns is not None:
            ended[row.node, row.pid].add(row.at_ns)
    moves: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row.kind is Kind.OOM and row.node is not None and row.at_ns is not None:
            # How far the kernel's clock is ahead; not where both agree, or are no two clocks of
            # one moment.
            ended_ns = min(ended.get((row.node, row.pid or 0), ()), default=row.at_ns)
            ahead_ns = row.at_ns - ended_ns
            agree = -BEFORE_S * SECOND <= ahead_ns <= AFTER_S * SECOND
            if not agree and abs(ahead_ns) <= CLOCKS_APART_S * SECOND:
                moves[row.node].append((row.at_ns, ahead_ns))
    return [_on_its_launchers_clock(row, moves.get(row.node or "", ())) for row in rows]


def _on_its_launchers_clock(row: Evidence, moves: Iterable[tuple[int, int]]) -> Evidence:
    """A kernel's line about a kill at the time of the end that it brought about."""
    if row.kind is not Kind.OOM or row.at_ns is None:
        return row
    for killed_ns, ahead_ns in moves:
        if abs(row.at_ns - killed_ns) <= _ONE_KILL_NS:
            last_ns = row.end_ns or row.at_ns
            return row.dated(row.at_ns - ahead_ns, last_ns - ahead_ns, row.error_ns)
    return row
