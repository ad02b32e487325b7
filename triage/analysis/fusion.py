"""One ranked answer out of dumps, kernel logs and job logs.

The detectors say which rank the others wait for; the logs say what failed and
where. Hypotheses are weighed together and the best become suspects. Where the
logs hold no root, the answer of the dumps stands as it is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.case import Case, timestamp
from triage.analysis.history import in_order_of_history
from triage.analysis.hypothesis import Hypothesis, Seats
from triage.analysis.propose import MEETING, PART_OR_SETTING, propose
from triage.analysis.ranking import CORDON_BELIEF, Decision, victims_of
from triage.analysis.roles import mild
from triage.analysis.stop import JOB_KINDS, Stop, When
from triage.analysis.weigh import Model, measure, weigh
from triage.analysis.words import action_of, because_of, summary_of
from triage.domain.category import HARDWARE, Action, Category, Role, VerdictKind
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind
from triage.domain.finding import Finding
from triage.domain.report import Suspect, Verdict, Victims
from triage.domain.standing import NO_STANDINGS, Prior

__all__ = ["Fused", "fuse"]

# From here a cause is convicted; below it is only possible ...
CONVICTED: Final = 0.5
# ... and below this it is not worth a look at 3 a.m.
WORTH_NAMING: Final = 0.08
MAX_SUSPECTS: Final = 64
MAX_REASONS: Final = 8
# A category is said when it is likelier than this; else the stop has no cause found.
SAID: Final = 0.3


@dataclass(frozen=True, slots=True)
class Fused:
    """The decision, and all hypotheses it was made from, best first."""

    decision: Decision
    hypotheses: tuple[Hypothesis, ...]
    stop: Stop


def fuse(
    case: Case | None,
    dumps_say: Decision | None,
    evidence: Sequence[Evidence],
    seats: Seats,
    stop: Stop,
    model: Model,
    *,
    nodes: Collection[str],
    leaf_switch: Mapping[str, str],
    standings: Mapping[str, Prior] = NO_STANDINGS,
) -> Fused:
    """Weigh everything together.

    ``dumps_say`` is the decision on the dumps alone, None without any dump. ``standings`` are
    priors: they order whom the evidence names alike.
    """
    findings = dumps_say.heard if dumps_say is not None else ()
    evidence = [*evidence, *preparing(evidence)]
    hypotheses = propose(evidence, findings, seats, stop, nodes=nodes, leaf_switch=leaf_switch)
    if not hypotheses:
        left = left_over(evidence)
        hypotheses = propose(left, findings, seats, stop, nodes=nodes, leaf_switch=leaf_switch)
    measure(hypotheses, stop, dumps=case is not None)
    ranked = bounded(weigh(hypotheses, model), stop)
    ranked = in_order_of_history(ranked, standings, role_alone)
    decision = decide_all(case, dumps_say, evidence, seats, stop, ranked)
    return Fused(decision, tuple(ranked), stop)


# What is only of another day convicts nobody, and what is only of the hour before is no more
# than possible, however little else was found; a detector's claim on the place lifts both.
MOST_OF_BEFORE: Final = 0.45
MOST_OF_STALE: Final = 0.05
# Without a clock it may be at the stop, and a GPU that would not start may be a setting of its
# node: neither is sure enough for a cordon.
MOST_OF_UNDATED: Final = 0.85
# Lines that need another source have one in the dumps, or in several who say the same.
MOST_OF_WEAK: Final = 0.45
MANY_VOTES: Final = 2


def bounded(ranked: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """The rules that no weight may overrule; best first again."""
    for one in ranked:
        if not one.rows or any(f.role is Role.CULPRIT and f.ranks for f in one.findings):
            continue
        if all(row.weak for row in one.rows) and not one.findings and one.votes < MANY_VOTES:
            one.belief = min(one.belief, MOST_OF_WEAK)
        if all(row.signature in PART_OR_SETTING for row in one.rows):
            one.belief = min(one.belief, MOST_OF_UNDATED)
        times = {stop.of(row) for row in one.rows}
        if times <= {When.STALE}:
            one.belief = min(one.belief, MOST_OF_STALE)
        elif times <= {When.STALE, When.BEFORE}:
            one.belief = min(one.belief, MOST_OF_BEFORE)
        elif When.AT not in times and When.AFTER not in times and stop.known:
            # No clock tells that it was at the stop: it may be last week's.
            dated = any(other is not one and firm_at(other, stop) for other in ranked)
            one.belief = min(one.belief, MOST_OF_BEFORE if dated else MOST_OF_UNDATED)
    return sorted(ranked, key=Hypothesis.order)


def firm_at(one: Hypothesis, stop: Stop) -> bool:
    """Whether a line that needs no other source shows it at the stop."""
    return any(not row.weak and not mild(row) and stop.of(row) is When.AT for row in one.rows)


# Collectives as early as this are barriers that wait for somebody to prepare the data.
FIRST_COLLECTIVES: Final = 4


def preparing(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Preparation of data that had not ended when the first barrier of the job gave up.

    A progress bar is no error; it becomes one where all others time out waiting.
    """
    waiting = [row for row in evidence if "watchdog_timeout" in row.signature]
    early = [
        row
        for row in waiting
        if (seq := row.fields.get("seq_id", "")).isdecimal() and int(seq[:9]) <= FIRST_COLLECTIVES
    ]
    if not early or len(early) < len(waiting):
        return []
    return [
        replace(row, role=EvidenceRole.ROOT, weak=True)
        for row in evidence
        if row.signature == "data.preprocessing_bar" and row.fields.get("percent") != "100"
    ]


# Other machines' errors paint a node with these; and a boot follows from anything.
SAYS_NOTHING_ALONE: Final = frozenset({Kind.XID, Kind.SXID, Kind.BOOT})
# What ends or loses a job that had stopped before: a cause only where nobody waited.
ENDS_A_STOPPED_JOB: Final = ("elastic.", "scheduler.", "node.", *MEETING)
UNNAMED: Final = frozenset({None, Category.NONE, Category.NCCL_TIMEOUT})


def left_over(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Consequences that say of what, as weak roots: all there is where the root was not kept."""
    waited = any(row.category is Category.NCCL_TIMEOUT for row in evidence if row.kind in JOB_KINDS)
    return [
        # Who loses a store or a peer is not where that fails.
        replace(row, role=EvidenceRole.ROOT, weak=True)
        if row.blame is Blame.SELF
        else replace(row, role=EvidenceRole.ROOT, weak=True, node=None, rank=None)
        for row in evidence
        if row.role is EvidenceRole.CONSEQUENCE
        and row.category not in UNNAMED
        and row.kind not in SAYS_NOTHING_ALONE
        and not (waited and row.signature.startswith(ENDS_A_STOPPED_JOB))
    ]


def decide_all(
    case: Case | None,
    dumps_say: Decision | None,
    evidence: Sequence[Evidence],
    seats: Seats,
    stop: Stop,
    ranked: Sequence[Hypothesis],
) -> Decision:
    told = [one for one in ranked if one.rows and one.belief >= WORTH_NAMING]
    if not stop.seen and stop.job_seen:
        told = [one for one in told if not all(mild(row) for row in one.rows)]
    if stop.job_seen and not stop.trouble and not (dumps_say and dumps_say.heard):
        return dumps_say or healthy(evidence)
    if dumps_say is not None and dumps_say.heard:
        best = ranked[0] if ranked else None
        if not told or best is None or (not best.rows and told[0].belief < SAID):
            return dumps_say
    if not told:
        return dumps_say if dumps_say and dumps_say.heard else unattributed(evidence, stop)
    named = [one for one in ranked if one.belief >= WORTH_NAMING and (one in told or not one.rows)]
    suspects = suspects_of(named, seats)
    accused = {rank for suspect in suspects for rank in suspect.ranks}
    nodes = {suspect.node for suspect in suspects}
    victims = Victims()
    if case is not None:
        victims = victims_of(case, accused, nodes, seats.node_of)
    elif stop.trouble:
        victims = printed_victims(evidence, accused, nodes, seats)
    verdict = verdict_of(named, suspects, victims, evidence, stop)
    heard = heard_still(dumps_say.heard if dumps_say else (), named)
    return Decision(verdict, suspects, victims, heard)


def heard_still(findings: Sequence[Finding], named: Sequence[Hypothesis]) -> tuple[Finding, ...]:
    """The detectors' claims that the answer still rests on."""
    kept = {id(finding) for one in named for finding in one.findings}
    return tuple(finding for finding in findings if id(finding) in kept)


def suspects_of(named: Sequence[Hypothesis], seats: Seats) -> tuple[Suspect, ...]:
    """One row per node (or rank without one), best first, then what the cause reached."""
    rows: list[tuple[Hypothesis, tuple[int, ...]]] = []
    seen: set[tuple[str, int]] = set()
    for one in named:
        if one.shared or one.place == ("", -1) or one.place in seen:
            continue
        seen.add(one.place)
        rows.append((one, one.ranks))
    top = rows[0][0].belief if rows else 0.0
    found = []
    for one, ranks in rows[:MAX_SUSPECTS]:
        convicted = one.belief >= CONVICTED and (one.belief >= 0.5 * top) and blamed(one)
        # Beside a likelier cause that is in no node, a node is only possible.
        convicted = convicted and (not named[0].shared or one.belief >= named[0].belief)
        role = Role.CULPRIT if convicted else Role.POSSIBLE
        found.append((one, one.node, ranks, one.belief, role))
    for one in named:
        if one.leaf is None or one.belief < CONVICTED:
            continue
        for node in one.nodes[:MAX_SUSPECTS]:
            if (node, -1) not in seen:
                seen.add((node, -1))
                found.append((one, node, (), one.belief, Role.AFFECTED))
    found.sort(key=lambda row: -row[3])
    return tuple(
        Suspect(
            position=position,
            node=node,
            ranks=ranks[:16],
            gpus=gpus_of(one, ranks, seats),
            category=one.category,
            score=score,
            role=role,
            action=action_of(one, role),
            because=because_of(one, node)[:MAX_REASONS],
        )
        for position, (one, node, ranks, score, role) in enumerate(found[:MAX_SUSPECTS], start=1)
    )


def role_alone(one: Hypothesis) -> Role | None:
    """How it would stand with nobody beside it; None where it is not worth naming."""
    if one.belief < WORTH_NAMING:
        return None
    return Role.CULPRIT if one.belief >= CONVICTED and blamed(one) else Role.POSSIBLE


def blamed(one: Hypothesis) -> bool:
    """Whether anything but a connection with two ends, or a tie, accuses the place itself."""
    if any(finding.role is Role.CULPRIT for finding in one.findings):
        return True
    own = any(row.blame not in (Blame.PEER, Blame.PAIR) for row in one.rows)
    return own or one.votes > 1


def gpus_of(one: Hypothesis, ranks: Sequence[int], seats: Seats) -> tuple[str, ...]:
    if one.gpus:
        return one.gpus
    return tuple(dict.fromkeys(gpu for rank in ranks[:16] if (gpu := seats.gpu_of(rank))))


def verdict_of(
    named: Sequence[Hypothesis],
    suspects: Sequence[Suspect],
    victims: Victims,
    evidence: Sequence[Evidence],
    stop: Stop,
) -> Verdict:
    top = named[0]
    # Logs of a machine alone are asked what ails it, and not who stopped a job.
    said = top.belief >= SAID or not stop.job_seen
    category = top.category if said else Category.NCCL_TIMEOUT
    role = suspects[0].role if suspects and not top.shared else Role.CULPRIT
    action = action_of(top, role) if said else Action.INVESTIGATE
    first = next((row.at_ns for row in top.rows if row.at_ns is not None), None)
    at = first or stop.start_ns or stop.end_ns
    return Verdict(
        kind=kind_of(top, evidence) if top.belief >= SAID else VerdictKind.INCONCLUSIVE,
        category=category,
        confidence=top.belief if said else 1 - top.belief,
        summary=summary_of(top, suspects, victims, said=said),
        action=action,
        cordon=tuple(
            one.node
            for one in suspects
            if one.node is not None
            and one.role is Role.CULPRIT
            and one.category in HARDWARE
            and round(one.score, 4) >= CORDON_BELIEF
            and category in HARDWARE
        ),
        at=timestamp(at),
    )


# What ends a process, rather than holding it.
ENDS: Final = frozenset(
    {
        Category.GPU_OOM, Category.HOST_OOM, Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK,
        Category.HOST_MAINTENANCE, Category.DEPENDENCY, Category.NUMERICAL, Category.SDC,
        Category.STORAGE, Category.SSD,
    }
)  # fmt: skip


def kind_of(top: Hypothesis, evidence: Sequence[Evidence]) -> VerdictKind:
    """Hang, crash, desync or straggler: as the detectors say, else as the processes ended."""
    kinds = [finding.kind for finding in top.findings]
    for kind in (VerdictKind.DESYNC, VerdictKind.STRAGGLER):
        if kind in kinds:
            return kind
    if top.category is Category.COLLECTIVE_MISMATCH:
        return VerdictKind.DESYNC
    if VerdictKind.HANG in kinds and top.category not in ENDS:
        return VerdictKind.HANG
    if top.category in ENDS or VerdictKind.CRASH in kinds:
        return VerdictKind.CRASH
    return VerdictKind.HANG if timed_out(evidence) else VerdictKind.CRASH


def timed_out(evidence: Sequence[Evidence]) -> bool:
    return any("watchdog_timeout" in row.signature for row in evidence)


def healthy(evidence: Sequence[Evidence]) -> Decision:
    """Logs of a job that nothing went wrong with."""
    moved = any(row.kind is Kind.PROGRESS for row in evidence)
    verdict = Verdict(
        VerdictKind.HEALTHY, Category.NONE, 0.85 if moved else 0.6,
        "No rank failed, none timed out and none was waited for: nothing in the logs says that"
        " the job stopped.", Action.NONE,
    )  # fmt: skip
    return Decision(verdict, (), Victims(), ())


def unattributed(evidence: Sequence[Evidence], stop: Stop) -> Decision:
    """A stop with no cause found, or no stop at all."""
    if not stop.trouble:
        verdict = Verdict(
            VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
            "Nothing in the logs says that a job stopped, and nothing says why one would: bring the"
            " flight-recorder dumps or the job's own log.", Action.INVESTIGATE,
        )  # fmt: skip
        return Decision(verdict, (), Victims(), ())
    failing = any(row.kind in JOB_KINDS and row.role is not EvidenceRole.NOISE for row in evidence)
    kind = VerdictKind.HANG if timed_out(evidence) else VerdictKind.INCONCLUSIVE
    if kind is VerdictKind.INCONCLUSIVE and failing:
        kind = VerdictKind.CRASH
    verdict = Verdict(
        kind, Category.NCCL_TIMEOUT, 0.6 if failing else 0.5,
        "The job stopped, and what was found only follows from that: no line names a cause, so"
        " nobody is convicted.", Action.INVESTIGATE, at=timestamp(stop.start_ns or stop.end_ns),
    )  # fmt: skip
    return Decision(verdict, (), Victims(), ())


def printed_victims(
    evidence: Sequence[Evidence], accused: set[int], nodes: set[str | None], seats: Seats
) -> Victims:
    """Ranks whose watchdog gave up: they waited."""
    waited = {
        row.rank
        for row in evidence
        if row.rank is not None and row.role is EvidenceRole.CONSEQUENCE and row.kind in JOB_KINDS
    }
    ranks = tuple(sorted(waited - accused))
    homes = {node for rank in ranks if (node := seats.node_of(rank)) is not None}
    return Victims(ranks, tuple(sorted(homes - {node for node in nodes if node is not None})))
