"""Stacks in words: where the ranks of a job stand, the odd ones first."""

from collections.abc import Mapping
from typing import Final

from triage.domain.report import Answer, StandingRanks
from triage.domain.toml_tables import read_toml
from triage.render.words.ranges import condense, condense_names

# So many lines say where all ranks of a job stand, the one for the rest among them.
MAX_PLACES: Final = 5
_RANK_CHARS: Final = 60
_WORDS: Final[Mapping[str, str]] = read_toml("triage.render.words", "stacks")["states"]


def order_odd_first(answer: Answer) -> list[StandingRanks]:
    """The places of an answer, those of suspects first, then the largest."""
    suspects = {rank for suspect in answer.suspects for rank in suspect.ranks}
    return sorted(
        answer.stacks,
        key=lambda one: (suspects.isdisjoint(one.ranks), -len(one.ranks)),
    )


def place_words(one: StandingRanks) -> str:
    """``waiting in a collective, at step (train.py:24), twice``."""
    what = _WORDS.get(one.state, "standing")
    at = f", at {one.stands_at}" if one.stands_at else ""
    return f"{what}{at}{', in two looks' if one.seen_twice else ''}"


def stack_lines(answer: Answer) -> list[str]:
    """At most five lines that say where the ranks stand; empty where there are no stacks."""
    places = order_odd_first(answer)
    kept = places if len(places) <= MAX_PLACES else places[: MAX_PLACES - 1]
    lines = [f"{_describe_standing_ranks(one)} {place_words(one)}" for one in kept]
    rest = places[len(kept) :]
    if rest:
        ranks = sum(len(one.ranks) for one in rest)
        lines.append(f"{ranks:,} ranks stand at {len(rest)} other places (--format json)")
    return lines


def _describe_standing_ranks(one: StandingRanks) -> str:
    """``ranks 0-4, 6 (7 in all)``, with the node where all are on one."""
    count = len(one.ranks)
    if not count:
        return "processes of unknown ranks"
    where = f" on {condense_names(one.nodes)}" if len(one.nodes) == 1 else ""
    if count == 1:
        return f"rank {one.ranks[0]}{where}:"
    all_of = f" ({count:,} in all)" if count > 2 else ""
    return f"ranks {condense(one.ranks, max_chars=_RANK_CHARS)}{all_of}{where}:"
