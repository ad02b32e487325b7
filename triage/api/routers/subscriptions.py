"""Subscriptions: who is told, what was sent, and sending it once more."""

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_actor
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body
from triage.api.description.shapes import make_shape, page
from triage.api.requests.body import JsonBody
from triage.api.requests.cursors import Paged, parse_time_cursor
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import check_keys, get_text, get_texts, parse_object
from triage.api.requests.values import check_id
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import NotFound
from triage.notify.message import Event
from triage.notify.message import Kind as ReceiverKind
from triage.notify.registry import validate
from triage.services.notifications.subscribe import (
    resend,
    subscribe,
    unsubscribe,
)
from triage.store.messages import deliveries, subscriptions
from triage.store.views import DeliveryView, SubscriptionView

routes = Routes("/v1", "subscriptions", Scope.ADMIN)

_LISTED = "GET /v1/subscriptions lists them"
_SUBSCRIPTION = make_shape(
    "Subscription",
    SubscriptionView,
    doc="One receiver.",
    kind=ReceiverKind,
    events=list[Event],
)
_NEW_SUBSCRIPTION = make_shape(
    "NewSubscription",
    _SUBSCRIPTION,
    doc="One receiver that was just made; the secret is shown only here.",
    secret=str | None,
)


@routes.post(
    "/subscriptions",
    "Subscribe a receiver",
    {201: ("The receiver, with its secret.", _NEW_SUBSCRIPTION)},
    body=describe_json_body("SubscriptionRequest"),
    repeatable=True,
)
def add_subscription(request: Request, body: JsonBody) -> Response:
    """The secret that signs its messages is shown in this answer and never again."""
    ctx = get_state(request).context

    def act(keeper: Keeper) -> Response:
        asked = parse_object(body)
        check_keys(asked, ("kind", "url", "routing_key", "secret", "events"), ("kind",))
        kind, url, routing_key, secret = (
            get_text(asked, name) for name in ("kind", "url", "routing_key", "secret")
        )
        events = get_texts(asked, "events")
        made = subscribe(
            ctx,
            validate(kind or "", url, routing_key),
            secret,
            events,
            get_actor(request),
            also=lambda session, made: keeper.made(session, 201, made.id),
        )
        shown = {**made.to_dict(), "secret": made.secrets[0] if made.secrets else None}
        return make_json_response(shown, 201, {"Location": "/v1/subscriptions"})

    return answer_once(request, body, act)


@routes.get("/subscriptions", "List receivers", ("Oldest first.", page(_SUBSCRIPTION, "receivers")))
def list_subscriptions(request: Request, paging: Paged) -> Response:
    """Receivers, without their secrets; callbacks of one incident are among them."""
    with get_state(request).context.database.reading() as session:
        rows = subscriptions.list_subscriptions(
            session, after=parse_time_cursor("subscriptions", paging.cursor), limit=paging.num_rows
        )
    return paging.answer("subscriptions", rows)


@routes.delete("/subscriptions/{id}", "Unsubscribe a receiver", "Gone.", refuses=(404, 507))
def remove_subscription(request: Request, id: str) -> Response:  # noqa: A002
    """What was not sent yet is dropped."""
    unsubscribe(
        get_state(request).context, check_id(id, "subscription", _LISTED), get_actor(request)
    )
    return Response(status_code=204)


@routes.get(
    "/subscriptions/{id}/deliveries",
    "List messages to a receiver",
    ("Newest first.", page(DeliveryView, "messages")),
    refuses=(404,),
)
def list_deliveries(
    request: Request,
    id: str,  # noqa: A002
    paging: Paged,
) -> Response:
    """Each message with its state, its tries and what the receiver answered."""
    subscription_id = check_id(id, "subscription", _LISTED)
    with get_state(request).context.database.reading() as session:
        if subscriptions.find(session, subscription_id) is None:
            raise NotFound("there is no such subscription", hint=_LISTED)
        rows = deliveries.list_by_subscription(
            session,
            subscription_id,
            before=parse_time_cursor("deliveries", paging.cursor),
            limit=paging.num_rows,
        )
    return paging.answer("deliveries", rows)


@routes.post(
    "/deliveries/{id}/resend",
    "Send a message once more",
    {202: ("It will be sent at once.", DeliveryView)},
    repeatable=True,
    refuses=(404, 507),
)
def resend_delivery(request: Request, id: str) -> Response:  # noqa: A002
    """The same bytes under the same `webhook-id`."""
    delivery_id = check_id(id, "delivery", "GET /v1/subscriptions/{id}/deliveries lists them")

    def act(keeper: Keeper) -> Response:
        def keep(session: Session, delivery: DeliveryView) -> None:
            keeper.answer(session, make_json_response(delivery.to_dict(), 202))

        ctx = get_state(request).context
        return make_json_response(
            resend(ctx, delivery_id, get_actor(request), also=keep).to_dict(), 202
        )

    return answer_once(request, b"", act)
