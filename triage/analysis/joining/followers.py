"""Hypotheses that only follow from another one, whatever their place."""

from collections.abc import Sequence
from dataclasses import replace

from triage.analysis.facts.stop import (
    EARLIER,
    Stop,
)
from triage.analysis.joining.hypothesis import (
    Hypothesis,
    is_seen_at_stop,
    is_sure,
)
from triage.analysis.joining.place import Unplaced
from triage.domain.category import Category
from triage.domain.evidence import Trait


def drop_unplaced_failures(hypotheses: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """A failure that says neither why nor where follows from the one cause that a line names."""
    causes = [
        k
        for k, cause in enumerate(hypotheses)
        if cause.category is not Category.NCCL_TIMEOUT
        and any(not row.is_mild and stop.of(row) not in EARLIER for row in cause.rows)
    ]
    if len(causes) != 1:
        return list(hypotheses)
    (cause,) = causes
    gone = {
        k
        for k, cause in enumerate(hypotheses)
        if cause.category is Category.NCCL_TIMEOUT
        and isinstance(cause.place, Unplaced)
        and cause.rows
    }
    more = sum(len(hypotheses[k].rows) for k in gone)
    return [
        replace(hypothesis, followers=hypothesis.followers + more) if k == cause else hypothesis
        for k, hypothesis in enumerate(hypotheses)
        if k not in gone
    ]


def drop_spread_numbers(causes: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """What the one GPU that computes wrong makes of everybody's numbers follows from it."""
    wrong = [
        k
        for k, cause in enumerate(causes)
        if cause.category is Category.SDC
        and cause.names_somebody
        and is_sure(cause)
        and is_seen_at_stop(cause, stop)
    ]
    spread = [
        k
        for k, cause in enumerate(causes)
        if cause.category is Category.NUMERICAL and not cause.names_somebody
    ]
    if len(wrong) != 1 or not spread:
        return list(causes)
    more = sum(len(causes[k].rows) for k in spread)
    return [
        replace(cause, followers=cause.followers + more) if k == wrong[0] else cause
        for k, cause in enumerate(causes)
        if k not in spread
    ]


def drop_rendezvous_losses(causes: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Without the loss of the store, where anything else went wrong: it follows from that."""
    if any(is_sure(cause) and not _is_of_rendezvous(cause) for cause in causes):
        return [cause for cause in causes if not _is_of_rendezvous(cause)]
    return list(causes)


def _is_of_rendezvous(cause: Hypothesis) -> bool:
    return bool(cause.rows) and all(Trait.RENDEZVOUS in row.traits for row in cause.rows)
