"""What happens to acts within one transaction: proposed, decided, ended, taken back.

Each step is written down in the audit trail, makes what is due of it due, and is told to those
who want to know. It is called in the transaction that keeps the answer or the word that an act
rests on, so that neither is there without the other.

What a person asks of the actuator goes by the same rules; without an approval, for a person has
decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from triage.actions.services.rules import (
    Broken,
    Convicted,
    Rule,
    check_rules,
    find_broken_incident_rule,
    find_contradiction,
    iterate_convicted,
)
from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.actions.store.evidence import Standing, load_standing
from triage.clock import read_utc_now
from triage.domain.acting import ActionState, ActMode, Verb
from triage.domain.states import WorkKind
from triage.domain.wire import WireForm
from triage.errors import Conflict, NotFound
from triage.notify.message import Event, Kind, Target, derive_message_id
from triage.notify.registry import Notice, render_notice
from triage.services.context import ActingHooks, ShownActs
from triage.services.notifications.outbox import write_message
from triage.settings import Settings
from triage.store.access import audit
from triage.store.database.ids import make_id
from triage.store.incidents import incidents
from triage.store.messages import subscriptions
from triage.store.work import table as work

log = structlog.get_logger(__name__)

# Acts in a list of the overview.
_FEW: Final = 10
SERVICE: Final = "triage"
"""Who acts where no person does."""
_TOLD: Final = {
    ActionState.PROPOSED: Event.ACTION_PROPOSED,
    ActionState.DONE: Event.ACTION_DONE,
    ActionState.FAILED: Event.ACTION_FAILED,
    ActionState.LEFT_ALONE: Event.ACTION_FAILED,
}
_DONE_IN_WORDS: Final = {Verb.DRAIN: "drained", Verb.UNDRAIN: "given back"}


class ActWriter:
    """The acts of a service, in one transaction and at one time."""

    def __init__(self, session: Session, settings: Settings, now: datetime | None = None) -> None:
        self.session = session
        self.settings = settings
        self.now = now or read_utc_now()

    # --- an incident is answered, or a person says what it was

    def answered(self, incident_id: str) -> None:
        """A settled incident has an answer: look back at what was done, propose what it wants."""
        standing = self.look_back(incident_id)
        if standing is None:
            return
        verb = Verb.EXCLUDE if self.settings.act_system == "none" else Verb.DRAIN
        waits = self.settings.act_mode is not ActMode.AUTO
        for one in iterate_convicted(standing):
            try:
                check_rules(standing, self.settings, verb, self.now, one.node)
            except Broken as broken:
                log.info("not acted on", node=one.node, why=broken.why)
            else:
                if not acts.list_incident_acts(self.session, incident_id, node=one.node):
                    self.put(**self.act_on(standing, one, verb, SERVICE, waits=waits))

    def act_on(
        self, standing: Standing, one: Convicted, verb: Verb, by: str, **how: bool
    ) -> dict[str, Any]:
        """The columns of an act on a convicted node; ``waits``: for a person, or is ``decided``."""
        incident = standing.incident
        why = f"convicted of {one.category} at {one.confidence:.2f} in the job {incident.job_id}"
        return {
            "cluster_id": standing.cluster_id,
            "incident_id": incident.id,
            **asdict(one),
            "verb": verb,
            "system": self.settings.act_system,
            "revision": incident.revision,
            "why": why,
            **self._due(by, **how),
        }

    def _due(self, by: str, *, waits: bool = False, decided: bool = False) -> dict[str, Any]:
        until = self.now + timedelta(hours=self.settings.act_approval_hours)
        return {
            "state": ActionState.PROPOSED if waits else ActionState.APPROVED,
            "asked_by": by,
            "expires_at": until if waits else None,
            "decided_by": by if decided else None,
            "decided_at": self.now if decided else None,
        }

    def look_back(self, incident_id: str) -> Standing | None:
        """Find acts that the newest answer, or what a person says, no longer bears out.

        The incident as it stands; None where there is none, or acting is off.
        """
        off = self.settings.act_mode is ActMode.OFF
        standing = None if off else load_standing(self.session, incident_id)
        if standing is None:
            return None
        still = {one.node for one in iterate_convicted(standing)}
        for one in acts.list_incident_acts(self.session, incident_id):
            if one.verb is Verb.UNDRAIN:
                continue
            said = find_contradiction(standing.incident.resolution, one.node, one.category)
            if said is not None:
                self._refute(one, said)
            elif one.node not in still and not find_broken_incident_rule(standing, self.settings):
                why = f"revision {standing.incident.revision} no longer convicts {one.node}"
                self._refute(one, why)
        return standing

    def _refute(self, one: NodeActView, why: str) -> None:
        """An act has nothing to rest on any more: it is not begun, or it is taken back."""
        if one.state in (ActionState.PROPOSED, ActionState.APPROVED):
            self.end(one, ActionState.LEFT_ALONE, why)
        elif one.state in (ActionState.DONE, ActionState.UNDONE) and not acts.is_wrong(
            self.session, one.id
        ):
            self.note(acts.WRONG, one, why=why)
            if one.state is ActionState.DONE:
                self.take_back(one, why, SERVICE)

    # --- acts, step by step

    def find(self, action_id: str) -> NodeActView:
        """An act. Raises :class:`NotFound`."""
        one = acts.find(self.session, action_id)
        if one is None:
            raise NotFound("there is no such act", hint="GET /v1/actions lists them")
        return one

    def put(self, **values: Any) -> NodeActView:  # noqa: ANN401 - by the names of columns
        """Have an act done or approved: a new one, or that of the incident, node and verb once
        more, which waits or was not done; one that is being done stays.
        """
        action_id = make_id("act", self.now)
        if acts.add(self.session, id=action_id, created_at=self.now, **values):
            return self.begin(self.find(action_id))
        same = {name: values[name] for name in ("incident_id", "node", "verb")}
        [one] = acts.list_incident_acts(self.session, **same)
        if one.state in (ActionState.APPROVED, ActionState.ACTING):
            return one
        clean = dict.fromkeys(("ended_at", "error", "acted_at", "owner"))
        # A worker that does the act holds its work first, then the act: so does everybody.
        work.enqueue(self.session, WorkKind.ACT, one.id, self.now)
        asked = acts.change(self.session, one.id, one.state, **clean, **values)
        return self.begin(asked) if asked else self.find(one.id)

    def begin(self, one: NodeActView) -> NodeActView:
        """An act was asked for: a proposal waits until it expires, every other one is due."""
        due = one.expires_at if one.state is ActionState.PROPOSED else None
        work.enqueue(self.session, WorkKind.ACT, one.id, self.now, not_before=due)
        if one.state is ActionState.PROPOSED:
            self.note("act proposed", one, why=one.why)
            self._tell(one)
        else:
            self.note("act asked for", one, one.asked_by, why=one.why)
        return one

    def propose(self, one: NodeActView, why: str) -> NodeActView:
        """Have an approved act wait for a person after all."""
        values = {**self._due(one.asked_by, waits=True), "why": why}
        return self.begin(acts.change(self.session, one.id, one.state, **values) or one)

    def approve(self, one: NodeActView, by: str) -> NodeActView:
        """Have a proposal carried out, also beyond the budget: a person has decided.

        Raises :class:`Conflict` for an act that is no proposal, or has expired.
        """
        if one.expires_at is not None and one.expires_at <= self.now:
            raise Conflict(
                f"the proposal expired at {one.expires_at:%Y-%m-%d %H:%M}Z, and nothing was done",
                hint=f"`triage act {one.verb} {one.incident_id}` asks for it anew",
            )
        work.enqueue(self.session, WorkKind.ACT, one.id, self.now)
        values = {**self._due(by, decided=True), "asked_by": one.asked_by}
        approved = acts.change(self.session, one.id, ActionState.PROPOSED, **values)
        if approved is None:
            stands = self.find(one.id)
            decider = f" by {stands.decider}" if stands.decided_by else ""
            raise Conflict(
                f"the act is no proposal any more: it is {stands.state.replace('_', ' ')}{decider}",
                hint="`triage act list` shows how each act stands",
            )
        self.note("act approved", one, by)
        return approved

    def undo(self, one: NodeActView, by: str) -> NodeActView:
        """Take back what was done. Raises :class:`Conflict` for what is not done."""
        if one.state is not ActionState.DONE or one.verb is Verb.UNDRAIN:
            raise Conflict(
                f"the {one.verb} is {str(one.state).replace('_', ' ')}: there is nothing to undo",
                hint="`triage act list` shows what was done",
            )
        return self.take_back(one, f"{by} undoes it", by)

    def take_back(self, one: NodeActView, why: str, by: str) -> NodeActView:
        """Undo an act that was done: an exclusion at once, a drain by another act, which is
        returned.

        By itself the service undoes in mode ``auto`` alone; else the undoing waits for a person.
        """
        if one.verb is Verb.EXCLUDE:
            self.undone(one, by, why=why)
            return self.find(one.id)
        by_person = by != SERVICE
        waits = not by_person and self.settings.act_mode is not ActMode.AUTO
        same = {name: getattr(one, name) for name in (
            "cluster_id", "incident_id", "node", "system", "category", "confidence", "revision",
        )}  # fmt: skip
        due = self._due(by, waits=waits, decided=by_person)
        return self.put(verb=Verb.UNDRAIN, undoes=one.id, why=why, **same, **due)

    def undone(self, one: NodeActView, actor: str, **detail: object) -> None:
        """An act that was done has been taken back; nothing where it stands otherwise."""
        values = {"state": ActionState.UNDONE, "ended_at": self.now}
        if acts.change(self.session, one.id, ActionState.DONE, **values):
            self.note("act undone", one, actor, **detail)

    def end(
        self, one: NodeActView, state: ActionState, why: str | None = None, **values: object
    ) -> None:
        """An act that stands as ``one`` does has ended in ``state``.

        What was not done to the node counts against no budget.
        """
        if state in (ActionState.LEFT_ALONE, ActionState.FAILED):
            values.setdefault("acted_at", None)
        values |= {"state": state, "ended_at": self.now}
        values["error"] = None if state is ActionState.DONE else why
        if (ended := acts.change(self.session, one.id, one.state, **values)) is not None:
            self.note(f"act {state.replace('_', ' ')}", one, **({"why": why} if why else {}))
            self._tell(ended)

    def note(self, step: str, one: NodeActView, actor: str = SERVICE, **detail: object) -> None:
        """One step of an act into the audit trail, such as ``act done``."""
        facts = {"incident_id": one.incident_id, "node": one.node, "verb": str(one.verb)}
        audit.note(self.session, actor, step, one.id, self.now, {**facts, **detail})

    def _tell(self, one: NodeActView) -> None:
        """Write a message to who wants to know of acts."""
        event = _TOLD.get(one.state)
        if event is None:
            return
        wire = one.to_dict()
        url = f"{self.settings.public_url.rstrip('/')}/incidents/{one.incident_id}#{one.id}"
        line = _compose_headline(one)
        data = {"headline": line, "action": wire, "url": url}
        lines: tuple[str, ...] = (f"Incident {one.incident_id}",)
        if event is Event.ACTION_PROPOSED and wire["expires_at"]:
            lines += (f"It may be approved until {wire['expires_at']}.",)
        notice = Notice(event, self.now, line, lines, data, url, page="the act")
        there = incidents.find(self.session, one.incident_id) is not None
        step = "done" if one.state is ActionState.DONE else f"{one.state}/{self.now.isoformat()}"
        of = one.incident_id if there else None
        # Not those that the hook of an incident named: an admin made the others.
        for receiving in subscriptions.list_by_event(self.session, str(event)):
            request = render_notice(notice, Target(Kind(receiving.kind), receiving.url))
            if request is not None:
                message_id = derive_message_id(one.id, step, event, receiving.id)
                write_message(
                    self.session, message_id, receiving.id, event, request, self.now,
                    incident_id=of, revision=one.revision,
                )  # fmt: skip


def _compose_headline(one: NodeActView) -> str:
    """One line: what is asked or was done, to which node, and why."""
    what = f"{one.verb} {one.node}"
    if one.state is ActionState.PROPOSED:
        return f"Approve? {what}: {one.why}"
    if one.state is ActionState.DONE:
        return f"{one.node} was {_DONE_IN_WORDS.get(one.verb, 'excluded')}: {one.why}"
    return f"Not done: {what}: {one.error or one.why}"


class ActingOnNodes(ActingHooks):
    """What acting on nodes does beside an incident, by the rows of acts."""

    def answered(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Propose what the answer of a settled incident asks for."""
        ActWriter(session, settings, now).answered(incident_id)

    def resolved(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Find acts that were wrong by what a person says."""
        ActWriter(session, settings, now).look_back(incident_id)

    def counts(self, session: Session, settings: Settings) -> Mapping[str, Any]:
        """Acts by verb and state."""
        if settings.act_mode is ActMode.OFF:
            return {}
        return {"acts": acts.count_acts_by_state(session)}

    def list_shown(self, session: Session, cluster: str | None) -> ShownActs:
        """What waits, and what was done last."""
        state = ActionState.PROPOSED
        waiting = acts.list_node_acts(session, cluster=cluster, state=state, limit=_FEW)
        newest = acts.list_node_acts(session, cluster=cluster, limit=_FEW)
        return ShownActs(waiting, [one for one in newest if one.state is not state])

    def list_by_incident(self, session: Session, incident_id: str) -> Sequence[NodeActView]:
        """Acts of an incident; none where acting is off and nothing was done."""
        return acts.list_incident_acts(session, incident_id)


@dataclass(frozen=True, slots=True)
class ActWish:
    """What a person asks for. ``node`` is one of those convicted; None: all of them.

    ``approve``: also where the budget is spent.
    """

    verb: Verb
    node: str | None = None
    dry_run: bool = False
    approve: bool = False


@dataclass(frozen=True, slots=True)
class AskedActs(WireForm):
    """What became of a wish; of a dry run, what would be done."""

    dry_run: bool
    actions: tuple[NodeActView, ...] = ()


def ask(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> AskedActs:
    """Have an act done on the convicted nodes of an incident; the scheduler is asked by a worker.

    It needs no approval; all other rules hold. Raises :class:`Conflict` that says which rule is
    in the way and how to go on.
    """
    step = _undrain if wish.verb is Verb.UNDRAIN else _act
    with writer.session.begin_nested() as kept:
        done = tuple(step(writer, incident_id, wish, by))
        if wish.dry_run:
            kept.rollback()
    return AskedActs(wish.dry_run, done)


def _act(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> Iterator[NodeActView]:
    standing = load_standing(writer.session, incident_id)
    for one in check_rules(standing, writer.settings, wish.verb, writer.now, wish.node):
        for it in acts.list_incident_acts(writer.session, incident_id, node=one.node):
            if it.state in (ActionState.DONE, ActionState.UNDONE) and it.verb in acts.TAKES_OUT:
                raise Broken(
                    Rule.ONCE,
                    f"{it.node} was acted on for this incident already:"
                    f" {it.verb} is {it.state} ({it.id})",
                    f"`triage act undo {it.id}` takes it back; a second time, act at the scheduler",
                )
        assert standing is not None
        yield writer.put(**writer.act_on(standing, one, wish.verb, by, decided=wish.approve))


def _undrain(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> Iterator[NodeActView]:
    """Take back the drains of an incident, or of one of its nodes."""
    drains = acts.list_incident_acts(
        writer.session, incident_id, node=wish.node, verb=Verb.DRAIN, state=ActionState.DONE
    )
    if not drains:
        raise Conflict(
            "no drain of this incident stands that could be taken back",
            hint="`triage act list` shows what was done",
        )
    for one in drains:
        yield writer.take_back(one, f"{by} undoes it", by)
