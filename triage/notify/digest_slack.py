"""Slack: the digest of a week in blocks: the headline, the answers, what they rest on, a link.

It keeps to ``MAX_CHARS``, as other messages do: it leaves out the last sentences before it
cuts the first.
"""

from collections.abc import Iterator

from triage.notify.digest import Digest
from triage.notify.request import JSON, Request, Target
from triage.notify.safe_text import format_plain
from triage.notify.slack_blocks import (
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
# How many sentences the message holds: the first number that fits. The last one always does.
_MAX_SENTENCES = (12, 8, 5, 3)


def render(digest: Digest, target: Target, link_text: str = "Open the fleet") -> Request:
    """The message of a week; ``link_text`` is what its page is called."""
    first = (digest.headline, *digest.sentences[:2])
    text = "\n".join(escape_mrkdwn(sentence, _MAX_NOTE) for sentence in first)
    for max_sentences in _MAX_SENTENCES:
        message = encode_slack_message(text, _list_blocks(digest, max_sentences, link_text))
        if len(message.decode()) <= MAX_CHARS:
            break
    return Request("POST", target.url, JSON, message)


def _list_blocks(digest: Digest, max_sentences: int, link_text: str) -> Iterator[Block]:
    yield make_header_block(format_plain(digest.headline, _MAX_HEADER))
    # A section holds 3,000 characters: one for each sentence is sure to do.
    for text in digest.sentences[:max_sentences]:
        yield make_section_block(f"• {escape_mrkdwn(text, _MAX_SENTENCE)}")
    left_out = len(digest.sentences) - max_sentences
    if left_out > 0:
        yield make_context_block(f"{left_out} more on the page")
    for note in digest.notes[:_MAX_NOTES]:
        yield make_context_block(escape_mrkdwn(note, _MAX_NOTE))
    link = page_link(digest.url, link_text)
    if link is not None:
        yield link
