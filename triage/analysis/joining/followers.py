"""Hypotheses that only follow from another one, whatever their place."""

from collections.abc import Sequence
from dataclasses import replace

from triage.analysis.facts.stop import (
    EARLIER,
    Stop,
)
from triage.analysis.joining.hypothesis import (
    Hypothesis,
    is_sure,
    shows_about,
)
from triage.analysis.joining.place import Unplaced
from triage.domain.category import Category
from triage.domain.evidence import Trait

__all__ = ["without_meetings", "without_outcries", "without_spread"]


def without_outcries(found: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """A failure that says neither why nor where follows from the one cause that a line names."""
    causes = [
        k
        for k, one in enumerate(found)
        if one.category is not Category.NCCL_TIMEOUT
        and any(not row.is_mild and stop.of(row) not in EARLIER for row in one.rows)
    ]
    if len(causes) != 1:
        return list(found)
    (cause,) = causes
    gone = {
        k
        for k, one in enumerate(found)
        if one.category is Category.NCCL_TIMEOUT and isinstance(one.place, Unplaced) and one.rows
    }
    more = sum(len(found[k].rows) for k in gone)
    return [
        replace(one, followers=one.followers + more) if k == cause else one
        for k, one in enumerate(found)
        if k not in gone
    ]


def without_spread(found: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """What the one GPU that computes wrong makes of everybody's numbers follows from it."""
    wrong = [
        k
        for k, one in enumerate(found)
        if one.category is Category.SDC
        and one.names_somebody
        and is_sure(one)
        and shows_about(one, stop)
    ]
    spread = [
        k
        for k, one in enumerate(found)
        if one.category is Category.NUMERICAL and not one.names_somebody
    ]
    if len(wrong) != 1 or not spread:
        return list(found)
    more = sum(len(found[k].rows) for k in spread)
    return [
        replace(one, followers=one.followers + more) if k == wrong[0] else one
        for k, one in enumerate(found)
        if k not in spread
    ]


def without_meetings(found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Without the loss of the store, where anything else went wrong: it follows from that."""
    if any(is_sure(one) and not is_of_a_meeting(one) for one in found):
        return [one for one in found if not is_of_a_meeting(one)]
    return list(found)


def is_of_a_meeting(one: Hypothesis) -> bool:
    return bool(one.rows) and all(Trait.RENDEZVOUS in row.traits for row in one.rows)
