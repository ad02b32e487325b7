"""The wire form of a test plan, ``triage.test-plan/1``: what a state file and the service keep.

The plan itself is ``nodes``, ``suspicion``, ``places``, ``options`` and ``rounds``; all else
follows from it and is worked out again when it is read back.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from triage.domain.hosts import expand, host_list
from triage.errors import UsageError
from triage.fleet.isolation.answer import answer_of
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.plan import (
    GroupOutcome,
    IsolationPlan,
    NodePlaces,
    PlannedGroup,
    check_nodes,
)

__all__ = ["SCHEMA", "options_from", "plan_from_dict", "plan_to_dict"]

SCHEMA: Final = "triage.test-plan/1"
KINDS: Final = ("rack", "leaf")
GROUP: Final = re.compile(r"g[1-9][0-9]{0,8}", re.ASCII)
WHOLE: Final = ("min_size", "max_size", "max_tests", "max_rounds")

Value = TypeVar("Value")
Facts = dict[str, Any]


def plan_to_dict(plan: IsolationPlan) -> Facts:
    """The plan as plain values, with the answer so far; node names as host lists."""
    places = plan.places
    return {
        "schema": SCHEMA,
        **answer_of(plan).to_dict(),
        "rounds": [[group_to_dict(plan, group) for group in groups] for groups in plan.rounds],
        "options": plan.options.to_dict(),
        "nodes": host_list(plan.nodes),
        "away": host_list(named(plan, plan.away)),
        "suspicion": runs_of(plan.nodes, plan.weights, "weight"),
        "places": None
        if places is None
        else {
            "kind": places.kind,
            "rule": str(places.rule),
            "of": runs_of(plan.nodes, places.of_node, "place"),
        },
    }


def group_to_dict(plan: IsolationPlan, group: PlannedGroup) -> Facts:
    chance = float(min(1.0, plan.posterior.bad[list(group.took_part)].sum()))
    return {
        "id": group.id,
        "num_nodes": len(group.nodes),
        "nodelist": host_list(named(plan, group.nodes)),
        "outcome": None if group.outcome is None else str(group.outcome),
        "missing": host_list(named(plan, group.missing)),
        "suspicion": round(chance, 4),
    }


def named(plan: IsolationPlan, indices: Iterable[int]) -> list[str]:
    return [plan.nodes[at] for at in indices]


def runs_of(nodes: Sequence[str], values: Sequence[object], key: str) -> list[Facts]:
    """Nodes of one value after each other as one row."""
    rows: list[Facts] = []
    start = 0
    for end in range(1, len(nodes) + 1):
        if end == len(nodes) or values[end] != values[start]:
            rows.append({"nodes": host_list(nodes[start:end]), key: values[start]})
            start = end
    return rows


def plan_from_dict(facts: object) -> IsolationPlan:
    """The plan that :func:`plan_to_dict` wrote. Raises UsageError for anything else."""
    if not isinstance(facts, Mapping) or facts.get("schema") != SCHEMA:
        raise UsageError(f"this is no test plan ({SCHEMA})")
    try:
        return read(facts)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"the test plan cannot be read: {error}") from error


def read(facts: Mapping[str, Any]) -> IsolationPlan:
    nodes = tuple(expand(facts["nodes"]))
    at = {name: place for place, name in enumerate(nodes)}
    places = facts["places"]
    empty = IsolationPlan(
        nodes=nodes,
        weights=tuple(map(float, values_of(facts["suspicion"], "weight", nodes))),
        options=options_from(facts["options"]),
        places=None
        if places is None
        else NodePlaces(
            places["kind"], PlaceRule(places["rule"]), values_of(places["of"], "place", nodes)
        ),
        away=indices(facts["away"], at),
    )
    check_nodes(empty.nodes, empty.weights, empty.places)
    if empty.places and empty.places.kind not in KINDS:
        raise ValueError(f"{empty.places.kind!r} is no kind of place")
    rounds = tuple(tuple(group_from(group, at) for group in groups) for groups in facts["rounds"])
    ids = [group.id for groups in rounds for group in groups]
    if len(set(ids)) < len(ids):
        raise ValueError("a group is there twice")
    for groups in rounds:
        inside = [node for group in groups for node in group.nodes]
        if len(set(inside)) < len(inside):
            raise ValueError("a node is in two groups of a round")
    return IsolationPlan(
        empty.nodes, empty.weights, empty.options, empty.places, empty.away, rounds
    )


def options_from(facts: Mapping[str, Any]) -> IsolationOptions:
    """Options by their names. Raises UsageError."""
    known = {field.name for field in fields(IsolationOptions)}
    if foreign := set(facts) - known:
        raise UsageError(f"no option of a test plan: {', '.join(sorted(map(str, foreign)))}")
    for name, value in facts.items():
        kinds = (int,) if name in WHOLE else (int, float)
        if isinstance(value, bool) or not (value is None or isinstance(value, kinds)):
            raise UsageError(f"{name} is no number of the kind wanted")
    try:
        return IsolationOptions(**facts)
    except TypeError as error:
        raise UsageError("an option that has no value is left out") from error


def values_of(rows: Iterable[Mapping[str, Any]], key: str, nodes: Sequence[str]) -> tuple[Any, ...]:
    of = {name: row[key] for row in rows for name in expand(row["nodes"])}
    return tuple(of[name] for name in nodes)


def indices(text: str, at: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(at[name] for name in expand(text))


def group_from(group: Mapping[str, Any], at: Mapping[str, int]) -> PlannedGroup:
    outcome = group["outcome"]
    nodes = indices(group["nodelist"], at)
    missing = indices(group["missing"], at)
    if GROUP.fullmatch(group["id"]) is None:
        raise ValueError("a group has no id like g7")
    if not nodes or not set(missing) <= set(nodes):
        raise ValueError(f"the group {group['id']!r} has no such nodes")
    return PlannedGroup(
        group["id"], nodes, None if outcome is None else GroupOutcome(outcome), missing
    )
