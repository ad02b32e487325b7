"""How often the same cause has ended a job in a row, and how soon after each start."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from triage.domain.category import Category
from triage.domain.restart import EarlierEnd, EarlierStarts

__all__ = ["AT_ONCE_S", "LASTED_S", "Repeats", "repeats_of"]

# A start that ended within this has loaded its data and done hardly a step.
AT_ONCE_S: Final = 600.0
# So many restarts in a row that ended at once are no accident.
LEAST_AT_ONCE: Final = 2
# A start that ran this long was worth it: what ended it begins a new count.
LASTED_S: Final = 3600.0
NO_CAUSE: Final = (Category.NONE, Category.NCCL_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Repeats:
    """``ends`` are the ends right before this one by the same cause, the newest first.

    ``at_once`` is whether all restarts among them, and that of now, ended within minutes;
    ``sentence`` says how many, without a full stop, and is empty where there is none.
    """

    ends: tuple[EarlierEnd, ...]
    at_once: bool
    sentence: str


def repeats_of(category: Category, starts: EarlierStarts) -> Repeats:
    """The ends in a row by ``category`` that the record has, back to a start that lasted.

    Each of ``ends`` was followed by a restart, so the first failure is none, and this one is.
    """
    ends: list[EarlierEnd] = []
    ran_s = starts.ran_s
    for end in starts.ends:
        if end.category is not category or (ran_s is not None and ran_s >= LASTED_S):
            break
        ends.append(end)
        ran_s = end.ran_s
    if not ends:
        return Repeats((), at_once=False, sentence="")
    lengths = [starts.ran_s, *(end.ran_s for end in ends[:-1])]
    known = [length for length in lengths if length is not None]
    within = f" within {duration(max(known))}" if len(known) == len(lengths) else ""
    what = "This cause has" if category not in NO_CAUSE else "Stops without a known cause have"
    soon = bool(within) and max(known) <= AT_ONCE_S
    return Repeats(
        tuple(ends),
        at_once=soon and len(lengths) >= LEAST_AT_ONCE,
        sentence=f"{what} ended {counted(len(ends), len(starts.ends))}{within}",
    )


def counted(num: int, num_restarts: int) -> str:
    if num == num_restarts:
        return f"{num} of {num} restart{'s' * (num != 1)}"
    return f"the last {num} of {num_restarts} restarts"


def duration(seconds: float) -> str:
    """``3 minutes``: a bound, so it is rounded up."""
    if seconds <= 90:
        number, unit = max(1, ceil(seconds)), "second"
    elif seconds <= 5400:
        number, unit = ceil(seconds / 60), "minute"
    else:
        number, unit = ceil(seconds / 3600), "hour"
    return f"{number} {unit}{'s' * (number != 1)}"
