"""One ranked answer out of dumps, kernel logs and job logs: the steps of joining in their order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.facts.stop import ABOUT_THE_STOP, JOB_KINDS, SECOND, Stop, When, is_failing
from triage.analysis.joining.belief import CONVICTED, NAMES_A_PART, Belief, believe
from triage.analysis.joining.calibration import calibrate, classify_answer
from triage.analysis.joining.causes import find_causes
from triage.analysis.joining.claims import join_claims
from triage.analysis.joining.history import order_by_history
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.model import Model
from triage.analysis.joining.quiet import decide_without_suspects
from triage.analysis.joining.silent_peer import find_reboot_at_stop, find_silent_peer
from triage.analysis.joining.sources import Sources
from triage.analysis.joining.verdict import Decision, choose_role_alone, decide, select_named
from triage.analysis.live.beside_log import select_left_standing
from triage.analysis.placement.topology import JobTopology
from triage.analysis.progress.job import judge_health
from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.finding import Finding
from triage.domain.progress import Health, JobProgress
from triage.domain.standing import NO_STANDINGS, Prior

# A claim is worth so much less where no dump was read at all.
_TRUST_LOST: Final = 0.3


@dataclass(frozen=True, slots=True)
class Ranking:
    """The decision, and all beliefs it was made from, best first. ``believed`` is what is believed
    of the verdict, of which its confidence is made.
    """

    decision: Decision
    beliefs: tuple[Belief, ...]
    stop: Stop
    believed: float


def join(
    sources: Sources,
    topology: JobTopology,
    stop: Stop,
    model: Model,
    standings: Mapping[str, Prior] = NO_STANDINGS,
) -> Ranking:
    """Weigh everything together.

    ``standings`` are priors: they order whom the evidence names alike.
    """
    placement, rows = topology.placement, sources.evidence
    health, _ = judge_health(sources.progress)
    if sources.claims and health.well and not any(is_failing(row) for row in rows):
        kept = select_left_standing(sources.claims, health, sources.beside.moment)
        sources = replace(sources, claims=kept)
    claims = sources.claims
    trust = 1.0 - _TRUST_LOST * (1.0 - sources.share_of_ranks_read)

    def believed(
        rows: Sequence[Evidence], claims: Sequence[Finding] = claims
    ) -> tuple[list[Belief], list[Belief]]:
        """What is believed of rows, and what of that is worth naming."""
        hypotheses = _build_all_hypotheses(claims, rows, topology, stop)
        dumps = sources.case is not None
        found = believe(hypotheses, claims, stop, model, trust=trust, dumps=dumps)
        found = order_by_history(found, standings, choose_role_alone)
        return found, select_named(found, stop)

    # That all processes wait alike says nothing of the part: whatever names one says more.
    telling = [claim for claim in claims if not _is_all_wait_claim(claim)]
    beliefs, named = believed(rows, telling)
    if len(telling) < len(claims) and not (named and named[0].probability >= NAMES_A_PART):
        beliefs, named = believed(rows)
    if not named:
        silent = find_reboot_at_stop(rows, placement, stop)
        silent = silent or ([] if claims else find_silent_peer(rows, placement, topology.nodes))
        beliefs, named = believed([*rows, *silent]) if silent else (beliefs, named)
    if _is_given_up_while_slow(sources, health, stop):
        stop = replace(stop, trouble=False)
        named = named if named and _may_slow_down(named[0]) else []
    quiet = stop.job_seen and not stop.trouble and not claims
    if not named or (quiet and not _is_hit_without_complaint(beliefs, sources, stop)):
        decision = decide_without_suspects(sources, stop, placement)
    else:
        decision = decide(named, sources, stop, placement)
    verdict = decision.verdict
    printed = calibrate(verdict.confidence, classify_answer(verdict, decision.suspects))
    told = replace(decision, verdict=replace(verdict, confidence=printed))
    return Ranking(told, tuple(beliefs), stop, verdict.confidence)


def _is_given_up_while_slow(sources: Sources, health: Health, stop: Stop) -> bool:
    """Whether a job that had become slow was ended from outside, and no process of it failed."""
    failing = [
        row for row in sources.evidence if is_failing(row) and stop.of(row) in ABOUT_THE_STOP
    ]
    ended = all(
        row.role is EvidenceRole.CONSEQUENCE
        and (row.category is Category.HOST_MAINTENANCE or row.kind is Kind.SCHEDULER)
        for row in failing
    )
    return health is Health.SLOWED and not sources.claims and ended


def _may_slow_down(belief: Belief) -> bool:
    """Whether it is convicted, or may be why a job has become slow: a straggler, or a part."""
    holds_up = belief.hypothesis.holds_up or belief.hypothesis.category in HARDWARE
    return belief.probability >= (NAMES_A_PART if holds_up else CONVICTED)


def _is_all_wait_claim(claim: Finding) -> bool:
    """Whether a look shows no more than that nobody's host is at fault."""
    names = claim.ranks or claim.nodes or claim.category is not Category.NCCL_TIMEOUT
    return claim.of_looks and not names


# A dump is written within this of the last operation of a process that dies.
_AT_ITS_END_NS: Final = 5 * SECOND


def _is_hit_without_complaint(beliefs: Iterable[Belief], sources: Sources, stop: Stop) -> bool:
    """Whether a job of which no process complains was hit all the same: it slowed down or stood
    still, or nothing tells of it behind a part that failed for certain.
    """
    if stop.ended_well:
        return False
    if any(belief.probability >= NAMES_A_PART and belief.hypothesis.holds_up for belief in beliefs):
        return True  # who reports a straggler speaks of a job that goes on
    health, _ = judge_health(sources.progress)
    behind_ns = 0
    if health is Health.MOVING_TO_THE_END:
        last_ns = _find_end_of_log_ns(sources.progress)
        if last_ns is None:
            return False
        behind_ns = last_ns
    elif health is not Health.UNKNOWN:
        return health in (Health.SLOWED, Health.STOPPED)
    end_ns = stop.end_ns
    return any(
        belief.probability >= CONVICTED
        and belief.hypothesis.category in HARDWARE | {Category.HOST_MAINTENANCE}
        and any(
            row.is_firm
            and not row.is_mild
            and stop.of(row) in (When.AT, When.AFTER)
            and (row.at_ns or 0) - row.error_ns >= behind_ns
            and (
                sources.case is None
                or (end_ns is not None and (row.at_ns or 0) >= end_ns - _AT_ITS_END_NS)
            )
            for row in belief.hypothesis.rows
        )
        for belief in beliefs
    )


def _find_end_of_log_ns(progress: JobProgress | None) -> int | None:
    """From when on the log of a job that moves to its end says nothing: one line of progress may
    come out behind what broke.
    """
    last = progress.last if progress is not None else None
    if progress is None or last is None or last.at_ns is None:
        return None
    return last.at_ns - int((progress.gap_s or 0.0) * SECOND)


def _build_all_hypotheses(
    claims: Sequence[Finding], evidence: Sequence[Evidence], topology: JobTopology, stop: Stop
) -> list[Hypothesis]:
    """All that rows and claims stand for; consequences, where nothing else does."""
    # Who is stuck in a collective has met the others.
    met = bool(claims)
    rows = [*evidence, *_select_unfinished_preparation(evidence)]
    causes = find_causes(rows, topology, stop, met=met)
    if not causes and not claims:
        causes = find_causes(_promote_consequences(rows, stop), topology, stop, met=met)
    return join_claims(causes, claims, topology.placement, stop)


# Collectives as early as this are barriers that wait for somebody to prepare the data.
_FIRST_COLLECTIVES: Final = 4


def _select_unfinished_preparation(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Preparation of data that had not ended when the first barrier of the job gave up.

    A progress bar is no error; it becomes one where all others time out waiting.
    """
    rows = list(evidence)
    waiting = [row for row in rows if Trait.TIMEOUT in row.traits]
    early = [
        row
        for row in waiting
        if Trait.RENDEZVOUS in row.traits
        or (
            (seq := row.fields.get("seq_id", "")).isdecimal() and int(seq[:9]) <= _FIRST_COLLECTIVES
        )
    ]
    if not early or len(early) < len(waiting):
        return []
    # Behind a bar stands what somebody else prints: who waits does not prepare.
    waiters = {row.rank for row in waiting}
    return [
        replace(
            row,
            role=EvidenceRole.ROOT,
            weak=True,
            rank=row.rank if row.rank not in waiters else None,
        )
        for row in rows
        if row.signature == "data.preprocessing_bar" and row.fields.get("percent") != "100"
    ]


# Other machines' errors paint a node with these; and a boot follows from anything.
_SAYS_NOTHING_ALONE: Final = frozenset({Kind.XID, Kind.SXID, Kind.BOOT})
_UNNAMED: Final = frozenset({None, Category.NONE, Category.NCCL_TIMEOUT})


def _promote_consequences(evidence: Iterable[Evidence], stop: Stop) -> list[Evidence]:
    """Consequences that say of what, as weak roots: all there is where the root was not kept; of
    machines alone, what one gives advice on too.
    """
    rows = list(evidence)
    alone = stop.machines_alone
    waited = any(row.category is Category.NCCL_TIMEOUT for row in rows if row.kind in JOB_KINDS)
    return [
        # Who loses a store or a peer is not where that fails.
        replace(row, role=EvidenceRole.ROOT, weak=True)
        if row.blame is Blame.SELF
        else replace(row, role=EvidenceRole.ROOT, weak=True, node=None, rank=None)
        for row in rows
        if (row.role is EvidenceRole.CONSEQUENCE or (alone and row.role is EvidenceRole.ADVICE))
        and row.category not in _UNNAMED
        and (alone or row.kind not in _SAYS_NOTHING_ALONE)
        and Trait.TEARDOWN not in row.traits
        and not (waited and row.traits & {Trait.ENDS_JOB, Trait.RENDEZVOUS})
    ]
