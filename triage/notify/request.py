"""Request: an HTTP request as a value, and the target that it goes to."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from triage.notify.digest import Digest
from triage.notify.message import Message

JSON: Mapping[str, str] = {"content-type": "application/json"}


class Kind(StrEnum):
    """Whose form a message takes."""

    GENERIC = "generic"
    SLACK = "slack"
    PAGERDUTY = "pagerduty"
    ALERTMANAGER = "alertmanager"
    CLOUDEVENTS = "cloudevents"


@dataclass(frozen=True, slots=True)
class Target:
    """Where messages of one subscription go. ``routing_key`` is PagerDuty's."""

    kind: Kind
    url: str
    routing_key: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, complete but for its signature."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Render(Protocol):
    """A message in the form of one kind of receiver; None where that receiver stays quiet."""

    def __call__(self, message: Message, target: Target) -> Request | None:
        """The request; the same message and target give the same bytes."""


class RenderDigest(Protocol):
    """A week of a fleet in the form of one kind of receiver."""

    def __call__(self, digest: Digest, target: Target) -> Request:
        """The request; the same digest and target give the same bytes."""
