"""A person says yes or no to a proposal, takes an act back, stops the actuator, lets it go on."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from triage.actions.services import record
from triage.actions.services.propose import take_back
from triage.actions.services.rules import HALTED
from triage.actions.store import actions, halts
from triage.actions.store.actions import NodeActView
from triage.actions.store.halts import HaltView
from triage.clock import utc_now
from triage.domain.acting import ActionState, ActMode, Verb
from triage.domain.states import WorkKind
from triage.errors import Conflict, NotFound, Place, Unprocessable
from triage.services.context import Context
from triage.store.access import audit
from triage.store.jobs import cluster_key
from triage.store.work import table as work

__all__ = [
    "MAX_REASON",
    "Also",
    "approve",
    "approved",
    "decided",
    "halt",
    "refuse",
    "resume",
    "undo",
]

MAX_REASON = 1000
Also = Callable[[Session, NodeActView], None]


def approve(ctx: Context, action_id: str, by: str, *, also: Also | None = None) -> NodeActView:
    """Have a proposal carried out, also beyond the budget: a person has decided.

    ``also`` is called in the same transaction. Raises :class:`NotFound`, and :class:`Conflict`
    for one that is decided, or has expired, and while the actuator is halted.
    """
    with ctx.database.writing() as session:
        one = waiting(session, action_id)
        if halts.present(session, one.cluster_id) is not None and one.verb is not Verb.UNDRAIN:
            raise HALTED.conflict()
        done = approved(session, one, by)
        if also is not None:
            also(session, done)
    return done


def approved(session: Session, one: NodeActView, by: str) -> NodeActView:
    """Approve a proposal. Raises :class:`Conflict` where it is none any more."""
    now = utc_now()
    work.enqueue(session, WorkKind.ACT, one.id, now)
    values = {"state": ActionState.APPROVED, "decided_by": by, "decided_at": now}
    if not actions.change(session, one.id, ActionState.PROPOSED, expires_at=None, **values):
        raise decided(record.found(session, one.id))
    record.note(session, by, "act approved", one, now)
    return record.found(session, one.id)


def refuse(ctx: Context, action_id: str, by: str, *, also: Also | None = None) -> NodeActView:
    """Say no to a proposal. Raises as :func:`approve`."""
    now = utc_now()
    with ctx.database.writing() as session:
        one = waiting(session, action_id)
        values = {"decided_by": by, "decided_at": now, "ended_at": now}
        if not actions.change(
            session, one.id, ActionState.PROPOSED, state=ActionState.REFUSED, **values
        ):
            raise decided(record.found(session, one.id))
        record.note(session, by, "act refused", one, now)
        done = record.found(session, one.id)
        if also is not None:
            also(session, done)
    return done


def undo(ctx: Context, action_id: str, by: str, *, also: Also | None = None) -> NodeActView:
    """Take back what was done: an exclusion at once, a drain by an act that is returned.

    Raises :class:`NotFound`, and :class:`Conflict` for what is not done or cannot be undone.
    """
    now = utc_now()
    with ctx.database.writing() as session:
        one = there(session, action_id)
        if ctx.settings.act_mode is ActMode.DRY_RUN:
            raise Conflict(
                "the mode is dry_run: nothing is changed anywhere",
                hint="set TRIAGE_ACT_MODE=approve, or undo it at the scheduler",
            )
        if one.state is not ActionState.DONE:
            raise Conflict(
                f"the act is {str(one.state).replace('_', ' ')}: there is nothing to undo",
                hint="`triage act list` shows what was done",
            )
        if one.verb not in (Verb.DRAIN, Verb.EXCLUDE):
            raise Conflict(f"a {one.verb} cannot be undone", hint="act at the scheduler")
        done = take_back(session, ctx.settings, one, now, f"{by} undoes it", by)
        if also is not None:
            also(session, done)
    return done


def halt(ctx: Context, by: str, reason: str) -> HaltView:
    """Stop: nothing more is done to nodes until it is resumed. Halted already, it stays so.

    Raises :class:`Unprocessable` for a reason that is too long.
    """
    if len(reason) > MAX_REASON:
        raise Unprocessable(
            f"the reason has {len(reason):,} characters; at most {MAX_REASON:,} are kept",
            hint="put the long story into a ticket",
            places=(Place("body/reason", "too long"),),
        )
    now = utc_now()
    with ctx.database.writing() as session:
        cluster_id = cluster_key(session, ctx.settings.act_cluster)
        actions.hold_cluster(session, cluster_id)
        why = reason.strip() or "a person stopped it"
        if halts.begin(session, cluster_id, now, by, why):
            audit.note(session, by, "actuator halted", subject_of(ctx), now, {"why": why})
        found = halts.present(session, cluster_id)
    assert found is not None
    return found


def resume(ctx: Context, by: str) -> bool:
    """Go on; False where it was not halted. Acts that were wrong before are not counted again."""
    now = utc_now()
    with ctx.database.writing() as session:
        cluster_id = cluster_key(session, ctx.settings.act_cluster)
        actions.hold_cluster(session, cluster_id)
        ended = halts.end(session, cluster_id, now, by)
        if ended:
            audit.note(session, by, "actuator resumed", subject_of(ctx), now)
        name = ctx.settings.act_cluster
        for one in actions.listing(
            session, cluster=name, state=str(ActionState.APPROVED), limit=500
        ):
            work.enqueue(session, WorkKind.ACT, one.id, now)
    return ended


def subject_of(ctx: Context) -> str:
    return ctx.settings.act_cluster or "(no cluster)"


def there(session: Session, action_id: str) -> NodeActView:
    one = actions.find(session, action_id)
    if one is None:
        raise NotFound("there is no such act", hint="GET /v1/actions lists them")
    return one


def waiting(session: Session, action_id: str) -> NodeActView:
    """A proposal that may be decided. Raises :class:`Conflict` for every other act."""
    one = there(session, action_id)
    if one.state is not ActionState.PROPOSED:
        raise decided(one)
    if one.expires_at is not None and one.expires_at <= utc_now():
        raise Conflict(
            f"the proposal expired at {one.expires_at:%Y-%m-%d %H:%M}Z, and nothing was done",
            hint=f"`triage act {one.verb} {one.incident_id}` asks for it anew",
        )
    return one


def decided(one: NodeActView) -> Conflict:
    """Why a proposal that is none any more cannot be decided."""
    by = f" by {one.decider}" if one.decided_by else ""
    return Conflict(
        f"the act is no proposal any more: it is {str(one.state).replace('_', ' ')}{by}",
        hint="`triage act list` shows how each act stands",
    )
