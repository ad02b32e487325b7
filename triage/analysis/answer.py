"""From what was read to the answer: the one way that all faces of the product go."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from triage.analysis.facts.live_beside_logs import with_logs
from triage.analysis.facts.odd_node import odd_messages
from triage.analysis.facts.of_the_job import of_its_processes, strange_nodes, without_teardown
from triage.analysis.facts.on_one_clock import Dated, on_one_clock
from triage.analysis.facts.stop import Stop, find_stop, parse_instant
from triage.analysis.joining.belief import load_model
from triage.analysis.joining.history import with_history
from triage.analysis.joining.join import Joined, join
from triage.analysis.joining.missing import missing
from triage.analysis.joining.timeline import timeline
from triage.analysis.joining.zones_of_roots import in_zone_of_the_stop
from triage.analysis.progress import job_progress
from triage.analysis.registry import hear
from triage.analysis.snapshots.build_snapshot import build_snapshot
from triage.analysis.snapshots.consistency import set_apart
from triage.analysis.snapshots.groups import Membership, resolve_groups
from triage.analysis.snapshots.selection import Selection, select
from triage.analysis.telemetry.evidence import telemetry_evidence
from triage.analysis.waiting import picture
from triage.analysis.waiting.case import Case, build_case
from triage.analysis.waiting.waits import wait_graph
from triage.domain.evidence import Evidence
from triage.domain.finding import Finding
from triage.domain.job import Job
from triage.domain.progress import JobProgress
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Answer, Coverage, JobFacts, Missing, Refused, Waits
from triage.errors import NothingToAnalyze
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.naming import node_in_name, rank_in_name
from triage.parsers.logs.logset import LogSet

__all__ = [
    "Weighed",
    "answer_of",
    "look_at",
    "missing_of",
    "nothing_usable",
    "require_usable",
    "weigh_up",
    "weigh_view",
]

MAX_NOTES = 40
# Folders that hold dumps without naming a node.
PLAIN_FOLDERS = frozenset({"fr", "dumps", "dump", "traces", "logs", "flight_recorder", "nodes", ""})
# A folder for each process: rank_3, 3, local_rank-0, gpu3.
OF_ONE_RANK = re.compile(
    r"(?:(?:global|local)?[_-]?rank|gpu|proc(?:ess)?)?[_.-]?\d{1,7}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DumpView:
    """What the dumps say by themselves: the case, and how it was selected."""

    case: Case
    selection: Selection
    membership: Membership


def look_at(
    dumps: DumpSet, facts: Job, at: datetime | None
) -> tuple[DumpView | None, tuple[Refused, ...]]:
    """The view of the dumps that can be used, None without any, and why others cannot be."""
    digests, late = before(dumps.digests, at)
    selection = select(digests)
    unused = (*selection.set_aside, *late)
    if not selection.digests:
        return None, unused
    membership = resolve_groups(selection.digests, selection.ranks, facts.world_size)
    node_of = node_map(selection.digests, selection.ranks, facts)
    snapshot = build_snapshot(
        selection.digests, selection.ranks, membership, dumps.operations, facts, node_of
    )
    moving = set_apart(snapshot)
    snapshot.unread = unread_ranks(dumps, snapshot.index_of)
    case = build_case(snapshot, wait_graph(snapshot), moving=moving)
    return DumpView(case, selection, membership), unused


def unread_ranks(dumps: DumpSet, read: Collection[int]) -> frozenset[int]:
    """The ranks whose file came in, and cannot be read: their processes lived to begin it."""
    ranks = {rank_in_name(one.artifact) for one in dumps.refused}
    return frozenset(rank for rank in ranks if rank is not None and rank not in read)


@dataclass(frozen=True, slots=True)
class Weighed:
    """Everything that an answer is made from; what ``triage explain`` shows.

    ``findings`` are what the detectors claim, the strongest first. ``rows`` is the dated
    evidence, also that of nodes which are not the job's. ``progress`` is how the job moved.
    ``unused`` are dumps that were read and cannot be used.
    """

    view: DumpView | None
    dated: Dated
    stop: Stop
    joined: Joined
    nodes: frozenset[str]
    findings: tuple[Finding, ...]
    rows: tuple[Evidence, ...]
    progress: JobProgress | None
    unused: tuple[Refused, ...] = ()


def weigh_up(dumps: DumpSet, logs: LogSet, facts: Job, at: datetime | None = None) -> Weighed:
    """Digests and evidence brought together and weighed."""
    view, unused = look_at(dumps, facts, at)
    return replace(weigh_view(view, logs, facts, at), unused=unused)


def weigh_view(view: DumpView | None, logs: LogSet, facts: Job, at: datetime | None) -> Weighed:
    """The view of the dumps and the evidence weighed together."""
    dated = on_one_clock(logs, view.case if view is not None else None, facts, at)
    if view is not None:
        view = replace(view, case=with_logs(view.case, dated.evidence))
    case = view.case if view is not None else None
    fleet = dated.fleet
    progress = job_progress(dated.logs.files, parse_instant(facts.failed_at))
    dated = replace(dated, evidence=without_teardown(dated, progress))
    moved_ns = progress.last.at_ns if progress is not None and progress.last is not None else None
    strange, strangers = strange_nodes(dated, facts)
    ours = [row for row in dated.evidence if row.node not in strange]
    findings = tuple(hear(case)) if case is not None else ()
    all_entered = bool(findings) and not any(claim.ranks for claim in findings)
    stop = find_stop(
        case,
        ours,
        facts,
        at,
        moved_ns,
        all_entered=all_entered,
        ahead_ns=dated.ahead_of_rank,
    )
    nodes = nodes_of(view, facts, dated)
    evidence, moved = in_zone_of_the_stop(dated.evidence, stop)
    rows = tuple(evidence)
    dated = replace(dated, evidence=rows, notes=(*dated.notes, *moved))
    ours = of_its_processes([row for row in rows if row.node not in strange], fleet)
    dated = replace(dated, evidence=tuple(ours), notes=(*dated.notes, *strangers))
    measured = telemetry_evidence(
        dated.logs.telemetry,
        case=case,
        stop=stop,
        findings=findings,
        fleet=fleet,
        nodes=nodes,
        leaf_switch=facts.leaf_switch,
    )
    rows = (*rows, *measured)
    dated = replace(dated, evidence=(*dated.evidence, *measured))
    odd = odd_messages(dated.logs, stop, dated.evidence)
    joined = join(
        case,
        findings,
        (*dated.evidence, *odd),
        fleet,
        stop,
        load_model(),
        nodes=nodes,
        leaf_switch=facts.leaf_switch,
        standings=facts.standings,
        progress=progress,
    )
    return Weighed(view, dated, stop, joined, nodes, findings, rows, progress)


def nothing_usable(weighed: Weighed, logs: LogSet) -> bool:
    """Whether there is neither a dump that can be used nor a line of a log."""
    return weighed.view is None and not any(file.lines for file in logs.files)


def require_usable(weighed: Weighed, logs: LogSet) -> None:
    """Raise :class:`NothingToAnalyze` where :func:`nothing_usable`: somebody chose these files."""
    if nothing_usable(weighed, logs):
        why = min(weighed.unused, key=lambda one: (one.artifact, one.why))
        raise NothingToAnalyze(f"no dump can be used; {why.artifact}: {why.why}")


def answer_of(
    weighed: Weighed,
    dumps: DumpSet,
    logs: LogSet,
    facts: Job,
    refused: Sequence[Refused],
    notes: Sequence[str],
) -> Answer:
    """The answer that follows from what was weighed."""
    view, decision = weighed.view, weighed.joined.decision
    case = view.case if view is not None else None
    world_size = view.membership.world_size if view is not None else None
    return Answer(
        job=JobFacts(
            facts.job_id,
            world_size or facts.world_size or weighed.dated.fleet.world_size,
            len(weighed.nodes) or None,
        ),
        verdict=decision.verdict,
        suspects=with_history(decision.suspects, facts.standings),
        victims=decision.victims,
        coverage=coverage_of(
            view, dumps, logs, [*weighed.unused, *refused], [*notes, *weighed.dated.notes]
        ),
        collectives=picture.collectives_at_frontier(case, decision.heard) if case else (),
        ranks=picture.rank_states(case, decision.heard) if case else (),
        waits=picture.condense(case, decision.heard) if case else Waits(),
        timeline=timeline(weighed.dated.evidence, decision.suspects, weighed.stop),
        missing=missing_of(weighed, logs),
        progress=weighed.progress,
    )


def missing_of(weighed: Weighed, logs: LogSet) -> Missing:
    """What would make the answer surer."""
    return missing(
        weighed.view.case if weighed.view is not None else None,
        logs.files,
        weighed.dated.evidence,
        weighed.joined.decision.suspects,
        weighed.dated.fleet,
    )


def nodes_of(view: DumpView | None, facts: Job, dated: Dated) -> frozenset[str]:
    """The nodes of the job: those that ``job.json`` lists, else those that anything was left of."""
    fleet = dated.fleet
    ranks = view.case.snapshot.world if view is not None else ()
    found = {node for rank in ranks if (node := fleet.node_of(rank)) is not None}
    found |= {*facts.nodes, *fleet.node_by_rank.values()}
    if not facts.nodes:
        found |= {file.node for file in dated.logs.files if file.node is not None}
    return frozenset(found) or frozenset(fleet.nodes)


def coverage_of(
    view: DumpView | None,
    dumps: DumpSet,
    logs: LogSet,
    refused: Sequence[Refused],
    notes: Sequence[str],
) -> Coverage:
    """What the answer rests on."""
    unreadable = {*dumps.refused, *logs.refused, *refused}
    found = [*notes, *logs.notes]
    partial: list[Refused] = []
    if view is not None:
        partial = [
            Refused(one.artifact, one.partial)
            for one in view.selection.digests
            if one.partial is not None
        ]
        found = dump_notes(view.case, [*found, *view.selection.notes], view.selection.digests)
    found += log_notes(logs)
    found = list(dict.fromkeys(found))
    if len(found) > MAX_NOTES:
        found[MAX_NOTES:] = [f"and {len(found) - MAX_NOTES} more notes"]
    world = view.case.snapshot.world if view is not None else ()
    return Coverage(
        ranks_expected=len(world) if view is not None else None,
        dumps_read=len(view.selection.digests) if view is not None else 0,
        ranks_without_dump=tuple(
            rank for rank in world if view and rank not in view.case.snapshot.index_of
        ),
        partial=tuple(partial),
        unreadable=tuple(sorted(unreadable, key=lambda one: (one.artifact, one.why))),
        lines_read=sum(file.lines for file in logs.files),
        lines_not_understood=sum(sum(file.not_understood.values()) for file in logs.files),
        notes=tuple(found),
    )


def log_notes(logs: LogSet) -> list[str]:
    """Lines that could not be read, by reason."""
    reasons: dict[str, list[tuple[int, str]]] = {}
    for file in logs.files:
        for why, count in file.not_understood.items():
            reasons.setdefault(why, []).append((count, file.artifact))
    found = []
    for why, where in sorted(reasons.items()):
        total = sum(count for count, _ in where)
        first = min(artifact for _, artifact in where)
        found.append(f"{total} lines not understood: {why} ({first}{' ...' * (len(where) > 1)})")
    for file in logs.files:
        found += [f"{file.artifact}: {note}" for note in file.notes]
    return found


def before(
    digests: Sequence[RankDigest], at: datetime | None
) -> tuple[list[RankDigest], list[Refused]]:
    """Dumps whose record begins no later than ``at``; the others are set aside."""
    if at is None:
        return list(digests), []
    limit = int(at.timestamp() * 1e9)
    kept = [d for d in digests if d.first_created_ns is None or d.first_created_ns <= limit]
    late = [
        Refused(d.artifact, "its record begins after the time given with --at")
        for d in digests
        if not (d.first_created_ns is None or d.first_created_ns <= limit)
    ]
    return kept, late


def node_map(
    digests: Sequence[RankDigest], ranks: Sequence[int], facts: Job
) -> Callable[[int], str | None]:
    """Rank -> node: from job.json, else from folders ``nodes/<node>/`` or hosts in file names,
    else from one folder per node.
    """
    found: dict[int, str] = {}
    folders: dict[int, str] = {}
    for digest, rank in zip(digests, ranks, strict=True):
        node = node_in_name(digest.artifact)
        if node is not None:
            found[rank] = node
        parent = digest.artifact.rpartition("/")[0].rpartition("/")[2]
        if parent.lower() not in PLAIN_FOLDERS and not OF_ONE_RANK.fullmatch(parent):
            folders[rank] = parent
    if not found and len(set(folders.values())) > 1 and len(folders) == len(digests):
        found = folders

    def node_of(rank: int) -> str | None:
        return facts.node_of(rank) or found.get(rank)

    return node_of


def dump_notes(case: Case, notes: Sequence[str], digests: Sequence[RankDigest]) -> list[str]:
    """What is odd about the dumps and the map of ranks."""
    snapshot = case.snapshot
    facts = snapshot.job
    found = [*notes, *snapshot.notes]
    world = snapshot.membership.world_size
    if facts.world_size and world and facts.world_size != world:
        found.append(
            f"job.json says {facts.world_size} ranks, the dumps' default group has {world}:"
            " the dumps are believed"
        )
    seats = len(facts.nodes) * (facts.gpus_per_node or 0)
    if seats and world and seats < world:
        found.append(
            f"job.json places {seats} ranks ({len(facts.nodes)} nodes with {facts.gpus_per_node}"
            f" GPUs), the job has {world}: the nodes of the others are unknown"
        )
    if snapshot.node_of(int(snapshot.ranks[0])) is None:
        found.append("nothing says which rank is on which node: give a job.json with the nodes")
    found += version_notes(digests)
    odd: dict[str, list[str]] = {}
    for digest in digests:
        for note in digest.notes:
            odd.setdefault(note, []).append(digest.artifact)
    for note, artifacts in sorted(odd.items()):
        where = artifacts[0] if len(artifacts) == 1 else f"{len(artifacts)} dumps"
        found.append(f"{where}: {note}")
    if case.in_flight:
        found.append(
            f"a live picture of a running job: {case.live.reasons[0]};"
            " what is unfinished is not taken as stuck"
        )
    return found


def version_notes(digests: Sequence[RankDigest]) -> list[str]:
    versions: dict[str, int] = {}
    for digest in digests:
        text = digest.version or "older than 1.0"
        versions[text] = versions.get(text, 0) + 1
    if len(versions) < 2:
        return []
    shown = ", ".join(f"{version} ({count} dumps)" for version, count in sorted(versions.items()))
    return [f"the dumps are of different formats: {shown}; each was read by its own"]
