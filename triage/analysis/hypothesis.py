"""One possible cause of the stop: a category at a place, with all that speaks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from triage.analysis.roles import mild
from triage.domain.category import Category
from triage.domain.evidence import Evidence
from triage.domain.finding import Finding

__all__ = ["UNKNOWN_LEAF", "Hypothesis", "Seats", "by_time", "sure"]


class Seats(Protocol):
    """Who sits where, as far as it is known."""

    def node_of(self, rank: int) -> str | None:
        """The node of a rank."""
        ...

    def gpu_of(self, rank: int) -> str | None:
        """The GPU of a rank, ``dddd:bb:dd``."""
        ...

    def rank_of_gpu(self, node: str, gpu: str) -> int | None:
        """The rank on a GPU of a node."""
        ...

    def node_of_address(self, text: str) -> str | None:
        """The node that an address or an alias belongs to."""
        ...


# A switch that several nodes must have in common, where nothing says which one it is.
UNKNOWN_LEAF: Final = "(not known)"


@dataclass(slots=True)
class Hypothesis:
    """``category`` at ``node`` (None: at none, or not known at which).

    ``rows`` are the roots that nothing explains, the earliest first; ``followers`` how
    many rows they explain. ``findings`` are the detectors' claims that it accounts for.
    ``nodes`` are those that the cause reaches without being its origin. ``shared`` says
    that the cause is in no single node. ``features`` are what the model weighs.
    """

    category: Category
    node: str | None
    rows: list[Evidence] = field(default_factory=list)
    also: frozenset[Category] = frozenset()
    followers: int = 0
    findings: list[Finding] = field(default_factory=list)
    ranks: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    shared: bool = False
    leaf: str | None = None
    votes: int = 0
    features: Mapping[str, float] = field(default_factory=dict)
    weight: float = 0.0
    belief: float = 0.0

    @property
    def place(self) -> tuple[str, int]:
        """What a suspect row stands for: a node, else a rank, else nothing."""
        if self.node is not None:
            return (self.node, -1)
        return ("", self.ranks[0] if self.ranks else -1)

    def order(self) -> tuple[float, float, str, str, tuple[int, ...]]:
        """Best first; ties do not depend on the order of files."""
        return (-self.belief, -self.weight, self.node or "~", str(self.category), self.ranks)


def by_time(row: Evidence) -> tuple[bool, int, str, int, str]:
    """Order of time, the same however the files came; undated rows last."""
    return (row.at_ns is None, row.at_ns or 0, row.artifact, row.line or 0, row.signature)


def sure(one: Hypothesis) -> bool:
    """Whether rows alone would accuse the place of it."""
    return any(not row.weak and not mild(row) for row in one.rows) and (
        one.category is not Category.NCCL_TIMEOUT
    )
