"""One detector's claim: on ranks, on nodes or on nobody, with its reasons."""

from dataclasses import dataclass

from triage.domain.category import Category, Role, VerdictKind
from triage.domain.report import Because


@dataclass(frozen=True, slots=True)
class Finding:
    """What a detector says.

    ``ranks`` are global; empty for a claim on nobody. ``strength`` is the
    probability that the claim is right when nothing else is known. ``kind`` and
    ``category`` are what the whole incident is if this finding stands.
    ``summary`` is a clause about the ranks ("stopped issuing work ...").
    """

    detector: str
    kind: VerdictKind
    category: Category
    ranks: tuple[int, ...]
    strength: float
    role: Role
    summary: str
    because: tuple[Because, ...]
    end: int | None = None
    """The end of the wait-for graph that this explains; of two findings on one
    end the detector that stands earlier in the registry is heard."""
    late_ms: float | None = None
    explained_by: frozenset[Category] = frozenset()
    """The causes that can make what was seen; empty: its own category alone."""
    is_gap: bool = False
    """What speaks for it is a missing file: nothing that a record says."""
    ranks_disagree: bool = False
    """Records show that what ``ranks`` issued does not fit what their peers did."""
    one_of: bool = False
    """One of ``ranks`` is meant, and nothing tells which."""
    nodes: tuple[str, ...] = ()
    """Nodes that it speaks of where it knows no rank on them."""
    of_looks: bool = False
    """It rests on looks at the running job: beside dumps, a source of its own."""
    of_a_moment: bool = False
    """One look shows it, which may show the same of a job that runs."""
    advice: str = ""
    """Where to look next, for a claim on nobody."""

    def can_be_due_to(self, cause: Category) -> bool:
        """Whether ``cause`` at the same place accounts for the claim."""
        return cause in (self.explained_by or {self.category})
