"""Slack's blocks: what its messages are put together from, and text that acts on nothing in them.

Text is ``verbatim``: Slack then makes no links and no mentions out of it, and what is markup
all the same (``<!channel>``) is escaped.
"""

import html
from collections.abc import Iterable

from triage.notify.safe_text import escape_to_fit, find_web_link, make_inert
from triage.render.data.wire import encode_line

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
