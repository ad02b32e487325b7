"""Test groups: which nodes to test together, so that the bad ones are found in few rounds.

A plan holds nodes, what each is suspected by, and rounds of groups with their results. Nothing is
drawn by chance: the same plan and results give the same next round.

The posterior is that of a noisy OR. Nodes are bad independently of each other, except that the
probability that none is bad is stated; each bad node triggers each of its tests with probability
``recall``, and a test fails when it is triggered or by a false alarm. A pass counts for each node
alone; failed tests that share nodes are summed over the sets of triggered tests, exactly for up to
``TOGETHER`` of them, the first ones alone beyond that.

The groups of a round are disjoint and carry the same suspicion (an ordered partition: Hwang 1975),
as many as reach single nodes in the fewest rounds (Dorfman 1943; Li 1962). Nodes that carry as much
as a whole group are tested alone, beside partners that are cleaner by far.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.domain.batched import split_into_batches
from triage.domain.hosts import MAX_HOSTS, expand, format_host_list, is_host_name
from triage.errors import UsageError

OUTCOMES: Final = ("pass", "fail", "not_run")
REST: Final = "rest"
CERTAINTY: Final = 0.95
"""From this probability on a node is called bad, and all others good."""
EXPECTED: Final = 0.5
NOBODY: Final = 0.05
"""Bad nodes that are expected, and the probability that none is bad, before any test."""
TOGETHER: Final = 12
_SCHEMA: Final = "triage.test-plan/2"
# Results that contradict a perfect test leave a probability above 0.
_SMALLEST_RATE: Final = 1e-6
# A partner is so many times less suspect, at least, than the node that it is tested with.
_CLEANER: Final = 2.5
# Tested nodes that together hold this share of what may stay unsure are not tested again.
_IDLE_SHARE: Final = 0.2
# True failures of a group to each false one, at least: with fewer, the group becomes larger.
_TRUE_ALARMS: Final = 0.5
_FEWEST_TESTS: Final = 256
_DIGITS: Final = 9
_LISTED: Final = 10
_WORTH_NAMING: Final = 0.01


@dataclass(frozen=True, slots=True)
class TestRates:
    """How good a test is: ``recall``, ``false_alarm``, and the least nodes of a group.

    Raises UsageError.
    """

    __test__ = False

    recall: float = 0.95
    false_alarm: float = 0.0
    group_size: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.false_alarm < self.recall <= 1:
            raise UsageError(
                f"recall {self.recall:g} and false alarms {self.false_alarm:g}: a test tells"
                " something where bad nodes fail it more often than good ones"
            )
        if type(self.group_size) is not int or not 1 <= self.group_size <= MAX_HOSTS:
            raise UsageError(f"group size {self.group_size!r}: give a number of nodes")


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes (indices into the plan's) to test together, and how it went; None before."""

    id: str
    nodes: tuple[int, ...]
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities given all results: of each node to be ``bad``, of ``nobody`` being bad.

    ``exact`` is False where more failed tests share nodes than can be summed.
    """

    bad: F64
    nobody: float
    exact: bool


@dataclass(frozen=True)
class Plan:
    """Nodes with what they are suspected by, and the rounds so far, the last one to be run.

    A node of weight 2 is twice as likely bad as one of weight 1; one of weight 0 is good. Raises
    UsageError for nodes that are named twice or are no host names, and for wrong weights.
    """

    nodes: tuple[str, ...]
    weights: tuple[float, ...]
    rates: TestRates = field(default_factory=TestRates)
    rounds: tuple[tuple[Group, ...], ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.nodes) <= MAX_HOSTS:
            raise UsageError(f"{len(self.nodes):,} nodes to test: name 1 to {MAX_HOSTS:,}")
        if foreign := [node for node in self.nodes if not is_host_name(node)]:
            raise UsageError(f"{foreign[0][:80]!r}: no plain host name, so in no command")
        if len(set(self.nodes)) < len(self.nodes):
            raise UsageError("a node is named twice")
        if not all(math.isfinite(weight) and 0 <= weight <= 1e9 for weight in self.weights):
            raise UsageError("a weight is a number of 0 or more: 2 is twice as likely bad as 1")
        if not any(self.weights):
            raise UsageError("no node is suspect: give one a weight above 0")

    @property
    def groups(self) -> list[Group]:
        """All groups of all rounds."""
        return [group for groups in self.rounds for group in groups]

    @property
    def waiting(self) -> list[Group]:
        """The groups of the last round that have no result yet."""
        return [group for groups in self.rounds[-1:] for group in groups if group.outcome is None]

    @cached_property
    def tests(self) -> list[tuple[I64, bool]]:
        """The members of each test that was run, and whether it failed."""
        return [
            (np.array(group.nodes, dtype=np.int64), group.outcome == "fail")
            for group in self.groups
            if group.outcome in {"pass", "fail"}
        ]

    @cached_property
    def posterior(self) -> Posterior:
        """How likely each node is bad, by all results."""
        return compute_posterior(np.array(self.weights), self.tests, self.rates)

    @cached_property
    def bad_nodes(self) -> tuple[int, ...]:
        """The nodes that are called bad, the likeliest first."""
        bad = self.posterior.bad
        return tuple(
            node for node in np.argsort(-bad, kind="stable").tolist() if bad[node] >= CERTAINTY
        )

    @property
    def others(self) -> float:
        """At most so likely is a bad node beside those."""
        return min(1.0, float(np.delete(self.posterior.bad, list(self.bad_nodes)).sum()))

    @property
    def is_decided(self) -> bool:
        """Whether the bad nodes are named and all others good, or nobody is bad."""
        return bool(self.tests) and self.others <= 1 - CERTAINTY


def compute_posterior(
    weights: F64, tests: Sequence[tuple[I64, bool]], rates: TestRates
) -> Posterior:
    """The posterior of nodes whose prior odds are as ``weights`` are."""
    recall = min(rates.recall, 1 - _SMALLEST_RATE)
    false_alarm = max(rates.false_alarm, _SMALLEST_RATE)
    prior = compute_prior_probabilities(weights)
    bad, good = prior.copy(), 1 - prior
    for members, failed in tests:
        if not failed:
            bad[members] *= 1 - recall
    log_none = float((np.log(good) - np.log(bad + good)).sum())
    bad /= bad + good
    parts = list(_iterate_connected([members for members, failed in tests if failed]))
    for part in parts:
        for together in split_into_batches(part, TOGETHER):
            nodes = np.unique(np.concatenate(together))
            inside = np.stack([np.isin(nodes, members) for members in together], axis=1)
            log_sum, bad[nodes] = _sum_failures(bad[nodes], inside, recall, false_alarm)
            log_none += len(together) * math.log(false_alarm) - log_sum
    # "No node is bad" has its stated weight; the sets with bad nodes share what is left.
    none_before = float(np.log1p(-prior).sum())
    log_factor = math.log(NOBODY / (1 - NOBODY)) + math.log(-math.expm1(none_before)) - none_before
    total = 1 + math.expm1(log_factor) * math.exp(log_none)
    is_exact = all(len(part) <= TOGETHER for part in parts)
    return Posterior(bad / total, math.exp(log_factor + log_none) / total, is_exact)


def compute_prior_probabilities(weights: F64) -> F64:
    """Probabilities, one per node, that are ``EXPECTED`` in sum; odds are as ``weights`` are.

    At most half of the nodes that have a weight above 0 are expected to be bad.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    with np.errstate(divide="ignore"):
        log_odds = np.log(weights / weights.max())
    wanted = min(EXPECTED, np.count_nonzero(weights) / 2)
    log_factor = brentq(lambda one: expit(one + log_odds).sum() - wanted, -60.0, 60.0)
    return np.asarray(expit(log_factor + log_odds))


def _iterate_connected(tests: Sequence[I64]) -> Iterator[list[I64]]:
    """Tests that share nodes, directly or over others, together; in their order."""
    parts: list[tuple[set[int], list[int]]] = []
    for place, members in enumerate(tests):
        nodes, joined, apart = set(members.tolist()), [place], []
        for part in parts:
            if nodes.isdisjoint(part[0]):
                apart.append(part)
            else:
                nodes, joined = nodes | part[0], [*part[1], *joined]
        parts = [*apart, (nodes, joined)]
    for _, joined in parts:
        yield [tests[place] for place in sorted(joined)]


def _sum_failures(
    p_bad: F64, inside: Flags, recall: float, false_alarm: float
) -> tuple[float, F64]:
    """The log of the probability that all tests fail, and how likely each node is then bad.

    ``inside`` says which node (row) is in which test (column).
    """
    num_tests = inside.shape[1]
    tests = [np.flatnonzero(row).tolist() for row in inside]
    num_triggered = np.bitwise_count(np.arange(1 << num_tests, dtype=np.uint64))
    # From the last node back: how likely the tests that are not triggered are false alarms.
    after = [np.power(false_alarm, num_tests - num_triggered.astype(np.float64))]
    for node in range(len(tests) - 1, 0, -1):
        if_bad = _update_triggered(after[-1], tests[node], recall, ahead=True)
        step = (1 - p_bad[node]) * after[-1] + p_bad[node] * if_bad
        after.append(step / step.max())
    before = np.zeros(1 << num_tests)
    before[0] = 1.0
    log_sum, found = 0.0, np.zeros(len(tests))
    for node, later in enumerate(reversed(after)):
        if_bad = p_bad[node] * _update_triggered(before, tests[node], recall, ahead=False)
        if_good = (1 - p_bad[node]) * before
        found[node] = (if_bad @ later) / (if_bad @ later + if_good @ later)
        total = float((if_bad + if_good).sum())
        before = (if_bad + if_good) / total
        log_sum += math.log(total)
    return log_sum + math.log(float(before @ after[0])), found


def _update_triggered(states: F64, tests: Sequence[int], recall: float, *, ahead: bool) -> F64:
    """Weights of the sets of triggered tests after a bad node went through its ``tests``.

    With ``ahead``, the mean of what comes later over the sets that it leads to.
    """
    found = states.copy()
    for test in tests:
        halves = found.reshape(-1, 2, 1 << test)
        if ahead:
            halves[:, 0] = (1 - recall) * halves[:, 0] + recall * halves[:, 1]
        else:
            halves[:, 1] += recall * halves[:, 0]
            halves[:, 0] *= 1 - recall
    return found


def begin_plan(
    nodes: Sequence[str], weights: Sequence[float] | None = None, rates: TestRates | None = None
) -> Plan:
    """A plan with its first round; ``weights`` are even where None. Raises UsageError."""
    weights = [1.0] * len(nodes) if weights is None else weights
    return add_round(Plan(tuple(nodes), tuple(map(float, weights)), rates or TestRates()))


def add_results(plan: Plan, results: Mapping[str, str]) -> Plan:
    """The plan with the results of these groups, of the last round or earlier ones.

    The group ``rest`` is every other group of the last round. A group of one node may be called by
    the node's name. A later result of a group replaces the first. Raises UsageError.
    """
    at = {group.id: group for group in plan.groups}
    alone = {plan.nodes[one.nodes[0]]: one.id for one in plan.waiting if len(one.nodes) == 1}
    entered = {name if name in at else alone.get(name, name): results[name] for name in results}
    if REST in entered:
        entered = dict.fromkeys((one.id for one in plan.waiting), entered.pop(REST)) | entered
    if foreign := [name for name in entered if name not in at]:
        raise UsageError(f"group {foreign[0][:80]!r} is not in question")
    at |= {name: replace(at[name], outcome=outcome) for name, outcome in entered.items()}
    return replace(plan, rounds=tuple(tuple(at[one.id] for one in row) for row in plan.rounds))


def add_round(plan: Plan) -> Plan:
    """The plan with its next round; as it is where it is decided, or where nothing helps.

    Groups of the last round without a result count as not run.
    """
    plan = add_results(plan, {REST: "not_run"})
    if plan.is_decided:
        return plan
    tested = np.zeros(len(plan.nodes), dtype=np.bool_)
    position = np.zeros(len(plan.nodes), dtype=np.int64)
    for group in plan.groups:
        position[list(group.nodes)] = np.arange(len(group.nodes))
        tested[list(group.nodes)] |= group.outcome != "not_run"
    groups = choose_next_groups(plan.posterior, plan.bad_nodes, tested, position, plan.rates)
    made = tuple(
        Group(f"g{number}", group) for number, group in enumerate(groups, len(plan.groups) + 1)
    )
    return replace(plan, rounds=(*plan.rounds, made)) if made else plan


def choose_next_groups(
    posterior: Posterior, named: Collection[int], tested: Flags, position: I64, rates: TestRates
) -> list[tuple[int, ...]]:
    """The members of each group, ascending; the most suspect group first; none where none tells.

    ``named`` nodes are left out. ``position`` is the place of a node in its last group, 0 before
    any: nodes of equal suspicion change partners, as the groups of a round cut across the last.
    """
    bad, size = posterior.bad, rates.group_size
    suspicion = np.round(np.log(np.maximum(bad, 1e-300)), _DIGITS)
    order = np.lexsort((np.arange(len(bad)), position, -suspicion))
    order = order[~np.isin(order, list(named))]
    # Groups enough to find one bad node in two rounds, with room for a second one.
    room = len(order) if size == 1 else max(_FEWEST_TESTS, 2 * math.isqrt(len(order)) + 2)
    # The suspicion of a group below which its failure would say little.
    worth = _TRUE_ALARMS * rates.false_alarm / rates.recall
    most_alone = min(_count_alone(bad[order], room), int((bad[order] >= worth).sum()))
    left: list[int] = order.tolist()
    groups: list[list[int]] = []
    while left and len(groups) < most_alone:
        group = _add_partners(bad, left[:1], left[1:], size)
        if not group:
            break
        groups.append(group)
        left = left[1 : len(left) + 1 - len(group)]
    # Nodes that are clean enough together are not tested again.
    rising = order[::-1][tested[order[::-1]]]
    idle = set(rising[np.cumsum(bad[rising]) <= _IDLE_SHARE * (1 - CERTAINTY)].tolist())
    rest = [node for node in left if node not in idle]
    room -= len(groups)
    if rest and room > 0 and len(rest) < size:
        clean = [node for node in left if node in idle]
        groups.append(_add_partners(bad, rest, clean, size))
    elif rest and room > 0:
        wanted = _number_of_groups(len(rest), room)
        if worth:
            wanted = max(1, min(wanted, int(float(bad[rest].sum()) / worth)))
        if size == 1 and len(rest) <= room:
            wanted = len(rest)
        wanted = min(wanted, len(rest) // size, room)
        if wanted == 1 and not groups and posterior.nobody < 0.5:
            # A test of all suspects at once fails for sure: some of them tell something.
            groups = [_choose_half(bad, rest, size) or (rest if idle else [])]
        else:
            groups += _cut(bad, rest, wanted, size)
    found = [tuple(sorted(group)) for group in groups if group]
    return sorted(found, key=lambda one: (-round(float(bad[list(one)].max()), _DIGITS), one[0]))


def _count_alone(likely: F64, most: int) -> int:
    """How many of ``likely`` (falling) carry as much as a group of the rest would."""
    left = np.cumsum(likely[::-1])[::-1][:most]
    carries = likely[: len(left)] >= left / (most - np.arange(len(left))) * (1 - 1e-9)
    return len(carries) if carries.all() else int(np.argmin(carries))


def _add_partners(bad: F64, nodes: list[int], clean: list[int], size: int) -> list[int]:
    """``nodes`` with the last of ``clean`` (falling); empty where these are few or suspect."""
    needed = size - len(nodes)
    cleanest = clean[len(clean) - needed :]
    most = min(bad[nodes[0]], 1 - bad[nodes[0]])
    if len(clean) < needed or (needed and bad[cleanest[0]] * _CLEANER > most):
        return []
    return [*nodes, *cleanest]


def _number_of_groups(num_nodes: int, most: int) -> int:
    """The fewest groups that reach one node of ``num_nodes`` in as few rounds as ``most`` do."""
    if most < 2 or num_nodes < 2:
        return 1
    rounds = max(1, math.ceil(math.log(num_nodes) / math.log(most) - 1e-9))
    rounds = 2 if num_nodes <= most else rounds
    return max(2, math.ceil(math.pow(num_nodes, 1 / rounds) - 1e-9))


def _cut(bad: F64, rest: list[int], num_groups: int, size: int) -> Iterator[list[int]]:
    """``num_groups`` groups of ``size`` nodes or more and about the same suspicion, in order."""
    summed = np.cumsum(bad[rest])
    start, done = 0, 0.0
    for left in range(num_groups, 0, -1):
        goal = done + (float(summed[-1]) - done) / left
        fair = int(np.searchsorted(summed[start:], goal * (1 - 1e-12))) + 1
        end = len(rest) if left == 1 else start + fair
        end = min(max(end, start + size), len(rest) - (left - 1) * size)
        yield rest[start:end]
        start, done = end, float(summed[end - 1])


def _choose_half(bad: F64, rest: list[int], size: int) -> list[int]:
    """The first or the last of ``rest`` (falling) that hold a bad node half of the time."""
    sizes = np.arange(size, len(rest))
    if not len(sizes):
        return []
    good = [np.cumprod(1 - bad[side])[sizes - 1] for side in (rest, rest[::-1])]
    nearest = np.argmin(np.round(np.abs(np.stack(good, axis=1) - 0.5), _DIGITS))
    chosen = int(sizes[nearest // 2])
    return rest[-chosen:] if nearest % 2 else rest[:chosen]


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """The plan as plain values (``triage.test-plan/2``), with the answer so far.

    ``state`` is ``testing`` while groups are to be run; ``bad`` or ``clean`` where the bad nodes
    are named and all others good; else ``undecided``. ``suspects`` are the likeliest others above
    1 %, ``exclude`` is both, to leave out of jobs. ``others`` is the probability of a bad node
    beside ``bad_nodes``, ``nobody`` that no node is bad.
    """
    bad = plan.posterior.bad
    is_even = bool(np.ptp(bad) < 1e-9) and len(bad) > _LISTED
    likely = np.argsort(-np.round(bad, _DIGITS), kind="stable").tolist()
    worth = [] if is_even else [node for node in likely if bad[node] >= _WORTH_NAMING]
    suspects = [node for node in worth if node not in plan.bad_nodes]
    decided = ("bad" if plan.bad_nodes else "clean") if plan.is_decided else "undecided"

    def names(nodes: Iterable[int]) -> str:
        return format_host_list(plan.nodes[node] for node in nodes)

    def rows(nodes: Iterable[int]) -> list[dict[str, Any]]:
        return [{"node": plan.nodes[at], "probability": round(float(bad[at]), 4)} for at in nodes]

    of_weight: dict[float, list[int]] = {}
    for node, weight in enumerate(plan.weights):
        of_weight.setdefault(weight, []).append(node)
    return {
        "schema": _SCHEMA,
        "state": "testing" if plan.waiting else decided,
        "num_tests": len(plan.tests),
        "bad_nodes": rows(plan.bad_nodes),
        "suspects": rows(suspects[:_LISTED]),
        "num_suspects": len(suspects),
        "others": round(plan.others, 4),
        "nobody": round(plan.posterior.nobody, 4),
        "exclude": names(sorted([*plan.bad_nodes, *suspects])),
        "notes": list(_iterate_notes(plan)),
        "rounds": [
            [{"id": one.id, "nodelist": names(one.nodes), "outcome": one.outcome} for one in groups]
            for groups in plan.rounds
        ],
        "rates": asdict(plan.rates),
        "nodes": names(range(len(plan.nodes))),
        "suspicion": [{"nodes": names(of), "weight": weight} for weight, of in of_weight.items()],
    }


def _iterate_notes(plan: Plan) -> Iterator[str]:
    """What a reader must know before relying on the answer."""
    if not plan.posterior.exact:
        yield "so many failed groups share nodes that the probabilities are approximate"
    if plan.waiting:
        return
    failed = [group for group in plan.groups if group.outcome == "fail"]
    alarms = [one.id for one in failed if plan.posterior.bad[list(one.nodes)].sum() < 0.5]
    if alarms:
        yield (
            f"{', '.join(alarms[:_LISTED])} failed, and likely no node in it is bad: a false alarm,"
            " or a fault that needs these nodes together (a link, a switch, the size)"
        )
    if not plan.is_decided:
        yield "no further group tells more: add nodes that are known to be good as partners"


def plan_from_dict(facts: object) -> Plan:
    """The plan that :func:`plan_to_dict` wrote. Raises UsageError for anything else."""
    if not isinstance(facts, Mapping) or facts.get("schema") != _SCHEMA:
        raise UsageError(
            f"this is no test plan ({_SCHEMA}); one of an earlier release begins again"
        )
    try:
        nodes = expand(facts["nodes"])
        weights = {one: row["weight"] for row in facts["suspicion"] for one in expand(row["nodes"])}
        at = {name: place for place, name in enumerate(nodes)}
        return Plan(
            tuple(nodes),
            tuple(float(weights[name]) for name in nodes),
            TestRates(**facts["rates"]),
            tuple(tuple(_read_group(one, at) for one in groups) for groups in facts["rounds"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"the test plan cannot be read: {error}") from error


def _read_group(facts: Mapping[str, Any], at: Mapping[str, int]) -> Group:
    if facts["outcome"] not in {None, *OUTCOMES}:
        raise ValueError(f"outcome {facts['outcome']!r}")
    nodes = tuple(at[node] for node in expand(facts["nodelist"]))
    return Group(str(facts["id"]), nodes, facts["outcome"])
