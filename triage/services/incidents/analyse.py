"""An incident is answered from what its files came down to: provisional while they come,
final when it settles, revised when something comes late.

``triage.report`` answers, in a child process; here is only when, and what is kept.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson
import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.answer_wire import answer_from_bytes
from triage.domain.facts import IGNORED
from triage.domain.report import Answer, Refused
from triage.domain.restart import EarlierStarts, read_starts
from triage.domain.standing import Prior, read_prior
from triage.domain.states import IncidentState
from triage.errors import Unavailable
from triage.notify.message import Event
from triage.queue.runner import Claim
from triage.render.data import wire
from triage.sandbox.pool import Analysis, KnownOfJob, Readers
from triage.services.context import Context
from triage.services.incidents.notices import take_in_notices
from triage.services.incidents.problems import place_incident
from triage.services.incidents.starts import find_earlier_starts
from triage.services.incidents.wanted import list_wanted
from triage.services.notifications.outbox import tell
from triage.services.signatures.in_force import label_in_force
from triage.settings import Settings
from triage.store.incidents import incidents, revisions, settling
from triage.store.incidents.facts import STANDINGS, STARTS, drop_record, list_conflict_notes
from triage.store.incidents.revisions import NewAnswer
from triage.store.incidents.settling import IncidentProgress
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts, evidence
from triage.store.views import IncidentView

log = structlog.get_logger(__name__)
# An answer that takes long is not made more often than it can be: so many times as long
# passes between two of them.
_REST: Final = 3.0
# Files that are in are waited for, however late. Reading them wakes the analysis; this is
# for the wake-up that is lost.
_LOOK_AGAIN_S: Final = 5.0
# With this part of the files in, and more coming all the time, the final answer is next ...
_NEARLY: Final = 0.8
# ... as it is when, at their pace, all are in before another one of these could be made, unless
# the newest answer knows so little of what is in that somebody who waits is better off with it.
_AS_LONG: Final = 2.0
_LITTLE: Final = 0.5
_MOVING: Final = timedelta(seconds=2)
_NOTHING: Final = ("nothing was uploaded for this failure",)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with an incident now: answer it, or look again at a time."""

    answer: bool
    final: bool = False
    again_at: datetime | None = None


def plan(st: IncidentProgress, settings: Settings, now: datetime) -> Plan:
    """What an incident needs; a decision on plain values."""
    news = st.inputs > st.answered_inputs
    if st.settled_at is not None:
        if st.num_unread:
            return Plan(answer=False, again_at=now + timedelta(seconds=_LOOK_AGAIN_S))
        late = news or st.state is not IncidentState.READY
        return Plan(answer=late, final=True)
    due = now >= st.settle_at
    if due and not st.num_unread:
        return Plan(answer=True, final=True)
    again_at = now + timedelta(seconds=_LOOK_AGAIN_S) if due else st.settle_at
    if not news or not st.has_files:
        return Plan(answer=False, again_at=again_at)
    if _end_is_near(st, now) and now - st.updated_at < _MOVING:
        return Plan(answer=False, again_at=min(again_at, now + _MOVING))
    pause = max(settings.provisional_every_s, _REST * st.analyse_s)
    ready_at = now if st.analysed_at is None else st.analysed_at + timedelta(seconds=pause)
    if ready_at > now:
        return Plan(answer=False, again_at=min(again_at, ready_at))
    return Plan(answer=True, again_at=again_at)


def _end_is_near(st: IncidentProgress, now: datetime) -> bool:
    """Whether the final answer is so near that a provisional one would only be in its way."""
    expected = st.expected_artifacts
    if expected is None:
        return False
    if st.num_artifacts >= _NEARLY * expected:
        return True
    if st.answered_inputs < _LITTLE * st.inputs:
        return False
    pace_s = (now - st.created_at).total_seconds() / max(st.num_artifacts, 1)
    left_s = (expected - st.num_artifacts) * pace_s
    return left_s < _AS_LONG * st.analyse_s


def analyse(ctx: Context, readers: Readers, claim: Claim) -> None:
    """Answer one incident, if it is time to."""
    incident_id = claim.rows[0].key
    take_in_notices(ctx, incident_id)
    now = read_utc_now()
    with ctx.database.reading() as session:
        st = settling.find_progress(session, incident_id)
        incident = incidents.find(session, incident_id)
    if st is None or incident is None:
        return
    todo = plan(st, ctx.settings, now)
    if not todo.answer:
        claim.finish(again_at=todo.again_at)
        return
    made = None
    if not todo.final or st.inputs > st.answered_inputs or not st.revision:
        if todo.final:
            with ctx.database.writing() as session:
                settling.begin_final(session, st.id, now)
        made = _answer(ctx, readers, st, incident, final=todo.final)
    if made is not None and not todo.final:
        with claim.finishing(again_at=todo.again_at) as session:
            newest = _find_newest(session, st.id)
            if _keep(session, st, made, newest, read_utc_now(), provisional=True):
                tell(session, ctx.settings, st.id, Event.PROVISIONAL, read_utc_now())
        return
    with claim.finishing() as session:
        _settle(session, ctx, st, made)


@dataclass(frozen=True, slots=True)
class _TimedAnalysis:
    """An answer, packed and plain, its report as JSON text, how long it took, and what it was
    told of our own record: of nodes, and of earlier starts of the job.
    """

    analysis: Analysis
    answer: Answer
    report: bytes
    seconds: float
    standings: Mapping[str, Prior]
    starts: EarlierStarts
    num_erased: int


def _answer(
    ctx: Context, readers: Readers, st: IncidentProgress, incident: IncidentView, *, final: bool
) -> _TimedAnalysis:
    """Make an answer of what is in by now."""
    began = time.monotonic()
    record = read_own_record(ctx, st, incident.cluster)
    with ctx.database.reading() as session:
        num_erased = unreferenced.count_erased(session, st.id)
        known = collect_known(session, st, incident, record)
        analysis = readers.analyse(
            evidence.read_extracts(session, st.id),
            known,
            deadline_s=ctx.settings.analyse_deadline_s,
        )
    seconds = time.monotonic() - began
    log.info(
        "incident answered",
        incident_id=st.id,
        final=final,
        seconds=round(seconds, 3),
        num_artifacts=st.num_artifacts,
    )
    plain = answer_from_bytes(analysis.answer, pictures=False)
    report = wire.render(plain)
    return _TimedAnalysis(
        analysis, plain, report, seconds, known.standings, known.starts, num_erased
    )


class OwnRecord(NamedTuple):
    """What our own record says of the nodes of an incident, and of earlier starts of its job;
    and which own signatures are in force.
    """

    standings: Mapping[str, Prior]
    starts: EarlierStarts
    own_in_force: str


def read_own_record(ctx: Context, st: IncidentProgress, cluster: str | None) -> OwnRecord:
    """What an answer is told of our own record. It opens sessions: call it within none."""
    label = label_in_force(ctx.settings.signatures)
    return OwnRecord(find_priors(ctx, st, cluster), _find_starts(ctx, st), label)


def collect_known(
    session: Session, st: IncidentProgress, incident: IncidentView, record: OwnRecord
) -> KnownOfJob:
    """What an answer is told beside what the files came down to."""
    facts = drop_record({"job_id": incident.job_id, **st.facts})
    ignored = _list_ignored_notes(facts)
    conflicts = list_conflict_notes(session, st.id)
    unread = [*artifacts.list_quarantined(session, st.id), *artifacts.list_given_up(session, st.id)]
    return KnownOfJob(
        facts_json=orjson.dumps(facts, default=str),
        refused=[Refused(name, why) for name, why in unread],
        notes=[*_NOTHING[st.has_files :], *ignored, *conflicts],
        standings=record.standings,
        starts=record.starts,
        own_in_force=record.own_in_force,
    )


def _list_ignored_notes(facts: dict[str, Any]) -> list[str]:
    """The fields of a hook that could not be read, and that nobody has said since."""
    ignored = facts.pop(IGNORED, {})
    return [
        f'the hook\'s "{key}" {why}: not used' for key, why in ignored.items() if key not in facts
    ]


def find_priors(ctx: Context, st: IncidentProgress, cluster: str | None) -> Mapping[str, Prior]:
    """What an answer is told of the incident's nodes: for all revisions what the first was told.

    By the time of a later one the incident is part of the record itself.
    """
    stored = st.facts.get(STANDINGS)
    if isinstance(stored, dict):
        told = {node: read_prior(one) for node, one in stored.items() if isinstance(one, dict)}
        return {node: prior for node, prior in told.items() if prior is not None}
    return {} if st.revision else ctx.fleet.priors(ctx, st.facts, cluster)


def _find_starts(ctx: Context, st: IncidentProgress) -> EarlierStarts:
    """What an answer is told of earlier starts of the job: for all revisions the same."""
    stored = st.facts.get(STARTS)
    if isinstance(stored, dict):
        return read_starts(stored)
    with ctx.database.reading() as session:
        return find_earlier_starts(session, st.id, st.facts, with_record=not st.revision)


def _settle(
    session: Session, ctx: Context, st: IncidentProgress, made: _TimedAnalysis | None
) -> None:
    """Keep the final answer, unless something came while it was made."""
    now = read_utc_now()
    present = settling.find_progress(session, st.id)
    if present is None:
        return
    newest = _find_newest(session, st.id)
    more = present.inputs != st.inputs or present.num_unread > 0
    more = more or (present.settled_at is None and present.settle_at > now)
    changed = made is not None and _keep(
        session, st, made, newest, now, provisional=more and st.settled_at is None
    )
    if more:  # what came has asked for another answer
        settling.go_on_collecting(session, st.id)
        return
    if made is not None:
        evidence.update_dates(session, st.id, made.analysis.dated)
    first = settling.settle(session, st.id, now)
    answer = newest.answer if made is None else made.answer
    if answer is not None:
        place_incident(session, st.id, wire.report(answer), now)
    given_up = artifacts.list_given_up(session, st.id)
    if given_up:
        settling.note_failure(session, st.id, _describe_failure(given_up), now)
    if first or changed:
        event = Event.READY if first else Event.REVISED
        event = Event.FAILED if given_up else event
        tell(session, ctx.settings, st.id, event, now, newest.answer)
    ctx.acting.answered(session, ctx.settings, st.id, now)


def _describe_failure(given_up: Sequence[tuple[str, str]]) -> str:
    """Why an incident counts as failed that was answered without some of its files."""
    name, why = given_up[0]
    others = f", and {len(given_up) - 1} more" if len(given_up) > 1 else ""
    return f"{name}: {why}{others}; `triage retry` reads again"


class _Newest(NamedTuple):
    """The newest answer as far as reports say it, and its number.

    None where there is none, or none that can be read; the number is 0 before the first one.
    """

    revision: int
    answer: Answer | None


def _find_newest(session: Session, incident_id: str) -> _Newest:
    row = revisions.find_newest(session, incident_id)
    if row is None:
        return _Newest(0, None)
    try:
        return _Newest(row.revision, row.reported())
    except Unavailable as error:
        log.warning("stored answer unreadable, the next one replaces it", why=str(error))
        return _Newest(row.revision, None)


def _keep(
    session: Session,
    st: IncidentProgress,
    made: _TimedAnalysis,
    newest: _Newest,
    now: datetime,
    *,
    provisional: bool,
) -> bool:
    """Keep an answer; whether it says another thing than ``newest``. The same is no revision."""
    priors = {node: prior.to_dict() for node, prior in made.standings.items()}
    record = {STANDINGS: priors, STARTS: made.starts.to_dict()}
    settling.keep_record(session, st.id, record)
    if unreferenced.count_erased(session, st.id) != made.num_erased:
        return False  # it may quote what is erased; another one is asked for
    new = NewAnswer(
        made.analysis.answer,
        orjson.loads(made.report),
        provisional,
        st.inputs,
        made.seconds,
        list_wanted(session, st.id, made.answer),
    )
    changed = newest.answer is None or wire.render(newest.answer) != made.report
    # Where a file was erased no answer is left, and numbers still only grow.
    revision = max(newest.revision, st.revision) + changed
    if changed:
        revisions.add(session, st.id, revision, new, now)
    settling.note_answer(session, st.id, revision, new, now)
    return changed


def analyse_given_up(settings: Settings, session: Session, incident_id: str, why: str) -> None:
    """We failed over an incident: said so, and told."""
    now = read_utc_now()
    if settling.find_progress(session, incident_id) is not None:
        settling.note_failure(session, incident_id, f"triage failed over it: {why}", now)
        tell(session, settings, incident_id, Event.FAILED, now)
