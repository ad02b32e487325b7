"""A test plan: rounds of test groups, their results, and the groups of the next round.

A plan is a value. Results make another plan, and the same plan and results give the same next
round: nothing here is drawn by chance, and the order of the nodes alone breaks ties.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from triage.domain.hosts import MAX_HOSTS, is_host_name
from triage.errors import UsageError
from triage.fleet.isolation.grouping import NodesSeen, groups_of_round
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.posterior import GroupTest, Posterior, posterior_of

__all__ = [
    "GroupOutcome", "IsolationPlan", "PlannedGroup", "new_plan", "with_next_round", "with_results",
]  # fmt: skip

REST: Final = "rest"


class GroupOutcome(StrEnum):
    """How a test of a group went."""

    PASS = "pass"
    FAIL = "fail"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Nodes (indices into the plan's) to test together; with a result, those that took part."""

    id: str
    nodes: tuple[int, ...]
    outcome: GroupOutcome | None = None

    @property
    def was_run(self) -> bool:
        """Whether its test passed or failed."""
        return self.outcome in {GroupOutcome.PASS, GroupOutcome.FAIL}


@dataclass(frozen=True)
class IsolationPlan:
    """Nodes with what they are suspected by, and the rounds so far, the last one to be run.

    A node of weight 2 is twice as likely bad as one of weight 1; one of weight 0 is good. Raises
    UsageError for nodes that are named twice or are no host names, and for wrong weights.
    """

    nodes: tuple[str, ...]
    weights: tuple[float, ...]
    options: IsolationOptions = field(default_factory=IsolationOptions)
    rounds: tuple[tuple[PlannedGroup, ...], ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.nodes) <= MAX_HOSTS:
            raise UsageError(f"{len(self.nodes):,} nodes to test: name 1 to {MAX_HOSTS:,}")
        if foreign := [node for node in self.nodes if not is_host_name(node)]:
            raise UsageError(f"{foreign[0][:80]!r}: no plain host name, so in no command")
        if len(set(self.nodes)) < len(self.nodes):
            raise UsageError("a node is named twice")
        if len(self.weights) != len(self.nodes):
            raise UsageError("each node has one weight")
        if not all(math.isfinite(weight) and 0 <= weight <= 1e9 for weight in self.weights):
            raise UsageError("a weight is a number of 0 or more: 2 is twice as likely bad as 1")
        if not any(self.weights):
            raise UsageError("no node is suspect: give one a weight above 0")

    @property
    def groups(self) -> list[PlannedGroup]:
        """All groups of all rounds."""
        return [group for groups in self.rounds for group in groups]

    @property
    def waiting(self) -> list[PlannedGroup]:
        """The groups of the last round that have no result yet."""
        return [group for groups in self.rounds[-1:] for group in groups if group.outcome is None]

    @cached_property
    def tests(self) -> list[GroupTest]:
        """The tests that were run, in order."""
        return [
            GroupTest(np.array(group.nodes, dtype=np.int64), group.outcome is GroupOutcome.FAIL)
            for group in self.groups
            if group.was_run
        ]

    @cached_property
    def posterior(self) -> Posterior:
        """How likely each node is bad, by all results."""
        return posterior_of(np.array(self.weights), self.tests, self.options)

    @cached_property
    def bad_nodes(self) -> tuple[int, ...]:
        """The nodes that are bad by the certainty asked for, the likeliest first."""
        bad = self.posterior.bad
        found = np.flatnonzero(bad >= self.options.certainty)
        return tuple(sorted(found.tolist(), key=lambda node: (-bad[node], node)))

    @property
    def others(self) -> float:
        """At most so likely is a bad node beside those."""
        return self.posterior.others(self.bad_nodes)

    @property
    def decided(self) -> bool:
        """Whether the bad nodes are named and all others good, or nobody is bad."""
        return bool(self.tests) and self.others <= 1 - self.options.certainty


def new_plan(
    nodes: Sequence[str],
    weights: Sequence[float] | None = None,
    options: IsolationOptions | None = None,
) -> IsolationPlan:
    """A plan with its first round; ``weights`` are even where None. Raises UsageError."""
    weights = [1.0] * len(nodes) if weights is None else weights
    options = options or IsolationOptions()
    return with_next_round(IsolationPlan(tuple(nodes), tuple(map(float, weights)), options))


def with_results(
    plan: IsolationPlan, results: Mapping[str, GroupOutcome], missing: Collection[str] = ()
) -> IsolationPlan:
    """The plan with the results of these groups, of the last round or earlier ones.

    The group ``rest`` is every other group of the last round. A group of one node may be called by
    the node's name. ``missing`` are nodes that took no part in the test of their group. Another
    result of a group replaces the first one. Raises UsageError for a group or a node that is not
    in question.
    """
    at = {group.id: group for group in plan.groups}
    alone = {plan.nodes[one.nodes[0]]: one.id for one in plan.waiting if len(one.nodes) == 1}
    entered = {name if name in at else alone.get(name, name): results[name] for name in results}
    if REST in entered:
        rest = entered.pop(REST)
        entered = {group.id: rest for group in plan.waiting} | entered
    check_known(entered, at, "group")
    in_question = {plan.nodes[node] for name in entered for node in at[name].nodes}
    check_known(missing, in_question, "missing: node")
    for name, outcome in entered.items():
        took_part = tuple(node for node in at[name].nodes if plan.nodes[node] not in missing)
        at[name] = PlannedGroup(name, took_part, outcome)
    rounds = tuple(tuple(at[group.id] for group in groups) for groups in plan.rounds)
    return replace(plan, rounds=rounds)


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    if foreign := [name for name in names if name not in known]:
        raise UsageError(f"{what} {foreign[0][:80]!r} is not in question")


def with_next_round(plan: IsolationPlan) -> IsolationPlan:
    """The plan with its next round; as it is where it is decided, or where nothing helps.

    Groups of the last round without a result count as not run.
    """
    plan = with_results(plan, {REST: GroupOutcome.NOT_RUN})
    if plan.decided:
        return plan
    available = np.ones(len(plan.nodes), dtype=np.bool_)
    available[list(plan.bad_nodes)] = False
    tested = np.zeros(len(plan.nodes), dtype=np.bool_)
    position = np.zeros(len(plan.nodes), dtype=np.int64)
    for group in plan.groups:
        position[list(group.nodes)] = np.arange(len(group.nodes))
        tested[list(group.nodes)] |= group.was_run
    seen = NodesSeen(available, tested, position)
    groups = groups_of_round(plan.posterior.bad, plan.posterior.nobody, seen, plan.options)
    made = tuple(
        PlannedGroup(f"g{number}", tuple(group.tolist()))
        for number, group in enumerate(groups, len(plan.groups) + 1)
    )
    return replace(plan, rounds=(*plan.rounds, made)) if made else plan
