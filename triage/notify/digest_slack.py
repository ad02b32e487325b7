"""Slack: the digest of a week in blocks: the headline, the answers, what they rest on, a link.

It keeps to ``MAX_CHARS``, as other messages do: it leaves out the last sentences before it
cuts the first.
"""

from collections.abc import Iterator

from triage.notify.digest import Digest
from triage.notify.request import JSON, Request, Target
from triage.notify.safe_text import plain
from triage.notify.slack_blocks import (
    MAX_CHARS,
    Block,
    body,
    context,
    escaped,
    header,
    page_link,
    section,
)

_MAX_HEADER = 150
_MAX_SENTENCE = 600
_MAX_NOTE = 300
_MAX_NOTES = 4
# How many sentences the message holds: the first number that fits. The last one always does.
_MAX_SENTENCES = (12, 8, 5, 3)


def render(digest: Digest, target: Target, link_text: str = "Open the fleet") -> Request:
    """The message of a week; ``link_text`` is what its page is called."""
    first = (digest.headline, *digest.sentences[:2])
    text = "\n".join(escaped(sentence, _MAX_NOTE) for sentence in first)
    for max_sentences in _MAX_SENTENCES:
        message = body(text, _blocks(digest, max_sentences, link_text))
        if len(message.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, message)


def _blocks(digest: Digest, max_sentences: int, link_text: str) -> Iterator[Block]:
    yield header(plain(digest.headline, _MAX_HEADER))
    # A section holds 3,000 characters: one for each sentence is sure to do.
    for text in digest.sentences[:max_sentences]:
        yield section(f"• {escaped(text, _MAX_SENTENCE)}")
    left_out = len(digest.sentences) - max_sentences
    if left_out > 0:
        yield context(f"{left_out} more on the page")
    for note in digest.notes[:_MAX_NOTES]:
        yield context(escaped(note, _MAX_NOTE))
    link = page_link(digest.url, link_text)
    if link is not None:
        yield link
