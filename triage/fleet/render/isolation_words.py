"""A test plan in words: its answer in one sentence, what that rests on, and the commands to run."""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.counts import count
from triage.domain.hosts import host_list
from triage.fleet.render.words import Wire, share
from triage.render.words.clean import one_line

__all__ = ["commands", "each_alone", "headline", "rests_on", "waiting_groups"]

_NAMED: Final = 5


def waiting_groups(plan: Wire) -> list[Wire]:
    """The groups of the last round that have no result yet."""
    return (
        [group for group in plan["rounds"][-1] if group["outcome"] is None]
        if plan["rounds"]
        else []
    )


def headline(plan: Wire) -> str:
    """The answer in one sentence."""
    names = [one_line(row["node"]) for row in plan["bad_nodes"]]
    bad = f"{', '.join(names[:_NAMED])}{' and more' if len(names) > _NAMED else ''}"
    if plan["state"] == "bad":
        return f"Bad: {bad}. All others are good ({share(1 - plan['others'])})."
    if plan["state"] == "clean":
        return f"No node is bad ({share(plan['nobody'])})."
    if plan["state"] == "undecided":
        return f"Undecided{f'; bad: {bad}' if names else ''}."
    if names:
        return f"Bad so far: {bad}. Take {'it' if len(names) == 1 else 'them'} out, and go on."
    among = count(plan["num_nodes"], "node")
    if plan["num_suspects"]:
        return f"{count(plan['num_suspects'], 'suspect')} among {among}; none is surely bad yet."
    return f"{among} to test; none is surely bad yet."


def rests_on(plan: Wire) -> Iterator[str]:
    """What the answer rests on."""
    for row in plan["bad_nodes"]:
        yield f"{one_line(row['node'])} is bad: {share(row['probability'])}, {tested(row)}"
    rows = plan["suspects"][:_NAMED]
    if rows:
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


def each_alone(waiting: Sequence[Wire]) -> bool:
    """Whether every group is one node."""
    return bool(waiting) and all(group["num_nodes"] == 1 for group in waiting)


def commands(waiting: Sequence[Wire], command: str = "") -> list[str]:
    """What runs the test on each group, one line a group; one line for nodes that run alone."""
    if each_alone(waiting):
        nodes = host_list(group["nodelist"] for group in waiting)
        where = f"--nodes={len(waiting)} --ntasks-per-node=1 --nodelist={nodes}"
        return [f"srun --label {where} {command or 'TEST'}"]
    return [srun(group, command) for group in waiting]


def tested(row: Wire) -> str:
    return f"{row['num_failed']} of {count(row['num_tests'], 'test')} failed"


def srun(group: Wire, command: str) -> str:
    """The command that runs the test on one group."""
    command = command or "TEST"
    return f"srun --nodes={group['num_nodes']} --nodelist={group['nodelist']} {command}"
