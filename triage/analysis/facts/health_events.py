"""What tools that watch a node reported, held against the stop and the job's own GPUs.

Such a tool reports what the stop itself brought about, too: a GPU that is reset when its job is
killed, a node that is drained because somebody asked. So only a report from before the stop
accuses by itself; a later one needs another source. A report that was taken back before the
stop, and one on a GPU that the job did not use, accuse nobody.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import AFTER_S, SECOND, Stop, When
from triage.analysis.placement.identity import JobPlacement
from triage.domain.evidence import Evidence, EvidenceRole
from triage.domain.health import Outcome

_FAMILY: Final = "check"
_BEHIND: Final = frozenset({When.AFTER, When.TEARDOWN})


def judge_reports(rows: Sequence[Evidence], stop: Stop, fleet: JobPlacement) -> list[Evidence]:
    """``rows``, those of checks and agents judged by their time and their GPU."""
    passes: dict[Hashable, list[int]] = defaultdict(list)
    for row in rows:
        passed = row.family == _FAMILY and row.fields.get("outcome") == Outcome.PASS
        if passed and row.at_ns is not None:
            passes[_get_subject(row)].append(row.at_ns)
    return [
        _judge_report(row, stop, fleet, passes)
        if row.family == _FAMILY and row.role is EvidenceRole.ROOT
        else row
        for row in rows
    ]


def _get_subject(row: Evidence) -> Hashable:
    """The check and the part that it looked at."""
    part = row.gpu or row.fields.get("gpu_uuid") or row.fields.get("device")
    return row.signature, row.node, part, row.cuda_device


def _judge_report(
    row: Evidence, stop: Stop, fleet: JobPlacement, passes: dict[Hashable, list[int]]
) -> Evidence:
    start_ns = stop.start_ns if stop.start_ns is not None else stop.end_ns
    if row.at_ns is not None and start_ns is not None:
        at_ns, until_ns = row.at_ns, start_ns + AFTER_S * SECOND
        if any(at_ns < passed <= until_ns for passed in passes.get(_get_subject(row), ())):
            return replace(row, role=EvidenceRole.ADVICE, weak=True)
    if row.gpu is not None and row.node is not None:
        own = [fleet.gpu_by_rank.get(rank) for rank in fleet.ranks_on(row.node)]
        if own and None not in own and row.gpu not in own:
            # It is beside those of the job, all of which are known.
            return replace(row, role=EvidenceRole.ADVICE, weak=True)
    return replace(row, weak=True) if stop.of(row) in _BEHIND else row
