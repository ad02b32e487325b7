"""Slack's blocks: what its messages are put together from, and text that acts on nothing in them.

Text is ``verbatim``: Slack then makes no links and no mentions out of it, and what is markup
all the same (``<!channel>``) is escaped.
"""

from triage.notify.neutral import cut_chars, inert

__all__ = ["Block", "context", "escaped", "header", "linked", "section"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

Block = dict[str, object]


def escaped(text: str, limit: int) -> str:
    """``text`` as mrkdwn that acts on nothing, at most ``limit`` characters, entities whole."""
    line = cut_chars(inert(text), limit)
    whole = _with_entities(line)
    keep = len(line)
    while len(whole) > limit:
        keep = min(keep - 1, limit * keep // len(whole))
        whole = _with_entities(cut_chars(line, keep))
    return whole


def header(title: str) -> Block:
    """The title of a message; plain text."""
    return {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}


def section(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": _mrkdwn(text)}


def context(text: str) -> Block:
    """Small print."""
    return {"type": "context", "elements": [_mrkdwn(text)]}


def linked(address: str, words: str) -> str:
    """A link of ours, whose address was looked at before."""
    return f"<{_with_entities(address)}|{words}>"


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _with_entities(line: str) -> str:
    return "".join(_ENTITIES.get(char, char) for char in line)
