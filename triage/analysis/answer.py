"""From what was read to the answer: the one way that all faces of the product go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from triage.analysis.coverage import build_coverage
from triage.analysis.dump_view import DumpView, view_dumps
from triage.analysis.facts.fate_of_jobs import take_from_scheduler
from triage.analysis.facts.find_stop import DumpSigns, find_stop
from triage.analysis.facts.odd_node import find_odd_messages
from triage.analysis.facts.of_the_job import (
    drop_contradicted_end,
    drop_teardown,
    find_strange_nodes,
    judge_reports,
    list_contradictions,
    mark_other_gpus,
    mark_other_processes,
    tell_lost_gpus,
    weaken_untied,
)
from triage.analysis.facts.on_one_clock import DatedEvidence, on_one_clock
from triage.analysis.facts.stop import Stop, state_time
from triage.analysis.facts.unfamiliar import select_unfamiliar, select_unread
from triage.analysis.joining.history import with_history
from triage.analysis.joining.join import Ranking, join
from triage.analysis.joining.missing import find_missing
from triage.analysis.joining.model import load_model
from triage.analysis.joining.sources import Sources
from triage.analysis.joining.timeline import build_timeline
from triage.analysis.joining.verdict import has_watchdog_timeout
from triage.analysis.joining.wanted import list_wanted_files
from triage.analysis.joining.zones_of_roots import align_to_stop
from triage.analysis.live.beside_log import (
    LooksTaken,
    find_local_clock,
    stops_behind_the_end,
    weigh_beside_dumps,
    weigh_beside_log,
    with_logs,
    with_times_of_folders,
)
from triage.analysis.live.case import LiveCase, with_places
from triage.analysis.live.communicators.rounds import are_looks_moving, list_notes
from triage.analysis.live.gpus import idle_gpus, make_looks_of_telemetry
from triage.analysis.live.stacks.picture import NO_STACKS, StackPicture, classes_for_report
from triage.analysis.placement.topology import JobTopology
from triage.analysis.progress.job import beside_idle_gpus, measure_progress
from triage.analysis.registry import find_detector_claims, find_look_claims
from triage.analysis.restart.decide import StopCause, decide_restart, stop_cause
from triage.analysis.slow.slow_job import explain_slow_job
from triage.analysis.symptoms import list_symptoms
from triage.analysis.telemetry.evidence import make_telemetry_evidence
from triage.analysis.waiting import picture
from triage.analysis.waiting.lateness import measure
from triage.analysis.watchdogs.claims import find_watchdog_claims, list_watchdog_collectives
from triage.analysis.watchdogs.positions import GroupPositions, find_positions
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.evidence import LEARNED, Evidence
from triage.domain.finding import Finding
from triage.domain.job import Job
from triage.domain.live.look import Look
from triage.domain.progress import JobProgress
from triage.domain.report import Answer, JobFacts, Missing, Refused, Verdict, Waits
from triage.domain.restart import NO_STARTS, EarlierStarts
from triage.domain.slow import SlowJob
from triage.errors import NothingToAnalyze
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogFile, LogSet


@dataclass(frozen=True, slots=True)
class Weighing:
    """Everything that an answer is made from; what ``triage explain`` shows.

    ``findings`` are what the detectors claim, the strongest first. ``rows`` is the dated
    evidence, also that of nodes which are not the job's. ``progress`` is how the job moved.
    ``unused`` are dumps that were read and cannot be used, ``watchdogs`` where ranks of a group
    say that they wait, ``unread`` the lines about the stop that nobody can place.
    """

    view: DumpView | None
    dated: DatedEvidence
    stop: Stop
    joined: Ranking
    nodes: frozenset[str]
    findings: tuple[Finding, ...]
    rows: tuple[Evidence, ...]
    progress: JobProgress | None
    unused: tuple[Refused, ...] = ()
    stacks: StackPicture = NO_STACKS
    watchdogs: tuple[GroupPositions, ...] = ()
    unread: tuple[Evidence, ...] = ()


def weigh_incident(
    dumps: DumpSet, logs: LogSet, facts: Job, at: datetime | None = None
) -> Weighing:
    """Digests and evidence brought together and weighed."""
    view, unused = view_dumps(dumps, facts, at)
    return replace(weigh_view(view, logs, facts, at), unused=unused)


def weigh_view(view: DumpView | None, logs: LogSet, facts: Job, at: datetime | None) -> Weighing:
    """The view of the dumps and the evidence weighed together."""
    if view is not None and view.is_ambiguous:
        facts = facts if view.has_map else facts.without_ranks()
        logs = _drop_rank_numbers(logs)
    facts, logs, scheduled = take_from_scheduler(facts, logs)
    dated = on_one_clock(logs, view.case if view is not None else None, facts, at)
    if view is not None:
        view = replace(view, case=with_logs(view.case, dated.evidence))
    case = view.case if view is not None else None
    of_dumps = tuple(find_detector_claims(case)) if case is not None else ()
    dated = replace(
        dated, fleet=with_places(dated.fleet, logs.looks), notes=(*scheduled, *dated.notes)
    )
    nodes = _find_job_nodes(view, facts, dated)
    sampled = make_looks_of_telemetry(dated.logs.telemetry, dated.fleet, nodes)
    progress = beside_idle_gpus(
        measure_progress(dated.logs.files, facts.failed_at_ns),
        idle_gpus(dated.logs.telemetry, dated.fleet, nodes),
    )
    progress = drop_contradicted_end(progress, dated, facts)
    beside = weigh_beside_log(
        [*with_times_of_folders(logs.looks, logs.files), *sampled], progress, dated.logs.files
    )
    looks = LiveCase(
        beside.looks,
        dated.fleet,
        facts.world_size or (case.snapshot.membership.world_size if case is not None else None),
        stopped=(case is not None and case.live.stopped) or has_watchdog_timeout(dated.evidence),
        moving=case is not None and case.in_flight,
    )
    of_looks = find_look_claims(looks)
    if beside.moment is LooksTaken.BEHIND_ITS_END:
        # With exit code 0 its processes ended by themselves, whatever held them up before.
        stops = [] if facts.exit_code == 0 else stops_behind_the_end(looks, of_looks)
        beside = beside.decided(stopped=bool(stops))
        looks = replace(looks, looks=beside.looks)
        of_looks = stops or find_look_claims(looks)
    beside = replace(beside, job_moves=are_looks_moving(looks))
    findings = (*of_dumps, *weigh_beside_dumps(of_looks, of_dumps))
    dated = replace(dated, notes=(*dated.notes, *beside.notes, *list_notes(looks)))
    dated = replace(
        dated,
        evidence=weaken_untied(drop_teardown(dated, progress), facts, dated.fleet),
        notes=(*dated.notes, *list_contradictions(dated, progress, facts)),
    )
    strange, strangers = find_strange_nodes(dated, facts)
    signs = DumpSigns(
        case,
        all_entered=bool(of_dumps) and not any(claim.ranks for claim in of_dumps),
        ahead_ns=dated.ahead_of_rank,
    )
    ours = [row for row in dated.evidence if row.node not in strange]
    looked = _find_nodes_seen_alive(looks, beside.looks, dated.logs.files)
    stop = find_stop(signs, ours, facts, at, None if progress is None else progress.last, looked)
    watchdogs: tuple[GroupPositions, ...] = ()
    if all(claim.is_gap for claim in of_dumps):
        # What records show of the ranks says more than what their watchdogs print.
        watchdogs = tuple(find_positions(ours, looks.world_size or dated.fleet.world_size))
        findings = (*findings, *find_watchdog_claims(watchdogs))
    rows, moved = align_to_stop(dated.evidence, stop)
    ours = mark_other_processes([row for row in rows if row.node not in strange], dated.fleet)
    ours, not_its_gpus = mark_other_gpus(ours, facts, dated.fleet)
    ours = tell_lost_gpus(judge_reports(ours, stop, dated.fleet), stop)
    topology = JobTopology(dated.fleet, nodes, facts.leaf_switch)
    slower = None if progress is None else progress.slowed
    measured = make_telemetry_evidence(dated.logs.telemetry, case, findings, stop, topology, slower)
    notes = (*dated.notes, *moved, *strangers, *not_its_gpus)
    dated = replace(dated, evidence=(*ours, *measured), notes=notes)
    weak = (
        *find_odd_messages(dated.logs, stop, dated.evidence),
        *select_unfamiliar(dated, findings, stop, strange),
    )
    rows_and_weak = (*dated.evidence, *weak)
    sources = Sources(case, findings, rows_and_weak, progress, looks.picture, beside)
    joined = join(sources, topology, stop, load_model(), facts.standings)
    learned = (row for row in dated.unfamiliar if row.signature == LEARNED)
    return Weighing(
        view,
        dated,
        stop,
        joined,
        nodes,
        findings,
        (*rows, *measured, *learned),
        progress,
        stacks=looks.picture,
        watchdogs=watchdogs,
        unread=tuple(select_unread(dated.unfamiliar, stop)),
    )


def _find_nodes_seen_alive(
    case: LiveCase, looks: Sequence[Look], files: Sequence[LogFile]
) -> dict[str, int]:
    """Node -> when processes of the job were first looked at on it; looks without a time are taken
    with the logs beside them.
    """
    nodes = {one.node for one in case.picture.ranks if one.node is not None}
    clock = find_local_clock(files)
    times = [ns for look in looks if look.stacks and (ns := clock.time_of(look)) is not None]
    ends = [file.last_at_ns for file in files if file.last_at_ns is not None]
    first = min(times) if times else max(ends, default=None)
    return dict.fromkeys(nodes, first) if first is not None else {}


def _drop_rank_numbers(logs: LogSet) -> LogSet:
    """The logs where a rank number may be of one of several worlds: no line says which."""
    rows = [
        replace(row, rank=None, peer=None if (row.peer or "").startswith("rank ") else row.peer)
        for row in logs.evidence
    ]
    note = "dumps of several worlds share rank numbers: those in logs are not taken for any rank"
    return replace(logs, evidence=rows, notes=[*logs.notes, note])


def is_nothing_usable(weighed: Weighing, logs: LogSet) -> bool:
    """Whether there is neither a dump that can be used nor a line of a log."""
    return weighed.view is None and not any(file.lines for file in logs.files)


def require_usable(weighed: Weighing, logs: LogSet) -> None:
    """Raise :class:`NothingToAnalyze` where :func:`is_nothing_usable`: somebody chose these
    files.
    """
    if is_nothing_usable(weighed, logs):
        why = min(weighed.unused, key=lambda refusal: (refusal.artifact, refusal.why))
        raise NothingToAnalyze(f"no dump can be used; {why.artifact}: {why.why}")


def build_answer(
    weighed: Weighing,
    dumps: DumpSet,
    logs: LogSet,
    facts: Job,
    refused: Sequence[Refused],
    notes: Sequence[str],
) -> Answer:
    """The answer that follows from what was weighed."""
    view, decision = weighed.view, weighed.joined.decision
    case = view.case if view is not None else None
    suspects = with_history(decision.suspects, facts.standings)
    lacks = list_missing(weighed, logs)
    world_size = view.case.snapshot.membership.world_size if view is not None else None
    num_nodes = len(weighed.nodes) or None
    collectives = (
        picture.list_frontier_collectives(case, decision.heard)
        if case
        else list_watchdog_collectives(weighed.watchdogs, decision.heard)
    )
    # What makes the job slow, while none of its ranks is stuck.
    stands = case is None or case.moving or (case.graph.places and not case.in_flight)
    slow = None if case is None or stands else explain_slow_job(case.snapshot, world_size or 0)
    verdict = decision.verdict if slow is None else with_slowness(decision.verdict, slow)
    at, of_time = state_time(verdict.at, weighed.dated.evidence, weighed.stop, facts.failed_at_ns)
    verdict = replace(verdict, at=at)
    return Answer(
        job=JobFacts(
            facts.job_id,
            world_size or facts.world_size or weighed.dated.fleet.world_size,
            num_nodes,
        ),
        verdict=verdict,
        suspects=suspects,
        victims=decision.victims,
        coverage=build_coverage(
            view,
            dumps,
            logs,
            [*weighed.unused, *refused],
            [*notes, *weighed.dated.notes, *of_time],
            weighed.unread,
        ),
        collectives=collectives,
        ranks=picture.rank_states(case, decision.heard) if case else (),
        waits=picture.condense_graph(case, decision.heard) if case else Waits(),
        timeline=build_timeline(weighed.dated.evidence, decision.suspects, weighed.stop),
        missing=lacks,
        progress=weighed.progress,
        stacks=classes_for_report(weighed.stacks),
        wanted=list_wanted_files(case, lacks, suspects, weighed.dated.fleet),
        slow_job=slow,
        restart=decide_restart(
            verdict, suspects, num_nodes, stop_cause(weighed.joined), facts.starts
        ),
        symptoms=list_symptoms(
            verdict,
            suspects,
            weighed.dated.evidence,
            weighed.watchdogs,
            collectives,
            weighed.progress,
            weighed.stop,
        ),
    )


def with_slowness(verdict: Verdict, slow: SlowJob) -> Verdict:
    """The verdict on a job that is slow: well is not all that there is to say of it."""
    if verdict.action is not Action.NONE:
        return verdict
    summary = f"{verdict.summary} It is slow all the same: {slow.parts[0].text}."
    return replace(verdict, summary=summary, action=Action.INVESTIGATE)


def list_missing(weighed: Weighing, logs: LogSet) -> Missing:
    """What would make the answer surer."""
    return find_missing(
        weighed.view.case if weighed.view is not None else None,
        logs.files,
        weighed.dated.evidence,
        weighed.joined.decision.suspects,
        weighed.dated.fleet,
    )


def _find_job_nodes(view: DumpView | None, facts: Job, dated: DatedEvidence) -> frozenset[str]:
    """The nodes of the job: those that ``job.json`` lists, else those that anything was left of."""
    fleet = dated.fleet
    ranks = view.case.snapshot.world if view is not None else ()
    nodes = {node for rank in ranks if (node := fleet.node_of(rank)) is not None}
    nodes |= {*facts.nodes, *fleet.node_by_rank.values()}
    if not facts.nodes:
        nodes |= {file.node for file in dated.logs.files if file.node is not None}
    return frozenset(nodes) or frozenset(fleet.nodes)


# When nothing came in that can be evidence, the answer is honest, and never a refusal: somebody
# asks what is known of a job that is said to have failed.

# The person or hook that opened the incident says that a job stopped; nothing says why.
_CONFIDENCE: Final = 0.1


def answer_of_nothing(
    answer: Answer, num_files: int, refused: Sequence[Refused], starts: EarlierStarts = NO_STARTS
) -> Answer:
    """``answer``, which rests on no evidence, saying so. ``num_files`` came in; ``starts`` is
    what is known of earlier starts of the job.
    """
    verdict = Verdict(
        kind=VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        confidence=_CONFIDENCE,
        summary=_summary(num_files, refused),
        action=Action.INVESTIGATE,
        at=answer.verdict.at,
    )
    restart = decide_restart(verdict, (), answer.job.num_nodes, StopCause(), starts)
    return replace(answer, verdict=verdict, suspects=(), restart=restart)


def _summary(num_files: int, refused: Sequence[Refused]) -> str:
    wanted = "send the flight-recorder dumps, kernel logs and job logs of its nodes"
    if not num_files and not refused:
        return f"Nothing came in for this job, so nothing can be said of the cause: {wanted}."
    if not refused:
        count = "1 file" if num_files == 1 else f"{num_files} files"
        return f"Nothing usable came in: no dump, and no line of a log in {count}; {wanted}."
    first = min(refused, key=lambda refusal: (refusal.artifact, refusal.why))
    count = "1 file" if len(refused) == 1 else f"{len(refused)} files"
    return (
        f"Nothing usable came in: {count} could not be read"
        f" ({' '.join(f'{first.artifact}: {first.why}'.split())}); {wanted}."
    )


def lateness_rows(answer: Answer, weighed: Weighing | None) -> list[dict[str, Any]]:
    """The delay that each rank causes, one row a rank, latest first; empty on too little data.

    Measured over the newest finished collectives, with the offsets of clocks taken off; a report
    that came without its dumps has it only for the ranks that were named.
    """
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
