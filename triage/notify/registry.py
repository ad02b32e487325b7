"""Registry: the kinds of receivers, what each needs, and which module renders for it.

A new kind is one file, one member of :class:`Kind` and one line here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triage.domain.patterns import compile_re
from triage.errors import Place, Unprocessable
from triage.notify import (
    alertmanager,
    cloudevents,
    generic,
    pagerduty,
    slack,
)
from triage.notify.message import Event, Kind, Message, Render, Request, Target

ACTS = frozenset({Event.ACTION_PROPOSED, Event.ACTION_DONE, Event.ACTION_FAILED})
# Integration keys have 32 letters and digits; others are left to PagerDuty to refuse.
_ROUTING_KEY = compile_re(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Receiver:
    """What a kind needs.

    ``signed``: requests carry the Standard Webhooks headers. ``latest_only``: a message
    that waits is void once a later one of the same incident and subscription exists, as
    the receiver keeps a state: a late trigger would reopen what a resolve has closed.
    ``looks_back``: takes acts and digests too, which are no alarms.
    ``each``: every message is sent by itself, also in a storm; a program reads them.
    """

    render: Render
    looks_back: bool = False
    default_url: str | None = None
    needs_routing_key: bool = False
    signed: bool = False
    latest_only: bool = False
    each: bool = False


_RECEIVERS: Mapping[Kind, Receiver] = {
    Kind.GENERIC: Receiver(generic.render, looks_back=True, signed=True),
    Kind.SLACK: Receiver(slack.render, looks_back=True),
    Kind.PAGERDUTY: Receiver(
        pagerduty.render, default_url=pagerduty.EVENTS_URL, needs_routing_key=True, latest_only=True
    ),
    Kind.ALERTMANAGER: Receiver(alertmanager.render, latest_only=True),
    Kind.CLOUDEVENTS: Receiver(cloudevents.render, signed=True, each=True),
}


def get_receiver(kind: Kind) -> Receiver:
    """The receiver of this kind."""
    return _RECEIVERS[kind]


def render(message: Message, target: Target) -> Request | None:
    """``message`` in the form of ``target``; None where that receiver takes no such event."""
    return _RECEIVERS[target.kind].render(message, target)


def check_takes(kind: Kind, events: Sequence[str]) -> None:
    """Raises :class:`Unprocessable` for an event that this kind of receiver does not take."""
    if _RECEIVERS[kind].looks_back:
        return
    for index, event in enumerate(events):
        if event in ACTS or event == Event.FLEET_DIGEST:
            what = "an act on a node" if event in ACTS else event
            raise Unprocessable(
                f"{kind} takes alarms, and {what} is none",
                hint="subscribe a receiver of kind generic or slack to it; /metrics has gauges of"
                " acts and of the fleet to alert on",
                places=(Place(f"body/events/{index}", f"not told to {kind}"),),
            )


def validate(kind: str, url: str | None = None, routing_key: str | None = None) -> Target:
    """The target of a subscription. Whether its address may be called is the guard's to say.

    Raises :class:`Unprocessable`, with a place for each thing that is wrong.
    """
    known = {str(member): member for member in Kind}
    if kind not in known:
        raise Unprocessable(
            "the kind of receiver is not known",
            hint=f"give one of {', '.join(known)}",
            places=(Place("body/kind", "not a kind"),),
        )
    needs = _RECEIVERS[known[kind]]
    address = url or needs.default_url or ""
    places = []
    if not address:
        places.append(Place("body/url", f"{kind} needs the address to send to"))
    if needs.needs_routing_key and not routing_key:
        places.append(Place("body/routing_key", f"{kind} needs the integration key"))
    elif routing_key and not needs.needs_routing_key:
        places.append(Place("body/routing_key", f"{kind} takes none; it is PagerDuty's"))
    elif routing_key and not _ROUTING_KEY.fullmatch(routing_key):
        places.append(Place("body/routing_key", "not letters and digits, at most 64"))
    if places:
        raise Unprocessable(
            f"the subscription of kind {kind} is not complete",
            hint="see docs/notifications.md for what each kind needs",
            places=tuple(places),
        )
    return Target(known[kind], address, routing_key or None)
