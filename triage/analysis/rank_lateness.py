"""Rank lateness: the delay that each rank causes per operation, as rows.

Measured over the newest finished collectives, with the offsets of clocks taken off; a
report that came without its dumps has it only for the ranks that were named.
"""

from collections.abc import Iterator
from typing import Any

from triage.analysis.answer import Weighing
from triage.analysis.waiting.lateness import measure
from triage.domain.report import Answer


def lateness_rows(answer: Answer, weighed: Weighing | None) -> list[dict[str, Any]]:
    """One row per rank, latest first; empty on too little data."""
    rows = (
        _measured_rows(weighed)
        if weighed is not None and weighed.view is not None
        else _reported_rows(answer)
    )
    return sorted(rows, key=lambda row: (-row["late_ms"], row["rank"]))


def _measured_rows(weighed: Weighing) -> Iterator[dict[str, Any]]:
    assert weighed.view is not None
    snapshot = weighed.view.case.snapshot
    lateness = measure(snapshot)
    if lateness is None:
        return
    node_of = weighed.dated.fleet.node_of
    for index, rank in enumerate(snapshot.ranks.tolist()):
        yield {
            "rank": rank,
            "node": snapshot.node_of(rank) or node_of(rank),
            "late_ms": float(lateness.delay_ms[index]),
            "held_share": float(lateness.held_share[index]),
            "num_matched": int(lateness.matched[index]),
        }


def _reported_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    for state in answer.ranks:
        if state.late_ms is not None:
            yield {
                "rank": state.rank,
                "node": state.node,
                "late_ms": state.late_ms,
                "held_share": float("nan"),
                "num_matched": 0,
            }
