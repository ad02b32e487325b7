"""Ticket: an incident as Markdown, to be pasted where people keep their tickets.

The verdict, a table of suspects, the reasons of the best three, what to do, commands, what
the answer rests on, a link. GitHub takes 65,536 characters and Jira 32,767, so a ticket
keeps to 32,000: rows of the table are left out before anything else.

What logs say is shown and does nothing: markup is escaped, and what trackers act on behind
the markup (mentions, addresses, numbers of other issues) is replaced by its look-alike.
"""

import html
import re
from collections.abc import Iterator

from triage.domain.patterns import compile_re
from triage.domain.report import Suspect
from triage.notify.headline import (
    compose_headline,
    describe_restart,
    describe_suspect_place,
    format_place,
    select_top_suspects,
)
from triage.notify.message import Message
from triage.notify.safe_text import (
    escape_to_fit,
    find_web_link,
    format_commands,
    format_plain,
    make_inert,
)
from triage.render.words.answer import format_belief
from triage.render.words.ranges import condense

MAX_CHARS = 32_000
_REASONS = 4
_HEAD = "| # | node | ranks | category | score | role | action |"

# What is markup anywhere, an underscore that is not inside a word (gpu_hbm is none), and
# what begins a heading, a list or a rule at the start of a line. Names stay as they are.
_MARKUP = compile_re(r"([\\*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[#+=-]|^\d+(?=[.)]))")
# all_reduce #812, CPU#12: GitHub and GitLab link such a number to another issue, and that
# issue then shows the link.
_ISSUE = compile_re(r"#(?=\d)")


def render_ticket_markdown(message: Message) -> str:
    """The whole incident, in at most ``MAX_CHARS`` characters; ends with a newline."""
    above, below = (
        "\n\n".join(_list_paragraphs_above(message)),
        "\n\n".join(_list_paragraphs_below(message)),
    )
    room = MAX_CHARS - len(above) - len(below) - len("\n\n\n\n\n")
    table = _format_suspect_table(message.suspects, room)
    return "\n\n".join(part for part in (above, table, below) if part) + "\n"


def escape_markdown(text: str, limit: int) -> str:
    """``text`` as Markdown that acts on nothing, at most ``limit`` characters, escapes whole."""

    def add_backslash(match: re.Match[str]) -> str:
        # "1." is a list; a backslash before a digit would be shown, before the dot it is not.
        return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"

    def escape(line: str) -> str:
        return html.escape(_MARKUP.sub(add_backslash, line), quote=False)

    return escape_to_fit(_ISSUE.sub("＃", make_inert(text)), limit, escape)


def _list_paragraphs_above(message: Message) -> Iterator[str]:
    yield f"**{escape_markdown(compose_headline(message), 400)}**"
    resolution = message.resolution or {}
    note, node = resolution.get("note"), resolution.get("node")
    if resolution:
        on = f" on {escape_markdown(node, 120)}" if isinstance(node, str) and node else ""
        what = f"Found to be: {escape_markdown(str(resolution.get('category')), 80)}{on}."
        yield f"{what} {escape_markdown(note, 2_000)}" if isinstance(note, str) and note else what
    verdict, suspects = message.verdict, message.suspects
    if verdict is not None and verdict.summary:
        yield escape_markdown(verdict.summary, 2_000)
    if message.seen_first:
        seen = (f"- {escape_markdown(one, 600)}" for one in message.seen_first[:_REASONS])
        yield "\n".join(("Seen first:", "", *seen))
    if not suspects:
        yield "No suspects."


def _format_suspect_table(suspects: tuple[Suspect, ...], room: int) -> str:
    """One row a suspect, as many as fit, and how many do not."""
    if not suspects:
        return ""
    lines = [_HEAD, "|---|---|---|---|---|---|---|"]
    room -= len(lines[0]) + len(lines[1]) + 40  # the line that says what is left out
    for position, suspect in enumerate(suspects, start=1):
        row = _format_suspect_row(position, suspect)
        room -= len(row) + 1
        if room < 0:
            return "\n".join([*lines, "", f"{len(suspects) - position + 1} more in the incident."])
        lines.append(row)
    return "\n".join(lines)


def _format_suspect_row(position: int, suspect: Suspect) -> str:
    cells = (
        str(position),
        escape_markdown(suspect.node or "?", 120),
        escape_markdown(condense(suspect.ranks, max_chars=40), 80),
        escape_markdown(suspect.category, 80),
        format_belief(suspect.score),
        escape_markdown(suspect.role, 40),
        escape_markdown(suspect.action, 80),
    )
    return f"| {' | '.join(cells)} |"


def _list_paragraphs_below(message: Message) -> Iterator[str]:
    verdict, suspects = message.verdict, message.suspects
    reasons = []
    for suspect in select_top_suspects(suspects):
        name = escape_markdown(describe_suspect_place(suspect), 120)
        for reason in suspect.because[:_REASONS]:
            at = format_place(reason)
            place = f" ({escape_markdown(at, 160)})" if at else ""
            reasons.append(f"- {name}: {escape_markdown(reason.text, 600)}{place}")
    if reasons:
        yield "\n".join(reasons)
    if verdict is not None:
        step = message.next_step or verdict.action
        yield f"Next: {escape_markdown(step, 1_200)}"
    if message.recurrence:
        yield escape_markdown(message.recurrence, 1_200)
    if restart := describe_restart(message):
        yield f"Job: {escape_markdown(restart, 1_200)}"
    commands = format_commands(message.actions, 4_000, format_plain)
    if commands:
        yield f"```sh\n{commands}\n```"
    if message.coverage_text:
        yield f"Coverage: {escape_markdown(message.coverage_text, 400)}"
    link = find_web_link(message.url)
    # In angle brackets, where no character of an address is markup.
    yield f"<{link}>" if link else f"Incident {escape_markdown(message.incident_id, 300)}"
