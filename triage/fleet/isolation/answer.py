"""What a test plan says so far: who is bad, how likely anybody else is, and what to do now."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import numpy as np

from triage.domain.hosts import host_list
from triage.domain.wire import Count, Rounded, Share, WireForm
from triage.fleet.isolation.plan import GroupOutcome, IsolationPlan, PlannedGroup

__all__ = ["IsolationAnswer", "NodeSuspicion", "PlanState", "answer_of"]

LISTED: Final = 10
WORTH_NAMING: Final = 0.01
UNLIKELY: Final = 0.5


class PlanState(StrEnum):
    """Where a plan stands.

    ``testing``: a round is to be run. ``bad``: the bad nodes are named and all others are
    good, by the certainty asked for. ``clean``: no node is bad. ``undecided``: the rounds are
    used up, or no group of the sizes and places allowed would tell more.
    """

    TESTING = "testing"
    BAD = "bad"
    CLEAN = "clean"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class NodeSuspicion(WireForm):
    """A node with the probability that it is bad, after ``num_tests`` tests with it."""

    node: str
    probability: Annotated[Share, Rounded(decimals=4)]
    num_tests: Count
    num_failed: Count


@dataclass(frozen=True, slots=True)
class IsolationAnswer(WireForm):
    """The answer so far.

    ``bad_nodes`` are bad by the certainty asked for, ``suspects`` the likeliest of the
    ``num_suspects`` others that are above 1 %.
    ``others`` is the probability of a bad node beside them, ``nobody`` that no node
    is bad. ``exclude`` are bad and suspect nodes as a host list, to leave out of jobs.
    """

    state: PlanState
    num_nodes: Count
    num_rounds: Count
    num_tests: Count
    bad_nodes: tuple[NodeSuspicion, ...]
    suspects: tuple[NodeSuspicion, ...]
    num_suspects: Count
    others: Annotated[Share, Rounded(decimals=4)]
    nobody: Annotated[Share, Rounded(decimals=4)]
    exclude: str
    notes: tuple[str, ...]


def answer_of(plan: IsolationPlan) -> IsolationAnswer:
    """The answer by all results of the plan."""
    bad = plan.posterior.bad
    order = np.lexsort((np.arange(len(bad)), -np.round(bad, 9)))
    named_bad = set(plan.bad_nodes)
    even = bool(np.ptp(bad) < 1e-9) and len(bad) > LISTED
    likely = [
        node
        for node in order.tolist()
        if node not in named_bad and bad[node] >= WORTH_NAMING and not even
    ]
    named = sorted([*plan.bad_nodes, *likely])
    return IsolationAnswer(
        state=state_of(plan),
        num_nodes=len(plan.nodes),
        num_rounds=len(plan.rounds),
        num_tests=len(plan.tests),
        bad_nodes=tuple(suspicion(plan, node) for node in plan.bad_nodes),
        suspects=tuple(suspicion(plan, node) for node in likely[:LISTED]),
        num_suspects=len(likely),
        others=plan.others,
        nobody=plan.posterior.nobody,
        exclude=host_list(plan.nodes[node] for node in named),
        notes=tuple(notes_of(plan)),
    )


def state_of(plan: IsolationPlan) -> PlanState:
    if plan.waiting:
        return PlanState.TESTING
    if plan.decided:
        return PlanState.BAD if plan.bad_nodes else PlanState.CLEAN
    return PlanState.UNDECIDED


def suspicion(plan: IsolationPlan, node: int) -> NodeSuspicion:
    of = [group for group in plan.groups if node in group.took_part]
    run = [group for group in of if group.outcome in {GroupOutcome.PASS, GroupOutcome.FAIL}]
    failed = [group for group in run if group.outcome is GroupOutcome.FAIL]
    return NodeSuspicion(plan.nodes[node], float(plan.posterior.bad[node]), len(run), len(failed))


def notes_of(plan: IsolationPlan) -> Iterator[str]:
    """What a reader must know before relying on the answer."""
    if plan.places is not None:
        unknown = plan.places.of_node.count(None)
        if unknown:
            yield f"{left_out(unknown)}: no {plan.places.kind} is known of {them(unknown)}"
    if plan.away:
        yield f"{left_out(len(plan.away))}: named as away"
    tested = {node for test in plan.tests for node in test.members.tolist()}
    untested = sum(weight > 0 for weight in plan.weights) - sum(
        plan.weights[node] > 0 for node in tested
    )
    if untested and tested and not plan.waiting:
        words = "1 node was" if untested == 1 else f"{untested:,} nodes were"
        yield f"{words} in no test: what is said of {them(untested)} is what was expected before"
    if not plan.posterior.exact:
        yield "so many failed groups share nodes that the probabilities are approximate"
    unexplained = [group.id for group in plan.groups if lied(plan, group)]
    if unexplained:
        yield (
            f"{', '.join(unexplained[:LISTED])} failed, and likely no node in it is bad: a false"
            " alarm, or a fault that needs these nodes together (a link, a switch, the size)"
        )
    if not plan.waiting and not plan.decided:
        if len(plan.rounds) >= plan.options.max_rounds:
            yield f"the {plan.options.max_rounds} rounds are used up"
        else:
            yield (
                "no further group of the allowed sizes and places tells more: add nodes that are"
                " known to be good as partners, or allow other groups"
            )


def left_out(number: int) -> str:
    return "1 node is in no group" if number == 1 else f"{number:,} nodes are in no group"


def them(number: int) -> str:
    return "it" if number == 1 else "them"


def lied(plan: IsolationPlan, group: PlannedGroup) -> bool:
    """Whether a failed group has likely no bad node in it, now that its nodes were tested."""
    if group.outcome is not GroupOutcome.FAIL:
        return False
    inside = plan.posterior.bad[list(group.took_part)]
    return float(inside.sum()) < UNLIKELY and not plan.waiting
