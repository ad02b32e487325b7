"""How routes describe themselves in OpenAPI: which answers can come, which body goes in."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from triage.api.answers.problems import KINDS, MEDIA_TYPE
from triage.api.description.shapes import AnswerShape, Source, make_component_name
from triage.api.requests.values import NAME_SCHEMA
from triage.domain.acting import Verb
from triage.domain.category import Category
from triage.notify.message import Event
from triage.notify.message import Kind as ReceiverKind

# The bodies that come in as JSON, for the description; who reads one checks it. ``{"use": "Name"}``
# stands for the schema of a name, ``{"nullable": ...}`` for one that may be null, and
# ``"enum": "Category"`` for all values of an enumeration.
_FILE: Final = json.loads(Path(__file__).with_name("incoming.json").read_text("utf-8"))
_ENUMS: Final[dict[str, list[str]]] = {
    "Category": list(Category),
    "Event": list(Event),
    "ReceiverKind": list(ReceiverKind),
    "Verb": list(Verb),
}


def _expand(value: Any) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(value, list):
        return [_expand(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "use" in value:
        return NAME_SCHEMA
    if "nullable" in value:
        return {"anyOf": [_expand(value["nullable"]), {"type": "null"}]}
    return {key: _ENUMS[one] if key == "enum" else _expand(one) for key, one in value.items()}


INCOMING: Final[dict[str, dict[str, Any]]] = _expand(_FILE["shapes"])
EXAMPLES: Final[dict[str, dict[str, Any]]] = _FILE["examples"]
"""Examples by the name of their shape, then by their own."""


Answers = Mapping[int, tuple[str, Source | None]]
_TITLES: Final = {kind.status: kind.title for kind in KINDS}
# Whatever the route: the service itself may fail.
_ALWAYS: Final = (500, 503)
BINARY: Final = "application/octet-stream"
TEXT: Final = {"type": "string"}
_LINK: Final = {
    "description": 'Where there is more: the next page, as `<...>; rel="next"` (RFC 8288).',
    "schema": TEXT,
}
_RETRY_AFTER: Final = {
    "description": "Seconds after which to send it again.",
    "schema": {"type": "integer"},
}


def make_reference(name: str) -> dict[str, Any]:
    """The content that refers to a schema by its name."""
    return {"schema": {"$ref": f"#/components/schemas/{name}"}}


def describe_answers(
    *refused: int,
    ok: Answers,
    forms: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[int | str, dict[str, Any]]:
    """``responses`` of a route: its good answers by status, and the refusals that can come.

    ``forms`` are schemas of further media types of the first good answer.
    """
    responses: dict[int | str, dict[str, Any]] = {}
    for status, (text, form) in ok.items():
        responses[status] = {"description": text}
        if form is not None:
            responses[status]["content"] = {
                "application/json": make_reference(make_component_name(form))
            }
            if isinstance(form, AnswerShape) and form.is_page:
                responses[status]["headers"] = {"Link": _LINK}
    if forms:
        first = responses[next(iter(ok))]
        first.setdefault("content", {}).update(
            {media: {"schema": schema} for media, schema in forms.items()}
        )
    for status in sorted({*refused, *_ALWAYS} - ok.keys()):
        responses[status] = {
            "description": _TITLES.get(status, "Internal error"),
            "content": {MEDIA_TYPE: make_reference("Problem")},
        }
        if status in {429, 503, 507}:
            responses[status]["headers"] = {"Retry-After": _RETRY_AFTER}
    return responses


def describe_json_body(name: str, also: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A JSON body of one of the incoming shapes; ``also`` are further media types."""
    examples = {key: {"value": value} for key, value in EXAMPLES[name].items()}
    content = {"application/json": {**make_reference(name), "examples": examples}}
    return {"required": True, "content": {**content, **(also or {})}}


def describe_binary_body(description: str, *media_types: str) -> dict[str, Any]:
    """A body of raw bytes; :data:`BINARY` is always one of its media types."""
    return {
        "required": True,
        "description": description,
        # No schema: OpenAPI 3.1 says raw bytes by saying nothing of their form.
        "content": {media: {} for media in media_types},
    }
