"""How routes describe themselves in OpenAPI: which answers can come, which body goes in."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from triage.api.access import Scope
from triage.api.answers.problems import KINDS, MEDIA_TYPE
from triage.api.description.schemas import Page
from triage.api.requests.idempotency import PARAMETER

__all__ = ["ALWAYS", "BINARY", "answers", "binary_body", "json_body", "scoped"]

TITLES: Final = {kind.status: kind.title for kind in KINDS}
# Whatever the route: something of ours may fail.
ALWAYS: Final = (500, 503)
BINARY: Final = "application/octet-stream"
LINK: Final = {
    "description": 'Where there is more: the next page, as `<...>; rel="next"` (RFC 8288).',
    "schema": {"type": "string"},
}


def answers(
    *refused: int,
    ok: Mapping[int, tuple[str, type[BaseModel] | None]],
    content: Mapping[str, Any] | None = None,
) -> dict[int | str, dict[str, Any]]:
    """``responses`` of a route: what it says when all is well, and the refusals that can come.

    ``content`` gives further media types of the first good answer.
    """
    found: dict[int | str, dict[str, Any]] = {}
    for status, (text, model) in ok.items():
        found[status] = {"description": text}
        if model is not None:
            found[status]["content"] = {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
            }
            if issubclass(model, Page):
                found[status]["headers"] = {"Link": LINK}
    if content:
        first = found[next(iter(ok))]
        first.setdefault("content", {}).update(content)
    for status in sorted({*refused, *ALWAYS}):
        found[status] = {
            "description": TITLES.get(status, "Internal error"),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        if status in {429, 503, 507}:
            found[status]["headers"] = {
                "Retry-After": {
                    "description": "Seconds after which to send it again.",
                    "schema": {"type": "integer"},
                }
            }
    return found


def scoped(
    scope: Scope, extra: Mapping[str, Any] | None = None, *, repeatable: bool = False
) -> dict[str, Any]:
    """``openapi_extra`` of a route that needs a token; ``repeatable`` takes a key of the sender."""
    said = {"security": [{"token": []}], "x-scope": str(scope), **(extra or {})}
    return {**said, "parameters": [PARAMETER]} if repeatable else said


def json_body(
    name: str, examples: Mapping[str, Any], also: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A JSON body of one of the incoming shapes; ``also`` are further media types."""
    shape = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    named = {key: {"value": value} for key, value in examples.items()}
    content = {"application/json": {**shape, "examples": named}}
    return {"requestBody": {"required": True, "content": {**content, **(also or {})}}}


def binary_body(description: str, media_types: tuple[str, ...]) -> dict[str, Any]:
    """A body of raw bytes."""
    return {
        "requestBody": {
            "required": True,
            "description": description,
            # No schema: OpenAPI 3.1 says raw bytes by saying nothing of their form.
            "content": {media: {} for media in media_types},
        }
    }
