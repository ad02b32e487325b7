"""Notices: news that is about no single verdict, in each receiver's form.

A week of a fleet is made once, when the week ends, and sent to those who subscribed to
``fleet.digest``. A storm is many incidents within a minute, told as one: somebody who is paged
three hundred times in a minute reads none of it. An act is what is asked for, or was done, to a
node. Every retry has the same id and the same body.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from triage.domain.wire import format_iso_utc
from triage.notify import alertmanager, pagerduty
from triage.notify.generic import build_webhook_request
from triage.notify.message import JSON, Event, Kind, Request, Target, Wire, derive_message_id
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
