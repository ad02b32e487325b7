"""``triage fleet isolate``: which nodes to test together, to find the bad ones in few rounds."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from triage.cli.ask import CaFile, TokenFile, asking
from triage.cli.options import TextOrJson
from triage.cli.output import check_folder, columns, emit, print_lines
from triage.domain.category import Role
from triage.domain.hosts import expand, is_host_name
from triage.domain.natural import natural
from triage.errors import Conflict, UsageError

if TYPE_CHECKING:
    from triage.domain.report import Answer
    from triage.fleet.isolation.options import IsolationOptions
    from triage.fleet.isolation.plan import GroupOutcome

__all__ = ["HELP", "isolate"]

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
RESULT: Final = re.compile(r"([^=\s]{1,4096})=(pass|fail|not_run)")
SIZES: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
MAX_BYTES: Final = 64 << 20
REMOVED: Final = ("--within", "--across", "--inventory", "--away", "--tests", "--rounds")
# The nodes of a job that no evidence names hold this share of the suspicion together.
UNNAMED_SHARE: Final = 0.1


def option(name: str, metavar: str, text: str) -> Any:  # noqa: ANN401 - what typer returns
    return typer.Option(name, metavar=metavar, help=text)


def isolate(
    nodes: Annotated[str, option("--nodes", "HOSTLIST", "Candidates: n[001-128],m7.")] = "",
    good: Annotated[str, option("--good", "HOSTLIST", "Partners known to be good.")] = "",
    incident: Annotated[str, option("--incident", "ID", "Suspects of this incident.")] = "",
    report: Annotated[
        Path | None, option("--report", "FILE", "Suspects of this report, as JSON.")
    ] = None,
    recall: Annotated[
        float | None, option("--recall", "P", "How often a bad node fails a test [0.95].")
    ] = None,
    false_alarm: Annotated[
        float | None, option("--false-alarm", "P", "How often good nodes fail one [0].")
    ] = None,
    group_size: Annotated[
        str, option("--group-size", "N[-M]", "Nodes of a group [2]; 1: run on a node alone.")
    ] = "",
    expected: Annotated[
        float | None, option("--expected", "N", "Bad nodes expected [0.5].")
    ] = None,
    certainty: Annotated[
        float | None, option("--certainty", "P", "When a node is called bad [0.95].")
    ] = None,
    state: Annotated[
        Path | None, option("--state", "FILE", "Keeps the plan from round to round.")
    ] = None,
    result: Annotated[
        list[str] | None, option("--result", "GROUP=RESULT", "Can be given several times.")
    ] = None,
    missing: Annotated[
        str, option("--missing", "HOSTLIST", "Took no part in their group's test.")
    ] = "",
    test: Annotated[str, option("--test", "COMMAND", "What srun is to run, as printed.")] = "TEST",
    format_: Annotated[
        TextOrJson, typer.Option("--format", "-f", help="text for people, or json.")
    ] = TextOrJson.TEXT,
    url: Annotated[str, option("--url", "URL", "Service of --incident [TRIAGE_URL].")] = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    removed: Annotated[str | None, typer.Option(*REMOVED, hidden=True)] = None,
    removed_flag: Annotated[bool, typer.Option("--next", "--correct", hidden=True)] = False,
) -> None:
    """Print the next round or the answer; the help stands in ``HELP``."""
    from triage.fleet.isolation.plan import new_plan, with_next_round, with_results
    from triage.fleet.isolation.state import plan_from_dict, plan_to_dict
    from triage.fleet.render.terminal.isolation import isolation_lines
    from triage.render.data.wire import encode

    if removed is not None or removed_flag:
        raise UsageError(
            "one of these options is removed: --next is --result rest=not_run, a second --result of"
            " a group corrects the first, and --nodes are those of one rack that can be tested"
        )
    rates = {
        "recall": recall, "false_alarm": false_alarm, "expected": expected, "certainty": certainty,
    }  # fmt: skip
    rates = {name: value for name, value in rates.items() if value is not None}
    begins = bool(nodes or incident or report)
    if begins == (state is not None and state.exists()):
        raise UsageError(
            f"{state} holds a plan already: name another file, or leave out the nodes"
            if begins
            else "say which nodes: --nodes, --report or --incident; or --state FILE of a plan"
        )
    if state is not None:
        check_folder(state)
    if begins:
        if result or missing:
            raise UsageError("a plan that begins has no result yet")
        answer = find_answer(report, incident, (url, token_file, ca_file))
        weights = weigh_nodes(hosts_in(nodes, "--nodes"), hosts_in(good, "--good"), answer)
        plan = new_plan(list(weights), list(weights.values()), options_from(group_size, rates))
    elif good or group_size or rates:
        raise UsageError("the plan is begun: its nodes and rates stay as they are")
    else:
        plan = plan_from_dict(json_in(state or Path(), "test plan"))
        plan = with_results(plan, outcomes_in(result or []), hosts_in(missing, "--missing"))
        if not plan.waiting:
            plan = with_next_round(plan)
    facts = plan_to_dict(plan)
    if state is not None:
        emit(json.dumps(facts, indent=1).encode() + b"\n", state)
    if format_ is TextOrJson.JSON:
        emit(encode(facts))
    else:
        print_lines(isolation_lines(facts, columns(), test, "" if state is None else str(state)))


def options_from(group_size: str, rates: dict[str, Any]) -> "IsolationOptions":
    from triage.fleet.isolation.options import IsolationOptions

    if not group_size:
        return IsolationOptions(**rates)
    match = SIZES.fullmatch(group_size)
    if match is None:
        raise UsageError(f"--group-size {group_size!r}: give one number, or two like 2-64")
    return IsolationOptions(
        **rates, min_size=int(match[1]), max_size=int(match[2]) if match[2] else None
    )


def find_answer(
    report: Path | None, incident: str, service: tuple[str, str | None, str | None]
) -> "Answer | None":
    """The answer whose suspects are tested; None where none is named. Raises UsageError."""
    from triage.domain.report_wire import answer_of_report

    if report is not None and incident:
        raise UsageError("give --report or --incident, and not both")
    if report is not None:
        try:
            return answer_of_report(json_in(report, "report of triage analyze --format json"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{report} is no report of triage analyze --format json") from error
    if not incident:
        return None
    with asking(*service) as client:
        try:
            return client.incident(incident).report.answer
        except Conflict as error:
            raise UsageError(f"{error.detail}; triage watch {incident} waits for it") from error


def weigh_nodes(
    nodes: Sequence[str], good: Sequence[str], answer: "Answer | None"
) -> dict[str, float]:
    """The suspicion of each node: by the score of suspects, 0 of good ones. Raises UsageError.

    The bad node may be one that left no trace, so the other nodes of the job are suspects too.
    """
    weights = dict.fromkeys(nodes, 1.0)
    if answer is not None:
        suspects: dict[str, float] = {}
        for one in answer.suspects:
            if one.node and one.role is not Role.AFFECTED:
                suspects[one.node] = max(one.score, suspects.get(one.node, 0.0))
        named = {*nodes, *suspects, *answer.victims.nodes}
        named |= {rank.node for rank in answer.ranks if rank.node}
        names = sorted(filter(is_host_name, named), key=natural)
        share = UNNAMED_SHARE / (1 - UNNAMED_SHARE) * sum(suspects.values())
        each = share / max(1, len(set(names) - set(suspects))) or 1.0
        weights = {name: suspects.get(name, each) for name in names}
    if not weights:
        raise UsageError("the answer names no node: say which ones with --nodes")
    return weights | dict.fromkeys(good, 0.0)


def outcomes_in(results: Sequence[str]) -> "dict[str, GroupOutcome]":
    from triage.fleet.isolation.plan import GroupOutcome

    outcomes: dict[str, GroupOutcome] = {}
    for text in results:
        match = RESULT.fullmatch(text)
        if match is None:
            raise UsageError(f"--result {text[:80]!r}: give GROUP=pass, =fail or =not_run")
        for group in hosts_in(match[1], "--result"):
            if outcomes.setdefault(group, GroupOutcome(match[2])) != match[2]:
                raise UsageError(f"--result: {group} has two results")
    return outcomes


def json_in(path: Path, what: str) -> Any:  # noqa: ANN401 - what JSON can hold
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
        if len(found) > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MiB")
        return json.loads(found)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} holds no {what}: {error}") from error


def hosts_in(text: str, name: str) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
