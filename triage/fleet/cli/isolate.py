"""``triage fleet isolate``: which nodes to test together, so that bad ones are told soon."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import TextOrJson
from triage.cli.output import check_folder, columns, emit, print_lines
from triage.errors import UsageError

__all__ = ["HELP", "isolate"]

HELP = """
Find bad nodes by tests of groups, in the fewest rounds.

The groups of a round run at the same time; each node is in one group at most.
Feed back which groups failed, and the next round or the answer is printed.

\b
Examples:
  triage fleet isolate --nodes n[0001-2048] --state plan.json
  triage fleet isolate --state plan.json --result g7=fail --result rest=pass
  triage fleet isolate --report report.json --recall 0.7 --across leaf \\
      --inventory nodes.csv --state plan.json

A result is pass, fail or not_run; a group may be a list: g[1-7]=pass, and `rest`
is each group of the round without a result.
"""


class NodePlace(StrEnum):
    """The kinds of places that an inventory knows."""

    RACK = "rack"
    LEAF = "leaf"


def isolate(
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="HOSTLIST", help="Candidates: n[001-128],m7.")
    ] = "",
    good: Annotated[
        str, typer.Option("--good", metavar="HOSTLIST", help="Partners known to be good.")
    ] = "",
    incident: Annotated[
        str, typer.Option("--incident", metavar="ID", help="Suspects of this incident.")
    ] = "",
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Suspects of this report, as JSON."),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option("--recall", metavar="P", help="How often a bad node fails a test [0.95]."),
    ] = None,
    false_alarm: Annotated[
        float | None,
        typer.Option("--false-alarm", metavar="P", help="How often good nodes fail one [0]."),
    ] = None,
    group_size: Annotated[
        str,
        typer.Option(
            "--group-size", metavar="N[-M]", help="Nodes of a group [2]; 1: run on a node alone."
        ),
    ] = "",
    tests: Annotated[
        int | None, typer.Option("--tests", metavar="N", help="Groups of a round, at most.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="Rounds, at most [12].")
    ] = None,
    expected: Annotated[
        float | None, typer.Option("--expected", metavar="N", help="Bad nodes expected [0.5].")
    ] = None,
    certainty: Annotated[
        float | None,
        typer.Option("--certainty", metavar="P", help="When a node is called bad [0.95]."),
    ] = None,
    within: Annotated[
        NodePlace | None,
        typer.Option("--within", metavar="PLACE", help="Groups within one rack or leaf."),
    ] = None,
    across: Annotated[
        NodePlace | None,
        typer.Option("--across", metavar="PLACE", help="Groups over two or more of them."),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option("--inventory", metavar="FILE", help="Table of node, rack, leaf_switch."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="FILE", help="Keeps the plan from round to round."),
    ] = None,
    result: Annotated[
        list[str] | None,
        typer.Option("--result", metavar="GROUP=RESULT", help="Can be given several times."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option("--missing", metavar="HOSTLIST", help="Took no part in their group's test."),
    ] = "",
    away: Annotated[
        str | None, typer.Option("--away", metavar="HOSTLIST", help="Cannot be tested for now.")
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--next", help="Next round, though some groups have no result.")
    ] = False,
    correct: Annotated[
        bool, typer.Option("--correct", help="Replace a result that was given before.")
    ] = False,
    test: Annotated[
        str, typer.Option("--test", metavar="COMMAND", help="What srun is to run, as printed.")
    ] = "TEST",
    format_: Annotated[
        TextOrJson, typer.Option("--format", "-f", help="text for people, or json.")
    ] = TextOrJson.TEXT,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Service of --incident [TRIAGE_URL].")
    ] = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Print the next round or the answer; the help stands in ``HELP``."""
    from triage.fleet.cli import isolation_plans as plans
    from triage.fleet.isolation.wire import plan_to_dict

    knobs = {
        "recall": recall,
        "false_alarm": false_alarm,
        "max_tests": tests,
        "max_rounds": rounds,
        "expected": expected,
        "certainty": certainty,
    }
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
        if result or missing or go_on or correct:
            raise UsageError("a plan that begins has no result yet")
        answer = plans.answer_from(report, incident, (url, token_file, ca_file))
        weights = plans.weights_of(nodes, good, answer)
        places = plans.places_of(list(weights), within, across, inventory)
        plan = plans.begun(weights, plans.options_of(knobs, group_size), places, away or "")
    elif (
        good
        or within
        or across
        or inventory
        or group_size
        or any(value is not None for value in knobs.values())
    ):
        raise UsageError("the plan is begun: its nodes, places and rates stay as they are")
    else:
        plan = plans.continued(
            plans.kept(state or Path()), result or [], missing, away, go_on=go_on, correct=correct
        )
    facts = plan_to_dict(plan)
    if state is not None:
        emit(json.dumps(facts, indent=1).encode() + b"\n", state)
    if format_ is TextOrJson.JSON:
        from triage.render.data.wire import encode

        emit(encode(facts))
        return
    from triage.fleet.render.terminal.isolation import isolation_lines

    print_lines(isolation_lines(facts, columns(), test, "" if state is None else str(state)))
