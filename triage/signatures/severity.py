"""How bad a line is, and what the readers of lines share.

Every line about a node's own hardware and system carries ``fields["severity"]``: ``corrected``
and ``warn`` seldom stop a job however often they are repeated, ``error`` and ``fatal`` may.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.domain.evidence import EvidenceRole
from triage.signatures.pci import normalize_full_address
from triage.signatures.signature import Read, Reading

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
USUAL_SEVERITY: Final[Mapping[EvidenceRole, str]] = {
    ROOT: ERROR, CONSEQUENCE: ERROR, ADVICE: WARN, NOISE: UNGRADED,
}  # fmt: skip
"""Of a graded line that gives no severity, by its role."""

BDF = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
"""A PCI address as drivers print it in front of their words."""


def get_group_text(match: re.Match[str], group: str) -> str:
    """What a named group holds, lower case; empty where it took no part."""
    return (match.groupdict().get(group) or "").strip().lower()


def grade_reading(severity: str, read: Read | None) -> Read:
    """``read`` with the severity and the joined form of the device among its fields."""

    def reading_of(match: re.Match[str], after: Sequence[str]) -> Reading | None:
        reading = Reading() if read is None else read(match, after)
        if reading is None:
            return None
        fields = {"severity": severity} if severity else {}
        for name in ("device", "source"):
            device = get_group_text(match, name)
            if re.fullmatch(BDF, device):
                fields[name] = normalize_full_address(device) or device
        fields.update(reading.fields)
        return replace(reading, fields=fields)

    return reading_of
