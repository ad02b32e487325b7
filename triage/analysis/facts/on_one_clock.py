"""All evidence on one clock, and each row with its node, rank and GPU.

The lines' own times are placed in years and zones first; then the clocks of the
nodes are compared by what all nodes print together and by the flight recorder.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import Final

from triage.analysis.clocks.rank_clocks import align, measure_node_clocks
from triage.analysis.facts.exits import mark_ignored_exceptions, with_ranks_that_exit
from triage.analysis.facts.fate_of_jobs import (
    drop_other_jobs,
    mark_disclaimed,
    mark_fates_of_other_jobs,
    own_job,
)
from triage.analysis.facts.outlived import mark_outlived
from triage.analysis.facts.told_together import (
    mark_everyday,
    mark_found_again,
    with_common_losses,
    with_kernels_that_gave_up,
    with_killed_processes,
    with_memory_that_failed,
)
from triage.analysis.placement.attribution import attribute
from triage.analysis.placement.files_of_nodes import (
    drop_copies,
    with_labels_of_their_nodes,
    with_lines_of_their_hosts,
)
from triage.analysis.placement.host_names import NamesInPaths
from triage.analysis.placement.identity import JobPlacement, resolve
from triage.analysis.placement.programs import drop_actor_numbers, with_numbers_of_the_job
from triage.analysis.telemetry.throttle import HOT_C, HOTTER_C, MIN_GPUS, MOST_SHARE, SLOW, SLOWED
from triage.analysis.waiting.case import Case
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.parsers.logs.clocks import Anchors, place
from triage.parsers.logs.logset import LogFile, LogKind, LogSet


@dataclass(frozen=True, slots=True)
class DatedEvidence:
    """Evidence whose times may be compared, who sits where, and what was assumed for it.

    ``ahead_ns`` is by how much the clock of a node was ahead, where it was corrected.
    ``unfamiliar`` are the lines that no signature knows: what the trained reader takes them for is
    likely and not exact, and takes no part in finding stops, clocks and seats.
    """

    evidence: tuple[Evidence, ...]
    logs: LogSet
    fleet: JobPlacement
    notes: tuple[str, ...]
    ahead_ns: Mapping[str, int]
    unfamiliar: tuple[Evidence, ...] = ()

    def ahead_of_rank(self, rank: int) -> int:
        """By how many nanoseconds the clock of a rank's node was ahead."""
        return self.ahead_ns.get(self.fleet.node_of(rank) or "", 0)


def on_one_clock(logs: LogSet, case: Case | None, facts: Job, at: datetime | None) -> DatedEvidence:
    """Date, attribute and align the evidence of ``logs``."""
    before = len(logs.notes)
    facts = with_world(facts, case)
    logs, left_out = drop_other_jobs(logs, facts, _dump_nodes(case))
    logs, copies = drop_copies(logs)
    logs, elsewhere = with_lines_of_their_hosts(logs, facts, _dump_nodes(case))
    own = with_labels_of_their_nodes(drop_repetitions(logs.evidence), facts)
    logs = replace(logs, evidence=own)
    placed = place(logs, _find_anchors(case, facts, at))
    seats = drop_actor_numbers(placed.evidence)
    fleet = resolve(seats, facts, _dump_nodes(case), logs.looks)
    numbered, unnumbered = with_numbers_of_the_job(_with_age(placed), fleet)
    rows = mark_ignored_exceptions(attribute(numbered, fleet))
    rows = mark_disclaimed(rows, facts.job_id or "")
    rows, others = mark_fates_of_other_jobs(rows, own_job(facts, placed.files, fleet.seated, rows))
    seated, outlived = mark_outlived(
        rows, placed.files, ended_well=facts.exit_code == 0, job_id=facts.job_id
    )
    seated = with_ranks_that_exit(seated, fleet)
    rows = with_kernels_that_gave_up(compare_monitors(with_spread(seated)))
    rows = with_memory_that_failed(rows)
    placed = replace(placed, files=_name_files(placed.files, fleet))
    offsets = measure_node_clocks(case.snapshot, fleet.node_of) if rows and case else {}
    aligned, ahead_ns, notes = align(rows, offsets)
    aligned = mark_found_again(with_killed_processes(aligned))
    aligned = with_common_losses(mark_everyday(aligned), len(fleet.seated))
    of_files = (*left_out, *copies, *elsewhere, *unnumbered, *others)
    all_notes = (*of_files, *placed.notes[before:], *fleet.notes, *notes, *outlived)
    known = tuple(row for row in aligned if Trait.UNFAMILIAR not in row.traits)
    unfamiliar = tuple(row for row in aligned if Trait.UNFAMILIAR in row.traits)
    return DatedEvidence(known, placed, fleet, all_notes, ahead_ns, unfamiliar)


def _name_files(files: Sequence[LogFile], fleet: JobPlacement) -> list[LogFile]:
    """The files, each with its node by the name that the job uses."""
    homes = NamesInPaths(fleet.seated)
    named = []
    for file in files:
        node = fleet.node_of_address(file.node) if file.node is not None else None
        if node not in fleet.seated and file.kind is not LogKind.JOB:
            node = homes.of(file.artifact) or node
        named.append(file if node in (None, file.node) else replace(file, node=node))
    return named


# Up to this many rows are all weighed; a large job's teardown alone prints millions of lines.
ALL_ROWS: Final = 60_000
# Consequences of one signature on one node: this many rows say all that the rest says.
_FOLLOWING: Final = 3


def drop_repetitions(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Every root and every seat, and of the rest a few of each sort and one of each rank."""
    if len(evidence) <= ALL_ROWS:
        return list(evidence)
    seen: Counter[tuple[str, str | None, str]] = Counter()
    ranks: set[int] = set()
    kept = []
    for row in evidence:
        if row.role is not EvidenceRole.ROOT and row.kind not in _SEATS:
            key = (row.signature, row.node, row.artifact)
            seen[key] += 1
            is_known = row.rank is None or row.rank in ranks
            if seen[key] > _FOLLOWING and is_known:
                continue
            if row.rank is not None:
                ranks.add(row.rank)
        kept.append(row)
    return kept


_SEATS: Final = frozenset({Kind.IDENTITY, Kind.BOOT})


def _with_age(logs: LogSet) -> list[Evidence]:
    """Rows of logs that count from boot alone, with how long before the end of the log they
    stand (``age_s``) and how long it is (``log_s``): a log is taken soon after a stop, so what is
    a day older is of another day. In a log of several nodes each counts from its own boot.
    """
    nodes: dict[str, set[str | None]] = defaultdict(set)
    for row in logs.evidence:
        if row.stamp.uptime_ns is not None:
            nodes[row.artifact].add(row.node)
    spans = {
        file.artifact: (file.first_stamp.uptime_ns or 0, file.last_stamp.uptime_ns)
        for file in logs.files
        if file.last_stamp.uptime_ns is not None and len(nodes[file.artifact]) < 2
    }
    rows = []
    for row in logs.evidence:
        begin, end = spans.get(row.artifact, (0, None))
        up = row.last_stamp.uptime_ns
        if row.at_ns is None and end is not None and up is not None and end >= up:
            spans_s = {
                "age_s": str((end - up) // 1_000_000_000),
                "log_s": str(max(end - begin, 0) // 1_000_000_000),
            }
            row = replace(row, fields={**row.fields, **spans_s})
        rows.append(row)
    return rows


def _find_anchors(case: Case | None, facts: Job, at: datetime | None) -> Anchors:
    """The times that are known for certain: of the dumps, and of ``job.json``."""
    last: list[int] = []
    by_node: dict[str, int] = {}
    for digest in case.snapshot.digests if case is not None else ():
        if digest.last_created_ns is None:
            continue
        last.append(digest.last_created_ns)
        node = case.snapshot.node_of(digest.rank) if case is not None else None
        if node is not None:
            by_node[node] = max(by_node.get(node, 0), digest.last_created_ns)
    return Anchors(
        failed_at_ns=facts.failed_at_ns,
        dump_last_ns=max(last, default=None),
        dump_by_node=by_node,
        at_ns=None if at is None else int(at.timestamp() * 1e9),
        started_at_ns=facts.started_at_ns,
    )


def with_world(facts: Job, case: Case | None) -> Job:
    """``facts`` with the size of the world, as the groups in the dumps show it."""
    world = case.snapshot.world if case is not None else ()
    if facts.world_size or not world or world != tuple(range(len(world))):
        return facts
    return replace(facts, world_size=len(world))


def _dump_nodes(case: Case | None) -> dict[int, str]:
    """Rank -> node, as folders and names of dumps say."""
    if case is None:
        return {}
    nodes = {rank: case.snapshot.node_of(rank) for rank in case.snapshot.world}
    return {rank: node for rank, node in nodes.items() if node is not None}


# A rank that has a NaN before anything was reduced has computed it. Where ranks of
# several nodes have one of their own at once, their data, their weights or the model
# are to blame, and no GPU: two nodes do not break in one step.

# The field of rows whose NaN was there before the reduction.
_LOCAL: Final = "before_reduction"
# Ranks of one node share activations (tensor parallel) and may pass one NaN on.
_RANKS_OF_A_MODEL: Final = 3


def with_spread(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The rows, those of local NaNs as numerical where ranks of several nodes print them."""
    rows = list(evidence)
    local = [row for row in rows if _LOCAL in row.fields]
    nodes = {row.node for row in local if row.node is not None}
    ranks = {row.rank for row in local if row.rank is not None}
    lines = sum(row.count for row in local if row.rank is None)
    if len(nodes) < 2 or max(len(ranks), lines) < _RANKS_OF_A_MODEL:
        return rows
    return [
        replace(row, category=Category.NUMERICAL, also=(Category.SDC,), blame=Blame.NOBODY)
        if _LOCAL in row.fields
        else row
        for row in rows
    ]


# One line says that a GPU is slowed down for heat. What it is worth shows beside its peers:
# where a quarter of the job's GPUs say the same, the reason lies outside of them; one that runs
# as fast as they do slowed nobody down; one that is far hotter and slower than all others is a
# suspect though nobody says why.

_FAMILY: Final = "gpu_monitor"
_SAYS_WHY: Final = "gpu_monitor.slowed"
_SAYS_HOT: Final = "gpu_monitor.hot"


def compare_monitors(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``, with those of monitors judged beside each other; all others as they are."""
    monitored = [row for row in rows if row.family == _FAMILY and row.node is not None]
    slowed = {_get_gpu_key(row): row for row in monitored if row.signature == _SAYS_WHY}
    hot = {_get_gpu_key(row) for row in monitored if row.signature == _SAYS_HOT}
    if not slowed and not hot:
        return list(rows)
    gpus = {_get_gpu_key(row) for row in monitored}
    nodes = {row.node for row in slowed.values()}
    everywhere = (
        len(gpus) >= MIN_GPUS and len(slowed) > max(1, MOST_SHARE * len(gpus)) and len(nodes) > 1
    )
    calm = [
        row for row in monitored if _get_gpu_key(row) not in slowed and _get_gpu_key(row) not in hot
    ]
    usual = {name: _compute_usual(calm, name) for name in ("temperature_c", "clock_mhz")}
    return [
        _judge_gpu(row, usual, everywhere=everywhere)
        if row.signature in (_SAYS_WHY, _SAYS_HOT) and row.node is not None
        else row
        for row in rows
    ]


def _get_gpu_key(row: Evidence) -> Hashable:
    """Which GPU a row is of: by its rank where that is known, for tools name it differently."""
    if row.rank is not None:
        return row.node, "rank", row.rank
    return row.node, row.gpu, row.cuda_device if row.gpu is None else None


def _compute_usual(rows: Sequence[Evidence], name: str) -> float | None:
    """The median over GPUs of a quantity; None where fewer than five are known."""
    by_gpu: dict[Hashable, float] = {}
    for row in rows:
        value = _get_measure(row, name)
        if value is not None:
            by_gpu.setdefault(_get_gpu_key(row), value)
    return median(by_gpu.values()) if len(by_gpu) >= MIN_GPUS - 1 else None


def _get_measure(row: Evidence, name: str) -> float | None:
    text = row.fields.get(name)
    return None if text is None else float(text)


def _judge_gpu(row: Evidence, usual: Mapping[str, float | None], *, everywhere: bool) -> Evidence:
    """One GPU's row: as it stands, or a mere notice, or a suspect though nothing says why.
    ``usual`` is what the GPUs do that nothing slows down, None where too few are known.
    """
    temp, clock = _get_measure(row, "temperature_c"), _get_measure(row, "clock_mhz")
    usual_c, usual_mhz = usual["temperature_c"], usual["clock_mhz"]
    hotter = temp is not None and usual_c is not None and temp >= max(HOT_C, usual_c + HOTTER_C)
    slower = None if clock is None or usual_mhz is None else clock / usual_mhz
    of_peers = {f"peers_{name}": f"{value:g}" for name, value in usual.items() if value is not None}
    fields = {**row.fields, **of_peers}
    if row.signature == _SAYS_HOT:
        if hotter and slower is not None and slower < SLOW and not everywhere:
            return replace(row, role=EvidenceRole.ROOT, weak=True, fields=fields)
        return row
    heat = row.category is Category.GPU_THERMAL
    if everywhere or (heat and slower is not None and slower >= SLOWED and not hotter):
        return replace(row, role=EvidenceRole.ADVICE, weak=True, fields=fields)
    return replace(row, fields=fields)
