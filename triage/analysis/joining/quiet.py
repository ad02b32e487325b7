"""The answer where nobody is named: nothing stopped, or nothing says why.

Silence is not health: a job is healthy where its dumps show nobody stuck, or its log an
orderly end or progress up to its end; what slowed down, stood still or diverged is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.facts.of_the_job import is_behind
from triage.analysis.facts.stop import JOB_KINDS, SECOND, Stop
from triage.analysis.joining.sources import Sources
from triage.analysis.joining.verdict import Decision, has_watchdog_timeout
from triage.analysis.joining.wording import build_reason
from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.placement.topology import Placement
from triage.analysis.progress.job import judge_health
from triage.analysis.progress.pace import format_seconds
from triage.analysis.waiting.case import Case, describe_waiting, make_timestamp
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.evidence import KERNEL_KINDS, Evidence, EvidenceRole, Kind, Trait
from triage.domain.progress import Health, JobProgress, ProgressPoint, SlowRank, format_utc
from triage.domain.rank_digest import ISSUED_ALONE, RankDigest
from triage.domain.report import Because, Suspect, Verdict, Victims

# Of the ranks that are slower than their peers, so few are somebody's and not everybody's.
_FEW_SLOW_NODES: Final = 2
_SLOW_CONFIDENCE: Final = 0.7
_LOOK_AT: Final = "look at its clocks, temperature, host load and input pipeline."


def decide_without_suspects(sources: Sources, stop: Stop, placement: Placement) -> Decision:
    """The answer without a cause that lines or dumps name: healthy, or what can be told."""
    case, evidence, progress = sources.case, sources.evidence, sources.progress
    if progress is not None and not stop.trouble:
        slow = _find_slow_places(progress, placement)
        if slow:
            return _decide_slow(slow)
    health, sentence = judge_health(progress)
    verdict = _judge_progress(health, sentence, progress)
    if stop.trouble and health is not Health.DIVERGED:
        verdict = None
    stacks = sources.stacks
    if case is None and not stop.trouble and (stacks.job_moves or not stop.job_seen):
        verdict = verdict or _judge_stacks(stacks, job_moves=sources.beside.job_moves)
    if verdict is None and case is not None and not stop.trouble:
        verdict = _judge_dumps(case, sources.share_of_ranks_read)
    elif verdict is None and (stop.job_seen or health in _WELL) and not stop.trouble:
        verdict = _judge_logs(evidence, health, sentence, sources, stop)
    suspects: tuple[Suspect, ...] = ()
    if verdict is not None and health is Health.SLOWED and verdict.kind is VerdictKind.STRAGGLER:
        suspects = _list_said_to_be_slow(evidence, progress, placement)
    if verdict is not None and suspects:
        who = f"{suspects[0].node} is said to hold it up: {_LOOK_AT}"
        verdict = replace(verdict, summary=f"{sentence} {who}")
    verdict = verdict or _make_unattributed_verdict(case, evidence, stop)
    return Decision(verdict, suspects, Victims(), ())


_SAID_CONFIDENCE: Final = 0.45


def _list_said_to_be_slow(
    evidence: Sequence[Evidence], progress: JobProgress | None, placement: Placement
) -> tuple[Suspect, ...]:
    """The one node of which lines say that it holds up a job that has become slow."""
    change = progress.slowed if progress is not None else None
    since_ns = None if change is None else change.since.at_ns
    said: dict[str, list[Evidence]] = {}
    for row in evidence:
        is_now = row.at_ns is None or since_ns is None or row.at_ns >= since_ns
        if row.category is Category.STRAGGLER and is_now and row.rank is not None:
            node = placement.node_of(row.rank) or row.node
            if node is not None:
                said.setdefault(node, []).append(row)
    if len(said) != 1:
        return ()
    ((node, rows),) = said.items()
    return (
        Suspect(
            position=1,
            node=node,
            ranks=tuple(sorted({row.rank for row in rows if row.rank is not None}))[:16],
            gpus=(),
            category=Category.STRAGGLER,
            score=_SAID_CONFIDENCE,
            role=Role.POSSIBLE,
            action=Action.INVESTIGATE,
            because=tuple(build_reason(row, node) for row in rows[:4]),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Trouble:
    """How a course that is not well is told."""

    kind: VerdictKind
    category: Category
    confidence: float
    action: Action
    advice: str


_TROUBLES: Final = {
    Health.STOPPED: _Trouble(
        VerdictKind.HANG, Category.NCCL_TIMEOUT, 0.6, Action.INVESTIGATE,
        "No line says why; bring the flight-recorder dumps and the stacks of its processes.",
    ),
    Health.SLOWED: _Trouble(
        VerdictKind.STRAGGLER, Category.STRAGGLER, 0.6, Action.INVESTIGATE,
        "No line says who holds it up; compare what changed then, and bring dumps with timing.",
    ),
    Health.DIVERGED: _Trouble(
        VerdictKind.CRASH, Category.NUMERICAL, 0.7, Action.FIX_CODE,
        "Nobody's hardware is named by that; go back to a checkpoint from before.",
    ),
}  # fmt: skip


def _judge_progress(health: Health, sentence: str, progress: JobProgress | None) -> Verdict | None:
    """What the course of the job says of its trouble; None where it says none."""
    trouble = _TROUBLES.get(health)
    if trouble is None or progress is None:
        return None
    change = progress.diverged or progress.stopped or progress.slowed
    return Verdict(
        kind=trouble.kind,
        category=trouble.category,
        confidence=trouble.confidence,
        summary=f"{sentence} {trouble.advice}",
        action=trouble.action,
        at=make_timestamp(change.since.at_ns) if change is not None else None,
    )


def _find_slow_places(
    progress: JobProgress, placement: Placement
) -> dict[str | int, list[SlowRank]]:
    """Node (or rank) -> its ranks that are slower than their peers; empty where many are."""
    by_place: dict[str | int, list[SlowRank]] = {}
    for slow in progress.slow_ranks:
        node = slow.node or (placement.node_of(slow.rank) if slow.rank is not None else None)
        place = node if node is not None else slow.rank
        if place is not None:
            by_place.setdefault(place, []).append(slow)
    return by_place if len(by_place) <= _FEW_SLOW_NODES else {}


def _decide_slow(slow: Mapping[str | int, Sequence[SlowRank]]) -> Decision:
    """The nodes whose ranks are slower than all others, by their own timers."""
    order = sorted(slow.items(), key=lambda item: (-max(s.ratio for s in item[1]), str(item[0])))
    suspects = tuple(
        _make_slow_suspect(position, place if isinstance(place, str) else None, ranks)
        for position, (place, ranks) in enumerate(order, start=1)
    )
    slowest = order[0][1]
    where = f"on {suspects[0].node}" if suspects[0].node else f"rank {slowest[0].rank}"
    worst = max(rank.ratio for rank in slowest)
    verdict = Verdict(
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        confidence=_SLOW_CONFIDENCE,
        summary=(
            f"{len(slowest)} rank{'s' * (len(slowest) > 1)} {where} take"
            f"{'s' * (len(slowest) == 1)} up to {worst:.2f} times as long as their peers:"
            f" {_LOOK_AT}"
        ),
        action=Action.INVESTIGATE,
    )
    return Decision(verdict, suspects, Victims(), ())


def _make_slow_suspect(position: int, node: str | None, ranks: Sequence[SlowRank]) -> Suspect:
    """A place as a suspect, by the timers of its ``ranks``."""
    return Suspect(
        position=position,
        node=node,
        ranks=tuple(sorted({slow.rank for slow in ranks if slow.rank is not None}))[:16],
        gpus=(),
        category=Category.STRAGGLER,
        score=_SLOW_CONFIDENCE,
        role=Role.CULPRIT,
        action=Action.INVESTIGATE,
        because=tuple(
            Because(
                "job.progress",
                f"rank {slow.rank} takes {slow.ratio:.2f} times as long as the middle one of"
                f" {slow.peers} others: {slow.what}",
                slow.example.artifact,
                slow.example.line,
                make_timestamp(slow.example.at_ns),
            )
            for slow in ranks[:4]
        ),
    )


def _make_undecided_verdict(
    summary: str,
    *,
    kind: VerdictKind = VerdictKind.INCONCLUSIVE,
    category: Category = Category.NONE,
    confidence: float = 0.5,
    at_ns: int | None = None,
) -> Verdict:
    """That somebody has to look further."""
    return Verdict(
        kind, category, confidence, summary, Action.INVESTIGATE, at=make_timestamp(at_ns)
    )


def _make_healthy_verdict(summary: str, confidence: float) -> Verdict:
    """That nothing is to be done."""
    return Verdict(VerdictKind.HEALTHY, Category.NONE, confidence, summary, Action.NONE)


def _judge_dumps(case: Case, coverage: float) -> Verdict:
    """Nobody is stuck and nobody is late. That is health where the dumps show work that ended."""
    num_dumps = len(case.snapshot.digests)
    if case.moving and not case.in_flight:
        return _make_undecided_verdict(
            "The dumps are of different moments of a running job and contradict each other;"
            " take them again, all at once."
        )
    if coverage < 0.5:
        return _make_unnamed_verdict(case, f"only {coverage:.0%} of the expected ranks left a dump")
    if _is_issue_only_record(case):
        return _make_issue_only_verdict(num_dumps)
    worked = sum(map(_has_worked, case.snapshot.digests))
    if 2 * worked < num_dumps:
        return _make_undecided_verdict(
            f"No sign of a fault was found, and none of health: of {num_dumps} dumps {worked} show"
            " an operation that ended. What the job did was not seen; bring whole dumps, or logs."
        )
    if case.in_flight and not case.live.proved:
        return _make_undecided_verdict(
            f"No sign of a fault was found: in {num_dumps} dumps what is unfinished looks like that"
            f" of a running job ({case.live.reasons[0]}), which does not prove that it runs."
            " Whether it moved since was not seen: take dumps again, 30 s apart."
        )
    counted = sum(map(_has_hidden_operation, case.snapshot.digests))
    if counted and not case.in_flight:
        return _make_undecided_verdict(
            f"No sign of a fault was found, and none of health: {counted} of {num_dumps} dumps"
            " count an operation as issued and not as ended of which they hold no record. Bring"
            " whole dumps, or logs."
        )
    doing = (
        "what is unfinished was only just issued" if case.in_flight else "all work issued is done"
    )
    return _make_healthy_verdict(
        f"No rank is stuck or late: in {num_dumps} dumps {doing}.", 0.9 * (0.5 + 0.5 * coverage)
    )


def _has_worked(digest: RankDigest) -> bool:
    """Whether a dump shows that an operation has ended."""
    counted = any((row.completed or 0) > 0 for row in digest.counters)
    return counted or digest.history.any_finished


def _has_hidden_operation(digest: RankDigest) -> bool:
    """Whether its counters tell of an operation that has not ended and is not in its record.

    Counters lag behind the record, so that an operation that ended there has ended. Sends and
    receives are counted with collectives, which makes one count of two.
    """
    ended = {str(stream.pg_id): stream.finished for stream in digest.streams if not stream.num_p2p}
    return any(
        row.key in ended
        and row.enqueued is not None
        and row.completed is not None
        and row.enqueued > max(row.completed, ended[row.key])
        for row in digest.counters
    )


_PACE_UNSEEN: Final = "Its pace was not seen: that takes its log, or dumps with timing."
# Who moved between two looks may still stand still later.
_MOVED: Final = 0.8


def _judge_stacks(stacks: StackPicture, *, job_moves: bool) -> Verdict | None:
    """Stacks in which nobody stands apart; None where they say nothing."""
    ranks = len(stacks.ranks)
    if not stacks.telling:
        return None
    if stacks.job_moves:
        return _make_healthy_verdict(
            f"The job moves: of {ranks} ranks {stacks.twice} were looked at twice, and ranks that"
            f" waited went on. {_PACE_UNSEEN}",
            _MOVED,
        )
    if job_moves:
        return _make_healthy_verdict(
            "The job moves: what is counted of its ranks went on between two looks, although their"
            f" stacks are alike. {_PACE_UNSEEN}",
            _MOVED,
        )
    return _make_undecided_verdict(
        f"The stacks of {ranks} rank{'s' * (ranks != 1)} name nobody: no rank stands apart from"
        " ranks that wait. Look twice, 30 s apart, at all ranks; bring flight-recorder dumps, NCCL"
        " RAS or logs."
    )


def _is_issue_only_record(case: Case) -> bool:
    """Whether the dumps record what was issued alone, as a hook does that hears of no ends."""
    digests = case.snapshot.digests
    return any(digest.last_unit is not None for digest in digests) and all(
        digest.last_unit is None or digest.last_unit.flags & ISSUED_ALONE for digest in digests
    )


def _make_issue_only_verdict(num_dumps: int) -> Verdict:
    return _make_undecided_verdict(
        f"In {num_dumps} dumps stands what was issued, and of nothing whether it ended: all ranks"
        " issued the same, so that nobody stands apart. Look at their stacks, at NCCL RAS and at"
        " the logs of the processes."
    )


def _make_unnamed_verdict(case: Case, why: str) -> Verdict:
    """That the dumps name nobody, with what they show and ``why`` that is not enough."""
    num_dumps = len(case.snapshot.digests)
    return _make_undecided_verdict(
        f"In {num_dumps} dumps {_describe_waits(case)}, but {why}: look at the logs of the"
        f" processes."
    )


def _describe_waits(case: Case) -> str:
    """What is unfinished in the dumps, in a clause."""
    places = [
        place
        for place in case.graph.places
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P) and not case.in_flight
    ]
    if not places:
        if case.in_flight:
            return "what is unfinished was only just issued"
        if case.moving:
            return "ranks contradict each other, as those of a job that still moved"
        if cut := sum(digest.partial is not None for digest in case.snapshot.digests):
            return f"({cut} of them cut) no rank is seen to wait"
        return "every operation is done and no rank is late"
    most = max(places, key=lambda place: len(place.waiting))
    text = f"{describe_waiting(len(most.waiting))} in {case.place_text(most)}"
    if most.absent:
        text += f" for {len(most.absent)} that left no dump"
    return text + " and none is named"


# A job sets up for so long before its first step.
_SETUP_S: Final = 600
# What a course that was seen, an end in order, and no more than silence are worth.
_WELL: Final = {Health.HEALTHY_END: 0.9, Health.MOVING_TO_THE_END: 0.85}


def _judge_logs(
    evidence: Sequence[Evidence], health: Health, sentence: str, sources: Sources, stop: Stop
) -> Verdict:
    """Logs of a job that nothing went wrong with, as far as they tell."""
    quiet = "No rank failed, none timed out and none was waited for"
    progress = sources.progress
    last = progress.last if progress is not None else None
    if health is Health.MOVING_TO_THE_END and sources.beside.stand_later:
        health = Health.UNKNOWN
        sentence += (
            f" The looks at its ranks are {format_seconds(sources.beside.later_s)} later than"
            f" that, and do"
            " not show that it still moved: take two, 30 s apart."
        )
    if health is Health.MOVING_TO_THE_END and last is not None and _is_left(evidence, last):
        health = Health.UNKNOWN
        sentence += " After it, processes of the job close their connections."
    goes_on_ns = None
    if health is Health.MOVING_TO_THE_END and last is not None and last.at_ns is None:
        goes_on_ns = _find_last_of_machines_ns(
            evidence, stop, progress.until_ns if progress is not None else None
        )
        if goes_on_ns is not None:
            health = Health.UNKNOWN
            sentence += (
                " No clock dates its lines, and logs of its nodes go on to"
                f" {format_utc(goes_on_ns)}: whether it moved then was not seen."
            )
    if health in _WELL:
        return _make_healthy_verdict(f"{quiet}. {sentence}", _WELL[health])
    moved = any(row.kind is Kind.PROGRESS for row in evidence)
    # Who began and printed no step has most likely hung in its first collective, and whose log ends
    # before those of its nodes in one behind that.
    hangs = progress is not None and (
        last is None or progress.left_s is not None or goes_on_ns is not None
    )
    return _make_undecided_verdict(
        f"{quiet}; but nothing says that the job went well to its end. {sentence}"
        " Bring the rest of its log, or dumps.",
        category=Category.NCCL_TIMEOUT if hangs else Category.NONE,
        confidence=0.5 if moved else 0.6,
    )


def _find_last_of_machines_ns(
    evidence: Sequence[Evidence], stop: Stop, spoke_ns: int | None
) -> int | None:
    """When machines were last heard, after the job began and, at ``spoke_ns``, spoke last, where
    that is told; None where they were not, or job.json says that it ended well.
    """
    if stop.ended_well:
        return None
    last_ns = max(
        (row.last_at_ns or row.at_ns or 0 for row in evidence if row.kind in KERNEL_KINDS),
        default=0,
    )
    since_ns = max(spoke_ns or 0, (stop.begun_ns or 0) + _SETUP_S * SECOND)
    return last_ns if last_ns > since_ns else None


def _is_left(evidence: Sequence[Evidence], last: ProgressPoint) -> bool:
    """Whether processes of the job leave behind its last step: then it does not go on."""
    return any(
        row.kind in JOB_KINDS and Trait.TEARDOWN in row.traits and is_behind(row, last)
        for row in evidence
    )


def _make_unattributed_verdict(
    case: Case | None, evidence: Sequence[Evidence], stop: Stop
) -> Verdict:
    """A stop with no cause found, or no stop at all."""
    if not stop.trouble:
        return _make_undecided_verdict(
            "Nothing in the logs says that a job stopped, and nothing says why one would: bring the"
            " flight-recorder dumps or the job's own log."
        )
    failing = any(row.kind in JOB_KINDS and row.role is not EvidenceRole.NOISE for row in evidence)
    if case is not None and not failing:
        if _is_issue_only_record(case):
            return _make_issue_only_verdict(len(case.snapshot.digests))
        return _make_unnamed_verdict(
            case, "the job stopped" if stop.seen else "job.json says it failed"
        )
    kind = VerdictKind.HANG if has_watchdog_timeout(evidence) else VerdictKind.INCONCLUSIVE
    if kind is VerdictKind.INCONCLUSIVE and failing:
        kind = VerdictKind.CRASH
    return _make_undecided_verdict(
        "The job stopped, and what was found only follows from that: no line names a cause, so"
        " nobody is convicted.",
        kind=kind,
        category=Category.NCCL_TIMEOUT,
        confidence=0.6 if failing else 0.5,
        at_ns=stop.start_ns or stop.end_ns,
    )
