"""What the parts of a node did in other nodes: said beside its standing, and counted by none.

An accusation names a part by its slot. Where the record knows which part sat there, and the part
sits in another node now, the accusation is the part's. It is a prior, and no evidence: it changes
no grade.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from triage.domain.counts import count
from triage.domain.hardware import HardwareKind
from triage.domain.standing import FleetStandings, Grade, PartKind, Prior, RepeatedPart
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.moved_parts import HOUR_NS, MovedPart, MovedStay

# A part was there a day before something named it: files come behind the failure they are about.
_BEFORE_NS: Final = 24 * HOUR_NS
_NAMED_AGAIN: Final = 2
_MOST_PARTS: Final = 200
_SHOWN: Final = 2
_WORDS: Final = {HardwareKind.NIC: "NIC"}
_NO_EVIDENCE: Final = " (a prior, no evidence)"


class _NamedStay(NamedTuple):
    """A stay, and in how many interruptions the part was named in it."""

    stay: MovedStay
    times: int


def with_hardware(found: FleetStandings, record: FleetRecord) -> FleetStandings:
    """The standings with what is known of parts that moved."""
    sentences: dict[str, list[str]] = {}
    parts: list[RepeatedPart] = []
    named = _collect_part_times(record)
    for moved in record.moved:
        stays = [_NamedStay(stay, _count_times(stay, moved, named)) for stay in moved.stays]
        present = stays[-1].stay
        elsewhere = [one for one in stays if one.times and one.stay.node != present.node]
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
            reasons=(*one.reasons, *sentences[one.node][:_SHOWN]),
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


def _count_times(
    stay: MovedStay, moved: MovedPart, named: Mapping[tuple[int, str], Sequence[int]]
) -> int:
    """How often the part was named while it was there, as far as anybody saw."""
    if not stay.slot:
        return 0
    word = f"{_WORDS.get(moved.part.kind, 'GPU')} {stay.slot}"
    return sum(
        stay.first_ns - _BEFORE_NS <= at and (stay.gone_ns is None or at < stay.gone_ns)
        for at in named.get((stay.node, word), ())
    )


def _compose_sentence(
    moved: MovedPart, elsewhere: Sequence[_NamedStay], record: FleetRecord
) -> str:
    slot = moved.stays[-1].slot
    where = f" in slot {slot}" if slot else ""
    told = "; ".join(
        f"sat in {record.nodes[stay.node]} until {_format_day(stay.last_ns)}, and was named"
        f" there in"
        f" {count(times, 'interruption')}"
        for stay, times in elsewhere[-_SHOWN:]
    )
    return f"its {moved.part.words}{where} {told}"


def _make_repeated_part(
    moved: MovedPart, stays: Sequence[_NamedStay], record: FleetRecord
) -> RepeatedPart:
    """The part among those that are named again and again, over all its nodes."""
    blamed = [one for one in stays if one.times]
    total = sum(one.times for one in blamed)
    nodes = tuple(dict.fromkeys(record.nodes[one.stay.node] for one in blamed))
    text = (
        f"{moved.part.words} is named in {total} interruptions:"
        f" {', '.join(_iterate_stays(stays, record))}"
    )
    node = record.nodes[stays[-1].stay.node]
    return RepeatedPart(PartKind.PART, moved.part.words, node, nodes, total, None, None, None, text)


def _iterate_stays(stays: Sequence[_NamedStay], record: FleetRecord) -> Iterator[str]:
    for stay, times in stays:
        last = stay is stays[-1].stay
        when = (
            f"since {_format_day(stay.first_ns)}" if last else f"until {_format_day(stay.last_ns)}"
        )
        yield f"in {record.nodes[stay.node]} {when} ({times})"


def with_sentences(prior: Prior | None, sentences: Sequence[str]) -> Prior | None:
    """What an analysis is told of a node, with what its parts did elsewhere.

    Such a node is looked at first among equals, as one under watch is.
    """
    if not sentences:
        return prior
    told = "; ".join(sentences[:_SHOWN])
    if prior is None:
        return Prior(Grade.WATCH, f"before this incident {told}{_NO_EVIDENCE}")
    return Prior(prior.grade, f"{prior.text.removesuffix(_NO_EVIDENCE)}; {told}{_NO_EVIDENCE}")


def _format_day(at_ns: int) -> str:
    """The day of a time, in UTC: ``2026-03-04``."""
    return str(np.datetime64(at_ns, "ns").astype("datetime64[D]"))
