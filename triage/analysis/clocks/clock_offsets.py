"""How far the clock of each node is ahead, from what all nodes see at one moment.

Watchdogs of one collective start together: the time a node prints minus how long
the collective ran is its start, the same on all clocks. The flight recorder tells
the same from the ends of collectives that span nodes. Offsets below what the
prints resolve are left alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from triage.domain.evidence import Evidence, Kind

_SECOND: Final = 1_000_000_000
# Nearer than this is not told apart from when the line was printed.
_LEAST: Final = 2 * _SECOND

_MAX_NOTES: Final = 6
# Half of the nodes must agree on what the time is.
_MIN_NODES: Final = 3


def align(
    evidence: Iterable[Evidence], dump_offsets_ns: Mapping[str, int]
) -> tuple[list[Evidence], dict[str, int], list[str]]:
    """Rows with the offset of their node's clock taken off, the offsets, and notes of them."""
    rows = list(evidence)
    offsets = {node: ns for node, ns in dump_offsets_ns.items() if abs(ns) >= _LEAST}
    for node, ns in _measure_printed_offsets(rows).items():
        offsets.setdefault(node, ns)
    if not offsets:
        return rows, {}, []
    measured = {**offsets, **dump_offsets_ns}
    # How far a clock that nothing shows may be off, by those that are known.
    usual = int(np.median(list(map(abs, measured.values())))) if len(measured) >= _MIN_NODES else 0
    unknown = 2 * usual if usual >= _LEAST else 0
    by_one = _find_stamped_by_one_clock(rows, offsets)
    moved = []
    for row in rows:
        ahead_ns = offsets.get(row.node or "", 0)
        if row.node is not None and (row.node not in measured or row.artifact in by_one):
            row = replace(row, error_ns=max(row.error_ns, unknown))
        elif ahead_ns and row.at_ns is not None:
            last = None if row.last_at_ns is None else row.last_at_ns - ahead_ns
            row = replace(row, at_ns=row.at_ns - ahead_ns, last_at_ns=last)
        moved.append(row)
    told = sorted(offsets.items(), key=lambda one: (-abs(one[1]), one[0]))
    notes = [
        f"clock of {node} is {_format_offset(abs(ns))} {'ahead' if ns > 0 else 'behind'}: its times"
        " are corrected"
        for node, ns in told
    ]
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"and the clocks of {len(notes) - _MAX_NOTES} more nodes"]
    return moved, offsets, notes


def _find_stamped_by_one_clock(rows: Iterable[Evidence], offsets: Mapping[str, int]) -> set[str]:
    """Artifacts of several nodes whose lines stand in the order of time as they are printed, and
    would not once corrected: their collector wrote the time.
    """
    lines: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows:
        if row.at_ns is not None and row.line is not None:
            ahead = offsets.get(row.node or "", 0)
            lines[row.artifact].append((row.line, row.at_ns, row.at_ns - ahead))
    found = set()
    for artifact, told in lines.items():
        told.sort()
        back = [sum(two[k] < one[k] - _LEAST for one, two in pairwise(told)) for k in (1, 2)]
        if back[0] < back[1]:
            found.add(artifact)
    return found


def _measure_printed_offsets(rows: Iterable[Evidence]) -> dict[str, int]:
    """Node -> offset, from the starts of the collectives that its watchdogs report."""
    starts: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        ran_ms = row.fields.get("ran_ms", "")
        if row.kind is not Kind.NCCL or row.node is None or row.at_ns is None:
            continue
        if ran_ms.isdecimal() and len(ran_ms) < 12:
            starts[row.node].append(row.at_ns - int(ran_ms) * 1_000_000)
    if len(starts) < _MIN_NODES:
        return {}
    middle = {node: int(np.median(found)) for node, found in starts.items()}
    common = int(np.median(list(middle.values())))
    agree = sum(abs(ns - common) < 60 * _SECOND for ns in middle.values())
    if agree * 2 < len(middle):
        return {}
    # Ranks enter a collective at different times; a minute apart is another clock.
    return {node: ns - common for node, ns in middle.items() if abs(ns - common) >= 20 * _SECOND}


def _format_offset(ns: int) -> str:
    seconds = ns / _SECOND
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
