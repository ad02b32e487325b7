"""How a node stands in its fleet: what the record of interruptions says of it, with figures.

A standing is a prior. It says where to look first among those whom the evidence of an incident
names alike; it is no evidence of that incident.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from triage.domain.probation import Probation
from triage.domain.wire import Count, Key, Rounded, SentAs, WireForm

_SCHEMA = "triage.standings/1"
_MAX_TEXT = 300
# More would be noise of the arithmetic.
_SIX_DIGITS: Final = Rounded(digits=6)
_ALL_DIGITS: Final = Rounded(digits=17)


class Grade(StrEnum):
    """The grades, best first; ``unknown`` is no standing at all: no run names the node."""

    GOLDEN = "golden"  # a long clean record, and a stress check passed
    NORMAL = "normal"
    WATCH = "watch"  # suspect, not proven
    LEMON = "lemon"  # fails, or is to fail, far more than its peers
    UNKNOWN = "unknown"


class PartKind(StrEnum):
    """What is named again and again."""

    PART = "part"  # a GPU, a NIC, a link of one node
    LEAF_SWITCH = "leaf_switch"


@dataclass(frozen=True, slots=True)
class RepeatedPart(WireForm):
    """A part that several interruptions name: of one node, or a leaf switch over several nodes.

    ``node`` is None for a leaf switch; ``nodes`` are those that stood as suspects. ``p_value``
    and ``q_value`` are of the leaf's own test, None for a part of a node. ``text`` says it.
    """

    kind: PartKind
    name: str
    node: str | None
    nodes: tuple[str, ...]
    interruptions: Count
    expected: Annotated[float | None, _SIX_DIGITS]
    p_value: Annotated[float | None, _SIX_DIGITS]
    q_value: Annotated[float | None, _SIX_DIGITS]
    text: str


@dataclass(frozen=True, slots=True)
class Standing(WireForm):
    """One node. Rates are per 1,000 node-days in runs; the window is that of the test.

    ``strikes`` are interruptions of the window in which it stood as a suspect, those of one
    episode counted once; ``blame`` is its share in them (a tie of two is a half each) and
    ``expected`` what the rate of its place where that stands out, or else of the fleet, gives a
    node that was in runs for ``exposure_days``. ``p_value`` is the chance of as much blame or
    more at that rate, ``q_value`` the part of healthy nodes to be expected among those that
    stand out as far (false-discovery rate); both None where nothing was tested.
    ``score`` is decayed blame over decayed expectation: 1 is a node like most.
    ``rate``, ``rate_low`` and ``rate_high`` are shrunk towards the fleet (95 %).
    ``part`` is the part of it that is named again, None where none is; ``leaf_switch`` and
    ``rack`` are where an inventory puts the node. ``probation`` stands beside the grade: the node
    came back from a repair lately; None where it did not.

    ``forecast`` is how many faults it is expected to have in the next 56 days, with its 95 %
    interval, and ``times`` that over the forecast of its peers; None where the record is too
    short. ``special`` says why it is set aside, as a node that does other work than the rest.
    """

    node: str
    grade: Grade
    reasons: tuple[str, ...]
    strikes: Count = 0
    blame: Annotated[float, _SIX_DIGITS] = 0.0
    expected: Annotated[float, _SIX_DIGITS] = 0.0
    exposure_days: Annotated[float, _SIX_DIGITS] = 0.0
    p_value: Annotated[float | None, _SIX_DIGITS] = None
    q_value: Annotated[float | None, _SIX_DIGITS] = None
    score: Annotated[float | None, _SIX_DIGITS] = None
    rate: Annotated[float | None, _SIX_DIGITS, Key("rate_per_1000_node_days")] = None
    rate_low: Annotated[float | None, _SIX_DIGITS] = None
    rate_high: Annotated[float | None, _SIX_DIGITS] = None
    part: str | None = None
    leaf_switch: str | None = None
    rack: str | None = None
    probation: Probation | None = None
    forecast: Annotated[float | None, _SIX_DIGITS, Key("forecast_faults_56_days")] = None
    forecast_low: Annotated[float | None, _SIX_DIGITS] = None
    forecast_high: Annotated[float | None, _SIX_DIGITS] = None
    times: Annotated[float | None, _SIX_DIGITS] = None
    special: str | None = None


@dataclass(frozen=True, slots=True)
class Walked(WireForm):
    """How calls of the past came out, each made again from what was known by then.

    At ``looks`` times ``calls`` nodes were called lemons, of which ``failed`` failed within
    ``days``: ``precision``, with its 95 % interval over the ``calls_apart`` that do not overlap.
    ``faults_per_call`` is how many faults a called node had in that time, ``faults_per_node`` how
    many any node.
    """

    days: float
    looks: Count
    calls: Count
    calls_apart: Count
    failed: Count
    precision: Annotated[float, _SIX_DIGITS]
    precision_low: Annotated[float, _SIX_DIGITS]
    precision_high: Annotated[float, _SIX_DIGITS]
    faults_per_call: Annotated[float, _SIX_DIGITS]
    faults_per_node: Annotated[float, _SIX_DIGITS]


@dataclass(frozen=True, slots=True)
class Place(WireForm):
    """How often the nodes of one place fail, beside all others of its kind.

    ``kind`` is generation, batch, rack, cage, slot or leaf_switch. ``ratio`` of the two rates has a
    95 % interval over nodes, so that one of many faults does not pass for its place; None where
    a side has no fault, and then one bound stands alone. ``found`` says that it stands out at a
    false-discovery rate of 5 % over all places: then its nodes are held against its rate.
    """

    kind: str
    name: str
    nodes: Count
    faults: Count
    rate: Annotated[float | None, _SIX_DIGITS, Key("rate_per_1000_node_days")]
    rate_of_rest: Annotated[float | None, _SIX_DIGITS]
    ratio: Annotated[float | None, _SIX_DIGITS]
    ratio_low: Annotated[float | None, _SIX_DIGITS]
    ratio_high: Annotated[float | None, _SIX_DIGITS]
    p_value: Annotated[float | None, _SIX_DIGITS]
    q_value: Annotated[float | None, _SIX_DIGITS]
    found: bool
    text: str


@dataclass(frozen=True, slots=True)
class FleetStandings(WireForm):
    """All nodes, the worst first, and what they were held against.

    ``basis`` is what counts as a fault: ``interruptions`` that a node stood as a suspect of, or
    ``outages`` where no run is known; None where there is neither. ``walked`` is how calls of
    the past came out; None where there were none. ``places`` are those tested, the surest first.

    ``fleet_rate`` is per 1,000 node-days, without nodes that stand out. ``num_tested`` nodes were
    in runs within the last ``window_days``. ``parts`` are those named again; ``notes`` say what is
    missing.
    """

    WIRE: ClassVar[tuple[str, ...]] = (
        "schema",
        "counts",
        "fleet_rate",
        "num_tested",
        "window_days",
        "false_discovery_rate",
        "nodes",
        "parts",
        "leaves",
        "basis",
        "walked",
        "places",
        "notes",
    )

    nodes: tuple[Standing, ...]
    parts: tuple[RepeatedPart, ...] = ()
    fleet_rate: Annotated[float | None, _SIX_DIGITS, Key("fleet_rate_per_1000_node_days")] = None
    num_tested: Count = 0
    window_days: Annotated[float, _ALL_DIGITS] = 0.0
    false_discovery_rate: Annotated[float, _ALL_DIGITS] = 0.0
    notes: tuple[str, ...] = ()
    basis: str | None = None
    walked: Walked | None = None
    places: tuple[Place, ...] = ()

    @property
    def schema(self) -> str:
        """Name and version of the wire form."""
        return _SCHEMA

    @property
    def counts(self) -> Annotated[dict[str, int], SentAs(dict[Grade, Count])]:
        """How many nodes are of each grade."""
        return {
            str(grade): sum(standing.grade is grade for standing in self.nodes) for grade in Grade
        }

    @property
    def leaves(self) -> list[dict[str, Any]]:
        """A leaf switch and its counts, for each by name; none where no node has a leaf. Null is
        that of nodes which no inventory puts anywhere.
        """
        # Enough to draw a map of a fleet whose nodes are not all told.
        by_leaf: dict[str | None, Counter[str]] = {}
        for standing in self.nodes:
            by_leaf.setdefault(standing.leaf_switch, Counter())[str(standing.grade)] += 1
        if not set(by_leaf) - {None}:
            return []
        order = sorted(by_leaf, key=lambda name: (name is None, name or ""))
        return [
            {"leaf_switch": name, "counts": dict(sorted(by_leaf[name].items()))} for name in order
        ]


@dataclass(frozen=True, slots=True)
class Prior:
    """What an analysis may know of a node beforehand: its grade, and one sentence with counts.

    ``on_probation`` says that it came back from a repair lately.
    """

    grade: Grade
    text: str
    on_probation: bool = False

    @property
    def weight(self) -> int:
        """Who comes first among equals: a lemon, before a node that is watched or on probation,
        then the rest.
        """
        weight = {Grade.LEMON: 2, Grade.WATCH: 1}.get(self.grade, 0)
        return max(weight, int(self.on_probation))

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of standings."""
        known = {"on_probation": True} if self.on_probation else {}
        return {"grade": str(self.grade), "text": self.text, **known}


NO_STANDINGS: Final[Mapping[str, Prior]] = MappingProxyType({})
"""Where nothing is known beforehand."""


def read_prior(raw: Mapping[str, Any]) -> Prior | None:
    """The prior that :meth:`Prior.to_dict` wrote; None for anything else."""
    grade, text = raw.get("grade"), raw.get("text")
    if not isinstance(text, str) or not isinstance(grade, str) or grade not in set(Grade):
        return None
    return Prior(Grade(grade), text[:_MAX_TEXT], raw.get("on_probation") is True)
