"""What the person on call does next, and what was seen first where no cause is known."""

from dataclasses import dataclass
from datetime import datetime

from triage.domain.wire import WireForm

ANYWHERE = "any"
"""On any node of the job, on each of them, or where the files lie: the reason says which."""
LOGIN = "login"
"""Where the scheduler takes commands."""


@dataclass(frozen=True, slots=True)
class NextCommand(WireForm):
    """One line to type at ``where``: a node's name, ``any`` or ``login``."""

    where: str
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class NextStep(WireForm):
    """A sentence or two, and commands in the order in which they are typed."""

    text: str
    commands: tuple[NextCommand, ...] = ()


@dataclass(frozen=True, slots=True)
class Symptom(WireForm):
    """What was seen first of a stop without a cause; ``num_ranks`` say the same.

    ``seq_id`` is the number of the operation in its group ``pg``; None where no line says it.
    """

    text: str
    rank: int | None = None
    node: str | None = None
    op: str | None = None
    seq_id: int | None = None
    pg: str | None = None
    num_ranks: int = 0
    artifact: str | None = None
    line: int | None = None
    at: datetime | None = None
