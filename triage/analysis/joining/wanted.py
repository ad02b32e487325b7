"""The files that would decide: what is not there of the ranks and nodes in question."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.placement.topology import Placement
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import Role
from triage.domain.file_kind import FileKind
from triage.domain.report import Missing, Suspect, WantedFile

# More dumps would be those of a whole part of the job, of which these are as good a sign.
_MAX_DUMPS: Final = 8
# The best of a long list of suspects.
_MAX_JOB_LOGS: Final = 4


def list_wanted_files(
    case: Case | None, missing: Missing, suspects: Sequence[Suspect], placement: Placement
) -> tuple[WantedFile, ...]:
    """What would make the answer surer, the most telling first: dumps, kernel logs, job logs."""
    nodes = [one.node for one in suspects if one.node is not None and one.role != Role.AFFECTED]
    return (
        *_list_wanted_dumps(case, missing, suspects, placement),
        *(
            WantedFile(FileKind.KERNEL_LOG, node, None, "no kernel log of this suspect was read")
            for node in missing.kernel_logs_of
        ),
        *(
            WantedFile(FileKind.JOB_LOG, node, None, "no job log was read, of no node")
            for node in nodes[: _MAX_JOB_LOGS if missing.job_logs else 0]
        ),
    )


def _list_wanted_dumps(
    case: Case | None, missing: Missing, suspects: Sequence[Suspect], placement: Placement
) -> Iterator[WantedFile]:
    """Dumps of ranks that left none: those of suspects, then those that most groups wait for."""
    if case is None or case.in_flight or not missing.dumps_of:
        return
    groups = _count_waiting_groups(case)
    order = {rank: place for place, one in enumerate(suspects) for rank in one.ranks}
    without = [rank for rank in missing.dumps_of if rank in groups or rank in order]
    without.sort(key=lambda rank: (order.get(rank, len(suspects)), -groups[rank], rank))
    for rank in without[:_MAX_DUMPS]:
        why = f"left no dump{_describe_waiting_groups(groups[rank])}"
        yield WantedFile(FileKind.FLIGHT_RECORDER, placement.node_of(rank), rank, why)


def _count_waiting_groups(case: Case) -> Counter[int]:
    """For each rank without a dump, how many groups have members that wait for it."""
    groups = {
        (place.group, rank)
        for place in case.graph.places
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P) and place.waiting
        for rank in place.absent
    }
    return Counter(rank for _, rank in groups)


def _describe_waiting_groups(count: int) -> str:
    if not count:
        return ""
    return ", and a group waits for it" if count == 1 else f", and {count} groups wait for it"
