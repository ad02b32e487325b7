"""What is to be checked: each check of each node that passes, fails, or is due."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple, TypedDict

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.category import Category
from triage.domain.health import CheckResult, Outcome
from triage.domain.wire import Keywords, SentAs, Time, format_iso_utc
from triage.fleet.services.record.record import list_probations_at
from triage.fleet.store import checks as health
from triage.fleet.store.checks import KeptCheck, Ran
from triage.services.context import Context
from triage.services.kept import KeptValues

# Which check of a node is due: by its age, or because evidence asks for it.
#
# A family of checks is due by age where it was run on this node before, or is run on other nodes of
# its cluster: nobody is asked for a tool that is not in use. What evidence asks for is due until a
# check that answers it has run; a conviction asks for a stress test until that ran or the node came
# back from an outage.

# What is older asks for nothing: the node has run jobs for a month since.
LOOK_BACK: Final = timedelta(days=30)
# How often each family of checks is to be run. Drains are no check that is run.
EVERY: Final[Mapping[str, timedelta]] = {
    **dict.fromkeys(("gpu", "host"), timedelta(days=1)),
    **dict.fromkeys(("dcgm", "ib"), timedelta(days=7)),
    "nccl": timedelta(days=30),
}


@dataclass(frozen=True, slots=True)
class Ask:
    """After these errors ``check`` is due, until one of ``answered_by`` (prefixes) has run."""

    check: str
    answered_by: tuple[str, ...]
    xids: frozenset[int] = frozenset()
    categories: frozenset[Category] = frozenset()


_NO_XID: Final = frozenset[int]()
_Key = tuple[str, str, str]
"""Cluster, node and check, or family of checks."""
_MEMORY_XIDS: Final = frozenset({48, 63, 64, 94, 95})
_HEAT: Final = ("gpu.temperature", "gpu.throttle")
ASKS: Final = (
    Ask(
        "dcgm.memory", ("dcgm.memory", "dcgm.memtest"), _MEMORY_XIDS, frozenset({Category.GPU_HBM})
    ),
    Ask("nccl.busbw", ("nccl.",), frozenset({74}), frozenset({Category.NVLINK})),
    Ask("ib.counters", ("ib.",), _NO_XID, frozenset({Category.NIC, Category.NETWORK})),
    Ask("gpu.temperature", _HEAT, _NO_XID, frozenset({Category.GPU_THERMAL})),
    Ask("gpu.pcie_link", ("gpu.pcie_link",), _NO_XID, frozenset({Category.IO_BOARD})),
)
STRESS: Final = Ask(
    "dcgm.targeted_stress",
    (
        *("dcgm.targeted_stress", "dcgm.sm_stress", "dcgm.targeted_power", "dcgm.diagnostic"),
        *("dcgm.pulse_test", "host.stress", "host.gpu_stress"),
    ),
)


@dataclass(frozen=True, slots=True)
class CheckTrigger:
    """An error of a node at a time, and the check that it asks for; ``words`` name the error."""

    cluster: str
    node: str
    ask: Ask
    at: datetime
    words: str


def list_due_checks(
    ran: Sequence[Ran],
    triggers: Iterable[CheckTrigger],
    nodes: Iterable[tuple[str, str]],
    in_use: Mapping[tuple[str, str], datetime],
    now: datetime,
) -> "list[CheckRow]":
    """What is due on which node, by node and check.

    ``ran`` and ``triggers`` are of the ``nodes`` in question, as (cluster, node);
    ``in_use`` is (cluster, check) -> when it last ran on any node of the cluster.
    """
    found: dict[_Key, CheckRow] = dict(_iterate_due_by_age(ran, nodes, in_use, now))
    newest: dict[tuple[str, str], list[Ran]] = {}
    for run in ran:
        newest.setdefault((run.cluster, run.node), []).append(run)
    for trigger in sorted(triggers, key=lambda trigger: (trigger.at, trigger.words)):
        place, ask = (trigger.cluster, trigger.node), trigger.ask
        later = (run.check for run in newest.get(place, ()) if run.at >= trigger.at)
        if not any(check.startswith(ask.answered_by) for check in later):
            key = (*place, ask.check)
            found[key] = _build_due_row(key, trigger.at, f"asked for by {trigger.words}")
    return [found[key] for key in sorted(found, key=lambda key: (key[1], key[2], key[0]))]


def _iterate_due_by_age(
    ran: Sequence[Ran],
    nodes: Iterable[tuple[str, str]],
    in_use: Mapping[tuple[str, str], datetime],
    now: datetime,
) -> "Iterator[tuple[_Key, CheckRow]]":
    """Families of checks that are in use in a cluster, and too old or never run on a node."""
    last: dict[_Key, datetime] = {}
    for run in ran:
        key = (run.cluster, run.node, _get_family(run.check))
        last[key] = max(run.at, last.get(key, run.at))
    used: dict[tuple[str, str], datetime] = {}
    for (cluster, check), at in in_use.items():
        pair = (cluster, _get_family(check))
        used[pair] = max(at, used.get(pair, at))
    for cluster, node in sorted({*nodes, *((key[0], key[1]) for key in last)}):
        for family, every in EVERY.items():
            used_at = used.get((cluster, family))
            if used_at is None or now - used_at > LOOK_BACK + every:
                continue  # nobody runs it any more
            key = (cluster, node, family)
            ran_at = last.get(key)
            if ran_at is None:
                because = f"never run here; other nodes have it every {format_days(every)}"
                yield key, _build_due_row(key, used_at, because)
            elif now - ran_at > every:
                ago = format_days(now - ran_at)
                because = f"last run {ago} ago; due every {format_days(every)}"
                yield key, _build_due_row(key, ran_at + every, because)


def _get_family(check: str) -> str:
    return check.partition(".")[0]


def format_days(span: timedelta) -> str:
    """``7 days``, ``1 day``, ``12.5 days``."""
    number = round(span / timedelta(days=1), 1)
    return "1 day" if number == 1 else f"{number:g} days"


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
                found.setdefault(kept.node or "", []).append(_build_row(kept))
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
        for row in iterate_check_rows(session, now, cluster=cluster, state=state)
    ]


def map_newest_results(
    session: Session, *, cluster: str | None = None
) -> Mapping[str, tuple[CheckResult, ...]]:
    """Node -> the newest result of each of its checks, as a fleet's record holds them."""
    found: dict[str, list[CheckResult]] = {}
    for kept in health.list_newest_checks(session, cluster=cluster):
        found.setdefault(kept.node or "", []).append(kept)
    return {node: tuple(results) for node, results in found.items()}


def get_list_position(row: CheckRow) -> Position:
    """Where a row stands in the list; no two rows stand at one place."""
    return Position(row["node"], row["check"], row["part"] or "", row["cluster"], row["state"])


def _build_row(kept: KeptCheck) -> CheckRow:
    category = None if kept.category is None else str(kept.category)
    return {
        "cluster": kept.cluster,
        "node": kept.node or "",
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


def _build_due_row(key: _Key, since: datetime, because: str) -> CheckRow:
    """The row of a check, or a family of them, that is to be run since then."""
    cluster, node, check = key
    return {
        "cluster": cluster,
        "node": node,
        "check": check,
        "part": None,
        "state": _DUE,
        "outcome": None,
        "at": format_iso_utc(since),
        "detail": "",
        "category": None,
        "because": because,
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
        for trigger in _iterate_triggers(session, now, cluster, node):
            self.triggers.setdefault(trigger.node, []).append(trigger)

    def of(self, names: Sequence[str]) -> list[CheckRow]:
        """The rows of these nodes."""
        ran = health.last_runs(self.session, cluster=self.cluster, nodes=names)
        seen = health.list_nodes_seen_since(
            self.session, self.now - _SEEN_WITHIN, names, cluster=self.cluster
        )
        triggers = [trigger for name in names for trigger in self.triggers.get(name, ())]
        return list_due_checks(ran, triggers, seen, self.in_use, self.now)


def _iterate_triggers(
    session: Session, now: datetime, cluster: str | None, node: str | None
) -> Iterator[CheckTrigger]:
    """The checks that evidence and returns of the last month ask for."""
    since = now - LOOK_BACK
    codes = sorted({code for ask in ASKS for code in ask.xids})
    categories = sorted({category for ask in ASKS for category in ask.categories})
    for seen in health.list_sightings(
        session, codes, categories, since, cluster=cluster, node=node
    ):
        is_xid = isinstance(seen.what, int)
        words = f"{'Xid ' if is_xid else ''}{seen.what} at {format_iso_utc(seen.at)}"
        for ask in ASKS:
            if seen.what in (ask.xids if is_xid else ask.categories):
                yield CheckTrigger(seen.cluster, seen.node, ask, seen.at, words)
    back = health.map_last_repairs(session, since, cluster=cluster, node=node)
    for seen in health.list_convictions(session, since, cluster=cluster, node=node):
        repaired = back.get((seen.cluster, seen.node))
        if repaired is None or repaired < seen.at:
            words = (
                f"the conviction for {seen.what} at {format_iso_utc(seen.at)}, without a"
                f" repair since"
            )
            yield CheckTrigger(seen.cluster, seen.node, STRESS, seen.at, words)
    # A name that several clusters have is printed with that of its cluster.
    names = {label: key for key in back for label in (key[1], f"{key[1]} ({key[0]})")}
    for one in list_probations_at(session, now, cluster) if back else ():
        if one.node in names:
            words = f"probation since its return at {format_iso_utc(one.returned_at)} ({one.cause})"
            ask = Ask(one.check, (one.check, *STRESS.answered_by))
            yield CheckTrigger(*names[one.node], ask, one.returned_at, words)


_FRESH_S: Final = 30.0
_kept: KeptValues[str | None, list[CheckRow]] = KeptValues(32)


def get_kept_open_checks(ctx: Context, cluster: str | None = None) -> list[CheckRow]:
    """The rows of :func:`open_checks`, of a cluster or of all, at most 30 seconds old."""

    def make() -> list[CheckRow]:
        with ctx.database.reading() as session:
            return open_checks(session, read_utc_now(), cluster=cluster)

    return _kept.find_or_make(ctx.database, cluster, make, within_s=_FRESH_S)
