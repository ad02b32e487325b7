"""A test plan as lines for a terminal: what is known, and the groups to test now as commands."""

from collections.abc import Iterator, Sequence

from triage.domain.counts import count
from triage.fleet.render.isolation_words import (
    commands,
    each_alone,
    headline,
    rests_on,
    waiting_groups,
)
from triage.fleet.render.words import Wire
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import one_line

__all__ = ["isolation_lines"]

_BOLD, _DIM = "1", "2"
_FIRST, _AGAIN = "  ", "    "


def isolation_lines(plan: Wire, width: int = 80, command: str = "", state: str = "") -> list[Line]:
    """The wire form of a plan; ``command`` is the test, ``state`` the file that holds the plan."""
    lines = [Line(line, _BOLD) for line in wrap(headline(plan), width)]
    for text in (*rests_on(plan), *map(one_line, plan["notes"])):
        lines += [Line(line) for line in wrap(text, width, first=_FIRST, rest=_AGAIN)]
    waiting = waiting_groups(plan)
    if waiting:
        most = plan["options"]["max_rounds"]
        num_nodes = sum(group["num_nodes"] for group in waiting)
        head = (
            f"Round {plan['num_rounds']} of at most {most}: run these"
            f" {count(len(waiting), 'group')} at the same time ({count(num_nodes, 'node')})"
        )
        lines += [Line(""), Line(head, _BOLD)]
        ids = [""] if each_alone(waiting) else [f"{group['id']}  " for group in waiting]
        wide = max(map(len, ids))
        for name, text in zip(ids, commands(waiting, command), strict=True):
            lines.append(Line(f"  {name:{wide}}{text}"))
        lines += [Line(""), *(Line(text, _DIM) for text in feed_back(waiting, state))]
    if plan["exclude"]:
        lines += [
            Line(""),
            Line("To run a job meanwhile without bad and suspect nodes:", _DIM),
            Line(f"  --exclude={plan['exclude']}"),
        ]
    return lines


def feed_back(waiting: Sequence[Wire], state: str) -> Iterator[str]:
    if not state:
        yield "Give --state FILE as well to feed results back."
        return
    yield "Feed the results back:"
    example = waiting[0]["nodelist" if each_alone(waiting) else "id"]
    yield f"  triage fleet isolate --state {state} --result {example}=fail --result rest=pass"
