"""What happened when: the first root of each node beside the stop."""

from collections.abc import Iterable, Sequence
from typing import Final

from triage.analysis.facts.stop import SECOND, Stop, When
from triage.analysis.joining.causes import is_quoted
from triage.analysis.waiting.case import make_timestamp
from triage.domain.evidence import Evidence, EvidenceRole
from triage.domain.report import Moment, Suspect

_MAX_MOMENTS: Final = 24
_SHOWN: Final = frozenset({When.AT, When.BEFORE, When.AFTER})


def build_timeline(
    evidence: Iterable[Evidence], suspects: Sequence[Suspect], stop: Stop
) -> tuple[Moment, ...]:
    """Moments in the order of time: suspects' first, then other nodes' until there is no room."""
    first: dict[str, Evidence] = {}
    for row in evidence:
        if row.role is not EvidenceRole.ROOT or row.at_ns is None or row.node is None:
            continue
        if is_quoted(row):
            continue
        if stop.of(row) not in _SHOWN:
            continue
        earlier = first.get(row.node)
        if earlier is None or _order(row) < _order(earlier):
            first[row.node] = row
    accused = [node for suspect in suspects if (node := suspect.node or "") in first]
    others = sorted(set(first) - set(accused), key=lambda node: _order(first[node]))
    kept = [first[node] for node in [*accused, *others][:_MAX_MOMENTS]]
    moments = [
        Moment(
            row.at, row.node, row.rank, str(row.kind), row.category, row.text, row.error_ns / 1e9
        )
        for row in kept
    ]
    if moments and stop.start_ns is not None and stop.known:
        moments.append(
            Moment(make_timestamp(stop.start_ns), None, None, "stop", None, "the job stops")
        )
    if moments and stop.end_ns is not None and (stop.end_ns - (stop.start_ns or 0)) > SECOND:
        text = "the job is given up"
        moments.append(Moment(make_timestamp(stop.end_ns), None, None, "end", None, text))
    return tuple(
        sorted(moments, key=lambda moment: (moment.at is None, moment.at, moment.node or ""))
    )


def _order(row: Evidence) -> tuple[bool, int, str, int]:
    """Grave before mended, then by time."""
    return (row.is_mild, row.at_ns or 0, row.artifact, row.line or 0)
