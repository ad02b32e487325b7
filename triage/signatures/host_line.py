"""The form of an entry for a line about a node's own hardware and system: graded, with its device.

Every such line carries ``fields["severity"]``: ``corrected`` and ``warn`` seldom stop a
job however often they are repeated, ``error`` and ``fatal`` may.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait
from triage.signatures.job_line import Family
from triage.signatures.pci import full_address
from triage.signatures.signature import Reading, Scope

__all__ = ["BDF", "CORRECTED", "ERROR", "FATAL", "WARN", "HostFamily", "says"]

CORRECTED = "corrected"
WARN = "warn"
ERROR = "error"
FATAL = "fatal"

BDF = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
"""A PCI address as drivers print it in front of their words."""

Read = Callable[["re.Match[str]", Sequence[str]], Reading | None]


def says(found: re.Match[str], group: str) -> str:
    """What a named group holds, lower case; empty where it took no part."""
    return (found.groupdict().get(group) or "").strip().lower()


def graded(severity: str | None, read: Read | None) -> Read:
    """``read`` with the severity and the joined form of the device among its fields."""

    def reading_of(found: re.Match[str], after: Sequence[str]) -> Reading | None:
        reading = Reading() if read is None else read(found, after)
        if reading is None:
            return None
        fields: dict[str, str] = {} if severity is None else {"severity": severity}
        device = says(found, "device")
        if re.fullmatch(BDF, device):
            fields["device"] = full_address(device) or device
        fields.update(reading.fields)
        return replace(reading, fields=fields)

    return reading_of


class HostFamily(Family):
    """One family of lines about the node itself, in the order in which they are tried."""

    def line(
        self,
        name: str,
        role: EvidenceRole,
        severity: str | None,
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
        as_one: bool = False,
        read: Read | None = None,
        scope: Scope = Scope.KERNEL,
        kind: Kind | None = None,
        traits: Collection[Trait] = (),
    ) -> None:
        """One more entry; ``severity`` None is for lines that are no fault of anything."""
        self.add(
            name,
            role,
            literals,
            pattern,
            hits,
            near,
            source,
            category=category,
            also=also,
            blame=blame,
            weak=weak,
            context=context,
            each=each,
            as_one=as_one,
            read=graded(severity, read),
            scope=scope,
            kind=kind,
            traits=traits,
        )
