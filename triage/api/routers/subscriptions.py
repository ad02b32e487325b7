"""Subscriptions: who is told, what was sent, and sending it once more."""

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, actor_of, admitted
from triage.api.answers.json import as_json, page
from triage.api.description.described import answers, json_body, scoped
from triage.api.description.schemas import Delivery, DeliveryPage, NewSubscription, SubscriptionPage
from triage.api.requests.body import read_whole
from triage.api.requests.cursors import after_time, time_cursor
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.shapes import only, text_in, texts_in
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import Cursor, Limit, known_query, one_id
from triage.api.state import state_of
from triage.errors import NotFound
from triage.services.notifications.subscribe import resend, subscribe, unsubscribe
from triage.store.messages import deliveries, subscriptions
from triage.store.views import DeliveryView

__all__ = ["router"]

router = APIRouter(
    prefix="/v1", tags=["subscriptions"], dependencies=[Depends(admitted(Scope.ADMIN))]
)

LISTED = "GET /v1/subscriptions lists them"


@router.post(
    "/subscriptions",
    status_code=201,
    summary="Subscribe a receiver",
    dependencies=[Depends(known_query())],
    responses=answers(
        400, 401, 403, 408, 409, 413, 415, 422, 429, 507,
        ok={201: ("The receiver, with its secret.", NewSubscription)},
    ),
    openapi_extra=scoped(
        Scope.ADMIN,
        json_body(
            "SubscriptionRequest",
            {"generic": {"kind": "generic", "url": "https://hooks.example.com/triage"}},
        ),
        repeatable=True,
    ),
)  # fmt: skip
async def add_subscription(request: Request) -> Response:
    """The secret that signs its messages is shown in this answer and never again."""
    ctx = state_of(request).context
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def act(keeper: Keeper) -> Response:
        asked = object_from(body)
        only(asked, ("kind", "url", "routing_key", "secret", "events"), ("kind",))
        made = subscribe(
            ctx,
            text_in(asked, "kind") or "",
            text_in(asked, "url"),
            text_in(asked, "routing_key"),
            text_in(asked, "secret"),
            texts_in(asked, "events"),
            actor_of(request),
            also=lambda session, made: keeper.made(session, 201, made.id),
        )
        shown = {**made.to_dict(), "secret": made.secrets[0] if made.secrets else None}
        return as_json(shown, 201, {"Location": "/v1/subscriptions"})

    return await to_thread.run_sync(once, request, body, act)


@router.get(
    "/subscriptions",
    summary="List receivers",
    dependencies=[Depends(known_query("cursor", "limit"))],
    responses=answers(401, 403, 422, 429, ok={200: ("Oldest first.", SubscriptionPage)}),
    openapi_extra=scoped(Scope.ADMIN),
)
def list_subscriptions(
    request: Request,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Receivers, without their secrets."""
    seen = after_time("subscriptions", cursor)
    with state_of(request).context.database.reading() as session:
        found = sorted(subscriptions.listing(session), key=lambda one: (one.created_at, one.id))
    rest = [one for one in found if seen is None or (one.created_at, one.id) > seen]
    rows = rest[:limit]
    more = time_cursor("subscriptions", rows[-1].created_at, rows[-1].id) if rest[limit:] else None
    return page(request, [row.to_dict() for row in rows], more)


@router.delete(
    "/subscriptions/{id}",
    status_code=204,
    summary="Unsubscribe a receiver",
    dependencies=[Depends(known_query())],
    responses=answers(401, 403, 404, 422, 429, 507, ok={204: ("Gone.", None)}),
    openapi_extra=scoped(Scope.ADMIN),
)
def remove_subscription(request: Request, id: str) -> Response:  # noqa: A002
    """What was not sent yet is dropped."""
    unsubscribe(state_of(request).context, one_id(id, "subscription", LISTED), actor_of(request))
    return Response(status_code=204)


@router.get(
    "/subscriptions/{id}/deliveries",
    summary="List messages to a receiver",
    dependencies=[Depends(known_query("cursor", "limit"))],
    responses=answers(401, 403, 404, 422, 429, ok={200: ("Newest first.", DeliveryPage)}),
    openapi_extra=scoped(Scope.ADMIN),
)
def list_deliveries(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Each message with its state, its tries and what the receiver answered."""
    subscription_id = one_id(id, "subscription", LISTED)
    before = after_time("deliveries", cursor)
    with state_of(request).context.database.reading() as session:
        if subscriptions.find(session, subscription_id) is None:
            raise NotFound("there is no such subscription", hint=LISTED)
        found = deliveries.of_subscription(session, subscription_id, before=before, limit=limit + 1)
    rows = found[:limit]
    more = time_cursor("deliveries", rows[-1].created_at, rows[-1].id) if found[limit:] else None
    return page(request, [row.to_dict() for row in rows], more)


@router.post(
    "/deliveries/{id}/resend",
    status_code=202,
    summary="Send a message once more",
    dependencies=[Depends(known_query())],
    responses=answers(
        400, 401, 403, 404, 409, 422, 429, 507, ok={202: ("It will be sent at once.", Delivery)}
    ),
    openapi_extra=scoped(Scope.ADMIN, repeatable=True),
)
def resend_delivery(request: Request, id: str) -> Response:  # noqa: A002
    """The same bytes under the same `webhook-id`."""
    delivery_id = one_id(id, "delivery", "GET /v1/subscriptions/{id}/deliveries lists them")

    def act(keeper: Keeper) -> Response:
        def keep(session: Session, found: DeliveryView) -> None:
            keeper.answer(session, as_json(found.to_dict(), 202))

        ctx = state_of(request).context
        return as_json(resend(ctx, delivery_id, actor_of(request), also=keep).to_dict(), 202)

    return once(request, b"", act)
