"""A report that came over the wire, as the Answer it was made from.

The wire form says less than an Answer: there is no state of each rank and no wait-for graph,
so faces that draw those draw nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from triage.domain.answer_wire import make_reader
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.report import SCHEMA, Answer, JobFacts, Verdict
from triage.errors import Corrupt

NO_ANSWER = Answer(
    JobFacts(),
    Verdict(VerdictKind.INCONCLUSIVE, Category.NONE, 0.0, "There is no verdict yet.", Action.NONE),
)
"""What stands for an answer before there is one: tables of it are empty."""


def answer_of_report(
    report: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]] = ()
) -> Answer:
    """The Answer behind ``triage.report/1``, as far as it says it; ``timeline`` beside it.

    Keys of a later release are passed over. Raises :class:`Corrupt` for what is no such report.
    """
    if report.get("schema") != SCHEMA:
        raise Corrupt(f"no {SCHEMA}: its schema is {report.get('schema')!r}")
    known = {**report, "collectives": report.get("groups", []), "timeline": list(timeline)}
    if isinstance(known.get("progress"), Mapping):
        known["progress"] = _read_progress(known["progress"])
    slow = known.get("slow")
    if isinstance(slow, Mapping) and "parts" in slow:
        known["slow_job"] = slow
    answer: Answer = make_reader(Answer)(known)
    return answer


def _read_progress(told: Mapping[str, Any]) -> dict[str, Any]:
    """The course of the job under the names of its fields, times in ns."""

    def point(raw: object) -> dict[str, Any] | None:
        return {**raw, "at_ns": _parse_ns(raw.get("at"))} if isinstance(raw, Mapping) else None

    return {
        **told,
        "said": told.get("text", ""),
        "total": told.get("total_steps"),
        "until_ns": _parse_ns(told.get("until")),
        **{name: point(told.get(name)) for name in ("first", "last", "ended")},
        "changes": [{**one, "since": point(one.get("since"))} for one in told.get("changes", ())],
        "slow_ranks": [
            {**one, "local_rank": None, "example": point(one)} for one in told.get("slow_ranks", ())
        ],
    }


def _parse_ns(text: object) -> int | None:
    """RFC 3339 text as ns since the epoch; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000
    except ValueError:
        return None
