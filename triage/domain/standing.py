"""How a node stands in its fleet: what the record of interruptions says of it, with figures.

A standing is a prior. It says where to look first among those whom the evidence of an incident
names alike; it is no evidence of that incident.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

__all__ = [
    "NO_STANDINGS",
    "FleetStandings",
    "Grade",
    "PartKind",
    "Prior",
    "RepeatedPart",
    "Standing",
    "prior_from",
]

SCHEMA = "triage.standings/1"
MAX_TEXT = 300


class Grade(StrEnum):
    """The grades, best first; ``unknown`` is no standing at all: no run names the node."""

    GOLDEN = "golden"  # a long clean record, and a stress check passed
    NORMAL = "normal"
    WATCH = "watch"  # suspect, not proven
    LEMON = "lemon"  # interrupts jobs more than chance and the fleet's rate explain
    UNKNOWN = "unknown"


class PartKind(StrEnum):
    """What is named again and again."""

    PART = "part"  # a GPU, a NIC, a link of one node
    LEAF_SWITCH = "leaf_switch"


@dataclass(frozen=True, slots=True)
class RepeatedPart:
    """A part that several interruptions name: of one node, or a leaf switch over several nodes.

    ``node`` is None for a leaf switch; ``nodes`` are those that stood as suspects. ``p_value``
    and ``q_value`` are of the leaf's own test, None for a part of a node. ``text`` says it.
    """

    kind: PartKind
    name: str
    node: str | None
    nodes: tuple[str, ...]
    interruptions: int
    expected: float | None
    p_value: float | None
    q_value: float | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of standings."""
        return {
            "kind": str(self.kind),
            "name": self.name,
            "node": self.node,
            "nodes": list(self.nodes),
            "interruptions": self.interruptions,
            "expected": rounded(self.expected),
            "p_value": rounded(self.p_value),
            "q_value": rounded(self.q_value),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """One node. Rates are per 1,000 node-days in runs; the window is that of the test.

    ``strikes`` are interruptions of the window in which it stood as a suspect, those of one
    episode counted once; ``blame`` is its share in them (a tie of two is a half each) and
    ``expected`` what the rate of its generation, or of the fleet where none is known, gives a
    node that was in runs for ``exposure_days``. ``p_value`` is the chance of as much blame or
    more at that rate, ``q_value`` the part of healthy nodes to be expected among those that
    stand out as far (false-discovery rate); both None where nothing was tested.
    ``score`` is decayed blame over decayed expectation: 1 is a node like most.
    ``rate``, ``rate_low`` and ``rate_high`` are shrunk towards the fleet (95 %).
    ``part`` is the part of it that is named again, None where none is; ``leaf_switch`` and
    ``rack`` are where an inventory puts the node.
    """

    node: str
    grade: Grade
    reasons: tuple[str, ...]
    strikes: int = 0
    blame: float = 0.0
    expected: float = 0.0
    exposure_days: float = 0.0
    p_value: float | None = None
    q_value: float | None = None
    score: float | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    part: str | None = None
    leaf_switch: str | None = None
    rack: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of standings."""
        return {
            "node": self.node,
            "grade": str(self.grade),
            "reasons": list(self.reasons),
            "strikes": self.strikes,
            "blame": rounded(self.blame),
            "expected": rounded(self.expected),
            "exposure_days": rounded(self.exposure_days),
            "p_value": rounded(self.p_value),
            "q_value": rounded(self.q_value),
            "score": rounded(self.score),
            "rate_per_1000_node_days": rounded(self.rate),
            "rate_low": rounded(self.rate_low),
            "rate_high": rounded(self.rate_high),
            "part": self.part,
            "leaf_switch": self.leaf_switch,
            "rack": self.rack,
        }


@dataclass(frozen=True, slots=True)
class FleetStandings:
    """All nodes, the worst first, and what they were held against.

    ``fleet_rate`` is per 1,000 node-days; a node counts in it as far as it is healthy. The prior is
    Gamma(``prior_shape``, ``prior_days`` node-days). ``num_tested`` nodes were in runs within
    the last ``window_days``. ``parts`` are those named again; ``notes`` say what is missing.
    """

    nodes: tuple[Standing, ...]
    parts: tuple[RepeatedPart, ...] = ()
    fleet_rate: float | None = None
    prior_shape: float | None = None
    prior_days: float | None = None
    num_tested: int = 0
    window_days: float = 0.0
    half_life_days: float = 0.0
    false_discovery_rate: float = 0.0
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many nodes are of each grade."""
        return {
            str(grade): sum(standing.grade is grade for standing in self.nodes) for grade in Grade
        }

    def leaves(self) -> list[dict[str, Any]]:
        """``{leaf_switch, counts}`` for each leaf, by name; none where no node has a leaf.

        Enough to draw a map of a fleet whose nodes are not all told. ``leaf_switch`` is None
        for nodes that no inventory puts anywhere.
        """
        by_leaf: dict[str | None, Counter[str]] = {}
        for standing in self.nodes:
            by_leaf.setdefault(standing.leaf_switch, Counter())[str(standing.grade)] += 1
        if not set(by_leaf) - {None}:
            return []
        order = sorted(by_leaf, key=lambda name: (name is None, name or ""))
        return [
            {"leaf_switch": name, "counts": dict(sorted(by_leaf[name].items()))} for name in order
        ]

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of standings."""
        return {
            "schema": SCHEMA,
            "counts": self.counts(),
            "fleet_rate_per_1000_node_days": rounded(self.fleet_rate),
            "prior": {"shape": rounded(self.prior_shape), "node_days": rounded(self.prior_days)},
            "num_tested": self.num_tested,
            "window_days": self.window_days,
            "half_life_days": self.half_life_days,
            "false_discovery_rate": self.false_discovery_rate,
            "nodes": [one.to_dict() for one in self.nodes],
            "parts": [one.to_dict() for one in self.parts],
            "leaves": self.leaves(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Prior:
    """What an analysis may know of a node beforehand: its grade, and one sentence with counts."""

    grade: Grade
    text: str

    @property
    def weight(self) -> int:
        """Who comes first among equals: a lemon before a node that is watched, then the rest."""
        return {Grade.LEMON: 2, Grade.WATCH: 1}.get(self.grade, 0)

    def to_dict(self) -> dict[str, str]:
        """Its object in the JSON of standings."""
        return {"grade": str(self.grade), "text": self.text}


NO_STANDINGS: Final[Mapping[str, Prior]] = MappingProxyType({})
"""Where nothing is known beforehand."""


def prior_from(raw: Mapping[str, Any]) -> Prior | None:
    """The prior that :meth:`Prior.to_dict` wrote; None for anything else."""
    grade, text = raw.get("grade"), raw.get("text")
    if not isinstance(text, str) or not isinstance(grade, str) or grade not in set(Grade):
        return None
    return Prior(Grade(grade), text[:MAX_TEXT])


def rounded(value: float | None) -> float | None:
    """Six digits that count: more would be noise of the arithmetic."""
    return None if value is None else float(f"{value:.6g}")
