"""How much is believed of each hypothesis, and of each place.

What lines show is weighed by the model (`model.py`). A claim of the dumps that no line accounts
for is worth what its detector says. Bounds (`bounds.py`) come last.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.facts.stop import Stop, When, is_at_end_of_boot_log
from triage.analysis.joining.bounds import (
    BOUNDS,
    NO_GUESS,
    Bound,
    is_single_line,
    is_waited_for,
    list_bounds_by_dumps,
    list_bounds_by_part,
    list_bounds_by_rows,
)
from triage.analysis.joining.claims import (
    is_accusing,
    is_dated_to_the_stop,
    is_proven_by_records,
    may_be_at_the_stop,
)
from triage.analysis.joining.features import is_rival, measure
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.model import Model
from triage.analysis.joining.place import Place
from triage.domain.category import GPU_PARTS, HARDWARE, Category
from triage.domain.evidence import Evidence
from triage.domain.finding import Finding

# From here a cause is convicted; below it is only possible.
CONVICTED: Final = 0.5
# ... and from here on a category is said at all; else the stop has no cause found.
NAMES_A_PART: Final = 0.3


@dataclass(frozen=True, slots=True)
class Belief:
    """A hypothesis and how much is believed of it.

    ``at_place`` is how much is believed of its place, whatever the part; ``features`` and
    ``log_odds`` are those of the sum, and empty and those of the claim where there is no row.
    """

    hypothesis: Hypothesis
    probability: float
    features: Mapping[str, float]
    log_odds: float
    bounds: tuple[Bound, ...] = ()
    at_place: float = 0.0

    def order(self) -> tuple[object, ...]:
        """Best first: place before part; ties do not depend on the order of files."""
        late = max((claim.late_ms or 0.0 for claim in self.hypothesis.claims), default=0.0)
        return (
            -self.at_place,
            -self.probability,
            -late,
            -self.log_odds,
            self.hypothesis.key,
        )


def believe(
    hypotheses: Sequence[Hypothesis],
    claims: Sequence[Finding],
    stop: Stop,
    model: Model,
    *,
    trust: float,
    dumps: bool,
) -> list[Belief]:
    """``hypotheses`` with what is believed of them, best first.

    ``trust`` is the share of a claim's strength that is left where dumps are missing.
    """
    shown = [cause for cause in hypotheses if cause.rows]
    features = measure(shown, claims, stop, dumps=dumps)
    weighed = _with_bounds(_weigh_causes(shown, features, model), claims, stop)
    if all(claim.is_gap for claim in claims):
        weighed = _raise_best_guess(weighed)
    alone = [cause for cause in hypotheses if not cause.rows]
    weighed = _add_parts_of_the_lost(alone, weighed, stop, trust=trust)
    bare = _believe_bare_claims(alone, weighed, stop, trust=trust)
    return _order_by_place([*weighed, *bare])


def _weigh_causes(
    causes: Sequence[Hypothesis], features: Sequence[Mapping[str, float]], model: Model
) -> list[Belief]:
    """What is believed of causes that lines show; ``features`` stand in their order."""
    odds = [model.log_odds(measured) for measured in features]
    rivals = find_best_rivals(odds, features)
    return [
        Belief(cause, model.probability(own, rival), measured, own)
        for cause, measured, own, rival in zip(causes, features, odds, rivals, strict=True)
    ]


def find_best_rivals(
    odds: Sequence[float], features: Sequence[Mapping[str, float]]
) -> list[float | None]:
    """For each hypothesis the best log-odds among the others that rival anybody."""
    rivalling = (own for own, its in zip(odds, features, strict=True) if is_rival(its))
    best = sorted(rivalling, reverse=True)[:2]
    rivals = []
    for own, its in zip(odds, features, strict=True):
        others = best[1:] if is_rival(its) and own == best[0] else best
        rivals.append(others[0] if others else None)
    return rivals


def _with_bounds(weighed: Sequence[Belief], claims: Sequence[Finding], stop: Stop) -> list[Belief]:
    """The rules that no weight may overrule."""
    proven = [claim for claim in claims if is_proven_by_records(claim)]
    claimed = [claim for claim in claims if is_accusing(claim)]
    nobody = any(not claim.ranks for claim in claims) and not claimed
    dated = {id(belief) for belief in weighed if is_dated_to_the_stop(belief.hypothesis, stop)}
    beliefs = []
    for belief in weighed:
        beside = len(dated) > (id(belief) in dated)
        if nobody and not any(is_at_end_of_boot_log(row) for row in belief.hypothesis.rows):
            beside = True
        bounds = [
            *list_bounds_by_dumps(
                belief.hypothesis,
                proven,
                claimed,
                nobody=nobody and not may_be_at_the_stop(belief.hypothesis, stop),
                dated=id(belief) in dated,
            ),
            *list_bounds_by_rows(belief.hypothesis, stop, beside=beside),
            *list_bounds_by_part(belief.hypothesis, stop),
        ]
        beliefs.append(_with_limit(belief, bounds))
    return beliefs


def _with_limit(belief: Belief, bounds: Sequence[Bound]) -> Belief:
    """A bound keeps apart what it bounds: the likelier stays the likelier."""
    if not bounds:
        return belief
    limit = min(BOUNDS[bound].most for bound in bounds)
    probability = min(belief.probability, limit * (0.9 + 0.1 * belief.probability))
    return replace(belief, probability=probability, bounds=(*belief.bounds, *bounds))


_BEST_GUESS: Final = 0.35


def _raise_best_guess(weighed: Sequence[Belief]) -> list[Belief]:
    """Where all lines name one cause, however weakly, it is the best guess, and is said."""
    named = [
        belief
        for belief in weighed
        if belief.hypothesis.category is not Category.NCCL_TIMEOUT
        and not NO_GUESS.intersection(belief.bounds)
        and not all(row.is_mild or row.is_generic for row in belief.hypothesis.rows)
    ]
    if len({belief.hypothesis.category for belief in named}) != 1:
        return list(weighed)
    best = max(named, key=lambda belief: belief.probability)
    return [
        replace(belief, probability=max(belief.probability, _BEST_GUESS))
        if belief is best
        else belief
        for belief in weighed
    ]


# What of the claim of a missing file goes to the part that lines name at its place.
_PART_OF_A_GAP: Final = 0.8


def _add_parts_of_the_lost(
    bare: Sequence[Hypothesis], weighed: Sequence[Belief], stop: Stop, *, trust: float
) -> list[Belief]:
    """``weighed``; where a file is missing and its peers wait, the likeliest part that lines name
    at that place about the stop is as likely as the place: nothing else tells of the part. These
    are two sources, and a single line elsewhere that accounts for no wait is one.
    """
    beliefs = list(weighed)
    for cause in bare:
        if not _names_no_part(cause):
            continue
        named = [
            k
            for k, other in enumerate(beliefs)
            if other.hypothesis.place == cause.place
            and any(claim in other.hypothesis.claims for claim in cause.claims)
            and not (NO_GUESS - {Bound.BEFORE}).intersection(other.bounds)
            and any(_may_tell_the_part(row, cause, stop) for row in other.hypothesis.rows)
        ]
        if not named:
            continue
        best = max(named, key=lambda k: beliefs[k].log_odds)
        whole = max(claim.strength for claim in cause.claims) * trust
        least = _PART_OF_A_GAP * whole
        if max(beliefs[k].probability for k in named) < NAMES_A_PART:
            beliefs[best] = replace(
                beliefs[best], probability=max(beliefs[best].probability, least)
            )
        named_rows = beliefs[best].hypothesis.rows
        if any(row.is_firm or stop.of(row) is When.AT for row in named_rows):
            beliefs = [
                _with_limit(other, [Bound.LOST_ELSEWHERE])
                if is_single_line(other.hypothesis) and other.hypothesis.place != cause.place
                else other
                for other in beliefs
            ]
    return beliefs


_OPEN: Final = frozenset({Category.NCCL_TIMEOUT, Category.GPU})


def _names_no_part(cause: Hypothesis) -> bool:
    """Whether claims alone stand for it that only say who is gone, a file or a process, or which
    device stands.
    """
    return cause.names_somebody and all(
        claim.is_gap or claim.category in _OPEN for claim in cause.claims
    )


def _may_tell_the_part(row: Evidence, cause: Hypothesis, stop: Stop) -> bool:
    """Whether a row says which part it is: about the stop; or, of a GPU that it names and that
    stands, in the hour before, were it only a warning.
    """
    if all(claim.category is Category.GPU for claim in cause.claims) and row.gpu is not None:
        names = row.category in GPU_PARTS and not row.is_generic
        return names and stop.of(row) in (When.AT, When.AFTER, When.BEFORE)
    return _may_tell_of_the_stop(row, stop)


def _may_tell_of_the_stop(row: Evidence, stop: Stop) -> bool:
    """Whether a row accuses, and a clock dates it to the stop or none says otherwise."""
    if row.is_mild or row.is_generic:
        return False
    when = stop.of(row)
    return when in (When.AT, When.AFTER) or (row.is_firm and when is When.UNDATED)


def _believe_bare_claims(
    bare: Sequence[Hypothesis], weighed: Sequence[Belief], stop: Stop, *, trust: float
) -> list[Belief]:
    """Claims that stand for themselves: worth their strength, less what accounts for them."""
    firm = [
        belief.hypothesis
        for belief in weighed
        if belief.probability >= CONVICTED and may_be_at_the_stop(belief.hypothesis, stop)
    ]
    return [_claim_alone(cause, weighed, firm, trust=trust) for cause in bare]


def _claim_alone(
    hypothesis: Hypothesis, weighed: Sequence[Belief], firm: Sequence[Hypothesis], *, trust: float
) -> Belief:
    """What is believed of claims at one place; ``firm`` are the causes that lines convict."""
    strength = _combine_claim_strengths(hypothesis.claims, trust)
    gap = all(claim.is_gap for claim in hypothesis.claims)
    accounted = max(
        (
            belief.probability
            for belief in weighed
            if _is_explained_by_cause(belief.hypothesis, hypothesis)
        ),
        default=0.0,
    )
    probability = strength * (1 - accounted)
    says_who = hypothesis.names_somebody or hypothesis.category is not Category.NCCL_TIMEOUT
    if accounted >= NAMES_A_PART and (_names_no_part(hypothesis) or not says_who):
        # That a file is missing, a process is gone or all wait says nothing of the part: whatever
        # names one does.
        probability = min(probability, 0.9 * accounted)
    proven = any(is_proven_by_records(claim) for claim in hypothesis.claims)
    explained = any(
        cause.place != hypothesis.place
        and (
            gap
            or not proven
            or _has_common_claim(cause, hypothesis)
            or (is_waited_for(cause) and cause.category in HARDWARE)
        )
        for cause in firm
    )
    whole = strength
    bounds: tuple[Bound, ...] = ()
    limit = BOUNDS[Bound.EXPLAINED].most
    if explained and strength > limit and hypothesis.category is not Category.STRAGGLER:
        whole, probability, bounds = limit, min(probability, limit), (Bound.EXPLAINED,)
    odds = math.log(strength / (1 - strength))
    # What the dumps prove of a place holds whatever the part is.
    at_place = whole if hypothesis.names_somebody else probability
    return Belief(hypothesis, probability, {}, odds, bounds, at_place=at_place)


# What two sources together are worth at most.
_MOST_OF_TWO: Final = 0.98


def _combine_claim_strengths(claims: Sequence[Finding], trust: float) -> float:
    """What claims at one place are worth together: dumps and looks are two sources.

    That all wait and nobody is named is one fact, whoever shows it. Dumps that are missing take
    nothing from what was seen of the processes themselves.
    """
    dumps = max((claim.strength for claim in claims if not claim.of_looks), default=0.0) * trust
    looks = max((claim.strength for claim in claims if claim.of_looks), default=0.0)
    if not (dumps and looks) or not any(claim.ranks or claim.nodes for claim in claims):
        return max(dumps, looks)
    both = 1 - (1 - dumps) * (1 - looks)
    return max(dumps, looks, min(both, _MOST_OF_TWO))


def _has_common_claim(cause: Hypothesis, other: Hypothesis) -> bool:
    return any(claim in cause.claims for claim in other.claims)


def _is_explained_by_cause(cause: Hypothesis, claimed: Hypothesis) -> bool:
    """Whether a cause that lines name is why the place of claims is waited for."""
    near = claimed.in_no_node or cause.in_no_node or cause.place == claimed.place
    return near and _has_common_claim(cause, claimed)


def _order_by_place(beliefs: Sequence[Belief]) -> list[Belief]:
    """Place before part: the best places first, and in each its likeliest cause."""
    at: dict[Place, float] = defaultdict(float)
    for belief in beliefs:
        place = belief.hypothesis.place
        at[place] = max(at[place], belief.probability, belief.at_place)
    return sorted(
        (replace(belief, at_place=at[belief.hypothesis.place]) for belief in beliefs),
        key=Belief.order,
    )
