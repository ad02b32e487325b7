"""What a job log says of the progress of its job, as plain values.

A log of millions of lines comes down to some hundred points: a sample that is even over
the log, with the first and the last line of each form in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from triage.domain.evidence import NO_STAMP, Stamp


class Quantity(StrEnum):
    """A number that a line of progress prints. A new member goes to the end: extracts are kept."""

    STEP = "step"
    TOTAL = "total"
    """The step at which the job will be done, as the line tells it."""
    EPOCH = "epoch"
    STEP_S = "step_s"
    """Seconds of one step."""
    STEPS_PER_S = "steps_per_s"
    SAMPLES_PER_S = "samples_per_s"
    TOKENS_PER_S = "tokens_per_s"
    TFLOPS = "tflops"
    MFU = "mfu"
    LOSS = "loss"
    LOSS_SCALE = "loss_scale"
    GRAD_NORM = "grad_norm"
    SKIPPED = "skipped"
    """Steps whose update was left out: since the line before, or since the start."""
    NAN_STEPS = "nan_steps"
    BATCH = "batch"
    DATA_S = "data_s"
    """Seconds of one step in which the job waited for data."""
    COMPUTE_S = "compute_s"
    """Seconds of one step in which this rank computed."""
    ELAPSED_S = "elapsed_s"
    """Seconds since a progress bar began."""


class MarkKind(StrEnum):
    """What a job says of itself besides its steps."""

    BEGIN = "begin"
    END = "end"
    """The trainer or its launcher says that it is done, in order."""
    EVALUATION = "evaluation"
    EVALUATION_END = "evaluation_end"
    CHECKPOINT = "checkpoint"
    CHECKPOINT_END = "checkpoint_end"
    HEARTBEAT = "heartbeat"
    OVERFLOW = "overflow"
    """A step whose gradients were too large for their number format, and which was left out."""
    TRACEBACK = "traceback"
    RESTART = "restart"
    """A launcher or scheduler says that the job begins again in the same log."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a log and its time. ``order`` counts lines of progress: a bar redraws itself
    many times in one line.
    """

    line: int
    order: int
    stamp: Stamp = NO_STAMP
    at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One line of progress.

    ``counter`` is the word before the step (``iteration``, ``bar``), empty where the line
    has none: lines of one counter are one series. ``index`` says how many lines of its form
    came before it, sampled or not.
    """

    place: Place
    counter: str
    index: int
    values: Mapping[Quantity, float]
    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Lines of one form that say something besides a step; some of their places, in order,
    with the first and the last among them.
    """

    kind: MarkKind
    text: str
    count: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class JobSteps:
    """The progress that one log prints, in the order of its lines. ``seen`` lines were sampled."""

    steps: tuple[Step, ...] = ()
    marks: tuple[Mark, ...] = ()
    seen: int = 0
