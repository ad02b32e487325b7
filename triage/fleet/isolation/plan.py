"""A test plan: rounds of test groups, their results, and the groups of the next round.

A plan is a value. Results make another plan, and the same plan and results give the same next
round: nothing here is drawn by chance, and the order of the nodes alone breaks ties.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from triage.domain.hosts import MAX_HOSTS, is_host_name
from triage.errors import UsageError
from triage.fleet.isolation.grouping import NodesSeen, groups_of_round
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.places import Places
from triage.fleet.isolation.posterior import GroupTest, Posterior, posterior_of

__all__ = [
    "GroupOutcome",
    "IsolationPlan",
    "NodePlaces",
    "PlannedGroup",
    "check_nodes",
    "new_plan",
    "with_next_round",
    "with_results",
]

REST: Final = "rest"
LISTED: Final = 8


class GroupOutcome(StrEnum):
    """How a test of a group went."""

    PASS = "pass"
    FAIL = "fail"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Nodes (indices into the plan's) to test together; ``missing`` took no part in the test."""

    id: str
    nodes: tuple[int, ...]
    outcome: GroupOutcome | None = None
    missing: tuple[int, ...] = ()

    @property
    def took_part(self) -> tuple[int, ...]:
        """The nodes that the result is of."""
        return tuple(node for node in self.nodes if node not in self.missing)


@dataclass(frozen=True, slots=True)
class NodePlaces:
    """The place of each node, by its ``kind`` (rack or leaf), None where it is not known."""

    kind: str
    rule: PlaceRule
    of_node: tuple[str | None, ...]


@dataclass(frozen=True)
class IsolationPlan:
    """Nodes with what they are suspected by, and the rounds so far, the last one to be run.

    ``weights`` are suspicions, one a node: how many times as likely bad as a node of weight 1.
    ``away`` are nodes that cannot be tested now.
    """

    nodes: tuple[str, ...]
    weights: tuple[float, ...]
    options: IsolationOptions
    places: NodePlaces | None = None
    away: tuple[int, ...] = ()
    rounds: tuple[tuple[PlannedGroup, ...], ...] = ()

    @cached_property
    def posterior(self) -> Posterior:
        """How likely each node is bad, by all results."""
        return posterior_of(np.array(self.weights), self.tests, self.options)

    @property
    def tests(self) -> list[GroupTest]:
        """The tests that were run, in order."""
        return [
            GroupTest(np.array(group.took_part, dtype=np.int64), group.outcome is GroupOutcome.FAIL)
            for group in self.groups
            if group.outcome in {GroupOutcome.PASS, GroupOutcome.FAIL} and group.took_part
        ]

    @property
    def groups(self) -> list[PlannedGroup]:
        """All groups of all rounds."""
        return [group for groups in self.rounds for group in groups]

    @property
    def waiting(self) -> tuple[PlannedGroup, ...]:
        """The groups of the last round that have no result yet."""
        last = self.rounds[-1] if self.rounds else ()
        return tuple(group for group in last if group.outcome is None)

    @cached_property
    def bad_nodes(self) -> tuple[int, ...]:
        """The nodes that are bad by the certainty asked for, the likeliest first."""
        bad = self.posterior.bad
        found = np.flatnonzero(bad >= self.options.certainty)
        return tuple(sorted(found.tolist(), key=lambda node: (-bad[node], node)))

    @cached_property
    def others(self) -> float:
        """How likely there is a bad node beside those."""
        return 1 - self.posterior.only(np.array(self.bad_nodes, dtype=np.int64))

    @property
    def decided(self) -> bool:
        """Whether the bad nodes are named and all others good, or nobody is bad."""
        return bool(self.tests) and self.others <= 1 - self.options.certainty

    def index(self, names: Iterable[str], what: str) -> list[int]:
        """The indices of these nodes. Raises UsageError for one that the plan does not have."""
        at = {name: place for place, name in enumerate(self.nodes)}
        names = list(names)
        if foreign := [name for name in names if name not in at]:
            raise UsageError(f"{what}: the plan has no node {listed(foreign)}")
        return [at[name] for name in names]


def new_plan(
    nodes: Sequence[str],
    weights: Sequence[float] | None,
    options: IsolationOptions,
    places: NodePlaces | None = None,
    away: Collection[str] = (),
) -> IsolationPlan:
    """A plan with its first round; ``weights`` are even where None.

    Raises UsageError for nodes that are named twice or are no host names, and for weights that
    are no numbers of 0 or more.
    """
    weights = [1.0] * len(nodes) if weights is None else weights
    check_nodes(nodes, weights, places)
    plan = IsolationPlan(tuple(nodes), tuple(map(float, weights)), options, places)
    return with_next_round(replace(plan, away=tuple(sorted(plan.index(away, "away")))))


def check_nodes(nodes: Sequence[str], weights: Sequence[float], places: NodePlaces | None) -> None:
    """Raises UsageError for nodes, weights or places that a plan cannot have."""
    if not nodes:
        raise UsageError("no node is named: there is nothing to test")
    if len(nodes) > MAX_HOSTS:
        raise UsageError(f"{len(nodes):,} nodes: a plan has {MAX_HOSTS:,} at most")
    if foreign := [node for node in nodes if not is_host_name(node)]:
        raise UsageError(f"{listed(foreign)}: no plain host name, so in no command")
    if len(set(nodes)) < len(nodes):
        raise UsageError("a node is named twice")
    if len(weights) != len(nodes) or (places and len(places.of_node) != len(nodes)):
        raise UsageError("each node has one weight and one place")
    if not all(math.isfinite(weight) and 0 <= weight <= 1e9 for weight in weights):
        raise UsageError("a weight is a number of 0 or more: 2 is twice as likely bad as 1")
    if not any(weights):
        raise UsageError("no node is suspect: give one a weight above 0")


def with_results(
    plan: IsolationPlan,
    results: Mapping[str, GroupOutcome],
    missing: Collection[str] = (),
    *,
    correct: bool = False,
) -> IsolationPlan:
    """The plan with the results of these groups, of the last round or earlier ones.

    The group ``rest`` is every other group of the last round. A group of one node may be called by
    the node's name. ``missing`` are nodes that took no
    part in the test of their group. The same result again changes nothing; another one needs
    ``correct``. Raises UsageError for a group or a node that is not in question.
    """
    at = {group.id: group for group in plan.groups}
    alone = {plan.nodes[one.nodes[0]]: one.id for one in plan.waiting if len(one.nodes) == 1}
    entered = {name if name in at else alone.get(name, name): results[name] for name in results}
    if foreign := [name for name in entered if name not in at and name != REST]:
        raise UsageError(f"the plan has no group {listed(foreign)}")
    if (other := entered.pop(REST, None)) is not None:
        entered.update({group.id: other for group in plan.waiting if group.id not in entered})
    absent = set(plan.index(missing, "missing"))
    if stray := absent - {node for name in entered for node in at[name].nodes}:
        names = [plan.nodes[node] for node in sorted(stray)]
        raise UsageError(f"missing: {listed(names)} is in none of the groups with a result")
    for name, outcome in entered.items():
        group = at[name]
        gone = tuple(node for node in group.nodes if node in absent) or group.missing
        changed = replace(group, outcome=outcome, missing=gone)
        if group.outcome not in {None, GroupOutcome.NOT_RUN} and changed != group and not correct:
            raise UsageError(
                f"{name} has the result {group.outcome} already, and now {outcome}: say which"
                " one is right by correcting it"
            )
        at[name] = changed
    rounds = tuple(tuple(at[group.id] for group in groups) for groups in plan.rounds)
    return replace(plan, rounds=rounds)


def with_next_round(plan: IsolationPlan, away: Collection[str] | None = None) -> IsolationPlan:
    """The plan with its next round; as it is where it is decided, or where nothing helps.

    ``away`` are the nodes that cannot be tested; None leaves those of before. Groups of the last
    round without a result count as not run.
    """
    if away is not None:
        plan = replace(plan, away=tuple(sorted(plan.index(away, "away"))))
    if plan.waiting:
        skipped = {group.id: GroupOutcome.NOT_RUN for group in plan.waiting}
        plan = with_results(plan, skipped)
    if plan.decided or len(plan.rounds) >= plan.options.max_rounds:
        return plan
    groups = groups_of_round(
        plan.posterior.bad,
        plan.posterior.nobody,
        seen_of(plan),
        None if plan.places is None else numbered(plan.places),
        plan.options,
    )
    if not groups:
        return plan
    first = len(plan.groups) + 1
    made = tuple(
        PlannedGroup(f"g{first + place}", tuple(group.tolist()))
        for place, group in enumerate(groups)
    )
    return replace(plan, rounds=(*plan.rounds, made))


def seen_of(plan: IsolationPlan) -> NodesSeen:
    available = np.ones(len(plan.nodes), dtype=np.bool_)
    available[[*plan.away, *plan.bad_nodes]] = False
    tested = np.zeros(len(plan.nodes), dtype=np.bool_)
    position = np.zeros(len(plan.nodes), dtype=np.int64)
    for group in plan.groups:
        position[list(group.nodes)] = np.arange(len(group.nodes))
    for test in plan.tests:
        tested[test.members] = True
    return NodesSeen(available, tested, position)


def numbered(places: NodePlaces) -> Places:
    names = [name for name in dict.fromkeys(places.of_node) if name is not None]
    number = {name: at for at, name in enumerate(names)}
    of = [-1 if name is None else number[name] for name in places.of_node]
    return Places(places.rule, np.array(of, dtype=np.int64))


def listed(names: Sequence[str]) -> str:
    """The first of them, in quotes: they come from outside."""
    shown = ", ".join(repr(name[:80]) for name in names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED:,} more"
