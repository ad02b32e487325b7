"""A test plan as lines for a terminal: what is known, and the groups to test now as commands."""

from collections.abc import Iterator
from typing import Final

from triage.domain.counts import count
from triage.domain.hosts import host_list
from triage.fleet.render.words import Wire, share
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import one_line

__all__ = ["isolation_lines"]

_BOLD, _DIM = "1", "2"
_NAMED: Final = 5


def isolation_lines(plan: Wire, width: int = 80, command: str = "", state: str = "") -> list[Line]:
    """The JSON of a plan; ``command`` is the test, ``state`` the file that holds the plan."""
    lines = [Line(line, _BOLD) for line in wrap(headline(plan), width)]
    for text in (*rests_on(plan), *map(one_line, plan["notes"])):
        lines += [Line(line) for line in wrap(text, width, first="  ", rest="    ")]
    waiting = [one for groups in plan["rounds"][-1:] for one in groups if one["outcome"] is None]
    if waiting:
        num_nodes = sum(group["num_nodes"] for group in waiting)
        head = (
            f"Round {plan['num_rounds']}: run these {count(len(waiting), 'group')} at the same time"
            f" ({count(num_nodes, 'node')})"
        )
        lines += [Line(""), Line(head, _BOLD)]
        where, example = "--nodes={num_nodes} --nodelist={nodelist}", waiting[0]["id"]
        wide = max(len(group["id"]) for group in waiting)
        srun = [f"  {one['id']:{wide}}  srun {where.format(**one)} {command}" for one in waiting]
        if num_nodes == len(waiting):  # one command for nodes that run the test alone
            example = waiting[0]["nodelist"]
            alone = host_list(group["nodelist"] for group in waiting)
            where = f"--nodes={num_nodes} --ntasks-per-node=1 --nodelist={alone}"
            srun = [f"  srun --label {where} {command}"]
        lines += [*map(Line, srun), Line("")]
        again = f"--state {state} --result {example}=fail --result rest=pass"
        feed_back = ["Feed the results back:", f"  triage fleet isolate {again}"]
        hint = ["Give --state FILE as well to feed results back."]
        lines += [Line(text, _DIM) for text in (feed_back if state else hint)]
    if plan["exclude"]:
        lines += [
            Line(""),
            Line("To run a job meanwhile without bad and suspect nodes:", _DIM),
            Line(f"  --exclude={plan['exclude']}"),
        ]
    return lines


def headline(plan: Wire) -> str:
    names = [one_line(row["node"]) for row in plan["bad_nodes"]]
    bad = f"{', '.join(names[:_NAMED])}{' and more' if len(names) > _NAMED else ''}"
    among = count(plan["num_nodes"], "node")
    if plan["state"] == "bad":
        return f"Bad: {bad}. All others are good ({share(1 - plan['others'])})."
    if plan["state"] == "clean":
        return f"No node is bad ({share(plan['nobody'])})."
    if plan["state"] == "undecided":
        return f"Undecided{f'; bad: {bad}' if names else ''}."
    if names:
        return f"Bad so far: {bad}. Take {'it' if len(names) == 1 else 'them'} out, and go on."
    if plan["num_suspects"]:
        return f"{count(plan['num_suspects'], 'suspect')} among {among}; none is surely bad yet."
    return f"{among} to test; none is surely bad yet."


def rests_on(plan: Wire) -> Iterator[str]:
    """What the answer rests on."""
    for row in plan["bad_nodes"]:
        failed = f"{row['num_failed']} of {count(row['num_tests'], 'test')} failed"
        yield f"{one_line(row['node'])} is bad: {share(row['probability'])}, {failed}"
    if rows := plan["suspects"][:_NAMED]:
        named = [f"{one_line(row['node'])} {share(row['probability'])}" for row in rows]
        more = plan["num_suspects"] - len(rows)
        yield f"suspects: {', '.join(named)}{f' and {more:,} more' if more else ''}"
    if plan["num_tests"]:
        beside = "another bad node" if plan["bad_nodes"] else "a bad node"
        yield (
            f"{beside} is there: {share(plan['others'])}; nobody is bad: {share(plan['nobody'])}"
            f" (after {count(plan['num_tests'], 'test')})"
        )
    options = plan["options"]
    yield (
        f"a test catches a bad node in {share(options['recall'])} of cases, and fails without"
        f" one in {share(options['false_alarm'])}"
    )
