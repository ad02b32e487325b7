"""What telemetry says, as rows of evidence beside those of the logs.

A GPU that throttles is no culprit by itself. It is one where the flight recorder shows that
its rank makes the others wait: then the two are joined, and the row needs no other source.
Where the air of a whole rack is warm, the GPUs of that rack follow from it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.analysis.facts.stop import Stop
from triage.analysis.placement.topology import JobTopology, Placement
from triage.analysis.telemetry.growth import find_growth
from triage.analysis.telemetry.panels import (
    PanelPart,
    Panels,
    Seat,
    Signal,
    build_panels,
    find_seat,
    format_clock_time,
    identify_part,
    place_in_order,
)
from triage.analysis.telemetry.throttle import find_inlet_rise, find_throttling, judge_throttling
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.lateness import measure
from triage.domain.arrays import F32
from triage.domain.category import Category, Role
from triage.domain.evidence import LASTING, Blame, Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.domain.finding import Finding
from triage.domain.progress import Change, ChangeKind
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import Grid, TelemetryFile
from triage.signatures.gpu.catalogue import get_xid

# The record is said to begin late where this many of its first operations are not.
_RECORD_NS: Final = 20_000_000_000
# Steps are printed every few minutes, and a change of their pace is seen after some of them.
_TOGETHER_NS: Final = 300_000_000_000


@dataclass(frozen=True, slots=True)
class _LateRank:
    """A rank that the flight recorder shows to make the others wait."""

    rank: int
    node: str | None
    text: str


def make_telemetry_evidence(
    files: Sequence[TelemetryFile],
    case: Case | None,
    claims: Sequence[Finding],
    stop: Stop,
    topology: JobTopology,
    slower: Change | None = None,
) -> list[Evidence]:
    """Dated rows of what ``files`` say of the time before the stop; none without telemetry.

    ``claims`` are those of the dumps, ``slower`` is since when steps take longer by the job's log.
    """
    gridded = [file for file in files if file.grid is not None]
    if not gridded:
        return []
    placement, nodes = topology.placement, topology.nodes
    panels = build_panels(gridded, _find_end_ns(case, stop, gridded), placement, nodes)
    placement = place_in_order(placement, panels)
    late = _list_late_ranks(case, claims, placement)
    convicted = {rank for claim in claims if claim.role is Role.CULPRIT for rank in claim.ranks}
    signals = [
        _weaken_beside_conviction(signal, convicted, placement)
        for signal in _join_throttles(panels, placement, late, topology.leaf_switch, slower)
    ]
    signals += find_growth(panels, placement)
    return [*map(_make_row, signals), *last_xids(gridded, placement, nodes)]


def _find_end_ns(case: Case | None, stop: Stop, files: Sequence[TelemetryFile]) -> int:
    """Up to when telemetry is looked at: never behind the moment at which the job stood still."""
    if stop.known and stop.start_ns is not None:
        return stop.start_ns
    digests = [] if case is None else case.snapshot.digests
    last = [digest.last_created_ns for digest in digests if digest.last_created_ns]
    if last:
        return int(np.median(last))
    ends = (stop.end_ns, stop.start_ns)
    told = max(file.grid.end_ns for file in files if file.grid is not None)
    return next((one for one in ends if one is not None), told)


def _list_late_ranks(
    case: Case | None, claims: Sequence[Finding], placement: Placement
) -> list[_LateRank]:
    convicted = [c for c in claims if c.category is Category.STRAGGLER and c.role is Role.CULPRIT]
    late = measure(case.snapshot) if convicted and case is not None else None
    found = []
    for claim, rank in ((one, rank) for one in convicted for rank in one.ranks):
        text = f"rank {rank} issues {claim.late_ms or 0:.0f} ms late"
        index = case.snapshot.index_of.get(rank) if case is not None else None
        if late is not None and index is not None and late.since_ns[index] >= 0:
            since = int(late.since_ns[index])
            whole = since - int(late.from_ns[index]) <= _RECORD_NS
            text += f" since {format_clock_time(since)} UTC" + " or earlier" * whole
        found.append(_LateRank(rank, placement.node_of(rank), text))
    return found


def _join_throttles(
    panels: Panels,
    placement: Placement,
    late: Sequence[_LateRank],
    leaf_switch: Mapping[str, str],
    slower: Change | None,
) -> Iterator[Signal]:
    """Throttling GPUs, joined with the ranks that are late or else with the steps that became
    slower, and the racks they follow from.
    """
    throttles = find_throttling(panels, placement)
    if throttles is None:
        return
    table, slow_gpus = throttles
    hot: set[str] = set()
    for one in find_inlet_rise(panels, leaf_switch):
        # Warm air that slows no GPU down is no cause of anything.
        slow = [each for each in slow_gpus if each.part.node in one.nodes]
        if slow:
            hot |= set(one.nodes)
            held = [each.text for each in late if each.node in one.nodes]
            text = "; ".join([one.text, f"{len(slow)} GPUs behind it throttle", *held[:2]])
            yield replace(one, text=text, firm=bool(held))
    rest = [one for one in slow_gpus if one.part.node not in hot]
    for signal in judge_throttling(panels, table, rest):
        held_up = [one for one in late if _is_same_place(signal, one)]
        if held_up:
            text = f"{held_up[0].text}, and {signal.text}"
            yield replace(signal, text=text, firm=True)
        elif slower is not None and not late and _is_onset_with_job(signal, slower):
            yield replace(signal, text=f"{slower.text}, and {signal.text}", firm=True)
        else:
            yield signal


def _is_onset_with_job(signal: Signal, slower: Change) -> bool:
    """Whether a device slows down since the job does: telemetry and the job's log are two."""
    since_ns = slower.since.at_ns
    if since_ns is None or slower.kind is not ChangeKind.SLOWER:
        return False
    return abs(signal.since_ns - since_ns) <= _TOGETHER_NS + signal.error_ns


def _weaken_beside_conviction(
    signal: Signal, convicted: Collection[int], placement: Placement
) -> Signal:
    """A GPU that throttles while others wait for another one: a warning, and no rival."""
    seat = signal.seat
    if signal.firm or seat is None or not convicted or seat.rank in convicted:
        return signal
    if seat.rank is None and seat.node in {placement.node_of(rank) for rank in convicted}:
        return signal
    return replace(signal, severity="warn")


def _is_same_place(signal: Signal, late: _LateRank) -> bool:
    """Whether what a signal says can be why a rank is late: of its GPU, or of its node."""
    seat = signal.seat
    if seat is None or seat.node != late.node:
        return False
    return seat.gpu is None or seat.rank == late.rank


def _make_row(signal: Signal) -> Evidence:
    """A signal as a row; a rack is nobody's."""
    seat = signal.seat or Seat("")
    fields = {LASTING: "1", "severity": signal.severity, "nodes": " ".join(signal.nodes)}
    return Evidence(
        artifact=signal.artifact,
        line=None,
        signature=signal.name,
        kind=signal.kind,
        role=EvidenceRole.ROOT,
        text=signal.text,
        category=signal.category,
        also=signal.also,
        blame=Blame.SELF if signal.seat is not None else Blame.SHARED,
        weak=not signal.firm,
        node=seat.node or None,
        rank=seat.rank,
        gpu=seat.bus_id,
        stamp=Stamp(wall_ns=signal.since_ns, zone_s=0, error_ns=signal.error_ns),
        last_stamp=Stamp(wall_ns=signal.until_ns, zone_s=0, error_ns=signal.error_ns),
        at_ns=signal.since_ns,
        last_at_ns=signal.until_ns,
        error_ns=signal.error_ns,
        fields={name: value for name, value in fields.items() if value},
    )


# The gauge keeps the number until the next Xid, so only a scrape in which it changes says when
# the driver reported it. What the first scrape of a file holds may be of any day before.

_SIGNATURE: Final = "telemetry.last_xid"


def last_xids(
    files: Sequence[TelemetryFile], placement: Placement, nodes: Collection[str]
) -> Iterator[Evidence]:
    """A row for every Xid that a gauge shows, at the scrape that shows it first.

    Also behind the stop: the gauge does not change because GPUs idle. It needs another source
    where nothing tells when it changed.
    """
    for file, grid in ((file, file.grid) for file in files if file.grid is not None):
        for key, values in zip(grid.series, grid.value, strict=True):
            part = identify_part(key, placement, nodes) if key.metric is Metric.LAST_XID else None
            if part is not None and part.gpu:
                yield from _list_changes(file.artifact, grid, part, values, placement)


def _list_changes(
    artifact: str, grid: Grid, part: PanelPart, values: F32, placement: Placement
) -> Iterator[Evidence]:
    seat = find_seat(placement, part)
    before: int | None = None
    for column in np.flatnonzero(np.isfinite(values)).tolist():
        code, is_first = int(values[column]), before is None
        entry = get_xid(code) if code != before else None
        before = code
        if entry is None:
            continue
        at_ns = grid.start_ns + grid.width_ns * column
        stamp = Stamp(wall_ns=at_ns, zone_s=0, error_ns=grid.width_ns)
        yield Evidence(
            artifact=artifact,
            line=None,
            signature=_SIGNATURE,
            kind=Kind.GPU,
            role=entry.role,
            text=f"the last Xid of GPU {part.gpu} is {code}, {entry.meaning}",
            category=entry.category,
            also=entry.also,
            code=code,
            weak=is_first,
            node=seat.node,
            rank=seat.rank,
            gpu=seat.bus_id,
            stamp=stamp,
            last_stamp=stamp,
            at_ns=at_ns,
            last_at_ns=at_ns,
            error_ns=grid.width_ns,
            fields={"severity": entry.severity},
            traits=frozenset({Trait.OF_A_REPORT}),
        )
