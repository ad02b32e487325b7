"""When a node may be acted on: one rule each, with what to do where it does not hold.

Pure decisions on plain values. Whoever carries an act out asks again just before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from triage.actions.schedulers.interface import NODE
from triage.actions.store.evidence import Source, Standing
from triage.domain.acting import ActMode, Verb
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.states import IncidentState
from triage.errors import Conflict
from triage.settings import Settings
from triage.store.views import ResolutionView

_BY_HAND: Final = "act by hand at the scheduler"


class Rule(StrEnum):
    """What an act has to keep."""

    MODE = "mode"
    CLUSTER = "cluster"
    SCHEDULER = "scheduler"
    SETTLED = "settled"
    EVIDENCE = "evidence"
    RESOLVED = "resolved"
    CONVICTED = "convicted"
    CATEGORY = "category"
    CONFIDENCE = "confidence"
    NAME = "name"
    FRESH = "fresh"
    BOUND = "bound"
    PLACED = "placed"
    ONCE = "once"
    BUDGET = "budget"


class Broken(Conflict):
    """A rule that does not hold: why, in a clause, and how to go on."""

    def __init__(self, rule: Rule, why: str, step: str) -> None:
        super().__init__(f"{why} (rule {rule})", hint=step)
        self.rule = rule
        self.why = why


@dataclass(frozen=True, slots=True)
class Convicted:
    """A node that the newest answer convicts and wants out."""

    node: str
    category: str
    confidence: float


def iterate_convicted(standing: Standing) -> Iterator[Convicted]:
    """The culprits that the verdict names to be taken out, each once.

    The confidence is the smaller one of the verdict's and the suspect's own.
    """
    verdict = standing.incident.verdict or {}
    seen: set[object] = set()
    for one in standing.suspects:
        node = one.get("node")
        if one.get("role") != Role.CULPRIT or node not in verdict.get("cordon", ()):
            continue
        if isinstance(node, str) and node not in seen:
            seen.add(node)
            belief = min(float(verdict.get("confidence", 0.0)), float(one.get("score", 0.0)))
            yield Convicted(node, str(one["category"]), belief)


def check_rules(
    standing: Standing | None, settings: Settings, verb: Verb, now: datetime,
    node: str | None = None, booted_at: datetime | None = None,
) -> list[Convicted]:  # fmt: skip
    """The convicted nodes that may be acted on, or the one of this name.

    Raises :class:`Broken` for the first rule that does not hold.
    """
    if settings.act_mode is ActMode.OFF:
        step = "with TRIAGE_ACT_MODE=approve it proposes acts, and a person approves them"
        raise Broken(Rule.MODE, "acting is off", step)
    if verb is Verb.DRAIN and settings.act_system == "none":
        step = "set TRIAGE_ACT_SYSTEM, or `triage act exclude`"
        raise Broken(Rule.SCHEDULER, "no scheduler is named that could drain a node", step)
    if standing is None:
        raise Broken(Rule.CONVICTED, "there is no such incident", "GET /v1/incidents lists them")
    if (broken := find_broken_incident_rule(standing, settings)) is not None:
        raise broken
    convicted = {one.node: one for one in iterate_convicted(standing)}
    nodes = [one for one in convicted.values() if node in (None, one.node)]
    if not nodes:
        step = f"those that are: {', '.join(convicted) or 'none; act by hand at the scheduler'}"
        why = f"{node} is not convicted" if node else "no node is convicted"
        raise Broken(Rule.CONVICTED, f"{why} by this answer", step)
    for one in nodes:
        if (broken := find_broken_node_rule(standing, one, settings, now, booted_at)) is not None:
            raise broken
    return nodes


def find_broken_incident_rule(standing: Standing, settings: Settings) -> Broken | None:
    """The first rule that the incident as a whole does not keep."""
    incident = standing.incident
    if (incident.cluster or "") != settings.act_cluster:
        of = f"the cluster {incident.cluster!r}" if incident.cluster else "no named cluster"
        return Broken(
            Rule.CLUSTER,
            f"the incident is of {of}, and TRIAGE_ACT_CLUSTER is {settings.act_cluster!r}",
            "ask the service that acts on that cluster",
        )
    if incident.provisional or incident.state is not IncidentState.READY:
        why = f"the incident has not settled (it is {incident.state})"
        return Broken(Rule.SETTLED, why, "wait for its answer: `triage watch` shows it")
    if not standing.answered:
        why = "something came that its answer does not know yet"
        return Broken(Rule.SETTLED, why, "wait a moment")
    if standing.doubted is not None:
        why = f"some of its evidence is of {standing.doubted}"
        return Broken(Rule.EVIDENCE, why, f"look at the evidence, then {_BY_HAND}")
    return None


def find_broken_node_rule(
    standing: Standing, one: Convicted, settings: Settings, now: datetime,
    booted_at: datetime | None = None,
) -> Broken | None:  # fmt: skip
    """The first rule that a convicted node does not keep; ``booted_at`` is its last start."""
    node, failed_at = one.node, standing.failed_at
    said = find_contradiction(standing.incident.resolution, node, one.category)
    if said is not None:
        return Broken(Rule.RESOLVED, said, "resolve the incident again if that was a mistake")
    if one.category not in HARDWARE:
        why = f"{one.category} is no cause in hardware"
        return Broken(Rule.CATEGORY, why, "nothing is to be taken out")
    if one.confidence < settings.act_confidence:
        return Broken(
            Rule.CONFIDENCE,
            f"{node} is convicted at {one.confidence:.2f}, below TRIAGE_ACT_CONFIDENCE"
            f" ({settings.act_confidence:.2f})",
            f"look at the incident, then {_BY_HAND}",
        )
    if not NODE.fullmatch(node):
        why = "the node's name is not one that may go into a command"
        return Broken(Rule.NAME, why, _BY_HAND)
    # The failure may be too long ago to say anything of the node as it is now.
    repaired = standing.repaired.get(node)
    as_it_is = f"look at the node as it is now, then {_BY_HAND}"
    if repaired is not None and repaired >= failed_at:
        why = f"{node} was repaired at {_format_minute(repaired)}, after this failure"
        return Broken(Rule.FRESH, why, f"if it was not, {_BY_HAND}")
    if booted_at is not None and booted_at > failed_at:
        why = f"{node} was started at {_format_minute(booted_at)}, after this failure"
        return Broken(Rule.FRESH, why, as_it_is)
    if now - failed_at > timedelta(hours=settings.act_max_age):
        return Broken(
            Rule.FRESH,
            f"the failure of {_format_minute(failed_at)} is longer ago than TRIAGE_ACT_MAX_AGE"
            f" ({settings.act_max_age:g} h)",
            as_it_is,
        )
    # Somebody who may speak of the node has to have brought what speaks against it.
    source = standing.sources.get(node, Source())
    if source.foreign is not None:
        return Broken(
            Rule.BOUND,
            f"what speaks against {node} was brought by {source.foreign}",
            "have the scheduler's hook name the job's nodes with a token that is not bound to the"
            f" job, or {_BY_HAND}",
        )
    if not source.by_name:
        why = f"no line that was read names {node}: it is known by the number of a rank alone"
        return Broken(Rule.PLACED, why, f"look at the node, then {_BY_HAND}")
    return None


def _format_minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def find_contradiction(resolution: ResolutionView | None, node: str, category: str) -> str | None:
    """What a person said that means that taking this node out was wrong, in a clause, or None.

    It was no hardware, another node, or the network between nodes where a part of the node was
    blamed. Another part of the same node is still that node.
    """
    if resolution is None:
        return None
    network = resolution.category == Category.NETWORK and category != Category.NETWORK
    another = network if resolution.node is None else resolution.node != node
    if resolution.category in HARDWARE and not another:
        return None
    where = f" on {resolution.node}" if resolution.node else ""
    return f"a person said that it was {resolution.category}{where}"
