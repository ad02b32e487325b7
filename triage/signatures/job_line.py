"""The form of an entry for a line that a job prints: the words that most entries share, once."""

import re
from collections.abc import Callable, Collection, Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait
from triage.signatures.signature import Reading, Scope, Signature

__all__ = ["ADVICE", "CONSEQUENCE", "NOISE", "ROOT", "Family", "Read"]

ROOT = EvidenceRole.ROOT
CONSEQUENCE = EvidenceRole.CONSEQUENCE
ADVICE = EvidenceRole.ADVICE
NOISE = EvidenceRole.NOISE

Read = Callable[["re.Match[str]", Sequence[str]], Reading | None]


class Family:
    """One family of job lines: collects its entries in the order in which they are tried.

    ``traits`` are those of all its entries.
    """

    def __init__(self, name: str, kind: Kind, traits: Collection[Trait] = ()) -> None:
        self.name = name
        self.kind = kind
        self.traits = frozenset(traits)
        self.entries: list[Signature] = []

    def add(
        self,
        name: str,
        role: EvidenceRole,
        literals: Sequence[str],
        pattern: str,
        hits: Sequence[str],
        near: Sequence[str],
        source: str,
        *,
        category: Category | None = None,
        also: Sequence[Category] = (),
        blame: Blame = Blame.SELF,
        weak: bool = False,
        context: int = 0,
        each: bool = False,
        quiet: bool = False,
        as_one: bool = False,
        read: Read | None = None,
        scope: Scope = Scope.JOB,
        kind: Kind | None = None,
        traits: Collection[Trait] = (),
    ) -> None:
        """One more entry, matched without case."""
        self.entries.append(
            Signature(
                id=f"{self.name}.{name}",
                kind=self.kind if kind is None else kind,
                role=role,
                literals=tuple(literals),
                pattern=re.compile(pattern, re.IGNORECASE),
                source=source,
                hits=tuple(hits),
                near_misses=tuple(near),
                category=category,
                also=tuple(also),
                blame=blame,
                weak=weak,
                scope=scope,
                context=context,
                each=each,
                quiet=quiet,
                as_one=as_one,
                traits=self.traits | frozenset(traits),
                read=read,
            )
        )

    def signatures(self) -> tuple[Signature, ...]:
        """The entries so far."""
        return tuple(self.entries)
