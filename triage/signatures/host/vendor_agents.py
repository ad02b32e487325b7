"""Server vendors' agents in the system log: Dell's, HPE's and IPMI's, in their own sentences.

They tell what the management controller saw. The part stands in the sentence; whether
it is over, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import (
    ADVICE,
    CORRECTED,
    ERROR,
    FATAL,
    NOISE,
    WARN,
)
from triage.signatures.signature import Reading


@dataclass(frozen=True, slots=True)
class Part:
    """What a sentence is about, by its words; the specific before the general."""

    words: re.Pattern[str]
    category: Category
    kind: Kind


def make_part(words: str, category: Category, kind: Kind) -> Part:
    """A part, its words compared without case."""
    return Part(compile_re(words, re.IGNORECASE), category, kind)


_PARTS = (
    make_part(
        r"power suppl|\bpsu\b|power input|power unit|ac (?:lost|input)", Category.POWER, Kind.POWER
    ),
    make_part(
        r"\bdimm|memory (?:module|device|sensor|error)|\becc\b", Category.HOST_MEMORY, Kind.MEMORY
    ),
    make_part(r"gpu|accelerator", Category.GPU, Kind.GPU),
    make_part(r"machine check|processor|\bcpu\b|ierr", Category.CPU, Kind.CPU),
    make_part(r"\bdrive\b|physical disk|array disk|\bhdd\b|\bssd\b", Category.SSD, Kind.STORAGE),
    make_part(r"pcie?[ -]|pci (?:bus|slot)|bus (?:fatal|uncorrect)", Category.IO_BOARD, Kind.PCIE),
    make_part(r"\bfans?\b|cooling|temperature|thermal|inlet", Category.CHASSIS, Kind.THERMAL),
    make_part(r"voltage|backplane|system board|chassis", Category.CHASSIS, Kind.POWER),
    make_part(r"\bmemory\b", Category.HOST_MEMORY, Kind.MEMORY),
)
# What is over, or only told.
_OVER = compile_re(
    r"\b(?:repaired|restored|recovered|returned to|normal\b|deassert\w*|cleared|ok\b|regained"
    r"|presence detected|device enabled|fully redundant)",
    re.IGNORECASE,
)
_UNCORRECTED = compile_re(r"uncorrect\w*|multi-?bit|unrecoverable|non-?correctable", re.IGNORECASE)
_CORRECTED_WORDS = compile_re(
    r"(?<!un)correct(?:ed|able)|single-?bit|predict\w*|pre-?fail|non-critical|threshold exceeded",
    re.IGNORECASE,
)
_BAD = compile_re(
    r"fail(?:ed|ure)|critical|fault|lost|error|non-?recoverable|exception|trip|offline|removed",
    re.IGNORECASE,
)
_LIGHT = compile_re(r"redundan|degraded|caution|warning", re.IGNORECASE)


def sentence(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The part, how bad it is, and whether it is over; None where no part is named."""
    said = match["said"]
    known = next((one for one in _PARTS if one.words.search(said)), None)
    if known is None:
        return None
    uncorrected = _UNCORRECTED.search(said) is not None
    if _OVER.search(said) and not uncorrected:
        return Reading(role=NOISE, category=Category.NONE, fields={"cleared": "yes"})
    if uncorrected:
        return Reading(category=known.category, fields={"severity": FATAL})
    if _CORRECTED_WORDS.search(said):
        return Reading(
            category=known.category, role=ADVICE, weak=True, fields={"severity": CORRECTED}
        )
    if _LIGHT.search(said) and not re.search(r"failed|failure|critical", said, re.IGNORECASE):
        return Reading(category=known.category, weak=True, fields={"severity": WARN})
    if _BAD.search(said) is None:
        return Reading(role=NOISE, category=Category.NONE)
    return Reading(category=known.category, fields={"severity": ERROR})


SIGNATURES = load(__name__)
