"""When a node may be acted on: one rule each, with what to do where it does not hold.

Pure decisions on plain values. Whoever carries an act out asks again just before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from triage.actions.names import NODE
from triage.actions.store.actions import ON_NODES
from triage.actions.store.standings import NOTHING_KNOWN, Standing
from triage.domain.acting import ActMode, Verb
from triage.domain.category import HARDWARE, Action, Category, Role
from triage.domain.states import IncidentState
from triage.errors import Conflict
from triage.settings import Settings
from triage.store.views import ResolutionView

__all__ = [
    "HALTED",
    "Broken",
    "Convicted",
    "Rule",
    "broken_by_boot",
    "broken_by_incident",
    "broken_by_mode",
    "broken_by_node",
    "contradicts",
    "convicted",
    "verb_for",
]


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
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that does not hold: why, in a clause, and how to go on."""

    rule: Rule
    why: str
    step: str

    def conflict(self) -> Conflict:
        """What a person is answered whose wish it stands against."""
        return Conflict(f"{self.why} (rule {self.rule})", hint=self.step)


HALTED: Final = Broken(
    Rule.HALTED,
    "the actuator is halted: nothing is done until it is resumed",
    "`triage act list` says why; `triage act resume` lets it go on",
)


@dataclass(frozen=True, slots=True)
class Convicted:
    """A node that the newest answer convicts and wants out; ``advice`` is its own action."""

    node: str
    category: str
    confidence: float
    advice: str


def convicted(standing: Standing) -> Iterator[Convicted]:
    """The culprits that the verdict names to be taken out, each once.

    The confidence is the smaller one of the verdict's and the suspect's own.
    """
    verdict = standing.incident.verdict or {}
    seen: set[str] = set()
    for one in standing.suspects:
        node = one.get("node")
        if one.get("role") != Role.CULPRIT or node not in verdict.get("cordon", ()):
            continue
        if isinstance(node, str) and node not in seen:
            seen.add(node)
            belief = min(float(verdict.get("confidence", 0.0)), float(one.get("score", 0.0)))
            yield Convicted(node, str(one["category"]), belief, str(one.get("action", "")))


def broken_by_mode(settings: Settings, verb: Verb | None = None) -> Broken | None:
    """Whether anything may be done at all, and whether the verb has a scheduler to ask."""
    if settings.act_mode is ActMode.OFF:
        return Broken(
            Rule.MODE, "acting is off", "set TRIAGE_ACT_MODE=dry_run to see what it would do"
        )
    if verb in ON_NODES and settings.act_system == "none":
        return Broken(
            Rule.SCHEDULER,
            f"no scheduler is named that could {verb} a node",
            "set TRIAGE_ACT_SYSTEM, or `triage act exclude`",
        )
    return None


def broken_by_incident(standing: Standing, settings: Settings) -> Broken | None:
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
        return Broken(
            Rule.SETTLED,
            f"the incident has not settled (it is {incident.state})",
            "wait for its answer: `triage watch` shows it",
        )
    if not standing.answered:
        return Broken(
            Rule.SETTLED, "something came that its answer does not know yet", "wait a moment"
        )
    if standing.doubted is not None:
        return Broken(
            Rule.EVIDENCE,
            f"some of its evidence is of {standing.doubted}",
            "look at the evidence, then act by hand at the scheduler",
        )
    return None


def broken_by_node(
    standing: Standing, one: Convicted, settings: Settings, now: datetime
) -> Broken | None:
    """The first rule that a convicted node does not keep."""
    said = standing.incident.resolution
    if said is not None and contradicts(said, one.node, one.category):
        return Broken(
            Rule.RESOLVED,
            f"a person said that it was {said.category}"
            + (f" on {said.node}" if said.node else ""),
            "resolve the incident again if that was a mistake",
        )
    if one.category not in HARDWARE:
        return Broken(
            Rule.CATEGORY, f"{one.category} is no cause in hardware", "nothing is to be taken out"
        )
    if one.confidence < settings.act_confidence:
        return Broken(
            Rule.CONFIDENCE,
            f"{one.node} is convicted at {one.confidence:.2f}, below TRIAGE_ACT_CONFIDENCE"
            f" ({settings.act_confidence:.2f})",
            "look at the incident, then act by hand at the scheduler",
        )
    if not NODE.fullmatch(one.node):
        return Broken(
            Rule.NAME,
            "the node's name is not one that may go into a command",
            "act by hand at the scheduler",
        )
    return broken_by_age(standing, one, settings, now) or broken_by_source(standing, one)


def broken_by_age(
    standing: Standing, one: Convicted, settings: Settings, now: datetime
) -> Broken | None:
    """Whether the failure is too long ago to say anything of the node as it is now."""
    repaired = standing.repaired.get(one.node)
    if repaired is not None and repaired >= standing.failed_at:
        return Broken(
            Rule.FRESH,
            f"{one.node} was repaired at {repaired:%Y-%m-%d %H:%M} UTC, after this failure",
            "if it was not, act by hand at the scheduler",
        )
    if now - standing.failed_at > timedelta(hours=settings.act_max_age):
        return Broken(
            Rule.FRESH,
            f"the failure of {standing.failed_at:%Y-%m-%d %H:%M} UTC is longer ago than"
            f" TRIAGE_ACT_MAX_AGE ({settings.act_max_age:g} h)",
            "look at the node as it is now, then act by hand at the scheduler",
        )
    return None


def broken_by_boot(failed_at: datetime, booted_at: datetime | None, node: str) -> Broken | None:
    """Whether the node was started again since the failure."""
    if booted_at is None or booted_at <= failed_at:
        return None
    return Broken(
        Rule.FRESH,
        f"{node} was started at {booted_at:%Y-%m-%d %H:%M} UTC, after this failure",
        "look at the node as it is now, then act by hand at the scheduler",
    )


def broken_by_source(standing: Standing, one: Convicted) -> Broken | None:
    """Whether nobody who may speak of the node brought the evidence, or none of it names it."""
    source = standing.sources.get(one.node, NOTHING_KNOWN)
    if source.foreign is not None:
        return Broken(
            Rule.BOUND,
            f"what speaks against {one.node} was brought by {source.foreign}",
            "have the scheduler's hook name the job's nodes with a token that is not bound to the"
            " job, or act by hand at the scheduler",
        )
    if not source.by_name:
        return Broken(
            Rule.PLACED,
            f"no line that was read names {one.node}: it is known by the number of a rank alone",
            "look at the node, then act by hand at the scheduler",
        )
    return None


def verb_for(one: Convicted, settings: Settings) -> Verb | None:
    """What the service does by itself: a reboot where the answer asks for one, a drain, else an
    exclusion; the first that the settings allow. One act for a node.
    """
    allowed = set(settings.act_verbs)
    if settings.act_system != "none":
        if Verb.REBOOT in allowed and one.advice == Action.REBOOT_NODE:
            return Verb.REBOOT
        if Verb.DRAIN in allowed:
            return Verb.DRAIN
    return Verb.EXCLUDE if Verb.EXCLUDE in allowed else None


def contradicts(resolution: ResolutionView, node: str, category: str) -> bool:
    """Whether a person's word means that taking this node out was wrong.

    It was no hardware, another node, or the network between nodes where a part of the node was
    blamed. Another part of the same node is still that node.
    """
    if resolution.category not in HARDWARE or (
        resolution.node is not None and resolution.node != node
    ):
        return True
    return (
        resolution.category == Category.NETWORK
        and resolution.node is None
        and category != Category.NETWORK
    )
