"""Routes that describe themselves: path, answers and scope of each in one call."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.responses import Response

from triage.api.access import Scope, admitted
from triage.api.description.described import answers
from triage.api.requests.idempotency import PARAMETER
from triage.api.requests.values import known_query

__all__ = ["Routes"]

OF_A_TOKEN: Final = (401, 403, 422)
OF_A_PACE: Final = (429,)
OF_A_BODY: Final = (400, 408, 413, 415, 507)
OF_A_KEY: Final = (400, 409)
UNCHANGED: Final = ("Unchanged since the answer with this ETag.", None)

Handler = TypeVar("Handler", bound=Callable[..., Any])
Answers = Mapping[int, tuple[str, type[BaseModel] | None]]


class Add(Protocol):
    """Adds a handler to the routes, and gives it back as it is."""

    def __call__(self, handler: Handler, /) -> Handler:
        """The handler."""


class Routes:
    """The routes under one prefix that tokens of one scope may ask; ``router`` holds them.

    A route takes the query that its handler takes, and refuses any other. Its refusals follow
    from what it is: 401, 403 and 422 of every route, 429 where requests are counted
    (``paced``), 400, 408, 413, 415 and 507 with a body, 400 and 409 where a key makes it
    ``repeatable``; ``refuses`` are the others.
    """

    def __init__(self, prefix: str, tag: str, scope: Scope, *, paced: bool = True) -> None:
        self.scope = scope
        self.paced = paced
        self.router = APIRouter(
            prefix=prefix, tags=[tag], dependencies=[Depends(admitted(scope, paced=paced))]
        )

    def get(
        self,
        path: str,
        summary: str,
        answer: tuple[str, type[BaseModel]],
        *,
        etag: bool = False,
        forms: Mapping[str, Mapping[str, Any]] | None = None,
        refuses: tuple[int, ...] = (),
    ) -> Add:
        """A question. ``forms`` are schemas of further media types of the answer."""
        ok: Answers = {200: answer, 304: UNCHANGED} if etag else {200: answer}
        return self._add(
            "GET", path, summary, answers(*self._refusals(refuses), ok=ok, forms=forms)
        )

    def post(
        self,
        path: str,
        summary: str,
        ok: Answers,
        *,
        body: Mapping[str, Any] | None = None,
        repeatable: bool = False,
        refuses: tuple[int, ...] = (),
    ) -> Add:
        """An act with its good answers by status; ``body`` is a ``requestBody`` of OpenAPI."""
        if body is not None:
            refuses += OF_A_BODY
        extra: dict[str, Any] = {} if body is None else {"requestBody": body}
        if repeatable:
            refuses += OF_A_KEY
            extra["parameters"] = [PARAMETER]
        return self._add("POST", path, summary, answers(*self._refusals(refuses), ok=ok), extra)

    def delete(self, path: str, summary: str, gone: str, *, refuses: tuple[int, ...] = ()) -> Add:
        """A removal, which answers 204 without a body."""
        ok: Answers = {204: (gone, None)}
        return self._add("DELETE", path, summary, answers(*self._refusals(refuses), ok=ok))

    def _refusals(self, others: tuple[int, ...]) -> tuple[int, ...]:
        return OF_A_TOKEN + (OF_A_PACE if self.paced else ()) + others

    def _add(
        self,
        method: str,
        path: str,
        summary: str,
        responses: dict[int | str, dict[str, Any]],
        extra: Mapping[str, Any] | None = None,
    ) -> Add:
        def add(handler: Handler) -> Handler:
            self.router.add_api_route(
                path,
                handler,
                methods=[method],
                status_code=int(next(iter(responses))),
                summary=summary,
                dependencies=[Depends(known_query(*query_of(path, handler)))],
                responses=responses,
                response_class=Response,
                openapi_extra={
                    "security": [{"token": []}],
                    "x-scope": str(self.scope),
                    **(extra or {}),
                },
            )
            return handler

        return add


def query_of(path: str, handler: Callable[..., Any]) -> list[str]:
    """The parameters of a handler beside the request and what stands in its path."""
    return [
        name
        for name in inspect.signature(handler).parameters
        if name != "request" and f"{{{name}}}" not in path
    ]
