"""Rows of acts: what was asked to be done to nodes, and what became of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, TypedDict, Unpack, cast

from sqlalchemy import ColumnElement, CursorResult, func, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models import Action, Cluster, Node, Resolution, Work
from triage.actions.names import who
from triage.domain.acting import ActionState, Verb
from triage.domain.category import HARDWARE, Category
from triage.domain.launch import LeftOut
from triage.domain.states import WorkKind
from triage.domain.wire import UNSENT, Share, WireForm
from triage.store.database.row_locks import lock_rows
from triage.store.database.upsert import insert_or_none
from triage.store.views import view_of

__all__ = [
    "ON_NODES",
    "ActionFilter",
    "NewAction",
    "NodeActView",
    "add",
    "change",
    "cluster_id_of",
    "excluded_nodes",
    "find",
    "given_back",
    "hold_cluster",
    "listing",
    "nodes_out",
    "nodes_since",
    "num_by_state",
    "num_nodes",
    "of_incident",
    "of_node",
]

ON_NODES: Final = (Verb.DRAIN, Verb.REBOOT)
"""What a budget counts: acts that take a node out at the scheduler."""
STANDING: Final = (ActionState.ACTING, ActionState.DONE)
# Acts in one answer that nobody pages through.
MOST: Final = 500


@dataclass(frozen=True, slots=True)
class NodeActView(WireForm):
    """One act on one node for one incident, and how it stands."""

    id: str
    cluster_id: Annotated[int, UNSENT]
    cluster: Annotated[str | None, "Null where nobody named one."]
    incident_id: str
    node: str
    verb: Verb
    system: Annotated[str, "The scheduler that is asked."]
    state: ActionState
    category: Category
    confidence: Share
    revision: Annotated[int, "Of the answer that it rests on."]
    why: str
    asked_by: Annotated[str, "`triage`, or the id of a token."]
    decided_by: Annotated[
        str | None, "Token that said yes or no; `link:NAME` is what somebody typed."
    ]
    created_at: datetime
    expires_at: Annotated[datetime | None, "When a proposal, or an exclusion, ends by itself."]
    decided_at: datetime | None
    acted_at: datetime | None
    ended_at: datetime | None
    undoes: Annotated[str | None, "The act that this one takes back."]
    owner: Annotated[str | None, UNSENT]
    command: Annotated[str | None, "The same for a shell."]
    error: str | None
    before: Annotated[dict[str, Any] | None, "The node as it was found."]
    after: Annotated[dict[str, Any] | None, "The node as it was left."]
    waits_since: Annotated[datetime | None, "Since when it waits for the scheduler."]

    @property
    def decider(self) -> str:
        """Who said yes or no, else who asked for it, for people."""
        return who(self.decided_by or self.asked_by)


@dataclass(frozen=True, slots=True)
class NewAction:
    """An act that is to be kept; the names are those of the columns."""

    id: str
    cluster_id: int
    incident_id: str
    node: str
    verb: Verb
    system: str
    state: ActionState
    category: str
    confidence: float
    revision: int
    why: str
    asked_by: str
    created_at: datetime
    expires_at: datetime | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    undoes: str | None = None
    command: str | None = None


class ActionFilter(TypedDict, total=False):
    """What acts are asked for; None is any."""

    cluster: str | None
    incident_id: str | None
    node: str | None
    state: str | None


def cluster_id_of(session: Session, name: str) -> int | None:
    """The number of a cluster (empty: that of jobs of no cluster); None before its first job."""
    return session.scalar(select(Cluster.id).where(Cluster.name == name))


def hold_cluster(session: Session, cluster_id: int) -> None:
    """From now on nobody else begins, proposes or stops acts of the cluster, until the end of the
    session: budgets and halts are counted by one at a time.
    """
    lock_rows(session, select(Cluster).where(Cluster.id == cluster_id)).one()


def add(session: Session, new: NewAction) -> bool:
    """Keep an act; False where the incident has one of this verb on this node already."""
    row = {name: getattr(new, name) for name in NewAction.__dataclass_fields__}
    row |= {"verb": str(new.verb), "state": str(new.state)}
    empty = dict.fromkeys(("acted_at", "ended_at", "owner", "error", "before", "after"))
    return insert_or_none(session, Action, {**row, **empty}, Action.id) is not None


def find(session: Session, action_id: str, *, locked: bool = False) -> NodeActView | None:
    """One act; ``locked``: nobody else changes it before the session ends."""
    if locked:
        lock_rows(session, select(Action).where(Action.id == action_id)).one_or_none()
    found = rows(session, Action.id == action_id)
    return next(found, None)


def of_incident(
    session: Session, incident_id: str, node: str | None = None, verb: Verb | None = None
) -> list[NodeActView]:
    """Acts of an incident, the first first."""
    wanted = [Action.incident_id == incident_id]
    if node is not None:
        wanted.append(Action.node == node)
    if verb is not None:
        wanted.append(Action.verb == str(verb))
    return sorted(rows(session, *wanted), key=lambda one: (one.created_at, one.id))


def of_node(session: Session, cluster_id: int, node: str) -> list[NodeActView]:
    """Drains of this node that stand."""
    return list(
        rows(
            session,
            Action.cluster_id == cluster_id,
            Action.node == node,
            Action.verb == Verb.DRAIN,
            Action.state.in_(STANDING),
        )
    )


def listing(
    session: Session,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
    **wanted: Unpack[ActionFilter],
) -> list[NodeActView]:
    """Newest first; ``before`` is the last row already seen."""
    conditions: list[ColumnElement[bool]] = []
    columns = {
        "cluster": Cluster.name,
        "incident_id": Action.incident_id,
        "node": Action.node,
        "state": Action.state,
    }
    for name, column in columns.items():
        if (value := wanted.get(name)) is not None:
            conditions.append(column == value)
    if before is not None:
        conditions.append(tuple_(Action.created_at, Action.id) < before)
    return list(rows(session, *conditions, limit=limit))


def rows(
    session: Session, *conditions: ColumnElement[bool], limit: int = MOST
) -> Iterator[NodeActView]:
    query = (
        select(Action, Cluster.name, Work.waiting_since)
        .join(Cluster, Cluster.id == Action.cluster_id)
        .outerjoin(Work, (Work.key == Action.id) & (Work.kind == WorkKind.ACT))
        .where(*conditions)
        .order_by(Action.created_at.desc(), Action.id.desc())
        .limit(limit)
        .execution_options(populate_existing=True)
    )
    for row, cluster, waits_since in session.execute(query):
        yield view_of(
            NodeActView,
            row,
            cluster=cluster or None,
            verb=Verb(row.verb),
            state=ActionState(row.state),
            category=Category(row.category),
            waits_since=waits_since,
        )


def change(session: Session, action_id: str, was: ActionState, **values: object) -> bool:
    """Set columns of an act that stands as it ``was``; False where it stands otherwise."""
    done = session.execute(
        update(Action)
        .where(Action.id == action_id, Action.state == str(was))
        .values(**{name: text_of(value) for name, value in values.items()})
        .execution_options(synchronize_session=False)
    )
    return cast("CursorResult[Any]", done).rowcount > 0


def text_of(value: object) -> object:
    return str(value) if isinstance(value, ActionState) else value


def nodes_since(session: Session, cluster_id: int, since: datetime) -> list[str]:
    """Nodes that were drained, rebooted or excluded since then, once for each time; also those of
    a time that has not come: a clock may have gone back.
    """
    query = select(Action.node).where(
        Action.cluster_id == cluster_id,
        Action.acted_at > since,
        Action.verb.in_([str(verb) for verb in (*ON_NODES, Verb.EXCLUDE)]),
    )
    return list(session.scalars(query))


def nodes_out(session: Session, cluster_id: int, now: datetime) -> set[str]:
    """Nodes that acts on record took out of service or keep from launchers, or are about to."""
    query = select(Action.node).where(
        Action.cluster_id == cluster_id,
        Action.verb.in_([str(Verb.DRAIN), str(Verb.EXCLUDE)]),
        Action.state.in_([str(state) for state in STANDING]),
        or_(Action.expires_at.is_(None), Action.expires_at > now),
    )
    return set(session.scalars(query))


def num_nodes(session: Session, cluster: str) -> int:
    """How many nodes of a cluster are on record."""
    query = select(func.count(Node.id)).join(Cluster, Node.cluster_id == Cluster.id)
    return session.scalar(query.where(Cluster.name == cluster)) or 0


def num_by_state(session: Session) -> Mapping[tuple[str, str], int]:
    """How many acts there are, by verb and state."""
    query = select(Action.verb, Action.state, func.count()).group_by(Action.verb, Action.state)
    return {(verb, state): number for verb, state, number in session.execute(query)}


def given_back(session: Session, cluster_id: int, since: datetime) -> set[tuple[str, str]]:
    """(incident, node) of acts that were taken back: a person wants the node to be used."""
    rows = session.execute(
        select(Action.incident_id, Action.node).where(
            Action.cluster_id == cluster_id,
            Action.state == ActionState.UNDONE,
            Action.created_at >= since,
        )
    )
    return {(incident_id, node) for incident_id, node in rows}


def excluded_nodes(session: Session, cluster_id: int, now: datetime) -> list[LeftOut]:
    """Nodes that no job of the cluster should get, because of acts of ours, each once.

    An exclusion or a drain that is done counts until it is undone, until its end, or until a
    person says that the incident was no hardware, or another node.
    """
    query = (
        select(Action)
        .outerjoin(Resolution, Resolution.incident_id == Action.incident_id)
        .where(
            Action.cluster_id == cluster_id,
            Action.verb.in_([str(Verb.EXCLUDE), str(Verb.DRAIN)]),
            Action.state.in_([str(state) for state in STANDING]),
            or_(Action.expires_at.is_(None), Action.expires_at > now),
            or_(
                Resolution.incident_id.is_(None),
                Resolution.category.in_([str(one) for one in HARDWARE])
                & or_(Resolution.node.is_(None), Resolution.node == Action.node),
            ),
        )
        .order_by(Action.node, Action.created_at)
    )
    found = {}
    for row in session.scalars(query):
        done = "drained" if row.verb == Verb.DRAIN else "excluded"
        why = f"{done} for {row.category} ({row.id}); `triage act undo {row.id}` takes it back"
        found[row.node] = LeftOut(row.node, why, row.incident_id, row.expires_at)
    return list(found.values())
