"""The one builder of suspects, verdict, cordon, summary and action, for whatever was brought."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.facts.stop import JOB_KINDS, Stop
from triage.analysis.joining.belief import CONVICTED, NAMES_A_PART, Belief
from triage.analysis.joining.bounds import Bound, is_firm_now
from triage.analysis.joining.claims import is_accusing
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import Domain
from triage.analysis.joining.sources import Sources
from triage.analysis.joining.wording import (
    build_reasons,
    choose_action,
    summarize,
    summarize_claims,
)
from triage.analysis.placement.topology import Placement
from triage.analysis.progress.job import judge_health
from triage.analysis.waiting.case import Case, make_timestamp
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import (
    HARDWARE,
    OF_THE_WHOLE_NODE,
    SOFTWARE,
    Action,
    Category,
    Role,
    VerdictKind,
)
from triage.domain.evidence import BY_RANK, Clock, Evidence, EvidenceRole, Trait
from triage.domain.finding import Finding
from triage.domain.hosts import is_host_name
from triage.domain.progress import Health
from triage.domain.report import MAX_REASONS, Suspect, Verdict, Victims

# Below this a cause is not worth a look at 3 a.m. ...
WORTH_NAMING: Final = 0.08
# ... and beside a place that the dumps prove, or a fabric in which nobody got through, this.
_WORTH_NAMING_BESIDE: Final = 0.25
# That no cause was found is not known for sure: somebody's line may be missing.
_MOST_OF_UNSAID: Final = 0.5
# A node is named for cordoning only on a hardware cause that lines show, believed this much.
_CORDON_BELIEF: Final = 0.9
# Two places are convicted together only where one is believed nearly as much as the other.
_ALIKE: Final = 0.75
_MAX_SUSPECTS: Final = 64
_MAX_RANKS: Final = 16


@dataclass(frozen=True, slots=True)
class Decision:
    """What is answered; ``heard`` are the detectors' claims that it rests on, strongest first."""

    verdict: Verdict
    suspects: tuple[Suspect, ...]
    victims: Victims
    heard: tuple[Finding, ...]
    by_number: frozenset[str] = frozenset()
    """Nodes that only the number of a rank names, where nothing that ran there agrees with the map
    of ranks: they are named, and not acted upon."""


def select_named(ranked: Sequence[Belief], stop: Stop) -> list[Belief]:
    """The beliefs that an answer is made of, in their order; empty where there is none."""
    if not ranked:
        return []
    only_said = not stop.seen and stop.job_seen
    top = ranked[0]
    by_dumps = not top.hypothesis.rows
    least = _WORTH_NAMING_BESIDE if by_dumps else WORTH_NAMING
    return [
        belief
        for belief in ranked
        if (not belief.hypothesis.rows and belief.at_place >= WORTH_NAMING)
        or (belief.probability >= least and not (only_said and _is_mild(belief.hypothesis)))
    ]


def _is_mild(cause: Hypothesis) -> bool:
    return bool(cause.rows) and all(row.is_mild for row in cause.rows)


def decide(named: Sequence[Belief], sources: Sources, stop: Stop, placement: Placement) -> Decision:
    """The answer that ``named`` beliefs make, best first; at least one."""
    suspects = build_suspects(named, placement)
    accused = {rank for suspect in suspects for rank in suspect.ranks}
    nodes = {suspect.node for suspect in suspects}
    victims = Victims()
    if sources.case is not None:
        victims = _find_victims(sources.case, accused, nodes, placement)
    elif sources.stacks.waiting:
        waiting = set(sources.stacks.waiting) if accused else set()
        victims = _with_homes(waiting - accused, nodes, placement)
    elif stop.trouble:
        victims = _find_printed_victims(sources.evidence, accused, nodes, placement)
    top = named[0]
    accounted = {claim for belief in named for claim in belief.hypothesis.claims}
    heard = tuple(claim for claim in sources.claims if claim in accounted)
    verdict = (
        _build_verdict_of_rows(top, suspects, victims, sources, stop, placement)
        if top.hypothesis.rows
        else _build_verdict_of_claims(named, suspects, victims, heard)
    )
    by_number = frozenset(
        node
        for belief in named
        if (node := belief.hypothesis.node) is not None
        and _is_placed_by_rank_alone(belief.hypothesis, placement)
    )
    return Decision(verdict, suspects, victims, heard, by_number)


def _is_placed_by_rank_alone(cause: Hypothesis, placement: Placement) -> bool:
    """Whether nothing but the numbers of ranks says that a cause is on its node, and no host, dump
    or log agrees with the map of ranks.
    """
    if cause.rows:
        return not any(_is_placed(row, placement) for row in cause.rows)
    return bool(cause.ranks) and not any(placement.is_seen(rank) for rank in cause.ranks)


def _is_placed(row: Evidence, placement: Placement) -> bool:
    """Whether a line names its node, or its rank is known to be there."""
    if row.node is None:
        return False
    return BY_RANK not in row.fields or row.rank is None or placement.is_seen(row.rank)


def build_suspects(named: Sequence[Belief], placement: Placement) -> tuple[Suspect, ...]:
    """One row per node (or rank without one), best first, then what the cause reached."""
    best: dict[object, Belief] = {}
    for belief in named:
        if belief.hypothesis.names_somebody:
            best.setdefault(belief.hypothesis.place, belief)
    top = named[0]
    standing: list[tuple[Belief, str | None, tuple[int, ...], Role]] = []
    for belief in list(best.values())[:_MAX_SUSPECTS]:
        role = _choose_role_beside(belief, top)
        ranks = _list_ranks(belief, named) or _list_all_ranks(belief.hypothesis, placement)
        standing.append((belief, belief.hypothesis.node, ranks, role))
    for belief in named:
        if not isinstance(belief.hypothesis.place, Domain) or belief.probability < CONVICTED:
            continue
        taken = {node for _, node, _, _ in standing}
        standing += [
            (belief, node, (), Role.AFFECTED)
            for node in belief.hypothesis.place.nodes[:_MAX_SUSPECTS]
            if node not in taken
        ]
    standing.sort(key=lambda row: -row[0].at_place)
    return tuple(
        Suspect(
            position=position,
            node=node,
            ranks=ranks[:_MAX_RANKS],
            gpus=_list_gpus(belief.hypothesis, ranks, placement),
            category=belief.hypothesis.category,
            score=belief.at_place,
            role=role,
            action=choose_action(belief.hypothesis, role),
            because=build_reasons(belief.hypothesis, node)[:MAX_REASONS],
        )
        for position, (belief, node, ranks, role) in enumerate(standing[:_MAX_SUSPECTS], start=1)
    )


def _choose_role_beside(belief: Belief, top: Belief) -> Role:
    """Convicted, or only possible beside what is likelier."""
    role = choose_role_alone(belief)
    if belief.at_place < _ALIKE * top.at_place:
        return Role.POSSIBLE
    # Beside a likelier cause that is in no node, a node is only possible.
    if top.hypothesis.in_no_node and belief.at_place < top.at_place:
        return Role.POSSIBLE
    return role or Role.POSSIBLE


def choose_role_alone(belief: Belief) -> Role | None:
    """How it would stand with nobody beside it; None where it is not worth naming."""
    if belief.at_place < WORTH_NAMING:
        return None
    convicted = belief.at_place >= CONVICTED and belief.hypothesis.accuses
    return Role.CULPRIT if convicted else Role.POSSIBLE


def _list_ranks(belief: Belief, named: Sequence[Belief]) -> tuple[int, ...]:
    """Its ranks; where only dumps speak, those of all their claims at the place of one role."""
    if belief.hypothesis.rows:
        return belief.hypothesis.ranks
    mates = [
        other.hypothesis
        for other in named
        if other.hypothesis.place == belief.hypothesis.place and not other.hypothesis.rows
    ]
    role = belief.hypothesis.claims[0].role
    ranked = [
        (-claim.strength, -(claim.late_ms or 0.0), rank)
        for mate in mates
        for claim in mate.claims
        if claim.role is role
        for rank in claim.ranks
        if rank in mate.ranks
    ]
    return tuple(dict.fromkeys(rank for _, _, rank in sorted(ranked)))


def _list_all_ranks(cause: Hypothesis, placement: Placement) -> tuple[int, ...]:
    """The ranks of a node that fails as a whole."""
    whole = cause.category in OF_THE_WHOLE_NODE and cause.node is not None
    return tuple(placement.ranks_on(cause.node or "")) if whole else ()


def _list_gpus(cause: Hypothesis, ranks: Sequence[int], placement: Placement) -> tuple[str, ...]:
    if cause.gpus:
        return cause.gpus
    return tuple(
        dict.fromkeys(gpu for rank in ranks[:_MAX_RANKS] if (gpu := placement.gpu_of(rank)))
    )


def _select_cordons(
    top: Belief,
    suspects: Sequence[Suspect],
    category: Category,
    stop: Stop,
    placement: Placement,
) -> tuple[str, ...]:
    """The nodes that are taken out: a hardware cause that lines show, and sure of it, of its time
    and of its place. A name that no host can have is never among them: who acts on it would act
    on text.
    """
    sure = (
        category in HARDWARE
        and Bound.ENDS_ITS_LOG not in top.bounds
        and round(top.probability, 4) >= _CORDON_BELIEF
        and any(
            is_firm_now(row, stop) and _has_a_time(row) and _is_placed(row, placement)
            for row in top.hypothesis.rows
        )
    )
    node = top.hypothesis.node
    named = (
        suspect.node
        for suspect in suspects
        if suspect.role is Role.CULPRIT and suspect.category in HARDWARE
    )
    return (node,) if sure and node is not None and node in named and is_host_name(node) else ()


def _has_a_time(row: Evidence) -> bool:
    """Whether any clock stands behind a line: a text without one may be anybody's notes."""
    return row.at_ns is not None or row.stamp.clock is not Clock.NONE or row.line is None


def _build_verdict_of_rows(
    top: Belief,
    suspects: Sequence[Suspect],
    victims: Victims,
    sources: Sources,
    stop: Stop,
    placement: Placement,
) -> Verdict:
    cause = top.hypothesis
    # Logs of a machine alone are asked what ails it, and not who stopped a job.
    is_named = top.probability >= NAMES_A_PART or not stop.job_seen
    category = cause.category if is_named else Category.NCCL_TIMEOUT
    role = suspects[0].role if suspects and not cause.in_no_node else Role.CULPRIT
    first = next((row.at_ns for row in cause.rows if row.at_ns is not None), None)
    # Who it was may be a guess; that others lost somebody is told.
    likely = top.probability >= NAMES_A_PART or cause.category is Category.NCCL_TIMEOUT
    summary = summarize(cause, suspects, victims, is_named=is_named)
    if stop.machines_alone and top.probability < CONVICTED:
        likely, summary = False, f"Nothing says that a job stopped. {summary}"
    return Verdict(
        kind=_classify_kind_of_rows(top, sources, stop) if likely else VerdictKind.INCONCLUSIVE,
        category=category,
        confidence=top.probability if is_named else min(1 - top.probability, _MOST_OF_UNSAID),
        summary=summary,
        action=_choose_action_at(cause, role, suspects) if is_named else Action.INVESTIGATE,
        cordon=_select_cordons(top, suspects, category, stop, placement),
        at=make_timestamp(_find_begin_ns(first, stop)),
    )


# What is done to a node.
_TO_A_NODE: Final = frozenset({Action.RESET_GPU, Action.REBOOT_NODE, Action.DRAIN_NODE})


def _choose_action_at(cause: Hypothesis, role: Role, suspects: Sequence[Suspect]) -> Action:
    """The next step for a cause; nothing is done to a node that nobody knows."""
    action = choose_action(cause, role)
    return Action.INVESTIGATE if action in _TO_A_NODE and not suspects else action


def _find_begin_ns(first: int | None, stop: Stop) -> int | None:
    """When the stop began: with the first line of its cause, unless ranks, or the job,
    failed before that.
    """
    if first is None or (stop.ended_ns is not None and first > stop.ended_ns):
        return stop.start_ns or stop.end_ns
    earlier = stop.known and stop.start_ns is not None and stop.start_ns < first
    return stop.start_ns if earlier else first


def _build_verdict_of_claims(
    named: Sequence[Belief],
    suspects: Sequence[Suspect],
    victims: Victims,
    claims: Sequence[Finding],
) -> Verdict:
    """What only the dumps say."""
    top = named[0]
    first = top.hypothesis.claims[0]
    convicted = [claim for claim in claims if is_accusing(claim)]
    by_dumps = [
        suspect
        for suspect in suspects
        if any(
            suspect.node in claim.nodes or any(rank in claim.ranks for rank in suspect.ranks)
            for claim in claims
        )
    ]
    accused = bool(convicted) and bool(first.ranks or first.nodes)
    action = choose_action(top.hypothesis, Role.CULPRIT) if accused else Action.INVESTIGATE
    if not first.ranks and first.category is Category.NCCL_TIMEOUT:
        action = Action.INVESTIGATE if first.of_looks else Action.CHECK_NETWORK
    elif not (first.ranks or first.nodes) and first.category is Category.STORAGE:
        action = Action.CHECK_STORAGE
    elif not accused and first.kind is VerdictKind.DESYNC:
        action = Action.FIX_CODE
    ordered = [first, *(claim for claim in claims if claim is not first)]
    return Verdict(
        kind=first.kind,
        category=first.category,
        confidence=top.probability,
        summary=summarize_claims(
            ordered,
            [claim for claim in ordered if is_accusing(claim)] if accused else [],
            by_dumps if first.ranks or first.nodes else (),
            victims,
        ),
        action=action,
        at=next((reason.at for reason in first.because if reason.at is not None), None),
    )


# What ends a process, rather than holding it.
_ENDS: Final = SOFTWARE | {
    Category.GPU_OOM,
    Category.HOST_OOM,
    Category.HOST_MAINTENANCE,
    Category.DEPENDENCY,
    Category.NUMERICAL,
    Category.SDC,
    Category.STORAGE,
    Category.SSD,
}


# How a job goes of which no process complains, by its own log.
_KIND_OF_COURSE: Final = {
    Health.SLOWED: VerdictKind.STRAGGLER,
    Health.STOPPED: VerdictKind.HANG,
}


def _classify_kind_of_rows(top: Belief, sources: Sources, stop: Stop) -> VerdictKind:
    """The kind of a cause that lines tell: as the processes ended, or, where none did, as the job
    goes. A part that may have failed beside a job that is well has stopped nothing.
    """
    health, _ = judge_health(sources.progress)
    if top.hypothesis.category is Category.STRAGGLER:
        return VerdictKind.STRAGGLER
    if stop.job_seen and not stop.trouble and not top.hypothesis.claims:
        if health in _KIND_OF_COURSE:
            return _KIND_OF_COURSE[health]
        if top.hypothesis.holds_up:
            return VerdictKind.STRAGGLER
        if health.well and top.probability < CONVICTED:
            return VerdictKind.INCONCLUSIVE
    return _classify_kind(top.hypothesis, sources.evidence)


def _classify_kind(top: Hypothesis, evidence: Iterable[Evidence]) -> VerdictKind:
    """Hang, crash, desync or straggler: as the detectors say, else as the processes ended.

    Ranks of a part that failed differ from the others because they stopped.
    """
    kinds = [claim.kind for claim in top.claims]
    if top.category in HARDWARE:
        kinds = [VerdictKind.HANG if kind is VerdictKind.DESYNC else kind for kind in kinds]
    for kind in (VerdictKind.DESYNC, VerdictKind.STRAGGLER):
        if kind in kinds:
            return kind
    if top.category is Category.COLLECTIVE_MISMATCH:
        return VerdictKind.DESYNC
    if VerdictKind.HANG in kinds and top.category not in _ENDS:
        return VerdictKind.HANG
    if top.category in _ENDS or VerdictKind.CRASH in kinds:
        return VerdictKind.CRASH
    return VerdictKind.HANG if has_watchdog_timeout(evidence) else VerdictKind.CRASH


def has_watchdog_timeout(evidence: Iterable[Evidence]) -> bool:
    """Whether a watchdog gave up waiting."""
    return any(Trait.TIMEOUT in row.traits for row in evidence)


def _find_victims(
    case: Case,
    accused: Collection[int],
    accused_nodes: Collection[str | None],
    placement: Placement,
) -> Victims:
    """Everybody stuck who is not accused, and the nodes that hold only such."""
    if case.in_flight:
        return Victims()
    stuck = {
        rank
        for place in case.graph.places
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P)
        for rank in place.waiting
    }
    return _with_homes(stuck - set(accused), accused_nodes, placement)


def _find_printed_victims(
    evidence: Iterable[Evidence],
    accused: Collection[int],
    accused_nodes: Collection[str | None],
    placement: Placement,
) -> Victims:
    """Ranks whose watchdog gave up: they waited."""
    waited = {
        row.rank
        for row in evidence
        if row.rank is not None and row.role is EvidenceRole.CONSEQUENCE and row.kind in JOB_KINDS
    }
    return _with_homes(waited - set(accused), accused_nodes, placement)


def _with_homes(
    ranks: Iterable[int], accused_nodes: Collection[str | None], placement: Placement
) -> Victims:
    ordered = tuple(sorted(ranks))
    homes = {node for rank in ordered if (node := placement.node_of(rank)) is not None}
    return Victims(ordered, tuple(sorted(homes - set(accused_nodes))))
