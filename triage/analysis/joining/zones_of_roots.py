"""Logs whose zone nothing tells, placed by the one error that would then be the stop's.

A log without a zone is read as UTC. Where the stop is known, nothing at it was
found, and a grave error lies a whole zone's offset away from it to within the
minute, the log is of that zone. With many nodes such an error is found by chance,
so one or two nodes alone may be moved like this, or as many as agree; and as many as lose one
server within a minute, closely at the stop.

What CUDA tells a process at the stop is no such finding: a broken part of the same node
makes it say that. So a log of that node is moved none the less, where its error fits closely.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import AFTER_S, BEFORE_S, SECOND, Stop, When, is_by_process
from triage.analysis.joining.claims import LINKS
from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, RowOrigin, Trait

# Offsets from UTC that are in use, in minutes; two logs may differ by any of them.
_OFFSETS: Final = (
    *(60 * hours for hours in range(1, 15)), 210, 270, 330, 345, 390, 525, 570, 630, 765,
)  # fmt: skip
_UNKNOWN_NS: Final = 1800 * SECOND
_MOST_NODES: Final = 2
_CLOSE_S: Final = 30


def align_to_stop(evidence: Sequence[Evidence], stop: Stop) -> tuple[list[Evidence], list[str]]:
    """Rows with whole artifacts moved by a zone, and a note of each; as they are otherwise."""
    rows = list(evidence)
    served = [row for row in rows if _is_of_a_server(row)]
    grave = [row for row in rows if _is_grave(row)] + served
    at_stop = [row for row in grave if stop.of(row) is When.AT]
    if not stop.known or any(row.kind is not Kind.CUDA for row in at_stop):
        return rows, []
    if at_stop:
        nodes = {row.node for row in at_stop}
        below = [row for row in grave if row.category in HARDWARE and row.node in nodes]
        by_offset = _match_offsets(below, stop, sure=False, closely=True)
    else:
        by_offset = _match_offsets(grave, stop, sure=False) or _match_offsets(
            grave, stop, sure=True
        )
    if not by_offset:
        return rows, []
    of_the_job = {row.artifact for row in grave if is_by_process(row)}
    of_a_server = {row.artifact for row in served}
    most = max(len(artifacts) for artifacts in by_offset.values())
    best = sorted(offset for offset, artifacts in by_offset.items() if len(artifacts) == most)
    others = sum(len(artifacts) for offset, artifacts in by_offset.items() if offset != best[0])
    moved = by_offset[best[0]]
    # The job's own log tells of this job and of no other day: there chance plays no part. What a
    # server does to all is one event, however many see it.
    enough = most <= _MOST_NODES + others or moved <= of_the_job or moved <= of_a_server
    if len(best) > 1 or not enough or others > most:
        return rows, []
    shift = best[0] * 60 * SECOND
    notes = [
        f"{artifact}: its zone is not told; its times are taken to be {best[0] / 60:+g} h off,"
        " since its gravest error is then at the stop"
        for artifact in sorted(moved)
    ]
    return [_shift_times(row, shift) if row.artifact in moved else row for row in rows], notes


def _match_offsets(
    grave: Sequence[Evidence], stop: Stop, *, sure: bool, closely: bool = False
) -> dict[int, set[str]]:
    """Offset in minutes -> the artifacts that it brings to the stop.

    With ``sure``, also logs whose zone seemed known: the one that tells of the stop may be
    the wrong one. Then a single artifact has to fit, and closely.
    """
    by_offset: dict[int, set[str]] = defaultdict(set)
    for row in grave:
        offset = _find_offset_min(row, stop, sure=sure, closely=closely or sure)
        if offset is not None and (row.node is not None or is_by_process(row)):
            by_offset[offset].add(row.artifact)
    if sure and len({artifact for artifacts in by_offset.values() for artifact in artifacts}) != 1:
        return {}
    return by_offset


def _is_grave(row: Evidence) -> bool:
    return (
        row.role is EvidenceRole.ROOT
        and (row.category in HARDWARE or is_by_process(row))
        and not row.weak
        and not row.is_mild
        and row.category not in LINKS  # they flap on any day, also at this hour of another zone
        and row.at_ns is not None
    )


def _is_of_a_server(row: Evidence) -> bool:
    """Whether several nodes complain together of storage."""
    return (
        Trait.TOLD_TOGETHER in row.traits
        and row.role is EvidenceRole.ROOT
        and row.category is Category.STORAGE
        and row.blame is Blame.SHARED
        and not row.is_mild
    )


def _find_offset_min(row: Evidence, stop: Stop, *, sure: bool, closely: bool) -> int | None:
    """The zone's offset in minutes that brings a row to the stop, None where none does."""
    if row.at_ns is None or stop.start_ns is None:
        return None
    if not sure and max(row.error_ns, stop.error_ns) < _UNKNOWN_NS:
        return None
    if sure and _is_placed(row, stop):
        return None
    late_s = (row.at_ns - stop.start_ns) / SECOND
    closely = closely or row.category is Category.STORAGE
    for minutes in (*_OFFSETS, *(-minutes for minutes in _OFFSETS)):
        least, most = (-_CLOSE_S, _CLOSE_S / 3) if closely else (-BEFORE_S, AFTER_S)
        if least <= late_s - 60 * minutes <= most:
            return minutes
    return None


def _is_placed(row: Evidence, stop: Stop) -> bool:
    """Whether nothing is left to guess: the row prints its zone, and dumps tell the stop."""
    if row.origin is RowOrigin.HEALTH_CHECK:
        return True
    return row.stamp.zone_s is not None and stop.error_ns == 0


def _shift_times(row: Evidence, shift_ns: int) -> Evidence:
    if row.at_ns is None:
        return row
    last = None if row.last_at_ns is None else row.last_at_ns - shift_ns
    return replace(
        row, at_ns=row.at_ns - shift_ns, last_at_ns=last, error_ns=min(row.error_ns, 60 * SECOND)
    )
