"""The bodies that come in as JSON, for the OpenAPI description; who reads one checks it.

``incoming.json`` holds their schemas and examples. There ``{"use": "Name"}`` stands for the schema
of a name, ``{"nullable": ...}`` for one that may be null, and ``"enum": "Category"`` for all values
of an enumeration.
"""

import json
from pathlib import Path
from typing import Any, Final

from triage.api.requests.values import NAME_SCHEMA
from triage.domain.acting import Verb
from triage.domain.category import Category
from triage.notify.message import Event
from triage.notify.message import Kind as ReceiverKind

_FILE: Final = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
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
