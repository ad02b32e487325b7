"""Message: what has become of an incident, before it takes a receiver's form.

A message is made once, when a revision is committed, and never changes: every retry of
it has the same id and the same body.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

from triage.domain.recurrence import ProblemOfIncident
from triage.domain.report import Suspect, Verdict
from triage.domain.restart import Restart
from triage.errors import Place, Unprocessable

K = TypeVar("K")
V = TypeVar("V")
Wire = Mapping[str, object]
"""An object of JSON."""


class Event(StrEnum):
    """Why a message is sent."""

    PROVISIONAL = "incident.provisional"
    READY = "incident.ready"
    REVISED = "incident.revised"
    RESOLVED = "incident.resolved"
    FAILED = "incident.failed"
    DELETED = "incident.deleted"
    STORM = "incident.storm"
    ACTION_PROPOSED = "action.proposed"
    ACTION_DONE = "action.done"
    ACTION_FAILED = "action.failed"
    FLEET_DIGEST = "fleet.digest"


DEFAULT_EVENTS = (Event.READY, Event.REVISED, Event.RESOLVED, Event.FAILED)
"""The events of a subscription that names none."""


@dataclass(frozen=True, slots=True)
class Message:
    """One event of one incident, with all that any receiver shows of it.

    ``at`` is when it happened (aware). ``verdict`` and ``suspects`` are None and empty before the
    first answer. ``actions`` are commands to paste and ``next_step`` the sentence before them, both
    of :mod:`triage.render.words.next_step`. ``resolution`` is what a person found it to be:
    ``{category, node?, note?}``; ``reason`` says why triage itself failed. ``previous_verdict`` and
    ``previous_suspects`` are those of the revision before: a receiver that keeps alerts apart by
    node needs them to end the alert of a node that is no longer suspected. ``restart`` is what to
    do with the job, as the report has it; None where nothing is known. ``seen_first`` are sentences
    on what was seen first where no cause is known. ``problem`` is the recurring problem that the
    incident is of; None before the final answer.
    """

    event: Event
    at: datetime
    incident_id: str
    job_id: str
    cluster: str | None
    revision: int
    provisional: bool
    state: str
    verdict: Verdict | None = None
    suspects: tuple[Suspect, ...] = ()
    url: str = ""
    actions: tuple[str, ...] = ()
    coverage_text: str = ""
    reason: str | None = None
    resolution: Wire | None = None
    next_step: str = ""
    previous_verdict: Verdict | None = None
    previous_suspects: tuple[Suspect, ...] = ()
    restart: Restart | None = None
    seen_first: tuple[str, ...] = ()
    problem: ProblemOfIncident | None = None

    @property
    def recurrence(self) -> str:
        """``The 4th of this kind in 9 days; twice resolved as nic.``; empty where not known."""
        words = "" if self.problem is None else self.problem.describe()
        return f"{words[:1].upper()}{words[1:]}." if words else ""

    def split_standing(
        self, now: Mapping[K, V], before: Mapping[K, V]
    ) -> tuple[Mapping[K, V], Mapping[K, V]]:
        """What stands, and what ended: all of it where the incident is resolved, else what the
        answer ``before`` had and the one of ``now`` has no longer.
        """
        if self.event is Event.RESOLVED:
            return {}, {**before, **now}
        return now, {key: one for key, one in before.items() if key not in now}


def derive_message_id(
    about: str | int, revision: str | int, event: Event, subscription_id: str | int
) -> str:
    """``msg_`` and 32 hexadecimal digits: the same for the same four, on every machine.

    ``about`` is the id of an incident and ``revision`` its number, or "fleet" and a week.
    """
    # As JSON, so that no two different four can run into one text.
    parts = json.dumps([str(about), revision, str(event), str(subscription_id)])
    return f"msg_{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


def check_events(events: Iterable[str] | None) -> tuple[Event, ...]:
    """The events of a subscription, each once, in the order of :class:`Event`.

    None and nothing give the default ones. Raises :class:`Unprocessable` for a name that
    is none of them, with its place.
    """
    named = list(events or ())
    known = {str(event) for event in Event}
    places = tuple(
        Place(f"body/events/{index}", "not an event")
        for index, name in enumerate(named)
        if name not in known
    )
    if places:
        raise Unprocessable(
            "an event is not known", hint=f"give some of {', '.join(Event)}", places=places
        )
    return tuple(event for event in Event if event in named) or DEFAULT_EVENTS


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
