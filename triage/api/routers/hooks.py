"""Hooks: how a failure, or a sign of one, reaches us."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body, make_reference
from triage.api.description.shapes import make_shape, select_keys
from triage.api.requests.body import JsonBody
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import parse_object, parse_value
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure, IgnoredField
from triage.services.hooks.alertmanager import read_alert_notices
from triage.services.hooks.cloudevents import BATCH, STRUCTURED, read_event_notices, read_events
from triage.services.hooks.job_failed import parse_failure
from triage.services.hooks.monitoring import HookOutcome, Notices, take_notices
from triage.services.incidents.announce import announce
from triage.services.notifications.subscribe import with_allowed_callback
from triage.store.views import IncidentView

routes = Routes("/v1/hooks", "hooks", Scope.INGEST)

_NAMED = ("id", "job_id", "cluster", "state")
_INCIDENT_NAMED = select_keys(
    "IncidentNamed",
    "An incident as a token without `read` is told of it; one with `read` gets all keys.",
    IncidentView,
    _NAMED,
)
_ANNOUNCED = make_shape(
    "Announced",
    _INCIDENT_NAMED,
    doc="The incident of a failure, and where to send its files.",
    incident=_INCIDENT_NAMED,
    upload_url=Annotated[str, "For bundles; relative, and names the incident."],
    ignored=Annotated[list[IgnoredField], "Fields that were left out; the failure counts."],
)
_OUTCOME = make_shape("HookOutcome", HookOutcome, incidents=list[_INCIDENT_NAMED])  # type: ignore[valid-type]
_EVENT = make_reference("CloudEvent")
_EVENTS = {
    STRUCTURED: _EVENT,
    BATCH: {"schema": {"type": "array", "maxItems": 10_000, "items": _EVENT["schema"]}},
}


@routes.post(
    "/job-failed",
    "A job has failed",
    {202: ("The incident, and where to send files.", _ANNOUNCED)},
    body=describe_json_body("JobFailed"),
    repeatable=True,
)
def job_failed(request: Request, body: JsonBody) -> Response:
    """Opens the incident of a failure, or finds the one that is there.

    The same (`cluster`, `job_id`, `attempt`, `failed_at`) is the same failure; without
    `failed_at` it is the job's unsettled incident. A field that cannot be read is left out and
    named in `ignored`.
    """
    state = get_state(request)

    def act(keeper: Keeper) -> Response:
        failure = replace(parse_failure(parse_object(body)), caller=get_caller(request))
        failure = with_allowed_callback(state.context, failure)

        def keep(session: Session, incident: IncidentView) -> None:
            keeper.answer(session, _answer_announced(incident, failure))

        return _answer_announced(announce(state.context, failure, also=keep), failure)

    return answer_once(request, body, act)


def _filter_for_caller(caller: Caller, view: IncidentView) -> dict[str, Any]:
    """An incident as far as a token may know it: one that only sends reads nothing."""
    incident = view.to_dict()
    return incident if caller.reads else {key: incident[key] for key in _NAMED}


def _answer_announced(view: IncidentView, failure: Failure) -> Response:
    incident = _filter_for_caller(failure.caller, view)
    where = f"incident={quote(view.id)}"
    upload_url = f"/v1/jobs/{quote(view.job_id, safe='')}/bundle?{where}"
    # The incident's own keys stand beside it too: `curl | jq .id` needs no path.
    return make_json_response(
        {
            **incident,
            "incident": incident,
            "upload_url": upload_url,
            "ignored": [one.to_dict() for one in failure.ignored],
        },
        202,
        {"Location": f"/v1/incidents/{quote(view.id)}"},
    )


@routes.post(
    "/alertmanager",
    "Alerts of Alertmanager or Grafana",
    {202: ("What became of each alert.", _OUTCOME)},
    body=describe_json_body("Alerts"),
    repeatable=True,
)
def alertmanager(request: Request, body: JsonBody) -> Response:
    """An alert that a job failed opens its incident; another alert on a node is a line of that
    node's log, in incidents of a day before and after it. Resolved alerts are kept out.
    """
    return _answer_hook(request, body, lambda: read_alert_notices(parse_object(body)))


@routes.post(
    "/cloudevents",
    "CloudEvents 1.0, such as NVSentinel's health events",
    {202: ("What became of each event.", _OUTCOME)},
    body=describe_json_body("CloudEvent", _EVENTS),
    repeatable=True,
)
def cloudevents(request: Request, body: JsonBody) -> Response:
    """Structured, batched, or with the context in `ce-` headers. A health event on a node is a
    file of incidents there that open within a day before or after it; other types are kept out.
    """
    content_type = request.headers.get("content-type", "")
    headers = dict(request.headers)

    def notices() -> Notices:
        all_notices = Notices()
        events = read_events(content_type, headers, lambda: parse_value(body))
        all_notices.extend([read_event_notices(event) for event in events])
        return all_notices

    return _answer_hook(request, body, notices)


def _answer_hook(request: Request, body: bytes, read: Callable[[], Notices]) -> Response:
    # The same notice again changes nothing.
    def act(_keeper: Keeper) -> Response:
        caller = get_caller(request)
        outcome = take_notices(get_state(request).context, read(), caller)
        incidents = [_filter_for_caller(caller, one) for one in outcome.incidents]
        return make_json_response({**outcome.to_dict(), "incidents": incidents}, 202)

    return answer_once(request, body, act)
