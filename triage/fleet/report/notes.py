"""Notes of the fleet report: what the record lacks, and what follows from that."""

from collections.abc import Iterator

import numpy as np

from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import Exposed


def notes_of(record: FleetRecord, seen: Exposed) -> Iterator[str]:
    """One sentence for each kind of gap in the record."""
    if seen.by_calendar:
        yield (
            "no run is known: rates count the hours of the record, as if one job ran through; "
            "import runs (triage fleet import) for rates per GPU and by size"
        )
    elif (without := int((seen.run < 0).sum())) > 0:
        yield (
            f"{without:,} of {len(seen.index):,} interruptions have no run: they are among the "
            "causes, and in no rate; import what the scheduler knows of their jobs"
        )
    if not seen.by_calendar and not seen.gpu_hours:
        yield "no run says how many GPUs it had: nothing can be projected"
    if nameless := runs_without_nodes(record, seen):
        yield (
            f"{_many(nameless, 'run does', 'runs do')} not say on which nodes:"
            " they count for the fleet, and for no node"
        )
    causes = record.interruptions.cause
    if unknown := sum(causes[i] is None for i in seen.index):
        yield (
            f"{_many(unknown, 'interruption was', 'interruptions were')} not triaged, of "
            f"{len(seen.index):,}: no cause is known"
        )


def runs_without_nodes(record: FleetRecord, seen: Exposed) -> int:
    """How many runs within the record do not name their nodes."""
    return int(((np.diff(record.runs.node_at) == 0) & (seen.hours > 0)).sum())


def _many(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
