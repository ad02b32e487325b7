"""``triage fleet isolate``: which nodes to test together, to find the bad ones in few rounds."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from triage.cli.options import TextOrJson
from triage.cli.output import check_folder, emit, get_output_columns, print_lines
from triage.domain.category import Role
from triage.domain.hosts import expand, format_host_list, is_host_name, make_natural_key
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
  triage fleet isolate --report report.json --recall 0.7 --state plan.json

A result is pass, fail or not_run; a group may be a list: g[1-7]=pass, and `rest`
is each group of the round without a result.
"""
_RESULT: Final = compile_re(r"([^=\s]{1,4096})=(pass|fail|not_run)")
_MAX_BYTES: Final = 64 << 20
# The nodes of a job that no evidence names hold this share of the suspicion together.
_UNNAMED_SHARE: Final = 0.1


def _make_option(name: str, metavar: str, text: str) -> Any:  # noqa: ANN401 - what typer returns
    return typer.Option(name, metavar=metavar, help=text)


def isolate(
    nodes: Annotated[str, _make_option("--nodes", "HOSTLIST", "Candidates: n[001-128],m7.")] = "",
    good: Annotated[str, _make_option("--good", "HOSTLIST", "Partners known to be good.")] = "",
    report: Annotated[
        Path | None, _make_option("--report", "FILE", "Suspects of this report, as JSON.")
    ] = None,
    recall: Annotated[
        float | None, _make_option("--recall", "P", "How often a bad node fails a test [0.95].")
    ] = None,
    false_alarm: Annotated[
        float | None, _make_option("--false-alarm", "P", "How often good nodes fail one [0].")
    ] = None,
    group_size: Annotated[
        int | None,
        _make_option("--group-size", "N", "Least nodes of a group [2]; 1: run on a node alone."),
    ] = None,
    state: Annotated[
        Path | None, _make_option("--state", "FILE", "Keeps the plan from round to round.")
    ] = None,
    result: Annotated[
        list[str] | None, _make_option("--result", "GROUP=RESULT", "Can be given several times.")
    ] = None,
    test: Annotated[
        str, _make_option("--test", "COMMAND", "What srun is to run, as printed.")
    ] = "TEST",
    format_: Annotated[
        TextOrJson, typer.Option("--format", "-f", help="text for people, or json.")
    ] = TextOrJson.TEXT,
) -> None:
    """Print the next round or the answer; the help stands in ``HELP``."""
    from triage.fleet import isolation
    from triage.fleet.render.texts import write_sentences
    from triage.render.data.wire import encode
    from triage.render.terminal.text import Line
    from triage.render.terminal.wrap import wrap

    given = {"recall": recall, "false_alarm": false_alarm, "group_size": group_size}
    rates: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    begins = bool(nodes or report)
    if begins == (state is not None and state.exists()):
        raise UsageError(
            f"{state} holds a plan already: name another file, or leave out the nodes"
            if begins
            else "say which nodes: --nodes or --report; or --state FILE of a plan"
        )
    if state is not None:
        check_folder(state)
    if begins:
        if result:
            raise UsageError("a plan that begins has no result yet")
        weights = _weigh_nodes(_parse_hosts(nodes, "--nodes"), _parse_hosts(good, "--good"), report)
        plan = isolation.begin_plan(
            list(weights), list(weights.values()), isolation.TestRates(**rates)
        )
    elif good or rates:
        raise UsageError("the plan is begun: its nodes and rates stay as they are")
    else:
        plan = isolation.plan_from_dict(_read_json(state or Path(), "test plan"))
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


def _weigh_nodes(
    nodes: Sequence[str], good: Sequence[str], report: Path | None
) -> dict[str, float]:
    """The suspicion of each node: by the score of suspects, 0 of good ones. Raises UsageError.

    The bad node may be one that left no trace, so the other nodes of the job are suspects too.
    """
    from triage.domain.answer_wire import answer_of_report

    weights = dict.fromkeys(nodes, 1.0)
    if report is not None:
        try:
            answer = answer_of_report(_read_json(report, "report of triage analyze --format json"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{report} is no report of triage analyze --format json") from error
        suspects: dict[str, float] = {}
        for one in answer.suspects:
            if one.node and one.role is not Role.AFFECTED:
                suspects[one.node] = max(one.score, suspects.get(one.node, 0.0))
        named = {*nodes, *suspects, *answer.victims.nodes}
        named |= {rank.node for rank in answer.ranks if rank.node}
        names = sorted(filter(is_host_name, named), key=make_natural_key)
        share = _UNNAMED_SHARE / (1 - _UNNAMED_SHARE) * sum(suspects.values())
        each = share / max(1, len(set(names) - set(suspects))) or 1.0
        weights = {name: suspects.get(name, each) for name in names}
    if not weights:
        raise UsageError("the answer names no node: say which ones with --nodes")
    return weights | dict.fromkeys(good, 0.0)


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


def _read_json(path: Path, what: str) -> Any:  # noqa: ANN401 - what JSON can hold
    try:
        with path.open("rb") as file:
            found = file.read(_MAX_BYTES + 1)
        if len(found) > _MAX_BYTES:
            raise UsageError(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
        return json.loads(found)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} holds no {what}: {error}") from error


def _parse_hosts(text: str, name: str) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
