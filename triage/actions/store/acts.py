"""Rows of acts: what was asked to be done to nodes, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from sqlalchemy import ColumnElement, func, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models import Action, Audit, Cluster, Node, Work
from triage.domain.acting import ActionState, Verb
from triage.domain.category import Category
from triage.domain.states import WorkKind
from triage.domain.wire import UNSENT, Share, WireForm
from triage.store.database.upsert import count_changed, insert_or_none, lock_rows
from triage.store.views import make_view

WRONG: Final = "act proved wrong"
"""What the audit trail calls it; each act once."""
STANDING: Final = (ActionState.ACTING, ActionState.DONE)
TAKES_OUT: Final = (Verb.DRAIN, Verb.EXCLUDE)
"""What a budget counts."""
# Acts in one answer that nobody pages through.
_MOST: Final = 500


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
    decided_by: Annotated[str | None, "The token that said yes or no."]
    created_at: datetime
    expires_at: Annotated[datetime | None, "When a proposal, or an exclusion, ends by itself."]
    decided_at: datetime | None
    acted_at: datetime | None
    ended_at: datetime | None
    undoes: Annotated[str | None, "The act that this one takes back."]
    error: str | None
    before: Annotated[dict[str, Any] | None, "The node as it was found."]
    after: Annotated[dict[str, Any] | None, "The node as it was left."]
    waits_since: Annotated[datetime | None, "Since when it waits for the scheduler."]

    @property
    def at(self) -> datetime:
        """When it came to stand as it does."""
        return self.ended_at or self.decided_at or self.created_at

    @property
    def decider(self) -> str:
        """Who said yes or no, else who asked for it, for people."""
        return self.decided_by or self.asked_by


def find_cluster_id(session: Session, name: str) -> int | None:
    """The number of a cluster (empty: that of jobs of no cluster); None before its first job."""
    return session.scalar(select(Cluster.id).where(Cluster.name == name))


def add(session: Session, **values: Any) -> bool:  # noqa: ANN401 - by the names of columns
    """Keep an act; False where the incident has one of this verb on this node already."""
    return insert_or_none(session, Action, values, Action.id) is not None


def change(
    session: Session, action_id: str, was: ActionState, **values: object
) -> NodeActView | None:
    """Set columns of an act that stands as it ``was``: the act; None where it stands otherwise."""
    stands = update(Action).where(Action.id == action_id, Action.state == was)
    return find(session, action_id) if count_changed(session, stands.values(**values)) else None


def find(session: Session, action_id: str, *, locked: bool = False) -> NodeActView | None:
    """One act; ``locked``: nobody else changes it before the session ends."""
    if locked:
        lock_rows(session, select(Action).where(Action.id == action_id)).one_or_none()
    return next(iter(list_node_acts(session, id=action_id)), None)


def list_incident_acts(
    session: Session, incident_id: str, **wanted: str | None
) -> list[NodeActView]:
    """Acts of an incident, the first first; ``wanted`` as in :func:`list_node_acts`."""
    of = {"incident_id": incident_id, **wanted}
    return list_node_acts(session, limit=_MOST, before=None, cluster=None, **of)[::-1]


def list_node_acts(
    session: Session,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
    cluster: str | None = None,
    **wanted: str | None,
) -> list[NodeActView]:
    """Newest first; ``before`` is the last row already seen.

    ``wanted`` are values of ``id``, ``incident_id``, ``node``, ``state`` and ``verb``; None is any.
    """
    conditions = [
        getattr(Action, name) == value for name, value in wanted.items() if value is not None
    ]
    if cluster is not None:
        conditions.append(Cluster.name == cluster)
    if before is not None:
        conditions.append(tuple_(Action.created_at, Action.id) < before)
    query = (
        select(Action, Cluster.name, Work.waiting_since)
        .join(Cluster, Cluster.id == Action.cluster_id)
        .outerjoin(Work, (Work.key == Action.id) & (Work.kind == WorkKind.ACT))
        .where(*conditions)
        .order_by(Action.created_at.desc(), Action.id.desc())
        .limit(limit)
        .execution_options(populate_existing=True)
    )
    return [
        make_view(
            NodeActView, row, cluster=name or None, verb=Verb(row.verb),
            state=ActionState(row.state), category=Category(row.category), waits_since=waits_since,
        )
        for row, name, waits_since in session.execute(query)
    ]  # fmt: skip


def list_nodes_taken_since(session: Session, cluster_id: int, since: datetime) -> list[str]:
    """Nodes that were drained or excluded since then, once for each time; also those of a time
    that has not come: a clock may have gone back.
    """
    query = select(Action.node).where(
        Action.cluster_id == cluster_id, Action.acted_at > since, Action.verb.in_(TAKES_OUT)
    )
    return list(session.scalars(query))


def collect_nodes_out(session: Session, cluster_id: int, now: datetime) -> set[str]:
    """Nodes that acts on record took out of service or keep from launchers, or are about to."""
    query = select(Action.node).where(Action.cluster_id == cluster_id, is_out(now))
    return set(session.scalars(query))


def is_out(now: datetime) -> ColumnElement[bool]:
    """An act that took its node out, or is about to, and is not over."""
    lasts = or_(Action.expires_at.is_(None), Action.expires_at > now)
    return Action.verb.in_(TAKES_OUT) & Action.state.in_(STANDING) & lasts


def count_cluster_nodes(session: Session, cluster: str) -> int:
    """How many nodes of a cluster are on record."""
    query = select(func.count(Node.id)).join(Cluster, Node.cluster_id == Cluster.id)
    return session.scalar(query.where(Cluster.name == cluster)) or 0


def count_acts_by_state(session: Session) -> Mapping[tuple[str, str], int]:
    """How many acts there are, by verb and state."""
    query = select(Action.verb, Action.state, func.count()).group_by(Action.verb, Action.state)
    return {(verb, state): number for verb, state, number in session.execute(query)}


def is_wrong(session: Session, action_id: str) -> bool:
    """Whether this act has proved wrong."""
    query = select(Audit.id).where(Audit.subject == action_id, Audit.action == WRONG).limit(1)
    return session.scalar(query) is not None
