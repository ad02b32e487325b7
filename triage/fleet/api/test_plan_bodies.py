"""What requests say of test plans: with what one begins, and how its groups went."""

from typing import Any, Final

from triage.api.requests.shapes import flag_in, only, text_in
from triage.api.requests.values import one_id, one_name
from triage.errors import Place, Unprocessable, UsageError
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.plan import GroupOutcome
from triage.fleet.isolation.wire import options_from
from triage.fleet.services.isolation.plans import GroupResults, PlanWish

__all__ = ["KINDS", "results_in", "wish_in"]

KINDS: Final = ("rack", "leaf")
BEGINS: Final = (
    "nodes", "good", "away", "incident_id", "cluster", "within", "across", "options",
)  # fmt: skip
RESULTS: Final = ("results", "missing", "away", "check", "next", "correct")
Body = dict[str, Any]


def wish_in(body: Body) -> PlanWish:
    """What a plan begins with. Raises :class:`Unprocessable`."""
    only(body, BEGINS, ())
    within, across = text_in(body, "within"), text_in(body, "across")
    if within is not None and across is not None:
        raise wrong("within", "give within or across, and not both")
    kind = within or across or KINDS[0]
    if kind not in KINDS:
        raise wrong("within" if within else "across", f"must be one of {', '.join(KINDS)}")
    incident = text_in(body, "incident_id")
    cluster = text_in(body, "cluster")
    return PlanWish(
        nodes=text_in(body, "nodes") or "",
        good=text_in(body, "good") or "",
        away=text_in(body, "away") or "",
        incident_id=None if incident is None else one_id(incident, "incident", ""),
        cluster=None if cluster is None else one_name(cluster, "body/cluster"),
        rule=PlaceRule.WITHIN if within else PlaceRule.ACROSS if across else None,
        kind=kind,
        options=chosen(body.get("options")),
    )


def chosen(value: object) -> IsolationOptions:
    if value is None:
        return IsolationOptions()
    if not isinstance(value, dict):
        raise wrong("options", "must be an object")
    try:
        return options_from(value)
    except UsageError as error:
        raise wrong("options", str(error)) from error


def results_in(body: Body) -> GroupResults:
    """How groups went. Raises :class:`Unprocessable`."""
    only(body, RESULTS, ())
    outcome_of = body.get("results")
    if not (outcome_of is None or isinstance(outcome_of, dict)):
        raise wrong("results", "must be an object of groups")
    outcomes: dict[str, GroupOutcome] = {}
    for group, outcome in (outcome_of or {}).items():
        if not isinstance(outcome, str) or outcome not in set(GroupOutcome):
            raise wrong(f"results/{group[:80]}", "must be pass, fail or not_run")
        outcomes[group] = GroupOutcome(outcome)
    check = text_in(body, "check")
    return GroupResults(
        outcomes,
        missing=text_in(body, "missing") or "",
        away=text_in(body, "away"),
        check=None if check is None else one_name(check, "body/check"),
        go_on=flag_in(body, "next"),
        correct=flag_in(body, "correct"),
    )


def wrong(key: str, why: str) -> Unprocessable:
    return Unprocessable(
        f"{key}: {why}", hint="/docs shows what the body holds", places=(Place(f"body/{key}", why),)
    )
