"""What a person asks of the actuator, and how acting stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final

from triage.actions.services.acts import ActWriter
from triage.actions.services.rules import (
    HALTED,
    Broken,
    Convicted,
    Rule,
    find_broken_incident_rule,
    find_broken_mode_rule,
    find_broken_node_rule,
    iterate_convicted,
)
from triage.actions.store import acts
from triage.actions.store.acts import HaltView, NodeActView
from triage.actions.store.evidence import Standing, load_standing
from triage.clock import read_utc_now
from triage.domain.acting import ActionState, ActMode, Verb
from triage.domain.wire import Count, Share, WireForm
from triage.errors import Conflict, NotFound
from triage.services.context import Context

_HOUR: Final = timedelta(hours=1)


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
class WouldAct(WireForm):
    """An act that would be done."""

    node: str
    verb: Verb
    why: str


@dataclass(frozen=True, slots=True)
class AskedActs(WireForm):
    """What became of a wish: acts that are carried out or wait, or those that would be."""

    dry_run: bool
    actions: tuple[NodeActView, ...] = ()
    would: tuple[WouldAct, ...] = ()


@dataclass(frozen=True, slots=True)
class ActuatorView(WireForm):
    """What the service does to nodes by itself, what it has done, and whether it is halted."""

    mode: ActMode
    system: str
    cluster: Annotated[str | None, "The one that is acted on; null: incidents that name none."]
    confidence: Share
    nodes_per_hour: Count
    acted_within_hour: Count
    pool_share: Share
    nodes_out: Annotated[int, "Drained or excluded by acts of this service, and not given back."]
    waiting: Annotated[int, "Proposals that wait for a person."]
    halted: HaltView | None


def ask(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> AskedActs:
    """Have an act done on the convicted nodes of an incident; the scheduler is asked by a worker.

    It needs no approval; all other rules hold. Raises :class:`NotFound`, and :class:`Conflict`
    that says which rule is in the way and how to go on.
    """
    wanted = _undrain if wish.verb is Verb.UNDRAIN else _act
    return wanted(writer, incident_id, wish, by)


def _act(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> AskedActs:
    settings = writer.settings
    standing = load_standing(writer.session, incident_id)
    if standing is None:
        raise NotFound("there is no such incident", hint="GET /v1/incidents lists them")
    _check(
        find_broken_mode_rule(settings, wish.verb) or find_broken_incident_rule(standing, settings)
    )
    nodes = _select_wanted(standing, wish)
    for one in nodes:
        _check(find_broken_node_rule(standing, one, settings, writer.now))
    acting = [writer.act_on(standing, one, wish.verb, by) for one in nodes]
    if wish.dry_run:
        keys = ("node", "verb", "why")
        would = (WouldAct(*(values[key] for key in keys)) for values in acting)
        return AskedActs(dry_run=True, would=tuple(would))
    if acts.find_halt(writer.session, standing.incident.cluster) is not None:
        raise HALTED.conflict()
    decider = by if wish.approve else None
    return AskedActs(
        dry_run=False, actions=tuple(_begin_act(writer, one, decider) for one in acting)
    )


def _select_wanted(standing: Standing, wish: ActWish) -> Sequence[Convicted]:
    """The convicted nodes that the wish names. Raises :class:`Conflict` where there is none."""
    found = list(iterate_convicted(standing))
    nodes = [one for one in found if wish.node in (None, one.node)]
    if nodes:
        return nodes
    if not found:
        why = "the answer convicts no node of a hardware cause"
        step = "look at the suspects; act by hand at the scheduler"
    else:
        why = f"{wish.node} is not convicted by this answer"
        step = f"those that are: {', '.join(one.node for one in found)}"
    raise Broken(Rule.CONVICTED, why, step).conflict()


def _begin_act(writer: ActWriter, values: Mapping[str, Any], decider: str | None) -> NodeActView:
    """The act of a person on one node: a new one, or one that is there and was not done."""
    node, verb = values["node"], values["verb"]
    earlier = acts.list_incident_acts(writer.session, values["incident_id"], node=node)
    for it in earlier:
        if it.state in (ActionState.DONE, ActionState.UNDONE) and it.verb in acts.TAKES_OUT:
            raise Broken(
                Rule.ONCE,
                f"{node} was acted on for this incident already: {it.verb} is {it.state} ({it.id})",
                f"`triage act undo {it.id}` takes it back; a second time, act at the scheduler",
            ).conflict()
    decided_at = None if decider is None else writer.now
    values = {**values, "decided_by": decider, "decided_at": decided_at}
    same = next((it for it in earlier if it.verb is verb), None)
    done = writer.add(**values) if same is None else writer.ask_again(same, **values)
    if done is None:
        raise Conflict("somebody else has just asked for the same", hint="`triage act list`")
    return done


def _undrain(writer: ActWriter, incident_id: str, wish: ActWish, by: str) -> AskedActs:
    """Take back the drains of an incident, or of one of its nodes."""
    drains = acts.list_incident_acts(
        writer.session, incident_id, node=wish.node, verb=Verb.DRAIN, state=ActionState.DONE
    )
    if not drains:
        raise Conflict(
            "no drain of this incident stands that could be taken back",
            hint="`triage act list` shows what was done",
        )
    if wish.dry_run:
        would = (WouldAct(one.node, Verb.UNDRAIN, f"takes {one.id} back") for one in drains)
        return AskedActs(dry_run=True, would=tuple(would))
    done = (writer.take_back(one, f"{by} undoes it", by) for one in drains)
    return AskedActs(dry_run=False, actions=tuple(done))


def _check(broken: Broken | None) -> None:
    """Raises :class:`Conflict` for a rule that does not hold."""
    if broken is not None:
        raise broken.conflict()


def read_actuator_view(ctx: Context) -> ActuatorView:
    """The actuator of the settings' cluster, as of now."""
    settings, now = ctx.settings, read_utc_now()
    with ctx.database.reading() as session:
        # Before the first job of the cluster; no cluster has this number.
        cluster_id = acts.find_cluster_id(session, settings.act_cluster) or 0
        states = acts.count_acts_by_state(session)
        return ActuatorView(
            mode=settings.act_mode,
            system=settings.act_system,
            cluster=settings.act_cluster or None,
            confidence=settings.act_confidence,
            nodes_per_hour=settings.act_nodes_per_hour,
            acted_within_hour=len(acts.list_nodes_taken_since(session, cluster_id, now - _HOUR)),
            pool_share=settings.act_pool_share,
            nodes_out=len(acts.collect_nodes_out(session, cluster_id, now)),
            waiting=sum(one for (_, state), one in states.items() if state == ActionState.PROPOSED),
            halted=acts.find_halt(session, settings.act_cluster),
        )
