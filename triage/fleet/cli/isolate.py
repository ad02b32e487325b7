"""``triage fleet isolate``: which nodes to test together, to find the bad ones in few rounds."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from triage.cli.options import TextOrJson, take
from triage.cli.output import check_folder, emit, get_output_columns, print_lines
from triage.domain.hosts import expand, format_host_list
from triage.domain.patterns import compile_re
from triage.errors import UsageError

HELP = """
Find bad nodes by tests of groups, in the fewest rounds.

The groups of a round run at the same time; each node is in one group at most.
Feed back which groups failed, and the next round or the answer is printed.

\b
Examples:
  triage fleet isolate --nodes n[0001-2048] --state plan.json
  triage fleet isolate --state plan.json --result g7=fail --result rest=pass
  triage fleet isolate --nodes n[1-64] --recall 0.7 --state plan.json

A result is pass, fail or not_run; a group may be a list: g[1-7]=pass, and `rest`
is each group of the round without a result.
"""
_RESULT: Final = compile_re(r"([^=\s]{1,4096})=(pass|fail|not_run)")
_MAX_BYTES: Final = 64 << 20


def isolate(
    nodes: Annotated[str, take("HOSTLIST", "Candidates: n[001-128],m7.")] = "",
    good: Annotated[str, take("HOSTLIST", "Partners known to be good.")] = "",
    recall: Annotated[float | None, take("P", "How often a bad node fails a test [0.95].")] = None,
    false_alarm: Annotated[float | None, take("P", "How often good nodes fail one [0].")] = None,
    group_size: Annotated[
        int | None, take("N", "Least nodes of a group [2]; 1: run on a node alone.")
    ] = None,
    state: Annotated[Path | None, take("FILE", "Keeps the plan from round to round.")] = None,
    result: Annotated[list[str] | None, take("GROUP=RESULT", "Can be given several times.")] = None,
    test: Annotated[str, take("COMMAND", "What srun is to run, as printed.")] = "TEST",
    format_: Annotated[
        TextOrJson, take(None, "text for people, or json.", "--format", "-f")
    ] = TextOrJson.TEXT,
) -> None:
    """Print the next round or the answer; the help stands in ``HELP``."""
    from triage.fleet import isolation
    from triage.fleet.render.sentences import write_sentences
    from triage.render.data.wire import encode
    from triage.render.terminal.text import Line, wrap

    given = {"recall": recall, "false_alarm": false_alarm, "group_size": group_size}
    rates: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    begins = bool(nodes)
    if begins == (state is not None and state.exists()):
        raise UsageError(
            f"{state} holds a plan already: name another file, or leave out the nodes"
            if begins
            else "say which nodes: --nodes; or --state FILE of a plan"
        )
    if state is not None:
        check_folder(state)
    if begins:
        if result:
            raise UsageError("a plan that begins has no result yet")
        weights = dict.fromkeys(_parse_hosts(nodes, "--nodes"), 1.0)
        weights |= dict.fromkeys(_parse_hosts(good, "--good"), 0.0)
        plan = isolation.begin_plan(
            list(weights), list(weights.values()), isolation.TestRates(**rates)
        )
    elif good or rates:
        raise UsageError("the plan is begun: its nodes and rates stay as they are")
    else:
        plan = isolation.plan_from_dict(_read_plan(state or Path()))
        plan = isolation.add_results(plan, _parse_outcomes(result or []))
        if not plan.waiting:
            plan = isolation.add_round(plan)
    facts = isolation.plan_to_dict(plan)
    if state is not None:
        emit(json.dumps(facts, indent=1).encode() + b"\n", state)
    if format_ is TextOrJson.JSON:
        emit(encode(facts))
        return
    first, *more = write_sentences("test_plan", facts)
    lines = [Line(line, "1") for line in wrap(first, get_output_columns())]
    lines += [
        Line(line)
        for one in more
        for line in wrap(one, get_output_columns(), first="  ", rest="    ")
    ]
    print_lines([*lines, *map(Line, _list_commands(facts, test, state))])


def _list_commands(facts: dict[str, Any], test: str, state: Path | None) -> Iterator[str]:
    """The groups to test now as commands, and how to go on."""
    waiting = [one for one in (facts["rounds"] or [[]])[-1] if one["outcome"] is None]
    if waiting:
        yield f"\nRound {len(facts['rounds'])}: run these groups at the same time"
        sizes = [len(expand(one["nodelist"])) for one in waiting]
        wide = max(len(one["id"]) for one in waiting)
        example = waiting[0]["id"]
        if max(sizes) == 1:  # one command for nodes that run the test alone
            example = waiting[0]["nodelist"]
            alone = format_host_list(one["nodelist"] for one in waiting)
            where = f"--nodes={len(waiting)} --ntasks-per-node=1 --nodelist={alone}"
            yield f"  srun --label {where} {test}"
        else:
            for one, size in zip(waiting, sizes, strict=True):
                where = f"--nodes={size} --nodelist={one['nodelist']}"
                yield f"  {one['id']:{wide}}  srun {where} {test}"
        yield (
            f"\nFeed the results back:\n  triage fleet isolate --state {state}"
            f" --result {example}=fail --result rest=pass"
            if state
            else "\nGive --state FILE as well to feed results back."
        )
    if facts["exclude"]:
        yield "\nTo run a job meanwhile without bad and suspect nodes:"
        yield f"  --exclude={facts['exclude']}"


def _parse_outcomes(results: Sequence[str]) -> dict[str, str]:
    outcomes: dict[str, str] = {}
    for text in results:
        match = _RESULT.fullmatch(text)
        if match is None:
            raise UsageError(f"--result {text[:80]!r}: give GROUP=pass, =fail or =not_run")
        for group in _parse_hosts(match[1], "--result"):
            if outcomes.setdefault(group, match[2]) != match[2]:
                raise UsageError(f"--result: {group} has two results")
    return outcomes


def _read_plan(path: Path) -> Any:  # noqa: ANN401 - what JSON can hold
    try:
        with path.open("rb") as file:
            found = file.read(_MAX_BYTES + 1)
        if len(found) > _MAX_BYTES:
            raise UsageError(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
        return json.loads(found)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} holds no test plan: {error}") from error


def _parse_hosts(text: str, name: str) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
