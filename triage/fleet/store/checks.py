"""Results of checks: the newest of each check and part, with the ones before it.

The key is (cluster, node, check, part). The same result twice adds nothing, and the order in
which results come does not matter: what is kept are the newest ones by the time they ran.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, select, union, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Cluster, Evidence, HealthCheck, Incident, Job, Node, Outage, Resolution, Suspect
from models.base import normalize_stored_name
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.evidence import EvidenceRole, Kind
from triage.domain.health import Bandwidth, CheckResult, Outcome
from triage.domain.wire import format_iso_utc
from triage.fleet.store.exposure import Tally, keep_merged, read_columns
from triage.fleet.store.record import filter_by_cluster
from triage.store.incidents.settling import build_accused_condition

# What evidence asks to be checked: errors of nodes, convictions, and repairs, newest each.

# Kinds that a kernel or a driver prints; a job's own words about a part ask for no check.
_OF_MACHINES: Final = (
    *(Kind.XID, Kind.SXID, Kind.ECC, Kind.LINK),
    *(Kind.NIC, Kind.PCIE, Kind.THERMAL, Kind.POWER),
)
_ERRORS: Final = (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)


class Sighting(NamedTuple):
    """The newest time of one error of a node; ``what`` is its Xid code or its category."""

    cluster: str
    node: str
    what: str | int
    at: datetime


def list_sightings(
    session: Session,
    codes: Collection[int],
    categories: Collection[Category],
    since: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> list[Sighting]:
    """Xids of these codes in logs of incidents since then, and roots of these categories that
    machines printed.
    """
    xids = (Evidence.role.in_(_ERRORS), Evidence.kind == Kind.XID, Evidence.code.in_(codes))
    roots = (
        Evidence.role == EvidenceRole.ROOT,
        Evidence.kind.in_(_OF_MACHINES),
        Evidence.category.in_(categories),
        # A check that failed asks for no check.
        Evidence.signature.not_like("check.%"),
    )
    return [
        *_list_newest_lines(session, Evidence.code, since, cluster, node, *xids),
        *_list_newest_lines(session, Evidence.category, since, cluster, node, *roots),
    ]


def _list_newest_lines(
    session: Session,
    column: InstrumentedAttribute[Any],
    since: datetime,
    cluster: str | None,
    node: str | None,
    *wanted: ColumnElement[bool],
) -> list[Sighting]:
    """The newest line of each node and value of ``column``, of those that are ``wanted``."""
    query = (
        select(Cluster.name, Evidence.node, column, func.max(Evidence.at))
        .join(Incident, Evidence.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(*wanted, Evidence.at >= since, Evidence.node.is_not(None))
        .where(*_iterate_conditions(Evidence.node, cluster, node))
        .group_by(Cluster.name, Evidence.node, column)
    )
    return [Sighting._make(row) for row in session.execute(query) if None not in row]


def list_convictions(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> list[Sighting]:
    """Nodes convicted of a hardware cause since then, and not cleared by a person."""
    query = (
        select(Cluster.name, Suspect.node, Suspect.category, func.max(Incident.created_at))
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Suspect.role == Role.CULPRIT, Suspect.position == 1, Suspect.node.is_not(None))
        .where(Suspect.category.in_(HARDWARE), *_iterate_conditions(Suspect.node, cluster, node))
        .where(
            Incident.provisional.is_(False), Incident.created_at >= since, build_accused_condition()
        )
        .group_by(Cluster.name, Suspect.node, Suspect.category)
    )
    return [Sighting._make(row) for row in session.execute(query)]


def map_last_repairs(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> dict[tuple[str, str], datetime]:
    """(cluster, node) -> when it last came back into service since then."""
    query = (
        select(Cluster.name, Node.name, func.max(Outage.to_at))
        .join(Node, Outage.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Outage.to_at >= since, *_iterate_conditions(Node.name, cluster, node))
        .group_by(Cluster.name, Node.name)
    )
    return {(name, host): at for name, host, at in session.execute(query) if at is not None}


def _iterate_conditions(
    host: InstrumentedAttribute[Any], cluster: str | None, nodes: str | Collection[str] | None
) -> Iterator[ColumnElement[bool]]:
    """The conditions that keep this cluster and this node, or these, alone, where named."""
    if cluster is not None:
        yield Cluster.name == cluster
    if nodes is not None:
        yield host == nodes if isinstance(nodes, str) else host.in_(nodes)


MAX_HISTORY: Final = 20
_SHORT: Final = 160
# Thirty checks of sixteen GPUs, and the ports of a large switch.
MOST_OF_NODE: Final = 1_000
# Of results of one moment the worse one is the newest; what was left out says nothing.
_SEVERITY: Final = {Outcome.SKIPPED: 0, Outcome.PASS: 1, Outcome.WARN: 2, Outcome.FAIL: 3}
# [at, outcome, detail, category, whether somebody said when it ran], what was measured
# ([test, gpu, size_bytes, num_ranks, gbps]) where that may be held against other nodes, and the
# token that brought it; those two where there are any.
Entry = list[Any]
_PLAIN: Final = 5
BROUGHT_BY: Final = 6


@dataclass(frozen=True, slots=True)
class KeptCheck(CheckResult):
    """The newest result of one check of one part of a node.

    ``history`` is newest first: ``{at, outcome, detail}``.
    """

    cluster: str = ""
    history: tuple[dict[str, Any], ...] = ()


def keep(
    session: Session,
    cluster_id: int,
    results: Iterable[CheckResult],
    now: datetime,
    key_id: str | None = None,
) -> Tally:
    """Keep the results that name a node, of some nodes at a time; one without a time ran ``now``,
    as far as is known.

    ``key_id`` is the token that brings them. New checks of nodes that have :data:`MOST_OF_NODE`
    already are left out.
    """
    by_key: dict[tuple[str, str, str], list[Entry]] = {}
    for result in results:
        if result.node:
            names = (result.node, result.check, result.part or "")
            node, check, part = map(normalize_stored_name, names)
            by_key.setdefault((node, check, part), []).append(_make_entry(result, now, key_id))

    def merge(one: HealthCheck, other: HealthCheck) -> dict[str, Any]:
        history = _merge_entries(one.history, other.history)
        before = read_columns(one)
        if history == one.history:
            return before
        key = (one.node, one.check, one.part)
        return before | build_check_row(cluster_id, key, history) | {"key_id": key_id}

    kept = _select_with_room(session, cluster_id, by_key)
    rows = (
        {**build_check_row(cluster_id, key, _merge_entries([], by_key[key])), "key_id": key_id}
        for key in kept
    )
    tally = keep_merged(session, HealthCheck, ("cluster_id", "node", "check", "part"), rows, merge)
    return tally._replace(left_out=len(by_key) - len(kept))


def _select_with_room(
    session: Session, cluster_id: int, keys: Iterable[tuple[str, str, str]]
) -> list[tuple[str, str, str]]:
    """The checks that are stored, and new ones that their nodes have room for, in order."""
    wanted = sorted(keys)
    row = HealthCheck
    query = select(row.node, row.check, row.part).where(row.cluster_id == cluster_id)
    found = session.execute(query.where(row.node.in_({key[0] for key in wanted}))).all()
    stored = {(node, check, part) for node, check, part in found}
    counts = Counter(node for node, _, _ in stored)
    kept = []
    for key in wanted:
        counts[key[0]] += key not in stored
        if key in stored or counts[key[0]] <= MOST_OF_NODE:
            kept.append(key)
    return kept


def _make_entry(result: CheckResult, now: datetime, key_id: str | None) -> Entry:
    at = (result.at or now).astimezone(UTC)
    category = None if result.category is None else str(result.category)
    detail = result.detail[:_SHORT]
    entry = [format_iso_utc(at), str(result.outcome), detail, category, result.at is not None]
    measured = None if result.bandwidth is None else list(astuple(result.bandwidth))
    if key_id is not None:
        return [*entry, measured, key_id]
    return entry if measured is None else [*entry, measured]


def _order(entry: Entry) -> tuple[str, int, str, str]:
    return entry[0], _SEVERITY[Outcome(entry[1])], entry[2], entry[3] or ""


def _merge_entries(history: Sequence[Entry], more: Sequence[Entry]) -> list[Entry]:
    """Both, newest first, each moment once, and no more than :data:`MAX_HISTORY`.

    A result that nobody dated, and that says what the newest undated one says, is the same
    result again: it only moves its time.
    """
    found: dict[tuple[str, str, str, str | None], Entry] = {}
    undated: dict[tuple[str, str, str | None], Entry] = {}
    for entry in sorted([*history, *more], key=_order):
        at, outcome, detail, category, dated = entry[:_PLAIN]
        if not dated:
            again = undated.pop((outcome, detail, category), None)
            if again is not None:
                found.pop(tuple(again[:4]), None)
            undated.clear()
            undated[outcome, detail, category] = entry
        # What two say is from who said it first.
        found.setdefault((at, outcome, detail, category), entry)
    return sorted(found.values(), key=_order, reverse=True)[:MAX_HISTORY]


def build_check_row(
    cluster_id: int, key: tuple[str, str, str], history: list[Entry]
) -> dict[str, Any]:
    """The columns of a row: its newest result is the newest that says anything."""
    at, outcome, detail, category = _find_last_result(history)[: _PLAIN - 1]
    node, check, part = key
    return {
        "cluster_id": cluster_id,
        "node": node,
        "check": check,
        "part": part,
        "outcome": outcome,
        "at": datetime.fromisoformat(at),
        "detail": detail,
        "category": category,
        "history": history,
    }


def _find_last_result(history: Sequence[Entry]) -> Entry:
    """The newest entry that says anything, else the newest."""
    return next((entry for entry in history if entry[1] != Outcome.SKIPPED), history[0])


def list_newest_checks(
    session: Session,
    *,
    cluster: str | None = None,
    nodes: Collection[str] | None = None,
    outcomes: Collection[Outcome] = tuple(Outcome),
) -> list[KeptCheck]:
    """The newest result of each check, by node, check and part, where it is one of ``outcomes``.

    Of these ``nodes`` alone, where they are named: some hundreds at most.
    """
    row = HealthCheck
    key = (Cluster.name, row.node, row.check, row.part)
    query = (
        select(*key, row.outcome, row.at, row.detail, row.category, row.history)
        .join(Cluster, row.cluster_id == Cluster.id)
        .where(*_iterate_conditions(row.node, cluster, nodes))
        .order_by(row.node, row.check, row.part, Cluster.name)
    )
    if len(outcomes) < len(Outcome):
        query = query.where(row.outcome.in_(outcomes))
    return [
        KeptCheck(
            cluster=name,
            node=of,
            check=check,
            part=part or None,
            outcome=Outcome(outcome),
            at=at,
            detail=detail,
            category=None if category is None else Category(category),
            history=tuple(
                {"at": entry[0], "outcome": entry[1], "detail": entry[2]} for entry in history
            ),
        )
        for name, of, check, part, outcome, at, detail, category, history in session.execute(query)
    ]


class Ran(NamedTuple):
    """When a check of a node last ran on any part, whatever it found."""

    cluster: str
    node: str
    check: str
    at: datetime


def last_runs(
    session: Session, *, cluster: str | None = None, nodes: Collection[str] | None = None
) -> list[Ran]:
    """Those of these nodes, where they are named; a check that was left out did not run."""
    row = HealthCheck
    query = (
        select(Cluster.name, row.node, row.check, func.max(row.at))
        .join(Cluster, row.cluster_id == Cluster.id)
        .where(row.outcome != Outcome.SKIPPED, *_iterate_conditions(row.node, cluster, nodes))
        .group_by(Cluster.name, row.node, row.check)
    )
    return [Ran._make(row) for row in session.execute(query)]


def map_checks_in_use(
    session: Session, *, cluster: str | None = None
) -> dict[tuple[str, str], datetime]:
    """(cluster, check) -> when it last ran on any node of the cluster."""
    row = HealthCheck
    query = (
        select(Cluster.name, row.check, func.max(row.at))
        .join(Cluster, row.cluster_id == Cluster.id)
        .where(row.outcome != Outcome.SKIPPED, *_iterate_conditions(row.node, cluster, None))
        .group_by(Cluster.name, row.check)
    )
    return {(name, check): at for name, check, at in session.execute(query)}


def list_nodes_after(
    session: Session,
    first: str | None,
    limit: int,
    *,
    cluster: str | None = None,
    outcomes: Collection[Outcome] | None = None,
) -> list[str]:
    """Names of nodes from ``first`` on, in the database's order of names; each name once.

    Those with a newest result that is one of ``outcomes``; without it, all nodes that are known.
    """
    row = HealthCheck
    begin = "" if first is None else first
    results = select(row.node.label("name")).where(row.node >= begin)
    results = filter_by_cluster(results, row.cluster_id, cluster)
    if outcomes is not None:
        wanted = results.where(row.outcome.in_(outcomes)).distinct()
        return list(session.scalars(wanted.order_by(row.node).limit(limit)))
    # Both in the order of their index, so that no more is read than is wanted.
    known = select(Node.name.label("name")).where(Node.name >= begin)
    known = filter_by_cluster(known, Node.cluster_id, cluster)
    halves = (
        select(results.distinct().order_by(row.node).limit(limit).subquery().c.name),
        select(known.distinct().order_by(Node.name).limit(limit).subquery().c.name),
    )
    both = union(*halves).subquery()
    return list(session.scalars(select(both.c.name).order_by(both.c.name).limit(limit)))


def list_nodes_seen_since(
    session: Session, since: datetime, nodes: Collection[str], *, cluster: str | None = None
) -> list[tuple[str, str]]:
    """Those of the nodes that anything has named since then, as (cluster, node)."""
    query = (
        select(Cluster.name, Node.name)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Node.last_seen_at >= since, *_iterate_conditions(Node.name, cluster, nodes))
    )
    return [(name, node) for name, node in session.execute(query)]


@dataclass(frozen=True, slots=True)
class NodeBandwidth:
    """The newest bandwidth of a node. ``outcome`` and ``detail`` are those of its own report;
    ``shown`` is what its row shows now.
    """

    row_id: int
    node: str
    bandwidth: Bandwidth
    outcome: Outcome
    detail: str
    category: str | None
    shown: tuple[str, str]


def list_bandwidths(
    session: Session, cluster_id: int, check: str, limit: int
) -> list[NodeBandwidth]:
    """The newest results of a check that measured something, one a node; ``limit`` at most."""
    row = HealthCheck
    found = (
        select(row.id, row.node, row.outcome, row.detail, row.history)
        .where(row.cluster_id == cluster_id, row.check == check, row.part == "")
        .order_by(row.at.desc(), row.id)
        .limit(limit)
    )
    rows: list[NodeBandwidth] = []
    for row_id, node, outcome, detail, history in session.execute(found):
        entry = _find_last_result(history)
        if len(entry) > _PLAIN and entry[_PLAIN] is not None:
            rows.append(
                NodeBandwidth(
                    row_id=row_id,
                    node=node,
                    bandwidth=Bandwidth(*entry[_PLAIN]),
                    outcome=Outcome(entry[1]),
                    detail=entry[2],
                    category=entry[3],
                    shown=(outcome, detail),
                )
            )
    return rows


def show_result(
    session: Session, row_id: int, outcome: Outcome, detail: str, category: Category | str | None
) -> None:
    """Show this in the row of a check; its history stays as it came."""
    named = None if category is None else str(category)
    change = update(HealthCheck).where(HealthCheck.id == row_id)
    session.execute(change.values(outcome=str(outcome), detail=detail, category=named))
