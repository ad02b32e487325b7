"""How a training job moved, as its own lines tell it: to the end, up to a stop, slower, astray.

Silence is not health. A job is called healthy where it ended in order, or where it went on
at its own pace up to the end of what was collected.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Health(StrEnum):
    """What the progress lines of a job say of it."""

    HEALTHY_END = "healthy_end"
    MOVING_TO_THE_END = "moving_to_the_end"
    STOPPED = "stopped"
    SLOWED = "slowed"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"

    @property
    def well(self) -> bool:
        """Whether this is a sign of health, and not only no sign of trouble."""
        return self in (Health.HEALTHY_END, Health.MOVING_TO_THE_END)


class ChangeKind(StrEnum):
    """What changed in the course of a job."""

    STOPPED = "stopped"
    SLOWER = "slower"
    SPIKES = "spikes"
    """Single steps that take far longer than the others."""
    LOSS_NOT_A_NUMBER = "loss_not_a_number"
    LOSS_EXPLODED = "loss_exploded"
    LOSS_ROSE = "loss_rose"
    GRADIENT_NOT_A_NUMBER = "gradient_not_a_number"
    LOSS_SCALE_COLLAPSED = "loss_scale_collapsed"
    EVERY_STEP_SKIPPED = "every_step_skipped"


_DIVERGING = frozenset(
    {
        ChangeKind.LOSS_NOT_A_NUMBER,
        ChangeKind.LOSS_EXPLODED,
        ChangeKind.GRADIENT_NOT_A_NUMBER,
        ChangeKind.LOSS_SCALE_COLLAPSED,
        ChangeKind.EVERY_STEP_SKIPPED,
    }
)


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """A line of progress: its step where it counts one, its place, and its time (UTC ns)."""

    artifact: str
    line: int
    step: int | None = None
    at_ns: int | None = None
    in_zone: bool = False
    """Whether its clock says of which zone it is."""

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "step": self.step,
            "at": format_utc(self.at_ns),
            "artifact": self.artifact,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """A change that lasts to the end, unless its text says otherwise.

    ``before`` and ``after`` are the levels: seconds of a step (without a unit where only a rate
    is printed), losses, scales. ``text`` is a sentence without its full stop.
    ``lasting`` is false for what was there from the start, or went away again.
    """

    kind: ChangeKind
    text: str
    since: ProgressPoint
    before: float | None = None
    after: float | None = None
    lasting: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "kind": str(self.kind),
            "text": self.text,
            "since": self.since.to_dict(),
            "before": _get_finite(self.before),
            "after": _get_finite(self.after),
            "lasting": self.lasting,
        }


@dataclass(frozen=True, slots=True)
class SlowRank:
    """A rank that takes ``ratio`` times as long as the middle one of its peers."""

    rank: int | None
    node: str | None
    local_rank: int | None
    ratio: float
    peers: int
    example: ProgressPoint
    what: str

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "rank": self.rank,
            "node": self.node,
            "ratio": round(self.ratio, 4),
            "peers": self.peers,
            "what": self.what,
            "artifact": self.example.artifact,
            "line": self.example.line,
        }


@dataclass(frozen=True, slots=True)
class IdleGpus:
    """That all ``gpus`` of the job idled from ``since_ns`` until ``until_ns``, the end of their
    telemetry; ``busy_until_ns`` is when one of them last did not, None where none ever was.
    """

    busy_until_ns: int | None
    since_ns: int
    until_ns: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Curve:
    """Points to draw: all lists are of one length; None where a line does not print it."""

    step: tuple[int | None, ...] = ()
    at_ns: tuple[int | None, ...] = ()
    step_time: tuple[float | None, ...] = ()
    loss: tuple[float | None, ...] = ()
    in_seconds: bool = True
    """Whether ``step_time`` is in seconds; it is the reciprocal of a printed rate otherwise."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The course of one job.

    ``first`` and ``last`` are None where the job began and printed no step. ``total`` is the
    number of steps that it set out for. ``ended`` is the line that says that it ended in order,
    ``ended_how`` its words. ``until_ns`` is how far the collected job logs reach. ``step_s`` is the
    usual time of a step, ``gap_s`` that between two lines of progress; ``silent_s`` lies
    between the last of them and ``until_ns``. ``doing`` is what the job had begun after its
    last step (``evaluation``, ``checkpoint``), ``doing_since`` the line that says it; ``traceback``
    that one stands behind that step, ``failed_behind`` that something failed behind the end.
    ``error_at_end`` is line and text of an error behind that step that no signature knows.
    ``slow_ranks`` are the slowest first. ``changes`` are all that was found, by time.
    ``pause_s`` is the longest silence that its own pace explains. ``left_s`` is how much longer
    the logs of nodes are, None where that says nothing.
    ``lines_after`` counts the lines of that log behind the last step.
    """

    first: ProgressPoint | None
    last: ProgressPoint | None
    total: int | None = None
    ended: ProgressPoint | None = None
    ended_how: str | None = None
    until_ns: int | None = None
    step_s: float | None = None
    gap_s: float | None = None
    silent_s: float | None = None
    pause_s: float | None = None
    left_s: float | None = None
    lines_after: int = 0
    lines_between: float = 1.0
    doing: str | None = None
    doing_since: ProgressPoint | None = None
    traceback: bool = False
    failed_behind: bool = False
    error_at_end: tuple[int, str] | None = None
    changes: tuple[Change, ...] = ()
    slow_ranks: tuple[SlowRank, ...] = ()
    curve: Curve = field(default_factory=Curve)
    health: Health = Health.UNKNOWN
    said: str = ""
    """The health as a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """The wire form; the curve is left to the pictures."""
        return {
            "health": str(self.health),
            "text": self.said,
            "first": None if self.first is None else self.first.to_dict(),
            "last": None if self.last is None else self.last.to_dict(),
            "total_steps": self.total,
            "ended": None if self.ended is None else self.ended.to_dict(),
            "until": format_utc(self.until_ns),
            "step_s": _round_value(self.step_s),
            "silent_s": _round_value(self.silent_s),
            "changes": [one.to_dict() for one in self.changes],
            "slow_ranks": [one.to_dict() for one in self.slow_ranks],
        }

    def change(self, *kinds: ChangeKind) -> Change | None:
        """The first lasting change of one of these kinds."""
        return next(
            (change for change in self.changes if change.kind in kinds and change.lasting), None
        )

    @property
    def is_ended_by_count(self) -> bool:
        """Whether a count of steps is full, and nobody said that the job was done."""
        end, last = self.ended, self.last
        return (
            end is not None
            and last is not None
            and (end.artifact, end.line) == (last.artifact, last.line)
        )

    @property
    def stopped(self) -> Change | None:
        """That the steps ended while the job was still there."""
        return self.change(ChangeKind.STOPPED)

    @property
    def slowed(self) -> Change | None:
        """That steps take longer than they did, to the end or again and again."""
        return self.change(ChangeKind.SLOWER, ChangeKind.SPIKES)

    @property
    def diverged(self) -> Change | None:
        """That the training went astray and did not come back."""
        return self.change(*_DIVERGING)


def _get_finite(value: float | None) -> float | None:
    """A number that JSON can hold; None for the others."""
    return value if value is not None and abs(value) < float("inf") else None


def _round_value(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def format_utc(ns: int | None) -> str | None:
    """``ns`` since the epoch as RFC 3339 text in UTC; None for no time and absurd ones."""
    if ns is None or not 0 < ns < 4_102_444_800_000_000_000:
        return None
    text = datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
