"""Shapes of test plans: a plan with its rounds, and its head in a list."""

from typing import Annotated, Any, Final, TypedDict

from triage.api.description.shapes import shape
from triage.domain.wire import Count, Keywords, SentAs, Share, Time, iso_utc
from triage.fleet.isolation.answer import IsolationAnswer, PlanState
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.plan import GroupOutcome
from triage.fleet.store.test_plans import StoredPlan

__all__ = ["PLAN", "PLAN_HEAD", "head_of", "plan_facts"]


class TestGroup(TypedDict):
    """Nodes to test together. ``suspicion`` is how likely a bad node is among them."""

    id: str
    num_nodes: Count
    nodelist: Annotated[str, "Host list, as `srun --nodelist` takes it."]
    outcome: Annotated[str | None, SentAs(GroupOutcome | None), "Null until it was run."]
    missing: Annotated[str, "Nodes of it that took no part."]
    suspicion: Share


OF_A_ROW: Final[dict[str, Any]] = {
    "id": str,
    "cluster": Annotated[str, "Empty where nobody named one."],
    "incident_id": str | None,
    "created_at": Time,
    "updated_at": Time,
    "version": Annotated[int, "Grows with each change.", Keywords(minimum=1)],
}
PLAN: Final = shape(
    "IsolationPlan",
    IsolationAnswer,
    doc="`triage.test-plan/1`: rounds of groups to test, their results, and the answer so far.",
    **OF_A_ROW,
    schema=str,
    rounds=list[list[TestGroup]],
    options=IsolationOptions,
    nodes=Annotated[str, "Host list."],
    away=Annotated[str, "Nodes that cannot be tested now."],
    suspicion=Annotated[list[dict[str, Any]], "Prior weights: `nodes` and `weight`."],
    places=Annotated[dict[str, Any] | None, "`kind`, `rule`, and `of`: `nodes` and `place`."],
)
PLAN_HEAD: Final = shape(
    "IsolationPlanHead",
    doc="How a test plan stands, without its groups.",
    **OF_A_ROW,
    state=PlanState,
    num_nodes=Count,
    num_rounds=Count,
    bad_nodes=Annotated[list[str], "Bad by the certainty asked for."],
)


def plan_facts(plan: StoredPlan) -> dict[str, Any]:
    """The whole plan."""
    return {**row_facts(plan), **plan.body}


def head_of(plan: StoredPlan) -> dict[str, Any]:
    """The plan without its groups."""
    body = plan.body
    return {
        **row_facts(plan),
        **{key: body[key] for key in ("state", "num_nodes", "num_rounds")},
        "bad_nodes": [row["node"] for row in body["bad_nodes"]],
    }


def row_facts(plan: StoredPlan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "cluster": plan.cluster,
        "incident_id": plan.incident_id,
        "created_at": iso_utc(plan.created_at),
        "updated_at": iso_utc(plan.updated_at),
        "version": plan.version,
    }
