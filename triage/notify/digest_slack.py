"""Slack: the digest of a week in blocks: the headline, the answers, what they rest on, a link.

It keeps to 8,000 characters, JSON included, as other messages do: it leaves out the last
sentences before it cuts the first.
"""

from collections.abc import Iterator

from triage.notify.digest import Digest
from triage.notify.neutral import plain, web_link
from triage.notify.request import JSON, Request, Target
from triage.notify.slack import MAX_CHARS
from triage.notify.slack_blocks import Block, context, escaped, header, linked, section
from triage.render.data.wire import encode_line

__all__ = ["render"]

MAX_HEADER = 150
MAX_SENTENCE = 600
MAX_NOTE = 300
MAX_NOTES = 4
# How many sentences are told; the last form fits whatever they are.
ROOMS = (12, 8, 5, 3)


def render(digest: Digest, target: Target) -> Request:
    """The message of a week."""
    for room in ROOMS:
        body = body_of(digest, room)
        if len(body.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, body)


def body_of(digest: Digest, room: int) -> bytes:
    spoken = [digest.headline, *digest.sentences[:2]]
    value = {
        "text": "\n".join(escaped(text, MAX_NOTE) for text in spoken),
        "blocks": list(blocks(digest, room)),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return encode_line(value).rstrip(b"\n")


def blocks(digest: Digest, room: int) -> Iterator[Block]:
    yield header(plain(digest.headline, MAX_HEADER))
    # A section holds 3,000 characters: one for each sentence is sure to do.
    for text in digest.sentences[:room]:
        yield section(f"• {escaped(text, MAX_SENTENCE)}")
    left_out = len(digest.sentences) - room
    if left_out > 0:
        yield context(f"{left_out} more on the page")
    for note in digest.notes[:MAX_NOTES]:
        yield context(escaped(note, MAX_NOTE))
    link = web_link(digest.url)
    if link and len(link) <= 500:
        yield section(linked(link, "Open the fleet"))
