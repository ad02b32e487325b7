"""The form of an entry: what is searched for in a line, its proof, and what the line means.

A :class:`Family` is a table of entries in the order in which they are tried. What most of
its entries share stands once, at the family; an entry that differs says so.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, TypedDict, Unpack

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait
from triage.signatures.pci import full_address
from triage.signatures.signature import Read, Reading, Scope, Signature

__all__ = [
    "ADVICE", "BDF", "CONSEQUENCE", "CORRECTED", "ERROR", "FATAL", "NOISE", "ROOT", "UNGRADED",
    "WARN", "Entry", "Family", "HostFamily", "graded", "says",
]  # fmt: skip

ROOT = EvidenceRole.ROOT
CONSEQUENCE = EvidenceRole.CONSEQUENCE
ADVICE = EvidenceRole.ADVICE
NOISE = EvidenceRole.NOISE

CORRECTED = "corrected"
WARN = "warn"
ERROR = "error"
FATAL = "fatal"
UNGRADED = ""
"""The severity of a line that is no fault of anything, or whose reader grades it."""

BDF = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
"""A PCI address as drivers print it in front of their words."""


class Shared(TypedDict, total=False):
    """The fields of :class:`Signature` that the entries of a family may share."""

    source: str
    category: Category | None
    also: tuple[Category, ...]
    blame: Blame
    weak: bool
    scope: Scope
    context: int
    each: bool
    quiet: bool
    as_one: bool
    read: Read | None


class Fields(Shared):
    """The fields of :class:`Signature` that an entry gives; three of them it must give."""

    literals: tuple[str, ...]
    matches: tuple[str, ...]
    near_misses: tuple[str, ...]


class Entry(Fields, total=False):
    """What an entry says beside its name, its role and its pattern."""

    kind: Kind
    severity: str | None
    traits: Collection[Trait]


class Family:
    """The entries about one kind of line of a job.

    ``traits`` are those of all entries, to which an entry adds its own. ``shared`` are
    fields of all entries that do not give them themselves.
    """

    scope = Scope.JOB
    usual_severity: ClassVar[Mapping[EvidenceRole, str]] = {}

    def __init__(
        self, name: str, kind: Kind, *, traits: Collection[Trait] = (), **shared: Unpack[Shared]
    ) -> None:
        self.name = name
        self.kind = kind
        self.traits = frozenset(traits)
        self.shared = shared
        self.entries: list[Signature] = []

    def root(self, name: str, pattern: str, **entry: Unpack[Entry]) -> None:
        """A line that states a cause."""
        self.add(name, ROOT, pattern, **entry)

    def consequence(self, name: str, pattern: str, **entry: Unpack[Entry]) -> None:
        """A line that states an effect, or what several causes print alike."""
        self.add(name, CONSEQUENCE, pattern, **entry)

    def advice(self, name: str, pattern: str, **entry: Unpack[Entry]) -> None:
        """A line that explains or recommends, and is no event."""
        self.add(name, ADVICE, pattern, **entry)

    def noise(self, name: str, pattern: str, **entry: Unpack[Entry]) -> None:
        """A line that blames nothing."""
        self.add(name, NOISE, pattern, **entry)

    def add(
        self,
        name: str,
        role: EvidenceRole,
        pattern: str,
        *,
        kind: Kind | None = None,
        severity: str | None = None,
        traits: Collection[Trait] = (),
        **fields: Unpack[Fields],
    ) -> None:
        """One more entry, matched without case; a severity goes into its fields."""
        merged: Fields = {"scope": self.scope, **self.shared, **fields}
        if severity is None:
            severity = self.usual_severity.get(role)
        if severity is not None:
            merged["read"] = graded(severity, merged.get("read"))
        self.entries.append(
            Signature(
                id=f"{self.name}.{name}",
                kind=kind or self.kind,
                role=role,
                pattern=re.compile(pattern, re.IGNORECASE),
                traits=self.traits | frozenset(traits),
                **merged,
            )
        )

    def signatures(self) -> tuple[Signature, ...]:
        """The entries so far."""
        return tuple(self.entries)


class HostFamily(Family):
    """The entries about a node's own hardware and system.

    Every such line carries ``fields["severity"]``: ``corrected`` and ``warn`` seldom stop
    a job however often they are repeated, ``error`` and ``fatal`` may. An entry that gives
    none has the usual one of its role.
    """

    scope = Scope.KERNEL
    usual_severity: ClassVar = {ROOT: ERROR, CONSEQUENCE: ERROR, ADVICE: WARN, NOISE: UNGRADED}


def says(match: re.Match[str], group: str) -> str:
    """What a named group holds, lower case; empty where it took no part."""
    return (match.groupdict().get(group) or "").strip().lower()


def graded(severity: str, read: Read | None) -> Read:
    """``read`` with the severity and the joined form of the device among its fields."""

    def reading_of(match: re.Match[str], after: Sequence[str]) -> Reading | None:
        reading = Reading() if read is None else read(match, after)
        if reading is None:
            return None
        fields = {"severity": severity} if severity else {}
        device = says(match, "device")
        if re.fullmatch(BDF, device):
            fields["device"] = full_address(device) or device
        fields.update(reading.fields)
        return replace(reading, fields=fields)

    return reading_of
