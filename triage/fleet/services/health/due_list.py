"""What is to be checked: each check of each node that passes, fails, or is due."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy.orm import Session

from triage.domain.health import CheckResult, Outcome
from triage.domain.report import iso_utc
from triage.fleet.services.health.policy import (
    ASKS,
    LOOK_BACK,
    STRESS,
    CheckTrigger,
    Ran,
    due_of,
)
from triage.fleet.store import check_triggers
from triage.fleet.store import checks as health
from triage.fleet.store.checks import KeptCheck

__all__ = [
    "STATES", "Position", "checks_from", "checks_of", "newest_results", "place_of",
    "to_be_seen_to",
]  # fmt: skip

DUE: Final = "due"
STATES: Final = (DUE, "failing", "warning", "passing", "skipped")
STATE_OF: Final = {
    Outcome.FAIL: "failing", Outcome.WARN: "warning", Outcome.PASS: "passing",
    Outcome.SKIPPED: "skipped",
}  # fmt: skip
# A node that nothing has named for so long is not asked for a check by its age.
SEEN_WITHIN: Final = LOOK_BACK
# A page shows the checks of a few nodes; one that looks for what is rare looks at many.
FIRST_NODES: Final = 8
MOST_NODES: Final = 500


class Position(NamedTuple):
    """Where a row stands in the list; ``part`` is empty for the node as a whole."""

    node: str
    check: str
    part: str
    cluster: str
    state: str


def checks_of(
    session: Session,
    now: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
    state: str | None = None,
) -> list[dict[str, Any]]:
    """All rows at once; see :func:`checks_from`."""
    return list(checks_from(session, now, cluster=cluster, node=node, state=state))


def checks_from(
    session: Session,
    now: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
    state: str | None = None,
    after: Position | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows ``{cluster, node, check, part, state, outcome, at, detail, category, because}``.

    By node (in the database's order of names), check and part, behind the place ``after``;
    read some nodes at a time, so that a page costs no more than it shows. A check that is due
    has a row of its own, beside that of its newest result; its ``at`` is since when it is due.
    ``because`` says why, for those due.
    """
    outcomes = [one for one, word in STATE_OF.items() if state in (None, word)]
    due = DueChecks(session, now, cluster, node) if state in (None, DUE) else None
    of_results = None if due else outcomes
    for names in nodes_by_name(session, after, cluster=cluster, node=node, outcomes=of_results):
        found: dict[str, list[dict[str, Any]]] = {}
        if outcomes:
            for kept in health.newest(session, cluster=cluster, nodes=names, outcomes=outcomes):
                found.setdefault(kept.node, []).append(row_of(kept))
        if due:
            for row in due.of(names):
                found.setdefault(row["node"], []).append(row)
        for name in names:
            for row in sorted(found.get(name, ()), key=place_of):
                if after is None or name != after.node or place_of(row) > after:
                    yield row


def nodes_by_name(
    session: Session,
    after: Position | None,
    *,
    cluster: str | None,
    node: str | None,
    outcomes: Collection[Outcome] | None,
) -> Iterator[list[str]]:
    """The nodes that may have rows, from that of ``after`` on, more and more at a time."""
    if node is not None:
        yield [node]
        return
    first = None if after is None else after.node
    seen: str | None = None
    number = FIRST_NODES
    while True:
        names = health.nodes_from(session, first, number + 1, cluster=cluster, outcomes=outcomes)
        if new := [name for name in names if name != seen]:
            yield new
        if len(names) <= number:
            return
        first = seen = names[-1]
        number = min(2 * number, MOST_NODES)


def to_be_seen_to(
    session: Session, now: datetime, *, cluster: str | None = None
) -> list[dict[str, Any]]:
    """The rows that somebody has to see to: failing ones, then what is due."""
    return [
        row
        for state in ("failing", "due")
        for row in checks_of(session, now, cluster=cluster, state=state)
    ]


def newest_results(
    session: Session, *, cluster: str | None = None
) -> Mapping[str, tuple[CheckResult, ...]]:
    """Node -> the newest result of each of its checks, as a fleet's record holds them."""
    found: dict[str, list[CheckResult]] = {}
    for one in health.newest(session, cluster=cluster):
        found.setdefault(one.node, []).append(one.to_result())
    return {node: tuple(results) for node, results in found.items()}


def place_of(row: Mapping[str, Any]) -> Position:
    """Where a row stands in the list; no two rows stand at one place."""
    return Position(row["node"], row["check"], row["part"] or "", row["cluster"], row["state"])


def row_of(one: KeptCheck) -> dict[str, Any]:
    return {
        "cluster": one.cluster, "node": one.node, "check": one.check, "part": one.part,
        "state": STATE_OF[one.outcome], "outcome": str(one.outcome), "at": iso_utc(one.at),
        "detail": one.detail, "category": None if one.category is None else str(one.category),
        "because": "", "history": list(one.history),
    }  # fmt: skip


class DueChecks:
    """What is due by age or asked for, on nodes that were seen lately.

    What evidence asks for, and which checks are in use, is read once; both are short.
    """

    def __init__(
        self, session: Session, now: datetime, cluster: str | None, node: str | None
    ) -> None:
        self.session = session
        self.now = now
        self.cluster = cluster
        self.in_use = health.in_use(session, cluster=cluster)
        self.asked: dict[str, list[CheckTrigger]] = {}
        for one in asked_for(session, now, cluster=cluster, node=node):
            self.asked.setdefault(one.node, []).append(one)

    def of(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of these nodes."""
        ran = health.last_runs(self.session, cluster=self.cluster, nodes=names)
        seen = health.seen_since(self.session, self.now - SEEN_WITHIN, names, cluster=self.cluster)
        asked = [one for name in names for one in self.asked.get(name, ())]
        return [
            {
                "cluster": one.cluster, "node": one.node, "check": one.check, "part": None,
                "state": DUE, "outcome": None, "at": iso_utc(one.since), "detail": "",
                "category": None, "because": one.because, "history": [],
            }
            for one in due_of([Ran(*one) for one in ran], asked, seen, self.in_use, self.now)
        ]  # fmt: skip


def asked_for(
    session: Session, now: datetime, *, cluster: str | None, node: str | None
) -> list[CheckTrigger]:
    """What evidence of the last 30 days asks for."""
    since = now - LOOK_BACK
    codes = sorted({code for ask in ASKS for code in ask.xids})
    categories = sorted({category for ask in ASKS for category in ask.categories})
    found: list[CheckTrigger] = []
    for seen in check_triggers.xids(session, codes, since, cluster=cluster, node=node):
        code = int(seen.what.removeprefix("Xid "))
        found += [
            CheckTrigger(
                seen.cluster, seen.node, ask, seen.at, f"{seen.what} at {iso_utc(seen.at)}"
            )
            for ask in ASKS
            if code in ask.xids
        ]
    for seen in check_triggers.errors(session, categories, since, cluster=cluster, node=node):
        found += [
            CheckTrigger(
                seen.cluster, seen.node, ask, seen.at, f"{seen.what} at {iso_utc(seen.at)}"
            )
            for ask in ASKS
            if seen.what in ask.categories
        ]
    repaired = check_triggers.repairs(session, since, cluster=cluster, node=node)
    for seen in check_triggers.convictions(session, since, cluster=cluster, node=node):
        back = repaired.get((seen.cluster, seen.node))
        if back is None or back < seen.at:
            words = f"the conviction for {seen.what} at {iso_utc(seen.at)}, without a repair since"
            found.append(CheckTrigger(seen.cluster, seen.node, STRESS, seen.at, words))
    return found
