"""Slack: an incoming webhook's message in blocks.

The verdict, the top suspects with their reasons, what to do, commands to paste, what the
answer rests on, a link. Slack refuses long messages (50 blocks, 3,000 characters a section),
so this one keeps to ``MAX_CHARS``: it leaves out reasons before it leaves out suspects.

Text is ``verbatim``: Slack then makes no links and no mentions out of it, and what is
markup all the same (``<!channel>``) is escaped.
"""

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from triage.domain.report import Suspect
from triage.notify.headline import (
    compose_headline,
    describe_restart,
    describe_suspect_place,
    format_place,
    select_top_suspects,
)
from triage.notify.message import JSON, Event, Message, Request, Target
from triage.notify.safe_text import (
    escape_to_fit,
    find_web_link,
    format_commands,
    format_plain,
    make_inert,
)
from triage.render.data.wire import encode_line
from triage.render.words.answer import format_belief
from triage.render.words.ranges import name_ranks

MAX_CHARS = 8_000
"""Slack refuses messages of some 13,000 characters, JSON included."""

_MAX_LINK = 500

Block = dict[str, object]


def encode_slack_message(text: str, blocks: Iterable[Block]) -> bytes:
    """A whole message; ``text`` is what a phone's notification shows."""
    value = {
        "text": text,
        "blocks": list(blocks),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return encode_line(value).rstrip(b"\n")


def escape_mrkdwn(text: str, limit: int) -> str:
    """``text`` as mrkdwn that acts on nothing, at most ``limit`` characters, entities whole."""
    return escape_to_fit(make_inert(text), limit, _with_entities)


def make_header_block(title: str) -> Block:
    """The title of a message; plain text."""
    return {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}


def make_section_block(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": _make_mrkdwn(text)}


def make_context_block(text: str) -> Block:
    """Small print."""
    return {"type": "context", "elements": [_make_mrkdwn(text)]}


def page_link(url: str, words: str) -> Block | None:
    """A paragraph that links to a page of ours; None where ``url`` is no plain, short address."""
    link = find_web_link(url)
    if not link or len(link) > _MAX_LINK:
        return None
    return make_section_block(f"<{_with_entities(link)}|{words}>")


def _make_mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _with_entities(line: str) -> str:
    return html.escape(line, quote=False)


_MAX_HEADER = 150


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds: reasons of a suspect; characters of a reason, a sentence, all commands."""

    reasons: int
    reason: int
    sentence: int
    commands: int


# The first that fits is taken; the last fits whatever the text is.
_BOUNDS = (
    _Bounds(reasons=4, reason=400, sentence=1_200, commands=1_600),
    _Bounds(reasons=3, reason=280, sentence=900, commands=1_200),
    _Bounds(reasons=2, reason=200, sentence=600, commands=800),
    _Bounds(reasons=1, reason=160, sentence=400, commands=600),
    _Bounds(reasons=0, reason=0, sentence=240, commands=400),
)


def render(message: Message, target: Target) -> Request:
    """The message of any event, a healthy job too."""
    for bounds in _BOUNDS:
        data = encode_slack_message(
            _compose_notification(message, bounds), _list_blocks(message, bounds)
        )
        if len(data.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, data)


def _compose_notification(message: Message, bounds: _Bounds) -> str:
    """What a phone's notification shows and a screen reader says: no block is read then."""
    lines = [escape_mrkdwn(compose_headline(message), 300)]
    verdict = message.verdict
    if verdict is not None and message.event not in (Event.RESOLVED, Event.FAILED):
        sentences = (verdict.summary, message.next_step)
        lines += [escape_mrkdwn(text, bounds.sentence // 2) for text in sentences if text]
    return "\n".join(lines)


def _list_blocks(message: Message, bounds: _Bounds) -> Iterator[Block]:
    yield make_header_block(format_plain(compose_headline(message), _MAX_HEADER))
    if message.event is Event.RESOLVED:
        note = (message.resolution or {}).get("note")
        if isinstance(note, str) and note:
            yield make_section_block(escape_mrkdwn(note, bounds.sentence))
    elif message.event is not Event.FAILED:
        yield from _answer(message, bounds)
    if message.coverage_text:
        yield make_context_block(f"Coverage: {escape_mrkdwn(message.coverage_text, 300)}")
    link = page_link(message.url, "Open the incident")
    yield link or make_context_block(f"Incident {escape_mrkdwn(message.incident_id, 300)}")


def _answer(message: Message, bounds: _Bounds) -> Iterator[Block]:
    verdict, suspects = message.verdict, message.suspects
    if verdict is None:
        return
    if verdict.summary:
        yield make_section_block(escape_mrkdwn(verdict.summary, bounds.sentence))
    seen = [
        f"• {escape_mrkdwn(one, bounds.reason)}" for one in message.seen_first[: bounds.reasons]
    ]
    if seen:
        yield make_section_block("\n".join(("*Seen first:*", *seen)))
    for position, suspect in enumerate(select_top_suspects(suspects), start=1):
        yield make_section_block(_format_suspect(position, suspect, bounds))
    more = len(suspects) - len(select_top_suspects(suspects))
    if more:
        yield make_context_block(f"{more} more in the incident")
    # Behind the suspects: the sentence may speak of "the reasons above".
    if message.next_step:
        yield make_section_block(f"*Next:* {escape_mrkdwn(message.next_step, bounds.sentence)}")
    else:
        yield make_section_block(f"*Action:* {escape_mrkdwn(verdict.action, 64)}")
    if message.recurrence:
        yield make_section_block(escape_mrkdwn(message.recurrence, bounds.sentence))
    if restart := describe_restart(message):
        yield make_section_block(f"*Job:* {escape_mrkdwn(restart, bounds.sentence)}")
    commands = format_commands(message.actions, bounds.commands, escape_mrkdwn)
    if commands:
        yield make_section_block(f"```\n{commands}\n```")


def _format_suspect(position: int, suspect: Suspect, bounds: _Bounds) -> str:
    parts = [
        suspect.category,
        f"{suspect.role} {format_belief(suspect.score)}",
        "" if suspect.node is None else name_ranks(suspect.ranks, max_chars=40),
        f"GPU {' '.join(suspect.gpus[:2])}" if suspect.gpus else "",
    ]
    head = f"*{position}. {escape_mrkdwn(describe_suspect_place(suspect), 90)}*"
    rest = escape_mrkdwn(", ".join(part for part in parts if part), 160)
    lines = [f"{head}  {rest}"]
    for reason in suspect.because[: bounds.reasons]:
        place = f" ({escape_mrkdwn(format_place(reason), 90)})" if format_place(reason) else ""
        lines.append(f"• {escape_mrkdwn(reason.text, bounds.reason)}{place}")
    return "\n".join(lines)
