"""An incident is answered from what its files came down to: provisional while they come,
final when it settles, revised when something comes late.

``triage.report`` answers, in a child process; here is only when, and what is kept.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import orjson
import structlog
from sqlalchemy.orm import Session

from triage.domain.report import Refused
from triage.domain.standing import Prior
from triage.domain.states import IncidentState, WorkKind
from triage.notify.message import Event
from triage.sandbox.pool import Analysis
from triage.sandbox.readers import Readers
from triage.services.context import Context, utc_now
from triage.services.done import Done
from triage.services.fleet.standings import standings_for
from triage.services.notifications.outbox import tell, wake_for
from triage.settings import Settings
from triage.store import artifacts, evidence, incidents, revisions, settling
from triage.store.incidents import STANDINGS
from triage.store.settling import Standing
from triage.store.views import WorkView

__all__ = ["analyse", "analyse_given_up"]

log = structlog.get_logger(__name__)
# An answer that takes long is not made more often than it can be: so many times as long
# passes between two of them.
REST: Final = 3.0
# Files that are in are waited for, however late. Reading them wakes the analysis; this is
# for the wake-up that is lost.
LOOK_AGAIN_S: Final = 5.0
# With this part of the files in, and more coming all the time, the final answer is next ...
NEARLY: Final = 0.8
# ... as it is when, at their pace, all are in before another one of these could be made, unless
# the newest answer knows so little of what is in that somebody who waits is better off with it.
AS_LONG: Final = 2.0
LITTLE: Final = 0.5
MOVING: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with an incident now: answer it, or look again at a time."""

    answer: bool
    final: bool = False
    again_at: datetime | None = None


def plan(st: Standing, settings: Settings, now: datetime) -> Plan:
    """What an incident needs; a decision on plain values."""
    news = st.inputs > st.answered_inputs
    if st.settled_at is not None:
        if st.num_unread:
            return Plan(answer=False, again_at=now + timedelta(seconds=LOOK_AGAIN_S))
        late = news or st.state is not IncidentState.READY
        return Plan(answer=late, final=True)
    due = now >= st.settle_at
    if due and not st.num_unread:
        return Plan(answer=True, final=True)
    again_at = now + timedelta(seconds=LOOK_AGAIN_S) if due else st.settle_at
    if not news or not st.num_artifacts:
        return Plan(answer=False, again_at=again_at)
    if end_is_near(st, now) and now - st.updated_at < MOVING:
        return Plan(answer=False, again_at=min(again_at, now + MOVING))
    pause = max(settings.provisional_every_s, REST * st.analyse_s)
    ready_at = now if st.analysed_at is None else st.analysed_at + timedelta(seconds=pause)
    if ready_at > now:
        return Plan(answer=False, again_at=min(again_at, ready_at))
    return Plan(answer=True, again_at=again_at)


def end_is_near(st: Standing, now: datetime) -> bool:
    """Whether the final answer is so near that a provisional one would only be in its way."""
    expected = st.expected_artifacts
    if expected is None:
        return False
    if st.num_artifacts >= NEARLY * expected:
        return True
    if st.answered_inputs < LITTLE * st.inputs:
        return False
    pace_s = (now - st.created_at).total_seconds() / st.num_artifacts
    left_s = (expected - st.num_artifacts) * pace_s
    return left_s < AS_LONG * st.analyse_s


def analyse(ctx: Context, readers: Readers, owed: WorkView) -> Done:
    """Answer one incident, if it is time to."""
    now = utc_now()
    with ctx.database.reading() as session:
        st = settling.standing(session, owed.key)
        if st is None:
            return Done()
        todo = plan(st, ctx.settings, now)
        if not todo.answer:
            return Done(again_at=todo.again_at)
        incident = incidents.find(session, owed.key)
        if incident is None:
            return Done()
    if todo.final and st.inputs <= st.answered_inputs and st.revision:
        return settled(ctx, st, None)
    if todo.final:
        with ctx.database.writing() as session:
            settling.begin_final(session, st.id, now)
    standings = standings_for(ctx, st.facts, incident.cluster, answered=st.revision > 0)
    began = time.monotonic()
    facts = {"job_id": incident.job_id, **st.facts}
    facts.pop(STANDINGS, None)
    with ctx.database.reading() as session:
        refused = [Refused(name, why) for name, why in artifacts.quarantined(session, st.id)]
        found = readers.analyse(
            evidence.extracts_of(session, st.id),
            orjson.dumps(facts, default=str),
            refused=refused,
            notes=[] if st.num_artifacts else ["nothing was uploaded for this failure"],
            deadline_s=ctx.settings.analyse_deadline_s,
            standings=standings,
        )
    seconds = time.monotonic() - began
    log.info(
        "incident answered", incident_id=st.id, final=todo.final, seconds=round(seconds, 3),
        num_artifacts=st.num_artifacts,
    )  # fmt: skip
    made = Made(found, seconds, standings)
    if todo.final:
        return settled(ctx, st, made)
    return provisional(ctx, st, made, todo.again_at)


@dataclass(frozen=True, slots=True)
class Made:
    """An answer that was made, how long it took, and with which priors."""

    found: Analysis
    seconds: float
    standings: Mapping[str, Prior]


def provisional(ctx: Context, st: Standing, made: Made, again_at: datetime | None) -> Done:
    """Keep an answer of an incident that is still collecting."""
    rows: list[int] = []

    def write(session: Session) -> None:
        now = utc_now()
        if keep(session, st, made, now, provisional=True):
            rows.extend(tell(session, ctx.settings, st.id, Event.PROVISIONAL, now))

    return Done(write=write, after=lambda: wake_for(ctx, rows), again_at=again_at)


def settled(ctx: Context, st: Standing, made: Made | None) -> Done:
    """Keep the final answer, unless something came while it was made."""
    rows: list[int] = []

    def write(session: Session) -> None:
        now = utc_now()
        present = settling.standing(session, st.id)
        if present is None:
            return
        previous = revisions.newest(session, st.id)
        more = present.inputs != st.inputs or present.num_unread > 0
        more = more or (present.settled_at is None and present.settle_at > now)
        changed = made is not None and keep(
            session, st, made, now, provisional=more and st.settled_at is None
        )
        if more:  # what came has asked for another answer
            settling.go_on_collecting(session, st.id)
            return
        if made is not None:
            evidence.redate(session, st.id, made.found.dated)
        first = settling.settle(session, st.id, now)
        event = Event.READY if first else Event.REVISED
        if first or changed:
            rows.extend(tell(session, ctx.settings, st.id, event, now, previous))

    def after() -> None:
        wake_for(ctx, rows)
        ctx.wakeups.notify(WorkKind.ANALYSE, ())

    return Done(write=write, after=after)


def keep(session: Session, st: Standing, made: Made, now: datetime, *, provisional: bool) -> bool:
    """Keep an answer; whether it is another one than before. The same one is no revision."""
    found = made.found
    settling.keep_standings(
        session, st.id, {node: prior.to_dict() for node, prior in made.standings.items()}
    )
    newest = revisions.newest(session, st.id)
    report: dict[str, Any] = orjson.loads(found.report)
    text = found.report.decode()
    changed = newest is None or newest.report != text
    revision = 0 if newest is None else newest.revision
    if changed:
        revision += 1
        revisions.add(
            session,
            st.id,
            revision,
            provisional=provisional,
            report=text,
            timeline=orjson.loads(found.timeline),
            answer=found.answer,
            suspects=report["suspects"],
            now=now,
        )
    settling.answered(
        session,
        st.id,
        inputs=st.inputs,
        report=report,
        revision=revision,
        provisional=provisional,
        seconds=made.seconds,
        now=now,
    )
    return changed


def analyse_given_up(session: Session, settings: Settings, incident_id: str, why: str) -> list[int]:
    """We failed over an incident: said so, and told; the rows of work that tell it."""
    now = utc_now()
    if settling.standing(session, incident_id) is None:
        return []
    settling.failed(session, incident_id, f"triage failed over it: {why}", now)
    return tell(session, settings, incident_id, Event.FAILED, now)
