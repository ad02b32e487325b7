"""What is to be checked: each check of each node that passes, fails, or is due."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple, TypedDict

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.category import Category
from triage.domain.health import CheckResult, Outcome
from triage.domain.wire import Keywords, SentAs, Time, format_iso_utc
from triage.fleet.services.health.policy import (
    ASKS,
    LOOK_BACK,
    STRESS,
    Ask,
    CheckTrigger,
    Due,
    Ran,
    list_due_checks,
)
from triage.fleet.services.kept import KeptValues
from triage.fleet.services.record.record import list_probations_at
from triage.fleet.store import check_triggers
from triage.fleet.store import checks as health
from triage.fleet.store.checks import KeptCheck
from triage.services.context import Context

_DUE: Final = "due"
_STATE_OF: Final = {
    Outcome.FAIL: "failing",
    Outcome.WARN: "warning",
    Outcome.PASS: "passing",
    Outcome.SKIPPED: "skipped",
}
STATES: Final = (_DUE, *_STATE_OF.values())
# A node that no source has named within this time gets no check by age.
_SEEN_WITHIN: Final = LOOK_BACK
# A page shows the checks of a few nodes; one that looks for what is rare looks at many.
_FIRST_NODES: Final = 8
_MOST_NODES: Final = 500


class Position(NamedTuple):
    """Where a row stands in the list; ``part`` is empty for the node as a whole."""

    node: str
    check: str
    part: str
    cluster: str
    state: str


class CheckResultRow(TypedDict):
    """An earlier result."""

    at: Time
    outcome: Outcome
    detail: str


class CheckRow(TypedDict):
    """One check of one part of a node: its newest result, or that it is due."""

    cluster: Annotated[str, "Empty where nobody named one."]
    node: str
    check: str
    part: Annotated[str | None, "The GPU, port or device; null for the node as a whole."]
    state: Annotated[str, Keywords(enum=list(STATES))]
    outcome: Annotated[str | None, SentAs(Outcome | None), "Null for one that is due."]
    at: Annotated[Time | None, SentAs(Time), "When it ran; of one that is due, since when."]
    detail: str
    category: Annotated[str | None, SentAs(Category | None)]
    because: Annotated[str, "Why it is due."]
    history: Annotated[list[dict[str, Any]], SentAs(list[CheckResultRow]), "The newest first."]


def list_check_rows(
    session: Session,
    now: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
    state: str | None = None,
) -> list[CheckRow]:
    """All rows at once; see :func:`iterate_check_rows`."""
    return list(iterate_check_rows(session, now, cluster=cluster, node=node, state=state))


def iterate_check_rows(
    session: Session,
    now: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
    state: str | None = None,
    after: Position | None = None,
) -> Iterator[CheckRow]:
    """Rows ``{cluster, node, check, part, state, outcome, at, detail, category, because}``.

    By node (in the database's order of names), check and part, behind the place ``after``;
    read some nodes at a time, so that a page costs no more than it shows. A check that is due
    has a row of its own, beside that of its newest result; its ``at`` is since when it is due.
    ``because`` says why, for those due.
    """
    outcomes = [outcome for outcome, word in _STATE_OF.items() if state in (None, word)]
    due = _DueChecks(session, now, cluster, node) if state in (None, _DUE) else None
    of_results = None if due else outcomes
    for names in _iterate_nodes_by_name(
        session, after, cluster=cluster, node=node, outcomes=of_results
    ):
        found: dict[str, list[CheckRow]] = {}
        if outcomes:
            for kept in health.list_newest_checks(
                session, cluster=cluster, nodes=names, outcomes=outcomes
            ):
                found.setdefault(kept.node, []).append(_build_row(kept))
        if due:
            for row in due.of(names):
                found.setdefault(row["node"], []).append(row)
        for name in names:
            for row in sorted(found.get(name, ()), key=get_list_position):
                if after is None or name != after.node or get_list_position(row) > after:
                    yield row


def _iterate_nodes_by_name(
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
    number = _FIRST_NODES
    while True:
        names = health.list_nodes_after(
            session, first, number + 1, cluster=cluster, outcomes=outcomes
        )
        if new := [name for name in names if name != seen]:
            yield new
        if len(names) <= number:
            return
        first = seen = names[-1]
        number = min(2 * number, _MOST_NODES)


def open_checks(session: Session, now: datetime, *, cluster: str | None = None) -> list[CheckRow]:
    """The rows that need an action: failing checks, then those that are due."""
    return [
        row
        for state in ("failing", "due")
        for row in list_check_rows(session, now, cluster=cluster, state=state)
    ]


def map_newest_results(
    session: Session, *, cluster: str | None = None
) -> Mapping[str, tuple[CheckResult, ...]]:
    """Node -> the newest result of each of its checks, as a fleet's record holds them."""
    found: dict[str, list[CheckResult]] = {}
    for kept in health.list_newest_checks(session, cluster=cluster):
        found.setdefault(kept.node, []).append(kept.to_result())
    return {node: tuple(results) for node, results in found.items()}


def get_list_position(row: CheckRow) -> Position:
    """Where a row stands in the list; no two rows stand at one place."""
    return Position(row["node"], row["check"], row["part"] or "", row["cluster"], row["state"])


def _build_row(kept: KeptCheck) -> CheckRow:
    category = None if kept.category is None else str(kept.category)
    return {
        "cluster": kept.cluster,
        "node": kept.node,
        "check": kept.check,
        "part": kept.part,
        "state": _STATE_OF[kept.outcome],
        "outcome": str(kept.outcome),
        "at": format_iso_utc(kept.at),
        "detail": kept.detail,
        "category": category,
        "because": "",
        "history": list(kept.history),
    }


def _build_due_row(due: Due) -> CheckRow:
    return {
        "cluster": due.cluster,
        "node": due.node,
        "check": due.check,
        "part": None,
        "state": _DUE,
        "outcome": None,
        "at": format_iso_utc(due.since),
        "detail": "",
        "category": None,
        "because": due.because,
        "history": [],
    }


class _DueChecks:
    """Checks that are due by age or triggered, on nodes that were seen lately.

    Triggers, and which checks are in use, are read once; both lists are short.
    """

    def __init__(
        self, session: Session, now: datetime, cluster: str | None, node: str | None
    ) -> None:
        self.session = session
        self.now = now
        self.cluster = cluster
        self.in_use = health.map_checks_in_use(session, cluster=cluster)
        self.triggers: dict[str, list[CheckTrigger]] = {}
        asked = _list_triggers_since(session, now - LOOK_BACK, cluster=cluster, node=node)
        for trigger in [*asked, *_iterate_probation_triggers(session, now, cluster, node)]:
            self.triggers.setdefault(trigger.node, []).append(trigger)

    def of(self, names: Sequence[str]) -> list[CheckRow]:
        """The rows of these nodes."""
        last_runs = health.last_runs(self.session, cluster=self.cluster, nodes=names)
        seen = health.list_nodes_seen_since(
            self.session, self.now - _SEEN_WITHIN, names, cluster=self.cluster
        )
        triggers = [trigger for name in names for trigger in self.triggers.get(name, ())]
        ran = [Ran(*row) for row in last_runs]
        return [
            _build_due_row(due)
            for due in list_due_checks(ran, triggers, seen, self.in_use, self.now)
        ]


def _list_triggers_since(
    session: Session, since: datetime, *, cluster: str | None, node: str | None
) -> list[CheckTrigger]:
    """The checks that evidence since then asks for."""
    codes = sorted({code for ask in ASKS for code in ask.xids})
    categories = sorted({category for ask in ASKS for category in ask.categories})
    found: list[CheckTrigger] = []
    for seen in check_triggers.list_xid_sightings(
        session, codes, since, cluster=cluster, node=node
    ):
        asks = (ask for ask in ASKS if seen.what in ask.xids)
        found += _iterate_triggers(seen, asks, f"Xid {seen.what} at {format_iso_utc(seen.at)}")
    for seen in check_triggers.list_error_sightings(
        session, categories, since, cluster=cluster, node=node
    ):
        asks = (ask for ask in ASKS if seen.what in ask.categories)
        found += _iterate_triggers(seen, asks, f"{seen.what} at {format_iso_utc(seen.at)}")
    repaired = check_triggers.map_last_repairs(session, since, cluster=cluster, node=node)
    for seen in check_triggers.list_convictions(session, since, cluster=cluster, node=node):
        back = repaired.get((seen.cluster, seen.node))
        if back is None or back < seen.at:
            words = (
                f"the conviction for {seen.what} at {format_iso_utc(seen.at)}, without a"
                f" repair since"
            )
            found += _iterate_triggers(seen, [STRESS], words)
    return found


def _iterate_probation_triggers(
    session: Session, now: datetime, cluster: str | None, node: str | None
) -> Iterator[CheckTrigger]:
    """The check of its cause, for each node that came back lately and is likely to fail again."""
    back = check_triggers.map_last_repairs(session, now - LOOK_BACK, cluster=cluster, node=node)
    if not back:
        return
    # A name that several clusters have is printed with that of its cluster.
    names = {label: key for key in back for label in (key[1], f"{key[1]} ({key[0]})")}
    for one in list_probations_at(session, now, cluster):
        if one.node in names:
            words = f"probation since its return at {format_iso_utc(one.returned_at)} ({one.cause})"
            ask = Ask(one.check, (one.check, *STRESS.answered_by))
            yield CheckTrigger(*names[one.node], ask, one.returned_at, words)


def _iterate_triggers(
    seen: check_triggers.Sighting, asks: Iterable[Ask], words: str
) -> Iterator[CheckTrigger]:
    for ask in asks:
        yield CheckTrigger(seen.cluster, seen.node, ask, seen.at, words)


_FRESH_S: Final = 30.0
_kept: KeptValues[str | None, list[CheckRow]] = KeptValues(32)


def get_kept_open_checks(ctx: Context, cluster: str | None = None) -> list[CheckRow]:
    """The rows of :func:`open_checks`, of a cluster or of all, at most 30 seconds old."""

    def make() -> list[CheckRow]:
        with ctx.database.reading() as session:
            return open_checks(session, read_utc_now(), cluster=cluster)

    return _kept.find_or_make(ctx.database, cluster, make, within_s=_FRESH_S)
