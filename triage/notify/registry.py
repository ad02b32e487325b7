"""Registry: the kinds of receivers, what each needs, and which module renders for it.

A new kind is one file, one member of :class:`Kind` and one line here. The native webhook is here
itself: a thin body as Standard Webhooks has it. Every event of a subscription is sent, also that a
job was healthy. The values are those of the API, character for character; the bytes hold no control
character, no angle bracket and no at sign, which JSON may write as escapes.

So are notices: news that is about no single verdict, in each receiver's form. A week of a fleet is
made once, when the week ends, and sent to those who subscribed to ``fleet.digest``. A storm is many
incidents within a minute, told as one: somebody who is paged three hundred times in a minute reads
none of it. An act is what is asked for, or was done, to a node. Every retry has the same id and the
same body.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from triage.domain.patterns import compile_re
from triage.domain.wire import format_iso_utc
from triage.errors import Place, Unprocessable
from triage.notify import (
    alertmanager,
    cloudevents,
    pagerduty,
    slack,
)
from triage.notify.message import (
    JSON,
    Event,
    Kind,
    Message,
    Render,
    Request,
    Target,
    Wire,
    derive_message_id,
)
from triage.notify.safe_text import format_plain
from triage.notify.slack import (
    MAX_CHARS,
    Block,
    encode_slack_message,
    escape_mrkdwn,
    make_context_block,
    make_header_block,
    make_section_block,
    page_link,
)
from triage.render.data.wire import encode_line

# All four occur inside JSON strings only, and never as part of an escape.
_ACTIVE = compile_re(rb"[<>&@]")


def render_generic(message: Message, target: Target) -> Request:
    """``{type, timestamp, data}``; it is signed when it is sent."""
    data = {
        "incident_id": message.incident_id,
        "job_id": message.job_id,
        "revision": message.revision,
        "provisional": message.provisional,
        "state": message.state,
        "verdict": None if message.verdict is None else message.verdict.to_dict(),
        "suspects": [suspect.to_dict() for suspect in message.suspects],
        "url": message.url,
    }
    if message.restart is not None:
        data["restart"] = message.restart.to_dict()
    if message.problem is not None:
        data["problem"] = message.problem.to_dict()
    return build_webhook_request(target, message.event, message.at, data)


def build_webhook_request(target: Target, event: Event, at: datetime, data: Wire) -> Request:
    """``{type, timestamp, data}`` without a character that begins markup or a mention."""
    value = {"type": str(event), "timestamp": format_iso_utc(at), "data": data}
    body = encode_line(value).rstrip(b"\n")
    inactive = _ACTIVE.sub(lambda match: b"\\u%04x" % ord(match[0]), body)
    return Request("POST", target.url, JSON, inactive)


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
    Kind.GENERIC: Receiver(render_generic, looks_back=True, signed=True),
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


_MAX_HEADER = 150
_MAX_SENTENCE = 600
_MAX_NOTE = 300
_MAX_NOTES = 4
# How many sentences a message to Slack holds: the first number that fits. The last one always does.
_MAX_SENTENCES = (12, 8, 5, 3)


@dataclass(frozen=True, slots=True)
class Notice:
    """One of them, before it takes a receiver's form.

    ``headline`` is one line; ``sentences`` say more, the most telling first, and ``notes`` what the
    record lacks: all of them hold names that are not neutralised yet. ``data`` is what the native
    webhook holds. ``url`` is the page, empty where none is known, and ``page`` what it is called.
    """

    event: Event
    at: datetime
    headline: str
    sentences: tuple[str, ...]
    data: Wire
    url: str = ""
    page: str = "the fleet"
    notes: tuple[str, ...] = ()


def digest_id(week: str, subscription_id: str) -> str:
    """``msg_`` and 32 hexadecimal digits: one for each week and subscription, and no other."""
    return derive_message_id("fleet", week, Event.FLEET_DIGEST, subscription_id)


def render_notice(notice: Notice, target: Target) -> Request | None:
    """The notice in the form of ``target``. Receivers of alarms take storms alone: None for a week
    or an act.
    """
    if target.kind is Kind.SLACK:
        return _render_slack(notice, target)
    if target.kind is Kind.GENERIC:
        return build_webhook_request(target, notice.event, notice.at, notice.data)
    if notice.event is not Event.STORM:
        return None
    if target.kind is Kind.PAGERDUTY:
        at = format_iso_utc(notice.at) or ""
        return pagerduty.build_notice_page(
            target, notice.headline, at, notice.sentences, notice.url
        )
    return alertmanager.build_notice_alert(target, notice.headline, notice.at, notice.url)


def _render_slack(notice: Notice, target: Target) -> Request:
    """The headline, the answers, what they rest on, a link: within ``MAX_CHARS``, so the last
    sentences are left out before the first is cut.
    """
    first = (notice.headline, *notice.sentences[:2])
    text = "\n".join(escape_mrkdwn(sentence, _MAX_NOTE) for sentence in first)
    for max_sentences in _MAX_SENTENCES:
        message = encode_slack_message(text, _list_blocks(notice, max_sentences))
        if len(message.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, message)


def _list_blocks(notice: Notice, max_sentences: int) -> Iterator[Block]:
    yield make_header_block(format_plain(notice.headline, _MAX_HEADER))
    # A section holds 3,000 characters: one for each sentence is sure to do.
    for text in notice.sentences[:max_sentences]:
        yield make_section_block(f"• {escape_mrkdwn(text, _MAX_SENTENCE)}")
    left_out = len(notice.sentences) - max_sentences
    if left_out > 0:
        yield make_context_block(f"{left_out} more on the page")
    for note in notice.notes[:_MAX_NOTES]:
        yield make_context_block(escape_mrkdwn(note, _MAX_NOTE))
    link = page_link(notice.url, f"Open {notice.page}")
    if link is not None:
        yield link
