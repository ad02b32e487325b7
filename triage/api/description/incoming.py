"""The bodies that come in as JSON, for the OpenAPI description; who reads one checks it."""

from typing import Any, Final

from triage.api.requests.values import NAME_SCHEMA
from triage.domain.acting import ASKED_FOR
from triage.domain.category import Category
from triage.notify.message import Event
from triage.notify.message import Kind as ReceiverKind
from triage.services.incidents.resolve import MAX_NOTE

_WHOLE: Final[dict[str, Any]] = {"type": "integer"}
_NAME_OR_NUMBER: Final[dict[str, Any]] = {"anyOf": [NAME_SCHEMA, _WHOLE]}
# Hooks come out of shell scripts: seconds since the epoch and numbers as text are fine.
_TIME: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[0-9]{9,11}(\\.[0-9]{1,9})?$"},
        {"type": "number"},
    ]
}


def _may_be_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_HOST_LIST: Final = _may_be_null(
    {
        "type": ["string", "array"],
        "description": "A Slurm host list, such as gpu[001-128,130].",
    }
)
INCOMING: Final[dict[str, dict[str, Any]]] = {
    "JobFailed": {
        "description": "The job.json object, and what to expect. Unknown keys are kept.",
        "type": "object",
        "required": ["job_id"],
        "properties": {
            "job_id": _NAME_OR_NUMBER,
            "cluster": _may_be_null(_NAME_OR_NUMBER),
            "attempt": _may_be_null(_NAME_OR_NUMBER),
            "failed_at": _may_be_null(_TIME),
            "started_at": _may_be_null(_TIME),
            "nodelist": _HOST_LIST,
            "expected_artifacts": _may_be_null(
                {
                    "anyOf": [
                        {"type": "integer", "minimum": 0, "maximum": 10_000_000},
                        {"type": "string", "pattern": "^[0-9]{1,7}$"},
                    ],
                    "description": "Settle as soon as that many files are in.",
                }
            ),
            "collect_within_s": _may_be_null(
                {
                    "type": "number", "exclusiveMinimum": 0, "maximum": 604_800,
                    "description": "Settle at the latest after so many seconds; default 300.",
                }
            ),
            "callback_url": _may_be_null(
                {
                    "type": "string",
                    "description": "Where to post the answer: https, and a public address.",
                }
            ),
        },
        "additionalProperties": True,
    },
    "JobEnded": {
        "description": "The job.json object, and how the job ended. Unknown keys are ignored.",
        "type": "object",
        "required": ["job_id"],
        "properties": {
            "job_id": _NAME_OR_NUMBER,
            "cluster": _may_be_null(_NAME_OR_NUMBER),
            "started_at": _may_be_null(_TIME),
            "ended_at": _may_be_null(_TIME),
            "state": _may_be_null(
                {
                    "type": "string",
                    "description": "A scheduler's word: COMPLETED, CANCELLED, PREEMPTED, TIMEOUT,"
                    " FAILED, NODE_FAIL, OUT_OF_MEMORY; without it the exit code decides.",
                }
            ),
            "nodelist": _HOST_LIST,
        },
        "additionalProperties": True,
    },
    "Alerts": {
        "description": "Alertmanager's webhook payload, version 4.",
        "type": "object",
        "required": ["alerts"],
        "properties": {
            "version": {"const": "4"},
            "truncatedAlerts": {"description": "How many alerts the sender left out."},
            "commonLabels": {"description": "Labels that all of the alerts have."},
            "alerts": {
                "type": "array",
                "maxItems": 10_000,
                "items": {
                    "type": "object",
                    "properties": {
                        # Senders differ; what is not as expected keeps out one alert.
                        "status": {"description": "`firing`, or it is kept out."},
                        "labels": {"description": "They name the job, the node, the Xid."},
                        "annotations": {"description": "description, summary or message."},
                        "startsAt": {"description": "RFC 3339."},
                        "fingerprint": {"description": "Names the alert in the answer."},
                    },
                },
            },
        },
    },
    "CloudEvent": {
        "description": "A CloudEvent of version 1.0.",
        "type": "object",
        "required": ["specversion", "id", "source", "type"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {"type": "string", "minLength": 1},
            "source": {"type": "string", "minLength": 1},
            "type": {"type": "string", "minLength": 1},
            "time": {"description": "RFC 3339."},
            "data": {"description": "A health event is {healthEvent: {nodeName, ...}}."},
        },
    },
    "NewResolution": {
        "description": "What the incident turned out to be.",
        "type": "object",
        "required": ["category"],
        "properties": {
            "category": {"type": "string", "enum": list(Category)},
            "node": _may_be_null(NAME_SCHEMA),
            "note": _may_be_null({"type": "string", "maxLength": MAX_NOTE}),
        },
        "additionalProperties": False,
    },
    "NewAction": {
        "description": "An act on convicted nodes. What each flag means: docs/acting.md.",
        "type": "object",
        "required": ["verb"],
        "properties": {
            "verb": {"type": "string", "enum": list(ASKED_FOR)},
            "node": _may_be_null(NAME_SCHEMA),
            "dry_run": _may_be_null({"type": "boolean"}),
            "approve": _may_be_null({"type": "boolean"}),
        },
        "additionalProperties": False,
    },
    "HaltRequest": {
        "description": "Why nothing more is to be done to nodes.",
        "type": "object",
        "properties": {"reason": _may_be_null({"type": "string", "maxLength": 1000})},
        "additionalProperties": False,
    },
    "SubscriptionRequest": {
        "description": "A receiver. What each kind needs stands in docs/notifications.md.",
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": {"type": "string", "enum": list(ReceiverKind)},
            "url": _may_be_null(
                {"type": "string", "description": "https, and a public address."}
            ),
            "routing_key": _may_be_null({"type": "string", "description": "PagerDuty's."}),
            "secret": _may_be_null(
                {"type": "string", "description": "whsec_ and Base64; made when left out."}
            ),
            "events": _may_be_null(
                {"type": "array", "items": {"type": "string", "enum": list(Event)}}
            ),
        },
        "additionalProperties": False,
    },
    "RotateRequest": {
        "description": "A new secret, and how long the old one signs beside it.",
        "type": "object",
        "properties": {
            "secret": _may_be_null(
                {"type": "string", "description": "whsec_ and Base64; made when left out."}
            ),
            "old_valid_s": _may_be_null(
                {"type": "integer", "minimum": 0, "maximum": 2_592_000, "default": 86_400}
            ),
        },
        "additionalProperties": False,
    },
}  # fmt: skip
