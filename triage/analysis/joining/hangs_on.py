"""What an answer hangs on: whether it stands without one source of what was told.

The incident is weighed again without the dumps, the kernel logs, the job logs, what else was
measured, the logs of the first suspect's own node, and without its root lines, as if
they had been written in words that nobody knows.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.verdict import Decision
from triage.domain.category import Role
from triage.domain.evidence import Evidence
from triage.domain.report import Suspect, Verdict
from triage.parsers.logs.logset import LogKind, LogSet

_Again = Callable[[bool, LogSet], Decision]


class Source(StrEnum):
    """What is left out."""

    DUMPS = "dumps"
    KERNEL_LOGS = "kernel_logs"
    JOB_LOGS = "job_logs"
    MEASURED = "measured"  # telemetry and reports of checks
    NODE_LOGS = "node_logs"  # those of the first suspect's node
    ROOT_WORDS = "root_words"  # as if its root lines were written in unknown words


class Outcome(StrEnum):
    """What becomes of the answer."""

    STANDS = "stands"
    PLACE_STANDS = "place_stands"  # the same place with another category
    FALLS = "falls"  # another place, or nobody


@dataclass(frozen=True, slots=True)
class Dependence:
    """The answer without one source; ``convicts`` tells whether its first suspect is convicted."""

    source: Source
    outcome: Outcome
    node: str | None
    ranks: tuple[int, ...]
    convicts: bool
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of an explanation."""
        return {
            "source": str(self.source),
            "outcome": str(self.outcome),
            "node": self.node,
            "ranks": list(self.ranks),
            "convicts": self.convicts,
            "kind": str(self.verdict.kind),
            "category": str(self.verdict.category),
            "confidence": round(self.verdict.confidence, 4),
        }


def find_dependences(
    decision: Decision, top: Hypothesis | None, logs: LogSet, *, dumps: bool, again: _Again
) -> tuple[Dependence, ...]:
    """The answer without each source that is there, where something is left beside it.

    ``top`` is the first place that was weighed; ``dumps`` says whether there are any, and
    ``again(with_dumps, logs)`` weighs the incident once more.
    """
    hangs = []
    for source, with_dumps, left in _make_trials(decision, top, logs, dumps=dumps):
        if with_dumps or any(file.lines for file in left.files):
            other = again(with_dumps, left)
            hangs.append(_compare_decisions(source, decision, other))
    return tuple(hangs)


def _make_trials(
    decision: Decision, top: Hypothesis | None, logs: LogSet, *, dumps: bool
) -> Iterator[tuple[Source, bool, LogSet]]:
    """Each source that is there, whether the dumps stay, and the logs that are left."""
    if dumps:
        yield Source.DUMPS, False, _drop_files(logs, ())
    for source, kinds in (
        (Source.KERNEL_LOGS, {LogKind.KERNEL}),
        (Source.JOB_LOGS, {LogKind.JOB}),
        (Source.MEASURED, {LogKind.TELEMETRY, LogKind.CHECKS}),
    ):
        gone = {file.artifact for file in logs.files if file.kind in kinds}
        if source is Source.MEASURED:
            gone |= {file.artifact for file in logs.telemetry}
        if gone:
            yield source, dumps, _drop_files(logs, gone)
    node = decision.suspects[0].node if decision.suspects else None
    own = {file.artifact for file in logs.files if node is not None and file.node == node}
    if own:
        yield Source.NODE_LOGS, dumps, _drop_files(logs, own)
    if top is not None and top.rows:
        yield Source.ROOT_WORDS, dumps, _drop_root_wording(logs, top.rows)


def _drop_files(logs: LogSet, gone: Container[str]) -> LogSet:
    """A copy as if some files had not been there."""
    return replace(
        logs,
        files=[file for file in logs.files if file.artifact not in gone],
        evidence=[row for row in logs.evidence if row.artifact not in gone],
        refused=list(logs.refused),
        telemetry=[file for file in logs.telemetry if file.artifact not in gone],
        notes=list(logs.notes),
    )


def _drop_root_wording(logs: LogSet, roots: Iterable[Evidence]) -> LogSet:
    """A copy as if no pattern knew the roots, nor what their logs print in the same words."""
    unknown = {(row.artifact, row.signature) for row in roots}
    left = _drop_files(logs, ())
    left.evidence = [row for row in left.evidence if (row.artifact, row.signature) not in unknown]
    return left


def _compare_decisions(source: Source, decision: Decision, other: Decision) -> Dependence:
    before, after = _get_first_suspect(decision), _get_first_suspect(other)
    outcome = Outcome.FALLS
    if _is_same_place(before, after):
        same = decision.verdict.category == other.verdict.category
        outcome = Outcome.STANDS if same else Outcome.PLACE_STANDS
    return Dependence(
        source,
        outcome,
        None if after is None else after.node,
        () if after is None else after.ranks,
        after is not None and after.role is Role.CULPRIT,
        other.verdict,
    )


def _get_first_suspect(decision: Decision) -> Suspect | None:
    return decision.suspects[0] if decision.suspects else None


def _is_same_place(before: Suspect | None, after: Suspect | None) -> bool:
    """By node; by rank where the files that are left do not say which node it is on."""
    if before is None or after is None:
        return before is after
    if before.node is not None and after.node is not None:
        return before.node == after.node
    return bool(set(before.ranks) & set(after.ranks))
