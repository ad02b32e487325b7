"""History: what the standing of a node in its fleet adds to an answer. A prior, and no evidence.

Among suspects of one category that are only possible and believed nearly alike, and among
convicted ones that nothing tells apart, the node that was in trouble before stands first. They
exchange their places and beliefs, so no belief is made or raised beyond what the evidence gave
their group. Nodes that the evidence does not name are not named, nobody is convicted or cordoned
by history, and the category of the verdict stays what it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from triage.analysis.joining.belief import Belief
from triage.domain.category import OF_THE_NODE, Category, Role
from triage.domain.report import MAX_REASONS, Because, Suspect
from triage.domain.standing import Prior

_Priors = Mapping[str, Prior]

DETECTOR: Final = "history.standing"
# Beliefs that lie no farther apart are as good as equal: evidence of one incident tells no finer.
NEARLY: Final = 0.05
EQUAL: Final = 1e-9
# How late a rank is was measured: there the evidence itself tells equals apart.
EXCHANGED: Final = OF_THE_NODE - {Category.STRAGGLER}


def order_by_history(
    ranked: Sequence[Belief],
    priors: _Priors,
    role_of: Callable[[Belief], Role | None],
) -> list[Belief]:
    """``ranked``, best first, with places exchanged where the priors tell equals apart.

    ``role_of`` says how a belief would stand among the suspects, None where it would not.
    """
    ordered = list(ranked)
    if not priors:
        return ordered
    slots = []
    seen = set()
    for slot, belief in enumerate(ordered):
        cause = belief.hypothesis
        if cause.node is None or cause.place in seen:
            continue
        seen.add(cause.place)
        if cause.category in EXCHANGED and role_of(belief) is not None:
            slots.append(slot)
    beliefs = [belief.at_place for belief in ordered]

    def key(slot: int) -> tuple[Role | None, Any]:
        belief = ordered[slot]
        return role_of(belief), (belief.hypothesis.category, bool(belief.hypothesis.rows))

    for group in _group_equal_slots(slots, key, beliefs):
        before = [ordered[slot] for slot in group]
        role = role_of(before[0])
        after = sorted(
            before, key=lambda belief: -_get_prior_weight(belief.hypothesis.node, priors)
        )
        exchanged = [
            replace(belief, probability=held.probability, at_place=held.at_place)
            for belief, held in zip(after, before, strict=True)
        ]
        if all(role_of(belief) is role for belief in exchanged):  # nobody is convicted by history
            for slot, belief in zip(group, exchanged, strict=True):
                ordered[slot] = belief
    return ordered


def _group_equal_slots(
    slots: Sequence[int],
    key: Callable[[int], tuple[Role | None, Any]],
    beliefs: Sequence[float],
) -> list[list[int]]:
    """Slots of one key whose beliefs are those of the first of their group.

    Possible ones are alike within ``NEARLY``; convicted ones only where nothing tells them apart.
    """
    by_key: dict[tuple[Role | None, Any], list[list[int]]] = {}
    for slot in slots:
        of_key = by_key.setdefault(key(slot), [])
        apart = NEARLY if key(slot)[0] is Role.POSSIBLE else EQUAL
        if of_key and beliefs[of_key[-1][0]] - beliefs[slot] <= apart:
            of_key[-1].append(slot)
        else:
            of_key.append([slot])
    return [group for of_key in by_key.values() for group in of_key if len(group) > 1]


def _get_prior_weight(node: str | None, priors: _Priors) -> int:
    prior = priors.get(node or "")
    return 0 if prior is None else prior.weight


def with_history(suspects: tuple[Suspect, ...], priors: _Priors) -> tuple[Suspect, ...]:
    """The suspects with one more reason where a prior speaks of the node, and of such a cause."""
    if not priors:
        return suspects
    return tuple(
        replace(
            suspect, because=(*suspect.because[: MAX_REASONS - 1], Because(DETECTOR, prior.text))
        )
        if (prior := priors.get(suspect.node or "")) is not None
        and prior.weight
        and suspect.role is not Role.AFFECTED
        and suspect.category in OF_THE_NODE
        else suspect
        for suspect in suspects
    )
