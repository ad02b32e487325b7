"""Routes that describe themselves: path, answers and scope of each in one call."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from fastapi import APIRouter, Depends, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from triage.api.access import Scope, admit_scope
from triage.api.description.described import Answers, describe_answers
from triage.api.description.shapes import Source
from triage.api.requests.idempotency import PARAMETER
from triage.api.requests.values import check_query_keys

# 429 beyond the rate of a token, and of wrong tokens from one address.
_OF_A_TOKEN: Final = (401, 403, 422, 429)
_OF_A_BODY: Final = (400, 408, 413, 415, 507)
_OF_A_KEY: Final = (400, 409)
_UNCHANGED: Final = ("Unchanged since the answer with this ETag.", None)

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Add(Protocol):
    """Adds a handler to the routes, and gives it back as it is."""

    def __call__(self, handler: Handler, /) -> Handler:
        """The handler."""


class Routes:
    """The routes under one prefix that tokens of one scope may ask (None: everybody may).

    ``router`` holds them, ``shapes`` are those of their answers.

    A route takes the query that its handler takes, and refuses any other. Its refusals follow
    from what it is: 401, 403, 422 and 429 of every route, 400, 408, 413, 415 and 507 with a
    body, 400 and 409 where a key makes it ``repeatable``; ``refuses`` are the others. Requests
    are counted where it is ``paced``.
    """

    def __init__(self, prefix: str, tag: str, scope: Scope | None, *, paced: bool = True) -> None:
        self.scope = scope
        self.shapes: list[Source] = []
        admission = [] if scope is None else [Depends(admit_scope(scope, paced=paced))]
        self.router = APIRouter(prefix=prefix, tags=[tag], dependencies=admission)

    def get(
        self,
        path: str,
        summary: str,
        answer: tuple[str, Source | None],
        *,
        etag: bool = False,
        or_else: Answers | None = None,
        forms: Mapping[str, Mapping[str, Any]] | None = None,
        refuses: tuple[int, ...] = (),
    ) -> Add:
        """A question. ``or_else`` are other answers by status.

        ``forms`` are schemas of further media types of the answer.
        """
        ok: Answers = {200: answer, **({304: _UNCHANGED} if etag else {}), **(or_else or {})}
        return self._add("GET", path, summary, ok, refuses, forms=forms)

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
            refuses += _OF_A_BODY
        extra: dict[str, Any] = {} if body is None else {"requestBody": body}
        if repeatable:
            refuses += _OF_A_KEY
            extra["parameters"] = [PARAMETER]
        return self._add("POST", path, summary, ok, refuses, extra=extra)

    def delete(self, path: str, summary: str, gone: str, *, refuses: tuple[int, ...] = ()) -> Add:
        """A removal, which answers 204 without a body."""
        return self._add("DELETE", path, summary, {204: (gone, None)}, refuses)

    def _add(
        self,
        method: str,
        path: str,
        summary: str,
        ok: Answers,
        refuses: tuple[int, ...],
        *,
        forms: Mapping[str, Mapping[str, Any]] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Add:
        self.shapes += [form for _, form in ok.values() if form is not None]
        described: dict[str, Any] = dict(extra or {})
        if self.scope is not None:
            refuses += _OF_A_TOKEN
            described.update({"security": [{"token": []}], "x-scope": str(self.scope)})

        def add(handler: Handler) -> Handler:
            known: list[str] = []

            async def strict(request: Request) -> None:
                check_query_keys(request, known)

            self.router.add_api_route(
                path,
                handler,
                methods=[method],
                status_code=next(iter(ok)),
                summary=summary,
                dependencies=[] if self.scope is None else [Depends(strict)],
                responses=describe_answers(*refuses, ok=ok, forms=forms),
                response_class=Response,
                openapi_extra=described,
            )
            known.extend(_list_query_parameters(self.router.routes[-1]))
            return handler

        return add


def _list_query_parameters(route: object) -> list[str]:
    """The parameters of the query that a handler takes, itself or by what it depends on."""
    assert isinstance(route, APIRoute)
    found = get_flat_params(route.dependant)
    return [one.alias for one in found if isinstance(one.field_info, params.Query)]
