"""The JSON of a test plan, ``triage.test-plan/1``: what a state file holds, with the answer so far.

The plan itself is ``nodes``, ``suspicion``, ``options`` and ``rounds``; all else follows from it
and is worked out again when it is read back.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from itertools import count
from typing import Any, Final

import numpy as np

from triage.domain.hosts import expand, host_list
from triage.errors import UsageError
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.plan import GroupOutcome, IsolationPlan, PlannedGroup

__all__ = ["plan_from_dict", "plan_to_dict"]

SCHEMA: Final = "triage.test-plan/1"
OPTIONS: Final = {field.name for field in fields(IsolationOptions)}
LISTED: Final = 10
WORTH_NAMING: Final = 0.01
UNLIKELY: Final = 0.5
Facts = dict[str, Any]


def plan_to_dict(plan: IsolationPlan) -> Facts:
    """The plan as plain values, with the answer so far; node names as host lists.

    ``state`` is ``testing`` while groups are to be run; ``bad`` or ``clean`` where the bad nodes
    are named and all others good with the certainty asked for; else ``undecided``. ``suspects``
    are the likeliest others above 1 %, ``exclude`` is both, to leave out of jobs. ``others`` is
    the probability of a bad node beside ``bad_nodes``, ``nobody`` that no node is bad.
    """
    bad = plan.posterior.bad
    order = np.lexsort((np.arange(len(bad)), -np.round(bad, 9))).tolist()
    even = bool(np.ptp(bad) < 1e-9) and len(bad) > LISTED
    likely = [node for node in order if bad[node] >= WORTH_NAMING and node not in plan.bad_nodes]
    suspects = [] if even else likely
    decided = ("bad" if plan.bad_nodes else "clean") if plan.decided else "undecided"

    def names(nodes: Iterable[int]) -> str:
        return host_list(plan.nodes[node] for node in nodes)

    def row(node: int) -> Facts:
        tests = [test for test in plan.tests if node in test.members]
        counts = {"num_tests": len(tests), "num_failed": sum(test.failed for test in tests)}
        return {"node": plan.nodes[node], "probability": round(float(bad[node]), 4), **counts}

    of_weight: dict[float, list[int]] = {}
    for node, weight in enumerate(plan.weights):
        of_weight.setdefault(weight, []).append(node)
    return {
        "schema": SCHEMA,
        "state": "testing" if plan.waiting else decided,
        "num_nodes": len(plan.nodes),
        "num_rounds": len(plan.rounds),
        "num_tests": len(plan.tests),
        "bad_nodes": [row(node) for node in plan.bad_nodes],
        "suspects": [row(node) for node in suspects[:LISTED]],
        "num_suspects": len(suspects),
        "others": round(plan.others, 4),
        "nobody": round(plan.posterior.nobody, 4),
        "exclude": names(sorted([*plan.bad_nodes, *suspects])),
        "notes": list(notes_of(plan)),
        "rounds": [
            [
                {
                    "id": group.id,
                    "num_nodes": len(group.nodes),
                    "nodelist": names(group.nodes),
                    "outcome": group.outcome and str(group.outcome),
                    "suspicion": round(min(1.0, float(bad[list(group.nodes)].sum())), 4),
                }
                for group in groups
            ]
            for groups in plan.rounds
        ],
        "options": asdict(plan.options),
        "nodes": names(range(len(plan.nodes))),
        "suspicion": [{"nodes": names(of), "weight": weight} for weight, of in of_weight.items()],
    }


def notes_of(plan: IsolationPlan) -> Iterator[str]:
    """What a reader must know before relying on the answer."""
    if not plan.posterior.exact:
        yield "so many failed groups share nodes that the probabilities are approximate"
    if plan.waiting:
        return
    tested = {node for test in plan.tests for node in test.members.tolist()}
    suspected = {node for node, weight in enumerate(plan.weights) if weight}
    if tested and (untested := sorted(suspected - tested)):
        names = host_list(plan.nodes[node] for node in untested)
        yield f"{names}: in no test, so as likely bad as was expected before"
    alarms = [
        group.id
        for group in plan.groups
        if group.outcome is GroupOutcome.FAIL
        and plan.posterior.bad[list(group.nodes)].sum() < UNLIKELY
    ]
    if alarms:
        yield (
            f"{', '.join(alarms[:LISTED])} failed, and likely no node in it is bad: a false alarm,"
            " or a fault that needs these nodes together (a link, a switch, the size)"
        )
    if not plan.decided:
        yield (
            "no further group of the allowed sizes tells more: add nodes that are known to be"
            " good as partners, or allow other groups"
        )


def plan_from_dict(facts: object) -> IsolationPlan:
    """The plan that :func:`plan_to_dict` wrote. Raises UsageError for anything else."""
    if not isinstance(facts, Mapping) or facts.get("schema") != SCHEMA:
        raise UsageError(f"this is no test plan ({SCHEMA})")
    if facts.get("places") or facts.get("away"):
        raise UsageError("a plan with places or with nodes away is of release 0.2: begin again")
    try:
        nodes = expand(facts["nodes"])
        of_node = {
            name: row["weight"] for row in facts["suspicion"] for name in expand(row["nodes"])
        }
        at = {name: place for place, name in enumerate(nodes)}
        number = count(1)
        return IsolationPlan(
            tuple(nodes),
            tuple(float(of_node[name]) for name in nodes),
            IsolationOptions(**{name: facts["options"][name] for name in OPTIONS}),
            tuple(
                tuple(group_in(group, at, f"g{next(number)}") for group in groups)
                for groups in facts["rounds"]
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"the test plan cannot be read: {error}") from error


def group_in(group: Mapping[str, Any], at: Mapping[str, int], name: str) -> PlannedGroup:
    missing = set(expand(group.get("missing", "")))  # plans of 0.2 list them
    nodes = tuple(at[node] for node in expand(group["nodelist"]) if node not in missing)
    outcome = group["outcome"]
    return PlannedGroup(name, nodes, None if outcome is None else GroupOutcome(outcome))
