"""Looks in rounds: what was asked at one moment belongs together, and two moments are compared.

One look at a job that runs shows ranks a step apart. The same counters in two looks are a hang;
counters that moved are none.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look
from triage.domain.patterns import compile_re

# Looks that are nearer to each other than this are one look at a job that may run.
APART_NS: Final = 20 * 1_000_000_000
_NUMBERS: Final = compile_re(r"(\d{1,18})")


class RoundMovement(StrEnum):
    """What the look before the last one says."""

    FROZEN = "frozen"
    MOVED = "moved"
    ONE_LOOK = "one_look"  # nothing to compare with


@dataclass(frozen=True, slots=True)
class Round:
    """The last looks that were taken together, and whether anything moved before them.

    ``dated`` is whether clocks say that both looks are apart, ``begin_ns`` and ``end_ns`` when they
    were taken, as printed.
    """

    looks: tuple[Look, ...]
    movement: RoundMovement = RoundMovement.ONE_LOOK
    dated: bool = False
    begin_ns: int = 0
    end_ns: int = 0

    @property
    def moved(self) -> bool:
        """Whether counters moved between the last two looks: the job ran then."""
        return self.movement is RoundMovement.MOVED

    @property
    def frozen(self) -> bool:
        """Whether two looks show the same counters."""
        return self.movement is RoundMovement.FROZEN

    @property
    def communicators(self) -> list[Communicator]:
        """All communicators of the round; what several looks say of one is put together."""
        found: dict[tuple[int, int], list[Communicator]] = {}
        for look in self.looks:
            # Two of one look are two, even where they have one hash.
            numbers: Counter[int] = Counter()
            for one in look.communicators:
                found.setdefault((one.hash, numbers[one.hash]), []).append(one)
                numbers[one.hash] += 1
        return [parts[0] if len(parts) == 1 else _put_together(parts) for parts in found.values()]


def _put_together(parts: Sequence[Communicator]) -> Communicator:
    """One communicator of which each part tells some members; who comes first is believed."""
    by_rank: dict[int, CommunicatorRank] = {}
    for part in parts:
        for member in part.ranks:
            by_rank.setdefault(member.rank, member)
    return replace(
        parts[0],
        size=max(part.size for part in parts),
        ranks=tuple(by_rank[rank] for rank in sorted(by_rank)),
        rest=next((part.rest for part in parts if part.rest is not None), None),
        durations_us={rank: times for part in parts for rank, times in part.durations_us.items()},
    )


def find_latest_round(looks: Sequence[Look]) -> Round | None:
    """The last round of ``looks`` (of one tool and one job), compared with the one before it; None
    where no look holds a communicator.
    """
    rounds = _split_into_rounds([look for look in looks if look.communicators])
    if not rounds:
        return None
    last, counts = rounds[-1]
    end_ns = max((look.stamp.wall_ns or 0 for look in last), default=0)
    for earlier, before in reversed(rounds[:-1]):
        begin_ns = max((look.stamp.wall_ns or 0 for look in earlier), default=0)
        common = counts.keys() & before.keys()
        if not common:
            continue
        moved = counts != before and any(counts[key] != before[key] for key in common)
        if not moved and begin_ns and end_ns and end_ns - begin_ns < APART_NS:
            continue
        movement = RoundMovement.MOVED if moved else RoundMovement.FROZEN
        dated = bool(begin_ns and end_ns)
        return Round(tuple(last), movement, dated, begin_ns, end_ns)
    return Round(tuple(last))


def _split_into_rounds(
    looks: Iterable[Look],
) -> list[tuple[list[Look], dict[tuple[int, int, str], int]]]:
    """The rounds and their counters, the earliest first. The k-th look at a rank is of round k."""
    seen: Counter[tuple[int, int]] = Counter()
    rounds: dict[int, tuple[list[Look], dict[tuple[int, int, str], int]]] = {}
    for look in sorted(looks, key=get_order_key):
        counts = _collect_counts(look)
        ranks = {(one.hash, member.rank) for one in look.communicators for member in one.ranks}
        ranks |= {(one.hash, -1) for one in look.communicators if one.rest is not None}
        number = max((seen[rank] for rank in ranks), default=0)
        seen.update(ranks)
        members, known = rounds.setdefault(number, ([], {}))
        members.append(look)
        known.update(counts)
    return _split_by_progress([rounds[number] for number in sorted(rounds)])


def _split_by_progress(
    rounds: list[tuple[list[Look], dict[tuple[int, int, str], int]]],
) -> list[tuple[list[Look], dict[tuple[int, int, str], int]]]:
    """Rounds without clocks by their counters, which only grow."""
    if all(look.stamp.wall_ns is not None for looks, _ in rounds for look in looks):
        return rounds
    common = set.intersection(*(set(counts) for _, counts in rounds)) if rounds else set()
    return sorted(rounds, key=lambda one: sum(one[1][key] for key in common))


def get_order_key(look: Look) -> tuple[int, list[tuple[int, str]]]:
    """The time of a look, else the order of its name, in which ``poll-10`` follows ``poll-9``."""
    parts = _NUMBERS.split(look.artifact)
    named = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
    return (look.stamp.wall_ns or 0, named)


def _collect_counts(look: Look) -> dict[tuple[int, int, str], int]:
    """(communicator, rank, operation) -> how many; rank -1 is all that are not listed."""
    found: dict[tuple[int, int, str], int] = {}
    for one in look.communicators:
        for member in (*one.ranks, *((one.rest,) if one.rest is not None else ())):
            rank = -1 if member is one.rest else member.rank
            for word, counts in (("launched", member.launched), ("completed", member.completed)):
                for name, count in (counts or {}).items():
                    found[one.hash, rank, f"{word} {name}"] = count
    return found
