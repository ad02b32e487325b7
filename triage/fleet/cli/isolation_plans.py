"""What ``triage fleet isolate`` is given, as a test plan: nodes, places, and results of groups."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from triage.cli.ask import asking
from triage.domain.hosts import expand
from triage.domain.report import Answer
from triage.domain.report_wire import answer_of_report
from triage.errors import Conflict, TriageError, UsageError
from triage.fleet.domain.exposure import NodeFacts
from triage.fleet.isolation.candidates import candidates_of
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.plan import (
    GroupOutcome,
    IsolationPlan,
    NodePlaces,
    new_plan,
    with_next_round,
    with_results,
)
from triage.fleet.isolation.wire import plan_from_dict
from triage.fleet.parsers.read import read_exposure

__all__ = ["answer_from", "begun", "continued", "kept", "options_of", "places_of", "weights_of"]

RESULT: Final = re.compile(r"([^=\s]{1,4096})=(pass|fail|not_run)")
SIZES: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
MAX_BYTES: Final = 64 << 20


def options_of(knobs: Mapping[str, Any], group_size: str) -> IsolationOptions:
    """The options that were given. Raises UsageError."""
    chosen = {name: value for name, value in knobs.items() if value is not None}
    if group_size:
        match = SIZES.fullmatch(group_size)
        if match is None:
            raise UsageError(f"--group-size {group_size!r}: give one number, or two like 2-64")
        chosen["min_size"] = int(match[1])
        chosen["max_size"] = int(match[2]) if match[2] else None
    return IsolationOptions(**chosen)


def answer_from(
    report: Path | None, incident: str, service: tuple[str, str | None, str | None]
) -> Answer | None:
    """The answer whose suspects are tested; None where none is named. Raises UsageError."""
    if report is not None and incident:
        raise UsageError("give --report or --incident, and not both")
    if report is not None:
        try:
            return answer_of_report(json.loads(bytes_of(report)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{report} is no report of triage analyze --format json") from error
    if not incident:
        return None
    with asking(*service) as client:
        try:
            return client.incident(incident).report.answer
        except Conflict as error:
            raise UsageError(f"{error.detail}; triage watch {incident} waits for it") from error


def weights_of(nodes: str, good: str, answer: Answer | None) -> dict[str, float]:
    """The suspicion of each node; that of good ones is 0. Raises UsageError."""
    named = hosts_in(nodes, "--nodes")
    weights = dict.fromkeys(named, 1.0) if answer is None else candidates_of(answer, named)
    if not weights:
        raise UsageError("the answer names no node: say which ones with --nodes")
    return weights | dict.fromkeys(hosts_in(good, "--good"), 0.0)


def places_of(
    nodes: Sequence[str], within: str | None, across: str | None, inventory: Path | None
) -> NodePlaces | None:
    """The rack or leaf of each node, by the inventory. Raises UsageError."""
    if within is None and across is None:
        if inventory is not None:
            raise UsageError("--inventory says where nodes are: add --within or --across")
        return None
    if within is not None and across is not None:
        raise UsageError("give --within or --across, and not both")
    if inventory is None:
        raise UsageError("--inventory FILE is needed: a table with node, rack or leaf_switch")
    kind = str(within or across)
    of: dict[str, str | None] = {}
    try:
        with inventory.open("rb") as file:
            for row in read_exposure(file).rows:
                if isinstance(row, NodeFacts):
                    of[row.node] = row.rack if kind == "rack" else row.leaf_switch
    except OSError as error:
        raise UsageError(f"cannot read {inventory}: {error.strerror}") from error
    except TriageError as error:
        raise UsageError(f"{inventory}: {error}") from error
    if not any(of.get(node) for node in nodes):
        raise UsageError(f"{inventory} has the {kind} of none of the nodes")
    rule = PlaceRule.ACROSS if within is None else PlaceRule.WITHIN
    return NodePlaces(kind, rule, tuple(of.get(node) for node in nodes))


def begun(
    weights: Mapping[str, float], options: IsolationOptions, places: NodePlaces | None, away: str
) -> IsolationPlan:
    """A plan with its first round. Raises UsageError."""
    return new_plan(
        list(weights), list(weights.values()), options, places, hosts_in(away, "--away")
    )


def continued(
    plan: IsolationPlan,
    results: Sequence[str],
    missing: str,
    away: str | None,
    *,
    go_on: bool,
    correct: bool,
) -> IsolationPlan:
    """The plan with results, and its next round where all are there. Raises UsageError."""
    outcomes: dict[str, GroupOutcome] = {}
    for text in results:
        match = RESULT.fullmatch(text)
        if match is None:
            raise UsageError(f"--result {text[:80]!r}: give GROUP=pass, =fail or =not_run")
        for group in hosts_in(match[1], "--result"):
            if outcomes.setdefault(group, GroupOutcome(match[2])) != match[2]:
                raise UsageError(f"--result: {group} has two results")
    was_waiting = bool(plan.waiting)
    plan = with_results(plan, outcomes, hosts_in(missing, "--missing"), correct=correct)
    gone = None if away is None else hosts_in(away, "--away")
    if go_on or (not plan.waiting and (was_waiting or outcomes or gone is not None)):
        return with_next_round(plan, gone)
    if gone is not None:
        raise UsageError("--away counts from the next round on: add --next to begin it now")
    return plan


def kept(state: Path) -> IsolationPlan:
    """The plan in a state file. Raises UsageError."""
    try:
        return plan_from_dict(json.loads(bytes_of(state)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{state} holds no test plan: {error}") from error


def bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(found) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MiB")
    return found


def hosts_in(text: str, option: str) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
