"""Whether a job that stopped is worth starting again, and what is known of its earlier starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.wire import Count, WireForm

# Of a job that was started more often, the newest ends tell enough.
MAX_ENDS: Final = 32
_MAX_NODES: Final = 64
_MAX_RESTARTS: Final = 10_000
_YEAR_S: Final = 366 * 86_400.0


class RestartDecision(StrEnum):
    """What to do with the job."""

    RESTART = "restart"
    RESTART_WITHOUT = "restart_without"  # these nodes
    STOP = "stop"  # until somebody has fixed it
    WAIT = "wait"  # until what it depends on is back


@dataclass(frozen=True, slots=True)
class Restart(WireForm):
    """``exclude`` are the nodes to leave out; ``retries_left`` how many more starts are worth
    trying while it ends by the same cause, 0 where none is.
    """

    decision: RestartDecision
    exclude: tuple[str, ...]
    retries_left: Count
    why: str


@dataclass(frozen=True, slots=True)
class EarlierEnd:
    """How an earlier start of the same job ended.

    ``category`` is None where nothing tells the cause; ``nodes`` are those convicted.
    ``ran_s`` is how long it ran at most, None where nothing tells.
    """

    category: Category | None
    nodes: tuple[str, ...] = ()
    ran_s: float | None = None


@dataclass(frozen=True, slots=True)
class EarlierStarts:
    """What is known of the starts of a job before the one that has stopped now.

    ``restarts`` is how often it was started again, as somebody says who counts them; None where
    nobody does. ``ran_s`` is how long the newest start ran at most. ``ends`` are those of
    earlier starts as our own record has them, the newest first.
    """

    restarts: int | None = None
    ran_s: float | None = None
    ends: tuple[EarlierEnd, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Its object in JSON, which :func:`read_starts` reads."""
        return {
            "restarts": self.restarts,
            "ran_s": self.ran_s,
            "ends": [
                {"category": end.category, "nodes": list(end.nodes), "ran_s": end.ran_s}
                for end in self.ends
            ],
        }


NO_STARTS: Final = EarlierStarts()
"""Where nothing is known of earlier starts."""


def read_starts(raw: Mapping[str, Any]) -> EarlierStarts:
    """What :meth:`EarlierStarts.to_dict` wrote; what cannot be, such as a negative number of
    restarts or of seconds, is not known.

    >>> starts_from({"restarts": -1, "ran_s": 90, "ends": [{"category": "gpu_oom", "ran_s": 60}]})
    ... # doctest: +NORMALIZE_WHITESPACE
    EarlierStarts(restarts=None, ran_s=90.0,
        ends=(EarlierEnd(category=<Category.GPU_OOM: 'gpu_oom'>, nodes=(), ran_s=60.0),))
    """
    ends = raw.get("ends")
    return EarlierStarts(
        parse_restarts(raw.get("restarts")),
        read_seconds(raw.get("ran_s")),
        tuple(_read_end(one) for one in ends[:MAX_ENDS] if isinstance(one, Mapping))
        if isinstance(ends, Sequence) and not isinstance(ends, str)
        else (),
    )


def _read_end(raw: Mapping[str, Any]) -> EarlierEnd:
    category, nodes = raw.get("category"), raw.get("nodes")
    named = nodes[:_MAX_NODES] if isinstance(nodes, list) else ()
    return EarlierEnd(
        Category(category) if isinstance(category, str) and category in set(Category) else None,
        tuple(node for node in named if isinstance(node, str)),
        read_seconds(raw.get("ran_s")),
    )


def parse_restarts(value: object) -> int | None:
    """A number of restarts, also as text; None for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 8:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_RESTARTS:
        return value
    return None


def read_seconds(value: object) -> float | None:
    """A time that a start can have run; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value) if 0 <= value <= _YEAR_S else None
