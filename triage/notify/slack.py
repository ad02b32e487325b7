"""Slack: an incoming webhook's message in blocks.

The verdict, the top suspects with their reasons, what to do, commands to paste, what the
answer rests on, a link. Slack refuses long messages (50 blocks, 3,000 characters a section,
in practice some 13,000 in all), so this one keeps to 8,000 characters, JSON included: it
leaves out reasons before it leaves out suspects.

Text is ``verbatim``: Slack then makes no links and no mentions out of it, and what is
markup all the same (``<!channel>``) is escaped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from triage.notify.headline import headline, where
from triage.notify.message import Event, Message
from triage.notify.neutral import plain, web_link
from triage.notify.pasted import pasted
from triage.notify.request import JSON, Request, Target
from triage.notify.slack_blocks import Block, context, escaped, header, linked, section
from triage.notify.told import Named, Reason, in_front, told
from triage.render.data.wire import encode_line
from triage.render.words.belief import belief
from triage.render.words.ranges import condense

__all__ = ["MAX_CHARS", "escaped", "render"]

MAX_CHARS = 8_000
_MAX_HEADER = 150


@dataclass(frozen=True, slots=True)
class _Room:
    """How much is told: reasons a suspect, characters a reason, a sentence, all commands."""

    reasons: int
    reason: int
    sentence: int
    commands: int


# The first that fits is taken; the last fits whatever the text is.
_ROOMS = (
    _Room(reasons=4, reason=400, sentence=1_200, commands=1_600),
    _Room(reasons=3, reason=280, sentence=900, commands=1_200),
    _Room(reasons=2, reason=200, sentence=600, commands=800),
    _Room(reasons=1, reason=160, sentence=400, commands=600),
    _Room(reasons=0, reason=0, sentence=240, commands=400),
)


def render(message: Message, target: Target) -> Request:
    """The message of every event; a healthy job is told as one."""
    for room in _ROOMS:
        body = _body(message, room)
        if len(body.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, body)


def _body(message: Message, room: _Room) -> bytes:
    value = {
        "text": _spoken(message, room),
        "blocks": list(_blocks(message, room)),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return encode_line(value).rstrip(b"\n")


def _spoken(message: Message, room: _Room) -> str:
    """What a phone's notification shows and a screen reader says: no block is read then."""
    lines = [escaped(headline(message), 300)]
    verdict = told(message)[0]
    if verdict is not None and message.event not in (Event.RESOLVED, Event.FAILED):
        said = (verdict.summary, message.next_step)
        lines += [escaped(text, room.sentence // 2) for text in said if text]
    return "\n".join(lines)


def _blocks(message: Message, room: _Room) -> Iterator[Block]:
    yield header(plain(headline(message), _MAX_HEADER))
    if message.event is Event.RESOLVED:
        note = (message.resolution or {}).get("note")
        if isinstance(note, str) and note:
            yield section(escaped(note, room.sentence))
    elif message.event is not Event.FAILED:
        yield from _answer(message, room)
    if message.coverage_text:
        yield context(f"Coverage: {escaped(message.coverage_text, 300)}")
    link = web_link(message.url)
    if link and len(link) <= 500:
        yield section(linked(link, "Open the incident"))
    else:
        yield context(f"Incident {escaped(message.incident_id, 300)}")


def _answer(message: Message, room: _Room) -> Iterator[Block]:
    verdict, suspects = told(message)
    if verdict is None:
        return
    if verdict.summary:
        yield section(escaped(verdict.summary, room.sentence))
    for position, suspect in enumerate(in_front(suspects), start=1):
        yield section(_suspect(position, suspect, room))
    more = len(suspects) - len(in_front(suspects))
    if more:
        yield context(f"{more} more in the incident")
    # Behind the suspects: the sentence may speak of "the reasons above".
    if message.next_step:
        yield section(f"*Next:* {escaped(message.next_step, room.sentence)}")
    else:
        yield section(f"*Action:* {escaped(verdict.action, 64)}")
    commands = pasted(message.actions, room.commands, escaped)
    if commands:
        yield section(f"```\n{commands}\n```")


def _suspect(position: int, suspect: Named, room: _Room) -> str:
    ranks = condense(suspect.ranks, max_chars=40)
    parts = [
        suspect.category,
        f"{suspect.role} {belief(suspect.score)}",
        f"rank{'' if len(suspect.ranks) == 1 else 's'} {ranks}"
        if ranks and suspect.node is not None
        else "",
        f"GPU {' '.join(suspect.gpus[:2])}" if suspect.gpus else "",
    ]
    head = f"*{position}. {escaped(where(suspect), 90)}*"
    rest = escaped(", ".join(part for part in parts if part), 160)
    reasons = [_reason(one, room.reason) for one in suspect.because[: room.reasons]]
    return "\n".join((f"{head}  {rest}", *reasons))


def _reason(reason: Reason, limit: int) -> str:
    place = f" ({escaped(reason.place, 90)})" if reason.place else ""
    return f"• {escaped(reason.text, limit)}{place}"
