"""Ticket: an incident as Markdown, to be pasted where people keep their tickets.

The verdict, a table of suspects, the reasons of the best three, what to do, commands, what
the answer rests on, a link. GitHub takes 65,536 characters and Jira 32,767, so a ticket
keeps to 32,000: rows of the table are left out before anything else.

What logs say is shown and does nothing: markup is escaped, and what trackers act on behind
the markup (mentions, addresses, numbers of other issues) is replaced by its look-alike.
"""

import re
from collections.abc import Iterator

from triage.notify.headline import headline, where
from triage.notify.message import Message
from triage.notify.neutral import cut_chars, inert, plain, web_link
from triage.notify.pasted import pasted
from triage.notify.told import Named, in_front, told
from triage.render.words.belief import belief
from triage.render.words.ranges import condense

__all__ = ["MAX_CHARS", "as_markdown", "escaped"]

MAX_CHARS = 32_000
_REASONS = 4
_HEAD = "| # | node | ranks | category | score | role | action |"

# What is markup anywhere, an underscore that is not inside a word (gpu_hbm is none), and
# what begins a heading, a list or a rule at the start of a line. Names stay as they are.
_MARKUP = re.compile(r"([\\*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[#+=-]|^\d+(?=[.)]))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# all_reduce #812, CPU#12: GitHub and GitLab link such a number to another issue, which is
# then told of it.
_ISSUE = re.compile(r"#(?=\d)")


def as_markdown(message: Message) -> str:
    """The whole incident, in at most ``MAX_CHARS`` characters; ends with a newline."""
    above, below = "\n\n".join(_above(message)), "\n\n".join(_below(message))
    room = MAX_CHARS - len(above) - len(below) - len("\n\n\n\n\n")
    table = _table(message, told(message)[1], room)
    return "\n\n".join(part for part in (above, table, below) if part) + "\n"


def escaped(text: str, limit: int) -> str:
    """``text`` as Markdown that acts on nothing, at most ``limit`` characters, escapes whole."""
    line = cut_chars(_ISSUE.sub("＃", inert(text)), limit)
    whole = _escape(line)
    keep = len(line)
    while len(whole) > limit:
        keep = min(keep - 1, limit * keep // len(whole))
        whole = _escape(cut_chars(line, keep))
    return whole


def _escape(line: str) -> str:
    text = _MARKUP.sub(_backslashed, line)
    return "".join(_ENTITIES.get(char, char) for char in text)


def _backslashed(found: re.Match[str]) -> str:
    # "1." is a list; a backslash before a digit would be shown, before the dot it is not.
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _above(message: Message) -> Iterator[str]:
    yield f"**{escaped(headline(message), 400)}**"
    found = message.resolution or {}
    note, node = found.get("note"), found.get("node")
    if found:
        on = f" on {escaped(node, 120)}" if isinstance(node, str) and node else ""
        what = f"Found to be: {escaped(str(found.get('category')), 80)}{on}."
        yield f"{what} {escaped(note, 2_000)}" if isinstance(note, str) and note else what
    verdict, suspects = told(message)
    if verdict is not None and verdict.summary:
        yield escaped(verdict.summary, 2_000)
    if not suspects:
        yield "No suspects."


def _table(message: Message, suspects: tuple[Named, ...], room: int) -> str:
    """One row a suspect, as many as fit, and how many do not."""
    if not suspects:
        return ""
    # Verdicts of old keep no action with a suspect; the row is then empty there.
    actions = [wire.get("action") for wire in message.suspects]
    lines = [_HEAD, "|---|---|---|---|---|---|---|"]
    room -= len(lines[0]) + len(lines[1]) + 40  # the line that says what is left out
    for position, (suspect, action) in enumerate(zip(suspects, actions, strict=True), start=1):
        row = _row(position, suspect, action if isinstance(action, str) else "")
        room -= len(row) + 1
        if room < 0:
            return "\n".join([*lines, "", f"{len(suspects) - position + 1} more in the incident."])
        lines.append(row)
    return "\n".join(lines)


def _row(position: int, suspect: Named, action: str) -> str:
    cells = (
        str(position),
        escaped(suspect.node or "?", 120),
        escaped(condense(suspect.ranks, max_chars=40), 80),
        escaped(suspect.category, 80),
        belief(suspect.score),
        escaped(suspect.role, 40),
        escaped(action, 80),
    )
    return f"| {' | '.join(cells)} |"


def _below(message: Message) -> Iterator[str]:
    verdict, suspects = told(message)
    reasons = [line for suspect in in_front(suspects) for line in _reasons(suspect)]
    if reasons:
        yield "\n".join(reasons)
    if verdict is not None:
        step = message.next_step or verdict.action
        yield f"Next: {escaped(step, 1_200)}"
    commands = pasted(message.actions, 4_000, plain)
    if commands:
        yield f"```sh\n{commands}\n```"
    if message.coverage_text:
        yield f"Coverage: {escaped(message.coverage_text, 400)}"
    link = web_link(message.url)
    # In angle brackets, where no character of an address is markup.
    yield f"<{link}>" if link else f"Incident {escaped(message.incident_id, 300)}"


def _reasons(suspect: Named) -> Iterator[str]:
    name = escaped(where(suspect), 120)
    for reason in suspect.because[:_REASONS]:
        place = f" ({escaped(reason.place, 160)})" if reason.place else ""
        yield f"- {name}: {escaped(reason.text, 600)}{place}"
