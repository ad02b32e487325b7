"""Findings to a verdict and ranked suspects.

On each end of the wait-for graph one detector is heard. Strengths are what a
claim of its kind is worth when nothing else is known; a thin coverage lowers
them. Rules decide who may be named, never how many files came in which order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.case import Case
from triage.analysis.detectors.no_dump import GAP_STRENGTH
from triage.analysis.history import suspects_in_order_of_history
from triage.analysis.registry import DETECTORS
from triage.analysis.waits import PlaceKind
from triage.domain.category import HARDWARE, Action, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Suspect, Verdict, Victims
from triage.domain.standing import NO_STANDINGS, Prior

__all__ = ["Decision", "decide"]

# A node is named for cordoning only on a hardware cause believed this much.
CORDON_BELIEF: Final = 0.9
MAX_REASONS: Final = 8
NAMED: Final = 4

ACTIONS: Final = {
    Category.GPU: Action.DRAIN_NODE,
    Category.HOST_STALL: Action.INVESTIGATE,
    Category.COLLECTIVE_MISMATCH: Action.FIX_CODE,
    Category.NCCL_TIMEOUT: Action.INVESTIGATE,
    Category.STRAGGLER: Action.INVESTIGATE,
    Category.NONE: Action.NONE,
}

NEXT_STEPS: Final = {
    Category.GPU: "check that GPU for Xid errors and run a diagnostic before it is used again",
    Category.HOST_STALL: "look at what that process does (py-spy, data loader, storage, locks)",
    Category.COLLECTIVE_MISMATCH: "compare the code path and the data of that rank with its peers'",
    Category.STRAGGLER: "look at that rank's input pipeline, host load, clocks and temperature",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What ranking says; ``heard`` are the findings it rests on, strongest first."""

    verdict: Verdict
    suspects: tuple[Suspect, ...]
    victims: Victims
    heard: tuple[Finding, ...]


def decide(
    case: Case,
    *,
    coverage: float,
    node_of: Callable[[int], str | None],
    gpu_of: Callable[[int], str | None],
    failed: bool,
    standings: Mapping[str, Prior] = NO_STANDINGS,
) -> Decision:
    """Run the detectors and rank.

    ``coverage`` is the share of expected ranks whose dump was read; ``failed``
    whether something outside the dumps says that the job ended badly. ``standings``
    order whom the dumps name alike.
    """
    heard = hear(case)
    trust = 1.0 - 0.3 * (1.0 - coverage)
    named = [finding for finding in heard if finding.ranks]
    suspects = rank_suspects(named, trust, node_of, gpu_of)
    suspects = suspects_in_order_of_history(suspects, standings)
    accused = {rank for suspect in suspects for rank in suspect.ranks}
    victims = victims_of(case, accused, {s.node for s in suspects}, node_of)
    verdict = judge(case, heard, suspects, victims, trust, coverage, failed=failed)
    return Decision(verdict, suspects, victims, tuple(heard))


def hear(case: Case) -> list[Finding]:
    """One detector per end of the graph, in the order of the registry; strongest first."""
    detectors = [one for one in DETECTORS if one.runs_in_flight or not case.in_flight]
    heard: list[Finding] = []
    claimed: set[int] = set()
    for detector in detectors:
        found = list(detector.run(case))
        if detector.is_gap and claimed:
            found = [doubted(finding) for finding in found]
        heard += [f for f in found if f.end is None or f.end not in claimed]
        claimed |= {finding.end for finding in found if finding.end is not None}
    order = {detector.name: place for place, detector in enumerate(DETECTORS)}
    return sorted(heard, key=lambda f: (-f.strength, -(f.late_ms or 0), order[f.detector], f.ranks))


def doubted(finding: Finding) -> Finding:
    """A missing file where the records show a fault of their own: a gap, not a second one."""
    return replace(
        finding, kind=VerdictKind.INCONCLUSIVE, role=Role.POSSIBLE, strength=GAP_STRENGTH
    )


def rank_suspects(
    findings: Sequence[Finding],
    trust: float,
    node_of: Callable[[int], str | None],
    gpu_of: Callable[[int], str | None],
) -> tuple[Suspect, ...]:
    """One row per node, or per rank where no map is known; best first."""
    rows: dict[tuple[str | None, int], list[tuple[Finding, int]]] = {}
    for finding in findings:
        for rank in finding.ranks:
            node = node_of(rank)
            rows.setdefault((node, -1 if node is not None else rank), []).append((finding, rank))
    ordered = sorted(rows.items(), key=lambda item: standing(item[1]))
    return tuple(
        suspect(position, node, claims, trust, gpu_of)
        for position, ((node, _), claims) in enumerate(ordered, start=1)
    )


def standing(claims: Sequence[tuple[Finding, int]]) -> tuple[float, float, int]:
    return (
        -max(finding.strength for finding, _ in claims),
        -max(finding.late_ms or 0 for finding, _ in claims),
        min(rank for _, rank in claims),
    )


def suspect(
    position: int,
    node: str | None,
    claims: Sequence[tuple[Finding, int]],
    trust: float,
    gpu_of: Callable[[int], str | None],
) -> Suspect:
    best = max((finding for finding, _ in claims), key=lambda f: (f.strength, f.late_ms or 0))
    # A rank that is only possible does not share the row of a convicted one.
    claims = [claim for claim in claims if claim[0].role is best.role]
    ranks = tuple(dict.fromkeys(rank for _, rank in sorted(claims, key=claim_order)))
    own = tuple(dict.fromkeys(reason for f, rank in claims for reason in f.because))
    return Suspect(
        position=position,
        node=node,
        ranks=ranks,
        gpus=tuple(dict.fromkeys(gpu for rank in ranks if (gpu := gpu_of(rank)))),
        category=best.category,
        score=best.strength * trust,
        role=best.role,
        action=Action.INVESTIGATE if best.role is Role.POSSIBLE else ACTIONS[best.category],
        because=own[:MAX_REASONS],
    )


def claim_order(claim: tuple[Finding, int]) -> tuple[float, float, int]:
    finding, rank = claim
    return (-finding.strength, -(finding.late_ms or 0), rank)


def victims_of(
    case: Case,
    accused: set[int],
    accused_nodes: set[str | None],
    node_of: Callable[[int], str | None],
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
    ranks = tuple(sorted(stuck - accused))
    nodes = {node for rank in ranks if (node := node_of(rank)) is not None}
    return Victims(ranks, tuple(sorted(nodes - {n for n in accused_nodes if n is not None})))


def judge(
    case: Case,
    heard: Sequence[Finding],
    suspects: Sequence[Suspect],
    victims: Victims,
    trust: float,
    coverage: float,
    *,
    failed: bool,
) -> Verdict:
    if not heard:
        return nothing_found(case, coverage, failed=failed)
    top = heard[0]
    convicted = [finding for finding in heard if finding.role is Role.CULPRIT and finding.ranks]
    at = next((reason.at for reason in top.because if reason.at is not None), None)
    confidence = top.strength * trust
    category, kind = top.category, top.kind
    action = ACTIONS[category] if convicted else Action.INVESTIGATE
    if not suspects and category is Category.NCCL_TIMEOUT:
        action = Action.CHECK_NETWORK
    elif not convicted and kind is VerdictKind.DESYNC:
        action = Action.FIX_CODE
    return Verdict(
        kind=kind,
        category=category,
        confidence=confidence,
        summary=summarize(heard, convicted, suspects, victims),
        action=action,
        cordon=tuple(
            one.node
            for one in suspects
            if one.node is not None
            and one.role is Role.CULPRIT
            and one.category in HARDWARE
            and one.score >= CORDON_BELIEF
            and category in HARDWARE
        ),
        at=at,
    )


def nothing_found(case: Case, coverage: float, *, failed: bool) -> Verdict:
    """Nobody is stuck and nobody is late."""
    read = len(case.snapshot.digests)
    if case.moving and not case.in_flight:
        why = "The dumps are of different moments of a running job and contradict each other"
        return Verdict(
            VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
            f"{why}; take them again, all at once.", Action.INVESTIGATE,
        )  # fmt: skip
    if failed or coverage < 0.5:
        why = (
            "the job is said to have failed"
            if failed
            else f"only {coverage:.0%} of the expected ranks left a dump"
        )
        return Verdict(
            VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
            f"In {read} dumps every operation is done and no rank is late, but {why}:"
            " look at the logs of the processes.", Action.INVESTIGATE,
        )  # fmt: skip
    doing = (
        "what is unfinished was only just issued" if case.in_flight else "all work issued is done"
    )
    return Verdict(
        VerdictKind.HEALTHY, Category.NONE, 0.9 * (0.5 + 0.5 * coverage),
        f"No rank is stuck or late: in {read} dumps {doing}.", Action.NONE,
    )  # fmt: skip


def summarize(
    heard: Sequence[Finding],
    convicted: Sequence[Finding],
    suspects: Sequence[Suspect],
    victims: Victims,
) -> str:
    """One sentence for the person on call."""
    if not suspects:
        return (
            f"{heard[0].summary[0].upper()}{heard[0].summary[1:]}: nobody is convicted;"
            " look at links, switch, NICs and NCCL's own log."
        )
    shown = convicted or [finding for finding in heard if finding.ranks]
    top = shown[0]
    same = [f for f in shown if f.category is top.category and f.detector == top.detector]
    ranks = list(dict.fromkeys(rank for finding in same for rank in finding.ranks))
    nodes = {rank: row.node for row in suspects for rank in row.ranks}
    names = [
        f"{rank} ({nodes[rank]})" if nodes.get(rank) is not None else f"{rank}" for rank in ranks
    ]
    who = "Rank " if len(ranks) == 1 else "Ranks "
    who += ", ".join(names[:NAMED])
    if len(names) > NAMED:
        who += f" and {len(names) - NAMED} more"
    sentence = f"{who} {top.summary}"
    if victims.ranks:
        count = len(victims.ranks)
        sentence += f"; {count} other rank{' waits' if count == 1 else 's wait'}"
    step = NEXT_STEPS.get(top.category) if convicted else None
    sentence += f": {step}." if step else "."
    others = [finding for finding in shown if finding not in same]
    if others:
        more = ", ".join(f"rank {f.ranks[0]} {f.summary}" for f in others[:2])
        sentence += f" Besides, {more}."
    return sentence
