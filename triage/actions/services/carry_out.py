"""An act is carried out: looked at, begun, done, looked at again, and written down.

The row says how far it came, and the node itself whether it was done. A process that is killed
before the act leaves a node that is not drained: the next one does it. Killed after the act, it
leaves a node that is drained for this incident: the next one only writes that down.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.actions.names import OWN_REASON, reason_of
from triage.actions.schedulers.interface import (
    NodeView,
    PoolView,
    Scheduler,
    SchedulerAway,
    SchedulerRefused,
)
from triage.actions.services import record
from triage.actions.services.budget import Budget, budget_of
from triage.actions.services.propose import look_back
from triage.actions.services.rules import (
    Rule,
    broken_by_boot,
    broken_by_incident,
    broken_by_mode,
    broken_by_node,
    convicted,
)
from triage.actions.store import actions, halts
from triage.actions.store.actions import ON_NODES, NodeActView
from triage.actions.store.standings import standing_of
from triage.clock import Jumps, steady_s, utc_now
from triage.domain.acting import ENDED, ActionState, ActMode, Verb
from triage.errors import Unavailable
from triage.queue.claim import Claim
from triage.services.context import Context
from triage.store.database.clock import watch_clock

__all__ = ["SCHEDULER", "Hands"]

SCHEDULER: Final = "the scheduler"
"""What work waits for while the scheduler does not answer."""
LOOK_AGAIN: Final = timedelta(minutes=15)
SOON: Final = timedelta(seconds=30)
NOT_OURS: Final = frozenset({ActionState.DONE, *ENDED})


class Hands:
    """What one process does to nodes. ``scheduler_of`` is asked when it is first needed."""

    def __init__(self, ctx: Context, scheduler_of: Callable[[], Scheduler | None]) -> None:
        self.ctx = ctx
        self.scheduler_of = scheduler_of
        # By a clock that nobody sets: one that jumps on frees no budget.
        self.acted_s: list[float] = []
        self.jumps = Jumps()

    def carry_out(self, claim: Claim) -> None:
        """Do what is due of one act."""
        now = utc_now()
        jump = self.jumps.look()
        if jump:
            # Acts of other processes are counted by their times: from now on a person decides.
            with self.ctx.database.writing() as session:
                watch_clock(session, now, jump)
        with self.ctx.database.reading() as session:
            one = actions.find(session, claim.rows[0].key)
        if one is None or (one.state in NOT_OURS and not is_out(one)):
            return
        if one.state is ActionState.PROPOSED:
            self._wait_for_person(claim, one, now)
        elif one.verb is Verb.EXCLUDE:
            self._exclude(claim, one)
        else:
            self._at_scheduler(claim, one)

    def _wait_for_person(self, claim: Claim, one: NodeActView, now: datetime) -> None:
        if one.expires_at is not None and now < one.expires_at:
            claim.finish(again_at=one.expires_at)
            return
        with claim.finishing() as session:
            why = "nobody approved it in time"
            record.end(session, self.ctx.settings, one, ActionState.EXPIRED, now, why)

    def _exclude(self, claim: Claim, one: NodeActView) -> None:
        """Launchers are told by the row itself. It costs as much as a drain does."""
        scheduler = self.scheduler_of()
        try:
            budget = self._budget(scheduler)
        except (SchedulerAway, SchedulerRefused) as error:
            name = scheduler.name if scheduler else SCHEDULER
            raise Unavailable(f"{name} does not answer: {error}", part=SCHEDULER) from error
        begun = self._begin(one, None, budget)
        if begun is None or begun.state is not ActionState.ACTING:
            wait(claim, begun)
            return
        self.acted_s.append(steady_s())
        with claim.finishing() as session:
            now = utc_now()
            until = now + record.EXCLUDED_FOR
            self._done(session, begun, now, expires_at=until)

    def _at_scheduler(self, claim: Claim, one: NodeActView) -> None:
        scheduler = self.scheduler_of()
        if scheduler is None:
            self._end(claim, one, ActionState.FAILED, "no scheduler is named: TRIAGE_ACT_SYSTEM")
            return
        try:
            if one.state is ActionState.DONE:
                self._watch(claim, one, scheduler)
            else:
                self._act(claim, one, scheduler)
        except SchedulerAway as error:
            raise Unavailable(
                f"{scheduler.name} does not answer: {error}", part=SCHEDULER
            ) from error
        except SchedulerRefused as error:
            if one.state is ActionState.DONE:
                claim.finish(again_at=utc_now() + LOOK_AGAIN)
                return
            self._end(claim, one, ActionState.FAILED, f"{scheduler.name} refused: {error}")

    def _act(self, claim: Claim, one: NodeActView, scheduler: Scheduler) -> None:
        seen = scheduler.node(one.node)
        if one.state is ActionState.ACTING and was_done(one, seen):
            self._record(claim, one, seen, "found done after a process ended before it said so")
            return
        ended = found_otherwise(one, seen)
        if ended is not None:
            self._end(claim, one, *ended)
            return
        if one.state is ActionState.APPROVED:
            budget = self._budget(scheduler) if one.verb in ON_NODES else None
            begun = self._begin(one, seen, budget, claim.owner)
            if begun is None or begun.state is not ActionState.ACTING:
                wait(claim, begun)
                return
            one = begun
        reason = reason_of(one.incident_id, one.category, one.confidence)
        if one.verb is Verb.DRAIN:
            scheduler.drain(one.node, reason)
        elif one.verb is Verb.REBOOT:
            scheduler.reboot(one.node, reason)
        else:
            scheduler.undrain(one.node, reason, self._before(one))
        if one.verb in ON_NODES:
            self.acted_s.append(steady_s())
        self._record(claim, one, scheduler.node(one.node))

    def _record(
        self, claim: Claim, one: NodeActView, seen: NodeView, how: str | None = None
    ) -> None:
        """Write down what the node says of the act."""
        if one.verb is not Verb.REBOOT and not was_done(one, seen):
            stands = "is drained" if seen.drained else "is not drained"
            why = f"the scheduler took the act, and the node {stands}: {seen.reason or 'no reason'}"
            self._end(claim, one, ActionState.FAILED, why)
            return
        again_at = utc_now() + LOOK_AGAIN if one.verb is Verb.DRAIN else None
        with claim.finishing(again_at) as session:
            self._done(session, one, utc_now(), how=how, after=wire(seen))

    def _done(
        self,
        session: Session,
        one: NodeActView,
        now: datetime,
        *,
        how: str | None = None,
        **values: object,
    ) -> None:
        settings = self.ctx.settings
        record.end(session, settings, one, ActionState.DONE, now, how, **values)
        if one.undoes is not None:
            by = one.decided_by or one.asked_by
            record.undone(session, record.found(session, one.undoes), by, now, {"by": one.id})
            return
        # What came while it was done may have taken back what it rests on.
        standing = standing_of(session, one.incident_id)
        if standing is not None:
            look_back(session, settings, standing, now)

    def _watch(self, claim: Claim, one: NodeActView, scheduler: Scheduler) -> None:
        """A drain that stands; somebody may have taken it back at the scheduler."""
        seen = scheduler.node(one.node)
        if is_ours(one, seen):
            claim.finish(again_at=utc_now() + LOOK_AGAIN)
            return
        with claim.finishing() as session:
            why = "found taken back at the scheduler, not by this service"
            record.undone(session, one, record.SERVICE, utc_now(), {"why": why})

    def _end(self, claim: Claim, one: NodeActView, state: ActionState, why: str) -> None:
        with claim.finishing() as session:
            now = utc_now()
            one = actions.find(session, one.id) or one
            if one.state not in NOT_OURS:
                record.end(session, self.ctx.settings, one, state, now, why)
            if one.undoes is not None and state is ActionState.LEFT_ALONE:
                # The drain that it was to take back is gone already.
                drain = record.found(session, one.undoes)
                record.undone(session, drain, record.SERVICE, now, {"why": why})

    def _before(self, one: NodeActView) -> NodeView | None:
        """The node as it was before the drain that is taken back."""
        with self.ctx.database.reading() as session:
            undone = None if one.undoes is None else actions.find(session, one.undoes)
        return None if undone is None or undone.before is None else NodeView(**undone.before)

    def _budget(self, scheduler: Scheduler | None) -> Budget:
        """Without a scheduler, the nodes of the cluster are those that are on record."""
        hour_ago = steady_s() - 3600.0
        self.acted_s = [at for at in self.acted_s if at > hour_ago]
        if scheduler is not None:
            pool = scheduler.pool()
        else:
            with self.ctx.database.reading() as session:
                pool = PoolView(actions.num_nodes(session, self.ctx.settings.act_cluster), {})
        return Budget(self.ctx.settings, pool, len(self.acted_s))

    def _begin(
        self,
        one: NodeActView,
        seen: NodeView | None,
        budget: Budget | None,
        owner: str | None = None,
    ) -> NodeActView | None:
        """Claim the act, if it may be done now, with what it costs; as it stands then.

        None: it waits. All rules are asked again, for much may have come since it was decided.
        """
        settings, now = self.ctx.settings, utc_now()
        with self.ctx.database.writing() as session:
            actions.hold_cluster(session, one.cluster_id)
            fresh = actions.find(session, one.id, locked=True)
            if fresh is None or fresh.state is not ActionState.APPROVED:
                return fresh
            if self._hindered(session, fresh, now, seen):
                return None
            current = record.found(session, fresh.id)
            if current.state is not ActionState.APPROVED:
                return current
            over = None if budget is None or fresh.decided_by else budget_of(
                session, budget, fresh.cluster_id, fresh.node, now
            )  # fmt: skip
            if over is not None:
                until = now + timedelta(hours=settings.act_approval_hours)
                why = f"{fresh.why}; {over}"
                actions.change(session, fresh.id, fresh.state,
                               state=ActionState.PROPOSED, why=why, expires_at=until)  # fmt: skip
                waiting = record.found(session, fresh.id)
                record.proposed(session, settings, waiting, now)
                return waiting
            actions.change(
                session, fresh.id, fresh.state, state=ActionState.ACTING, acted_at=now,
                owner=owner, before=None if seen is None else wire(seen),
            )  # fmt: skip
            record.note(session, record.SERVICE, "act began", fresh, now)
            return record.found(session, fresh.id)

    def _hindered(
        self, session: Session, one: NodeActView, now: datetime, seen: NodeView | None
    ) -> bool:
        """Whether an approved act has to wait; one that may not be done at all is ended."""
        settings = self.ctx.settings
        halted = halts.present(session, one.cluster_id) is not None
        if one.verb is Verb.UNDRAIN:
            return halted and one.decided_by is None
        if halted:
            return True
        mode = broken_by_mode(settings, one.verb)
        if mode is not None or settings.act_mode is ActMode.DRY_RUN:
            why = mode.why if mode else "the mode is dry_run"
            record.end(session, settings, one, ActionState.LEFT_ALONE, now, why)
            return False
        standing = standing_of(session, one.incident_id)
        if standing is None:
            record.end(session, settings, one, ActionState.LEFT_ALONE, now, "the incident is gone")
            return False
        broken = broken_by_incident(standing, settings)
        if broken is not None and broken.rule is Rule.SETTLED:
            return True
        node = next((it for it in convicted(standing) if it.node == one.node), None)
        if broken is None and node is not None:
            broken = broken_by_node(standing, node, settings, now) or broken_by_boot(
                standing.failed_at, None if seen is None else booted_at(seen), one.node
            )
        if broken is not None or node is None:
            why = broken.why if broken else f"the newest answer does not convict {one.node}"
            record.end(session, settings, one, ActionState.LEFT_ALONE, now, why)
        return False


def wait(claim: Claim, one: NodeActView | None) -> None:
    """Look again soon at an act that waits; a proposal when it expires."""
    if one is None:
        claim.finish(again_at=utc_now() + SOON)
    elif one.state is ActionState.PROPOSED:
        claim.finish(again_at=one.expires_at)
    else:
        claim.finish()


def booted_at(seen: NodeView) -> datetime | None:
    """When the node was started; None where the scheduler says none, or an id in its place.

    Slurm prints no zone: it is that of this machine.
    """
    said = seen.details.get("boot_time")
    try:
        at = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    return at if at is None or at.tzinfo is not None else at.astimezone()


def is_out(one: NodeActView) -> bool:
    """Whether the act keeps its node out of service at the scheduler."""
    return one.verb is Verb.DRAIN and one.state is ActionState.DONE


def is_ours(one: NodeActView, seen: NodeView) -> bool:
    """Whether the node is drained by the reason of this act's incident."""
    match = OWN_REASON.match(seen.reason)
    return seen.drained and match is not None and match["incident"] == one.incident_id


def was_done(one: NodeActView, seen: NodeView) -> bool:
    """Whether the node says that an act that was begun has been done."""
    if one.verb is Verb.DRAIN:
        return is_ours(one, seen)
    if one.verb is Verb.UNDRAIN:
        return not seen.drained
    match = OWN_REASON.match(seen.reason)
    before = (one.before or {}).get("details", {}).get("boot_time")
    # A node that was given back says no time until it has registered again: that is no boot.
    after = seen.details.get("boot_time")
    booted = before is not None and after is not None and after != before
    return booted or (match is not None and match["incident"] == one.incident_id)


def found_otherwise(one: NodeActView, seen: NodeView) -> tuple[ActionState, str] | None:
    """How an act ends that finds the node in a state that is not ours to change."""
    if not seen.exists:
        return ActionState.FAILED, f"the scheduler knows no node {one.node}"
    if one.verb is Verb.UNDRAIN:
        if not seen.drained:
            return ActionState.LEFT_ALONE, "the node is not drained any more"
        if not is_ours(one, seen):
            return ActionState.LEFT_ALONE, f"the node is drained for another reason: {of(seen)}"
        return None
    if one.verb is Verb.REBOOT:
        if one.state is ActionState.ACTING and "boot_time" not in (one.before or {}).get(
            "details", {}
        ):
            why = "a process ended while it asked for the reboot: it is not known whether it did"
            return ActionState.FAILED, why
        if not seen.drained or is_ours(one, seen):
            return None
    if not seen.drained:
        return None
    match = OWN_REASON.match(seen.reason)
    if match is None:
        return ActionState.LEFT_ALONE, f"the node is drained already by others: {of(seen)}"
    whose = "this incident" if match["incident"] == one.incident_id else match["incident"]
    return ActionState.LEFT_ALONE, f"the node is drained already by triage, for {whose}"


def of(seen: NodeView) -> str:
    by = f" (by {seen.by})" if seen.by else ""
    return f"{seen.reason or 'no reason'}{by}"


def wire(seen: NodeView) -> dict[str, Any]:
    """The node as plain JSON values."""
    return asdict(seen)
