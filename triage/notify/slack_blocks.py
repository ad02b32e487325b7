"""Slack's blocks: what its messages are put together from, and text that acts on nothing in them.

Text is ``verbatim``: Slack then makes no links and no mentions out of it, and what is markup
all the same (``<!channel>``) is escaped.
"""

import html
from collections.abc import Iterable

from triage.notify.safe_text import escaped_to_fit, inert, web_link
from triage.render.data.wire import encode_line

MAX_CHARS = 8_000
"""Slack refuses messages of some 13,000 characters, JSON included."""

_MAX_LINK = 500

Block = dict[str, object]


def body(text: str, blocks: Iterable[Block]) -> bytes:
    """A whole message; ``text`` is what a phone's notification shows."""
    value = {
        "text": text,
        "blocks": list(blocks),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return encode_line(value).rstrip(b"\n")


def escaped(text: str, limit: int) -> str:
    """``text`` as mrkdwn that acts on nothing, at most ``limit`` characters, entities whole."""
    return escaped_to_fit(inert(text), limit, _with_entities)


def header(title: str) -> Block:
    """The title of a message; plain text."""
    return {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}


def section(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": _mrkdwn(text)}


def context(text: str) -> Block:
    """Small print."""
    return {"type": "context", "elements": [_mrkdwn(text)]}


def page_link(url: str, words: str) -> Block | None:
    """A paragraph that links to a page of ours; None where ``url`` is no plain, short address."""
    link = web_link(url)
    if not link or len(link) > _MAX_LINK:
        return None
    return section(f"<{_with_entities(link)}|{words}>")


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _with_entities(line: str) -> str:
    return html.escape(line, quote=False)
