"""What was said of a job, statement by statement, and what of it counts.

A statement is one job.json object: the body of a hook, an alert, the ``job.json`` of a bundle.
Of those that count, a later hook wins over an earlier one, a hook over a ``job.json``, and an
earlier ``job.json`` over a later one. The facts of a settled incident stand: what contradicts
them is a conflict, which changes no answer and is told under coverage.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from triage.domain.caller import Caller


class FactsSource(StrEnum):
    """What brought a statement."""

    HOOK = "hook"
    ALERT = "alert"
    JOB_JSON = "job_json"
    BEFORE = "before"
    """Facts from before statements were kept; nobody knows whose."""


class FactsState(StrEnum):
    """Whether a statement counts."""

    USED = "used"
    LATE = "late"
    """It came when the incident had settled, and says nothing that the answer rests on."""
    CONFLICT = "conflict"
    TAINTED = "tainted"


# What an answer rests on; the other keys of a job.json are kept and change nothing.
_DECISIVE: Final = frozenset({
    "job_id", "world_size", "gpus_per_node", "nodes", "rank_to_node", "gpu_bus_ids",
    "leaf_switch", "failed_at", "exit_code",
})  # fmt: skip
# Among the facts, the fields of a hook that could not be read: field -> why.
IGNORED: Final = "triage.ignored"
_HOOKS: Final = frozenset({FactsSource.HOOK, FactsSource.ALERT, FactsSource.BEFORE})


@dataclass(frozen=True, slots=True)
class Statement:
    """One job.json object, and who said it."""

    facts: Mapping[str, Any]
    source: FactsSource = FactsSource.HOOK
    caller: Caller = field(default_factory=Caller)
    state: FactsState = FactsState.USED


def add_statement(facts: Mapping[str, Any], statement: Statement) -> dict[str, Any]:
    """The facts with one more statement; ``statement`` is the newest."""
    if statement.state is FactsState.USED and statement.source in _HOOKS:
        return {**facts, **statement.facts}
    if statement.state in (FactsState.USED, FactsState.LATE):
        return {**statement.facts, **facts}
    return dict(facts)


def merge_statements(statements: Iterable[Statement]) -> dict[str, Any]:
    """The facts that these statements, oldest first, come to."""
    facts: dict[str, Any] = {}
    for statement in statements:
        facts = add_statement(facts, statement)
    return facts


def list_contradicted(facts: Mapping[str, Any], statement: Statement) -> tuple[str, ...]:
    """The keys by which a statement would change what the answer of these facts rests on."""
    after = add_statement(facts, replace(statement, state=FactsState.USED))
    return tuple(sorted(key for key in _DECISIVE if facts.get(key) != after.get(key)))


def state_when_settled(facts: Mapping[str, Any], statement: Statement) -> FactsState:
    """Whether a statement on a settled incident counts.

    Also what only adds would move the answer (ranks, say, to nodes that nobody named before),
    so it counts as little, unless nobody has said anything of the job yet.
    """
    if statement.caller.corrects or not facts:
        return FactsState.USED
    return FactsState.CONFLICT if list_contradicted(facts, statement) else FactsState.LATE


def is_still_in_conflict(
    facts: Mapping[str, Any], statement: Statement, withdrawn: Iterable[Mapping[str, Any]]
) -> bool:
    """Whether a conflict is one without the statements that were ``withdrawn``.

    What it says in the place of those counts from then on.
    """
    open_again = {key for one in withdrawn for key in one}
    return any(key in facts or key not in open_again for key in list_contradicted(facts, statement))
