"""An act is carried out: looked at, begun, done, looked at again, and written down.

The row says how far it came, and the node itself whether it was done. A process that is killed
before the act leaves a node that is not drained: the next one does it. Killed after the act, it
leaves a node that is drained for this incident: the next one only writes that down.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.actions.schedulers.interface import (
    NodeView,
    NoSuchNode,
    PoolView,
    Scheduler,
    SchedulerAway,
    SchedulerRefused,
    format_act_reason,
)
from triage.actions.services.acts import SERVICE, ActWriter
from triage.actions.services.rules import Broken, Rule, check_rules
from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.actions.store.evidence import load_standing
from triage.clock import Jumps, read_utc_now
from triage.domain.acting import ENDED, ActionState, Verb
from triage.errors import Unavailable
from triage.queue.runner import Claim
from triage.services.context import Context
from triage.store.database.clock import describe_clock_doubt, watch_clock
from triage.store.jobs import hold_cluster

_SCHEDULER: Final = "the scheduler"
_HOUR: Final = timedelta(hours=1)
_LOOK_AGAIN: Final = timedelta(minutes=15)
_SOON: Final = timedelta(seconds=30)
_EXCLUDED_FOR: Final = timedelta(days=7)


class Hands:
    """What one process does to nodes. ``scheduler_of`` is asked when it is first needed."""

    def __init__(self, ctx: Context, scheduler_of: Callable[[], Scheduler | None]) -> None:
        self.ctx = ctx
        self.scheduler_of = scheduler_of
        self.jumps = Jumps()

    def carry_out(self, claim: Claim) -> None:
        """Do what is due of one act."""
        now = read_utc_now()
        jump = self.jumps.look()
        if jump:
            # Acts are counted by their times: from now on a person decides.
            with self.ctx.database.writing() as session:
                watch_clock(session, now, jump)
        with self.ctx.database.reading() as session:
            one = acts.find(session, claim.rows[0].key)
        stands = one is not None and (one.verb, one.state) == (Verb.DRAIN, ActionState.DONE)
        if one is None or (one.state in ENDED and not stands):
            return
        if one.state is ActionState.PROPOSED:
            self._wait_for_person(claim, one, now)
            return
        scheduler = self.scheduler_of()
        try:
            if one.verb is Verb.EXCLUDE:
                self._exclude(claim, one, scheduler)
            elif scheduler is None:
                why = "no scheduler is named: TRIAGE_ACT_SYSTEM"
                self._end(claim, one, ActionState.FAILED, why)
            elif stands:
                self._watch(claim, one, scheduler)
            else:
                self._act(claim, one, scheduler)
        except (SchedulerAway, SchedulerRefused) as error:
            name = scheduler.name if scheduler else _SCHEDULER
            if isinstance(error, SchedulerAway) or one.verb is Verb.EXCLUDE:
                why = f"{name} does not answer: {error}"
                raise Unavailable(why, part=_SCHEDULER) from error
            self._end(claim, one, ActionState.FAILED, f"{name} refused: {error}")

    def _wait_for_person(self, claim: Claim, one: NodeActView, now: datetime) -> None:
        if one.expires_at is not None and now < one.expires_at:
            claim.finish(again_at=one.expires_at)
            return
        with claim.finishing() as session:
            why = "nobody approved it in time"
            ActWriter(session, self.ctx.settings, now).end(one, ActionState.EXPIRED, why)

    def _exclude(self, claim: Claim, one: NodeActView, scheduler: Scheduler | None) -> None:
        """Launchers are told by the row itself. It costs as much as a drain does."""
        begun = self._begin(claim, one, None, self._read_pool(scheduler))
        if begun is not None:
            with claim.finishing() as session:
                self._done(session, begun, expires_at=read_utc_now() + _EXCLUDED_FOR)

    def _act(self, claim: Claim, one: NodeActView, scheduler: Scheduler) -> None:
        seen = scheduler.node(one.node)
        drains = one.verb is Verb.DRAIN
        # A process that ended before it said so may have done it.
        if one.state is not ActionState.ACTING or not _was_done(one, seen):
            foreign = _find_foreign_state(one, seen)
            if foreign is not None:
                self._end(claim, one, ActionState.LEFT_ALONE, foreign)
                return
            if one.state is ActionState.APPROVED:
                pool = self._read_pool(scheduler) if drains else None
                begun = self._begin(claim, one, seen, pool)
                if begun is None:
                    return
                one = begun
            self._change_node(one, scheduler)
            seen = scheduler.node(one.node)
        if not _was_done(one, seen):
            stands = "is drained" if seen.drained else "is not drained"
            why = f"the scheduler took the act, and the node {stands}: {seen.reason or 'no reason'}"
            self._end(claim, one, ActionState.FAILED, why)
            return
        with claim.finishing(read_utc_now() + _LOOK_AGAIN if drains else None) as session:
            self._done(session, one, after=asdict(seen))

    def _change_node(self, one: NodeActView, scheduler: Scheduler) -> None:
        reason = format_act_reason(one.incident_id, one.category, one.confidence)
        if one.verb is Verb.DRAIN:
            scheduler.drain(one.node, reason)
            return
        with self.ctx.database.reading() as session:
            undone = None if one.undoes is None else acts.find(session, one.undoes)
        # The reason that stood at the node before the drain that is taken back.
        earlier = "" if undone is None else (undone.before or {}).get("reason", "")
        scheduler.undrain(one.node, reason, str(earlier))

    def _done(self, session: Session, one: NodeActView, **values: object) -> None:
        writer = ActWriter(session, self.ctx.settings)
        writer.end(one, ActionState.DONE, None, **values)
        if one.undoes is not None:
            writer.undone(writer.find(one.undoes), one.decided_by or one.asked_by, by=one.id)
            return
        # What came while it was done may have taken back what it rests on.
        writer.look_back(one.incident_id)

    def _watch(self, claim: Claim, one: NodeActView, scheduler: Scheduler) -> None:
        """A drain that stands; somebody may have taken it back at the scheduler."""
        try:
            incident = scheduler.node(one.node).incident
        except NoSuchNode:
            incident = None
        except SchedulerRefused:
            incident = one.incident_id  # nothing is known by who may not look
        if incident == one.incident_id:
            claim.finish(again_at=read_utc_now() + _LOOK_AGAIN)
            return
        with claim.finishing() as session:
            why = "found taken back at the scheduler, not by this service"
            ActWriter(session, self.ctx.settings).undone(one, SERVICE, why=why)

    def _end(self, claim: Claim, one: NodeActView, state: ActionState, why: str) -> None:
        with claim.finishing() as session:
            writer = ActWriter(session, self.ctx.settings)
            one = acts.find(session, one.id) or one
            if one.state not in ENDED:
                writer.end(one, state, why)
            if one.undoes is not None and state is ActionState.LEFT_ALONE:
                # The drain that it was to take back is gone already.
                writer.undone(writer.find(one.undoes), SERVICE, why=why)

    def _read_pool(self, scheduler: Scheduler | None) -> PoolView:
        """Without a scheduler, the nodes of the cluster are those that are on record."""
        if scheduler is not None:
            return scheduler.pool()
        with self.ctx.database.reading() as session:
            return PoolView(acts.count_cluster_nodes(session, self.ctx.settings.act_cluster))

    def _begin(
        self, claim: Claim, one: NodeActView, seen: NodeView | None, pool: PoolView | None
    ) -> NodeActView | None:
        """Claim the act, if it may be done now, with what it costs; as it stands then.

        None: it waits, or has ended. All rules are asked again, for much may have come since it
        was decided. Without ``pool`` it costs nothing.
        """
        again_at = None
        with self.ctx.database.writing() as session:
            hold_cluster(session, one.cluster_id)
            writer = ActWriter(session, self.ctx.settings)
            fresh = acts.find(session, one.id, locked=True)
            if fresh is not None and fresh.state is ActionState.APPROVED:
                try:
                    self._check(writer, fresh, seen, pool)
                except Broken as broken:
                    if broken.rule is Rule.BUDGET:
                        fresh = writer.propose(fresh, f"{fresh.why}; {broken.why}")
                    elif broken.rule is Rule.SETTLED:
                        again_at = writer.now + _SOON
                    else:
                        writer.end(fresh, ActionState.LEFT_ALONE, broken.why)
                else:
                    writer.note("act began", fresh)
                    return acts.change(
                        session, fresh.id, fresh.state, state=ActionState.ACTING,
                        acted_at=writer.now, owner=claim.owner,
                        before=None if seen is None else asdict(seen),
                    )  # fmt: skip
            if fresh is not None and fresh.state is ActionState.PROPOSED:
                again_at = fresh.expires_at
        claim.finish(again_at=again_at)
        return None

    def _check(
        self, writer: ActWriter, one: NodeActView, seen: NodeView | None, pool: PoolView | None
    ) -> None:
        """Raises :class:`Broken` for the first rule that an approved act does not keep by now."""
        if one.verb is Verb.UNDRAIN:
            return
        standing = load_standing(writer.session, one.incident_id)
        booted_at = None if seen is None else seen.booted_at
        check_rules(standing, self.ctx.settings, one.verb, writer.now, one.node, booted_at)
        if pool is not None and not one.decided_by:
            _check_budget(writer, pool, one)


def _check_budget(writer: ActWriter, pool: PoolView, one: NodeActView) -> None:
    """Raises :class:`Broken` where this node, too, is beyond the budget.

    Counted while the session holds the cluster: by the rows, which know what is about to be
    done, and by ``pool``, how the scheduler shows the cluster just before, which knows what
    services with other databases have done.
    """
    session, settings, now = writer.session, writer.settings, writer.now
    doubt = describe_clock_doubt(session, now)
    ours = acts.collect_nodes_out(session, one.cluster_id, now)
    acted = acts.list_nodes_taken_since(session, one.cluster_id, now - _HOUR)
    elsewhere = pool.out_since(now - _HOUR) - ours - set(acted) - {one.node}
    within_hour = len(acted) + len(elsewhere)
    most_out = max(1, int(settings.act_pool_share * pool.size))  # one always may be
    out = len((ours | set(pool.out)) - {one.node})
    if doubt is not None:
        why = f"the clock is in doubt ({doubt.partition(';')[0]}), so a person decides"
    elif within_hour >= settings.act_nodes_per_hour:
        why = f"{within_hour} nodes were taken out within an hour, and"
        why += f" TRIAGE_ACT_NODES_PER_HOUR is {settings.act_nodes_per_hour}"
    elif out >= most_out:
        why = f"{out} of {pool.size} nodes are out because of triage, and"
        why += f" TRIAGE_ACT_POOL_SHARE allows {most_out}"
    else:
        return
    raise Broken(Rule.BUDGET, why, "approve it")


def _was_done(one: NodeActView, seen: NodeView) -> bool:
    """Whether the node says that an act that was begun has been done."""
    return seen.incident == one.incident_id if one.verb is Verb.DRAIN else not seen.drained


def _find_foreign_state(one: NodeActView, seen: NodeView) -> str | None:
    """Why the state in which an act finds the node is not ours to change, in a clause."""
    if one.verb is Verb.UNDRAIN:
        if not seen.drained:
            return "the node is not drained any more"
        if seen.incident != one.incident_id:
            return f"the node is drained for another reason: {seen.why}"
    elif seen.drained:
        if seen.incident is None:
            return f"the node is drained already by others: {seen.why}"
        whose = "this incident" if seen.incident == one.incident_id else seen.incident
        return f"the node is drained already by triage, for {whose}"
    return None
