"""Test plans that are kept: begun from an incident or a host list, and given results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson
from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.answer_wire import answer_from_bytes
from triage.domain.caller import Caller
from triage.domain.hosts import expand
from triage.domain.report import Answer
from triage.domain.standing import Grade, Standing
from triage.errors import Conflict, NotFound, Place, Unprocessable, UsageError
from triage.fleet.isolation.candidates import candidates_of
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.plan import (
    GroupOutcome,
    IsolationPlan,
    NodePlaces,
    new_plan,
    with_next_round,
    with_results,
)
from triage.fleet.isolation.wire import plan_from_dict, plan_to_dict
from triage.fleet.services.isolation.check_results import outcomes_by_checks
from triage.fleet.services.standings.cache import kept_standings
from triage.fleet.store import test_plans
from triage.fleet.store.test_plans import StoredPlan
from triage.services.context import Context
from triage.store import jobs
from triage.store.access import audit
from triage.store.incidents import facts, incidents, revisions

__all__ = ["GroupResults", "PlanWish", "begin_plan", "enter_results", "find_plan"]

MOST_TIMES: Final = 10.0
"""A node that failed more often than others before is so many times as suspect at most."""
TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class PlanWish:
    """What a plan begins with; host lists are text. ``kind`` is rack or leaf, with a ``rule``."""

    nodes: str = ""
    good: str = ""
    away: str = ""
    incident_id: str | None = None
    cluster: str | None = None
    rule: PlaceRule | None = None
    kind: str = "leaf"
    options: IsolationOptions = field(default_factory=IsolationOptions)


@dataclass(frozen=True, slots=True)
class GroupResults:
    """Results by group; ``missing`` and ``away`` are host lists, ``check`` the name of a check
    whose results count for groups that have none here.
    """

    outcomes: Mapping[str, GroupOutcome] = field(default_factory=dict)
    missing: str = ""
    away: str | None = None
    check: str | None = None
    go_on: bool = False
    correct: bool = False


def begin_plan(ctx: Context, wish: PlanWish, caller: Caller, actor: str) -> StoredPlan:
    """Make a plan with its first round, and keep it.

    Raises :class:`NotFound` for an incident or a cluster that the caller does not reach,
    :class:`Conflict` for an incident without an answer, and :class:`Unprocessable`.
    """
    now = utc_now()
    with ctx.database.reading() as session:
        cluster, named, answer = known_of(session, wish, caller)
        places = {} if wish.rule is None else test_plans.places_of(session, cluster, wish.kind)
    weights = weights_of(ctx, wish, cluster, named, answer)
    rule = wish.rule
    try:
        plan = new_plan(
            list(weights),
            list(weights.values()),
            wish.options,
            None if rule is None else NodePlaces(wish.kind, rule, tuple(map(places.get, weights))),
            hosts(wish.away, "away"),
        )
    except UsageError as error:
        raise wrong("nodes", str(error)) from error
    body = plan_to_dict(plan)
    with ctx.database.writing() as session:
        cluster_id = jobs.cluster_key(session, cluster or "")
        plan_id = test_plans.add(session, cluster_id, wish.incident_id, body, now, caller.key_id)
        audit.note(session, actor, "begin test plan", plan_id, now, {"num_nodes": len(weights)})
    return StoredPlan(plan_id, cluster or "", wish.incident_id, now, now, 1, body)


def known_of(
    session: Session, wish: PlanWish, caller: Caller
) -> tuple[str | None, list[str], Answer | None]:
    """The cluster, the nodes of the job, and the answer of the incident."""
    if wish.incident_id is None:
        return caller.asks(wish.cluster), [], None
    incident = incidents.find(session, wish.incident_id)
    if incident is None or not caller.sees(incident.cluster):
        raise NotFound("there is no such incident", hint="GET /v1/incidents lists them")
    revision = revisions.newest(session, incident.id)
    if revision is None:
        raise Conflict("the incident has no answer yet", hint="wait for its verdict")
    told = orjson.loads(facts.facts_json(session, incident.id)).get("nodes")
    nodes = [name for name in told if isinstance(name, str)] if isinstance(told, list) else []
    # Without facts of the job, the ranks of the answer tell its nodes.
    answer = revision.reported() if nodes else answer_from_bytes(revision.answer)
    return incident.cluster, nodes, answer


def weights_of(
    ctx: Context, wish: PlanWish, cluster: str | None, named: list[str], answer: Answer | None
) -> dict[str, float]:
    """The suspicion of each node: by the evidence, times how often it failed before."""
    nodes = [*named, *hosts(wish.nodes, "nodes")]
    weights = dict.fromkeys(nodes, 1.0) if answer is None else candidates_of(answer, nodes)
    if not weights:
        raise wrong("nodes", "no node is named", "list the nodes of the job")
    for standing in kept_standings(ctx, cluster).nodes:
        if standing.node in weights:
            weights[standing.node] *= times_as_likely(standing)
    return weights | dict.fromkeys(hosts(wish.good, "good"), 0.0)


def times_as_likely(standing: Standing) -> float:
    """How many times as often as others the node fails: by its grade, or since it came back."""
    times = [1.0]
    if standing.grade in {Grade.LEMON, Grade.WATCH}:
        times.append(standing.score or 1.0)
    if (back := standing.probation) is not None and back.usual_7 > 0:
        times.append(back.next_7 / back.usual_7)
    return min(MOST_TIMES, max(times))


def find_plan(session: Session, plan_id: str, caller: Caller) -> StoredPlan:
    """The plan, where the caller reaches its cluster. Raises :class:`NotFound`."""
    found = test_plans.find(session, plan_id)
    if found is None or not caller.sees(found.cluster or None):
        raise NotFound("there is no such test plan", hint="GET /v1/fleet/test-plans lists them")
    return found


def enter_results(
    ctx: Context, plan_id: str, results: GroupResults, caller: Caller, actor: str
) -> StoredPlan:
    """The plan with results, and with its next round once all groups have one.

    Raises :class:`NotFound`, :class:`Unprocessable` for results that cannot be, and
    :class:`Conflict` where others change the plan all the time.
    """
    for _ in range(TRIES):
        now = utc_now()
        with ctx.database.reading() as session:
            found = find_plan(session, plan_id, caller)
            plan = plan_from_dict(found.body)
            outcomes = dict(results.outcomes)
            if results.check:
                waiting = [group for group in plan.waiting if group.id not in outcomes]
                outcomes |= outcomes_by_checks(
                    session, plan, waiting, results.check, found.updated_at, found.cluster
                )
        body = plan_to_dict(gone_on(plan, results, outcomes))
        if body == found.body:
            return found
        with ctx.database.writing() as session:
            if test_plans.replace(session, plan_id, found.version, body, now):
                audit.note(
                    session, actor, "enter test results", plan_id, now, {"groups": len(outcomes)}
                )
                return StoredPlan(
                    plan_id, found.cluster, found.incident_id, found.created_at, now,
                    found.version + 1, body,
                )  # fmt: skip
    raise Conflict("others enter results at the same time", hint="read the plan, and try again")


def gone_on(
    plan: IsolationPlan, results: GroupResults, outcomes: Mapping[str, GroupOutcome]
) -> IsolationPlan:
    """The plan with results; with the next round where the last one is complete."""
    was_waiting = bool(plan.waiting)
    away = None if results.away is None else hosts(results.away, "away")
    try:
        plan = with_results(
            plan, outcomes, hosts(results.missing, "missing"), correct=results.correct
        )
        if results.go_on or (not plan.waiting and (was_waiting or outcomes)):
            plan = with_next_round(plan, away)
    except UsageError as error:
        raise wrong("results", str(error)) from error
    return plan


def hosts(text: str, key: str) -> Sequence[str]:
    try:
        return expand(text)
    except ValueError as error:
        raise wrong(key, str(error)) from error


def wrong(
    key: str, why: str, hint: str = "docs/test-groups.md says what a plan takes"
) -> Unprocessable:
    return Unprocessable(why, hint=hint, places=(Place(f"body/{key}", why),))
