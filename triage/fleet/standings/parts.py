"""Parts: what several interruptions name, and what the parts of a node did in other nodes.

A part of a node is named again when two episodes name the same GPU, NIC or link. A leaf switch
has a test of its own: nodes behind it accused more than the fleet, each of them counted once,
so that one bad node does not pass for its switch. What a leaf explains is held against no node.

An accusation names a part by its slot. Where the record knows which part sat there, and the part
sits in another node now, the accusation is the part's. It is said beside the standing of the node
that has the part, a prior and no evidence: it changes no grade.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.domain.counts import count
from triage.domain.hardware import HardwareKind
from triage.domain.standing import FleetStandings, Grade, PartKind, Prior, RepeatedPart
from triage.fleet.record.columns import Flags, FleetRecord, Floats
from triage.fleet.record.moved_parts import HOUR_NS, MovedPart, PlacedStay
from triage.fleet.standings.strikes import Strikes, find_outliers, sum_by_member

_NAMED_AGAIN: Final = 2
# Two nodes behind one switch may be chance, or one link between them.
_LEAF_NODES: Final = 3
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class OfLeaves:
    """Leaf switches that stand out; ``explained`` says which strikes are put down to them.

    ``hit`` are the nodes whom they made look bad.
    """

    parts: tuple[RepeatedPart, ...]
    explained: Flags
    hit: Flags

    def behind(self, record: FleetRecord, node: int) -> RepeatedPart | None:
        """The leaf that a node's accusations are put down to."""
        if not self.hit[node]:
            return None
        return next((one for one in self.parts if one.name == record.leaf_switch[node]), None)


def find_outlying_leaves(
    record: FleetRecord, strikes: Strikes, from_ns: int, days: Floats
) -> OfLeaves:
    """The leaves whose nodes are accused of link and network trouble more than the fleet's.

    ``days`` is each node's time in runs since ``from_ns``.
    """
    nothing = OfLeaves(
        (), np.zeros(len(strikes.node), dtype=bool), np.zeros(len(record.nodes), dtype=bool)
    )
    names = sorted({leaf for leaf in record.leaf_switch if leaf is not None})
    index = {name: place for place, name in enumerate(names)}
    leaf_of = np.array([index.get(leaf or "", -1) for leaf in record.leaf_switch], dtype=np.int64)
    counts = strikes.fabric & (strikes.at_ns >= from_ns) & (leaf_of[strikes.node] >= 0)
    if not names or not counts.any():
        return nothing
    of_node = sum_by_member(strikes.node[counts], strikes.blame[counts], len(record.nodes))
    placed = leaf_of >= 0
    blame = sum_by_member(leaf_of[placed], np.minimum(of_node, 1.0)[placed], len(names))
    exposure = sum_by_member(leaf_of[placed], days[placed], len(names))
    excess = find_outliers(blame, exposure)
    found: list[RepeatedPart] = []
    explained = nothing.explained.copy()
    for place in np.flatnonzero(excess.found).tolist():
        mine = counts & (leaf_of[strikes.node] == place)
        nodes = tuple(sorted({record.nodes[one] for one in strikes.node[mine].tolist()}))
        if len(nodes) < _LEAF_NODES:
            continue
        explained |= strikes.fabric & (leaf_of[strikes.node] == place)
        num = len(np.unique(record.accusations.interruption[strikes.row[mine]]))
        expected, p = float(excess.expected[place]), float(excess.p[place])
        text, q = _describe_leaf(names[place], nodes, num, expected), float(excess.q[place])
        leaf = (PartKind.LEAF_SWITCH, names[place], None, nodes)
        found.append(RepeatedPart(*leaf, num, expected, p, q, text))
    found.sort(key=lambda part: (part.p_value or 0.0, part.name))
    hit = np.zeros(len(record.nodes), dtype=bool)
    hit[strikes.node[explained]] = True
    return OfLeaves(tuple(found), explained, hit)


def _describe_leaf(name: str, nodes: tuple[str, ...], num: int, expected: float) -> str:
    shown = ", ".join(nodes[:_SHOWN]) + (" ..." if len(nodes) > _SHOWN else "")
    return (
        f"leaf switch {name}: {len(nodes)} nodes behind it ({shown}) were accused in {num}"
        f" interruptions by links and network, where {expected:.2g} accused nodes are expected:"
        " look at the switch and its cables before the nodes"
    )


def map_repeated_parts(
    record: FleetRecord, strikes: Strikes
) -> dict[int, tuple[RepeatedPart, ...]]:
    """For each node the parts that at least two of its strikes name, the most frequent first.

    ``strikes`` are episodes: a job that starts again on a broken GPU names it once.
    """
    named: dict[int, Counter[str]] = {}
    total = np.bincount(strikes.node, minlength=len(record.nodes))
    for row, node in zip(strikes.row.tolist(), strikes.node.tolist(), strict=True):
        part = record.accusations.part[row]
        if part is not None:
            named.setdefault(node, Counter())[part] += 1
    found = {}
    for node, counted in named.items():
        again = sorted((-num, part) for part, num in counted.items() if num >= _NAMED_AGAIN)
        if again:
            found[node] = tuple(
                _describe_part(record.nodes[node], part, -num, int(total[node]))
                for num, part in again
            )
    return found


def _describe_part(node: str, part: str, num: int, total: int) -> RepeatedPart:
    text = f"{part} of {node} is named in {num} of {total} interruptions that accuse the node"
    return RepeatedPart(PartKind.PART, part, node, (node,), num, None, None, None, text)


# A part was there a day before something named it: files come behind the failure they are about.
_BEFORE_NS: Final = 24 * HOUR_NS
_MOST_PARTS: Final = 200
_MOST_SENTENCES: Final = 2
_KIND_WORDS: Final = {HardwareKind.NIC: "NIC"}
_NO_EVIDENCE: Final = " (a prior, no evidence)"


def with_hardware(found: FleetStandings, record: FleetRecord) -> FleetStandings:
    """The standings with what is known of parts that moved."""
    sentences: dict[str, list[str]] = {}
    parts: list[RepeatedPart] = []
    named = _collect_part_times(record)
    for moved in record.moved:
        stays = [stay._replace(times=_count_times(stay, named)) for stay in moved.stays]
        present = stays[-1]
        elsewhere = [one for one in stays if one.times and one.node != present.node]
        if elsewhere and present.gone_ns is None:
            text = _compose_sentence(moved, elsewhere, record)
            sentences.setdefault(record.nodes[present.node], []).append(text)
        if elsewhere and sum(one.times for one in stays) >= _NAMED_AGAIN:
            parts.append(_make_repeated_part(moved, stays, record))
    parts.sort(key=lambda part: (-part.interruptions, part.name))
    nodes = tuple(
        replace(
            one,
            hardware=tuple(sentences[one.node]),
            reasons=(*one.reasons, *sentences[one.node][:_MOST_SENTENCES]),
        )
        if one.node in sentences
        else one
        for one in found.nodes
    )
    return replace(
        found,
        nodes=nodes,
        parts=(*found.parts, *parts[:_MOST_PARTS]),
    )


def _collect_part_times(record: FleetRecord) -> Mapping[tuple[int, str], list[int]]:
    """When each part of a node was named, an hour and more apart: a restart is the same fault."""
    found: dict[tuple[int, str], list[int]] = {}
    if not record.moved:
        return found
    accused = record.accusations
    at_ns = record.interruptions.at_ns[accused.interruption]
    for at, node, part in sorted(
        (at, node, part)
        for at, node, part in zip(at_ns.tolist(), accused.node.tolist(), accused.part, strict=True)
        if part is not None
    ):
        times = found.setdefault((node, part), [])
        if not times or at - times[-1] > HOUR_NS:
            times.append(at)
    return found


def _count_times(stay: PlacedStay, named: Mapping[tuple[int, str], Sequence[int]]) -> int:
    """How often the part was named while it was there, as far as anybody saw."""
    if not stay.slot:
        return 0
    word = f"{_KIND_WORDS.get(stay.kind, 'GPU')} {stay.slot}"
    return sum(
        stay.first_ns - _BEFORE_NS <= at and (stay.gone_ns is None or at < stay.gone_ns)
        for at in named.get((stay.node, word), ())
    )


def _compose_sentence(
    moved: MovedPart, elsewhere: Sequence[PlacedStay], record: FleetRecord
) -> str:
    slot = moved.stays[-1].slot
    where = f" in slot {slot}" if slot else ""
    told = "; ".join(
        f"sat in {record.nodes[stay.node]} until {_format_day(stay.last_ns)}, and was named"
        f" there in {count(stay.times, 'interruption')}"
        for stay in elsewhere[-_MOST_SENTENCES:]
    )
    return f"its {moved.part.words}{where} {told}"


def _make_repeated_part(
    moved: MovedPart, stays: Sequence[PlacedStay], record: FleetRecord
) -> RepeatedPart:
    """The part among those that are named again and again, over all its nodes."""
    blamed = [one for one in stays if one.times]
    total = sum(one.times for one in blamed)
    nodes = tuple(dict.fromkeys(record.nodes[one.node] for one in blamed))
    text = (
        f"{moved.part.words} is named in {total} interruptions:"
        f" {', '.join(_iterate_stays(stays, record))}"
    )
    node = record.nodes[stays[-1].node]
    return RepeatedPart(PartKind.PART, moved.part.words, node, nodes, total, None, None, None, text)


def _iterate_stays(stays: Sequence[PlacedStay], record: FleetRecord) -> Iterator[str]:
    for stay in stays:
        last = stay is stays[-1]
        when = (
            f"since {_format_day(stay.first_ns)}" if last else f"until {_format_day(stay.last_ns)}"
        )
        yield f"in {record.nodes[stay.node]} {when} ({stay.times})"


def with_sentences(prior: Prior | None, sentences: Sequence[str]) -> Prior | None:
    """What an analysis is told of a node, with what its parts did elsewhere.

    Such a node is looked at first among equals, as one under watch is.
    """
    if not sentences:
        return prior
    told = "; ".join(sentences[:_MOST_SENTENCES])
    if prior is None:
        return Prior(Grade.WATCH, f"before this incident {told}{_NO_EVIDENCE}")
    return Prior(prior.grade, f"{prior.text.removesuffix(_NO_EVIDENCE)}; {told}{_NO_EVIDENCE}")


def _format_day(at_ns: int) -> str:
    """The day of a time, in UTC: ``2026-03-04``."""
    return str(np.datetime64(at_ns, "ns").astype("datetime64[D]"))
