"""Server vendors' agents in the system log: Dell's, HPE's and IPMI's, in their own sentences.

They tell what the management controller saw. The part stands in the sentence; whether
it is over, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import (
    ADVICE,
    CORRECTED,
    ERROR,
    FATAL,
    NOISE,
    UNGRADED,
    WARN,
    HostFamily,
)
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a sentence is about, by its words; the specific before the general."""

    words: re.Pattern[str]
    category: Category
    kind: Kind


def part(words: str, category: Category, kind: Kind) -> Part:
    """A part, its words compared without case."""
    return Part(re.compile(words, re.IGNORECASE), category, kind)


PARTS = (
    part(
        r"power suppl|\bpsu\b|power input|power unit|ac (?:lost|input)", Category.POWER, Kind.POWER
    ),
    part(
        r"\bdimm|memory (?:module|device|sensor|error)|\becc\b", Category.HOST_MEMORY, Kind.MEMORY
    ),
    part(r"gpu|accelerator", Category.GPU, Kind.GPU),
    part(r"machine check|processor|\bcpu\b|ierr", Category.CPU, Kind.CPU),
    part(r"\bdrive\b|physical disk|array disk|\bhdd\b|\bssd\b", Category.SSD, Kind.STORAGE),
    part(r"pcie?[ -]|pci (?:bus|slot)|bus (?:fatal|uncorrect)", Category.IO_BOARD, Kind.PCIE),
    part(r"\bfans?\b|cooling|temperature|thermal|inlet", Category.CHASSIS, Kind.THERMAL),
    part(r"voltage|backplane|system board|chassis", Category.CHASSIS, Kind.POWER),
    part(r"\bmemory\b", Category.HOST_MEMORY, Kind.MEMORY),
)
# What is over, or only told.
OVER = re.compile(
    r"\b(?:repaired|restored|recovered|returned to|normal\b|deassert\w*|cleared|ok\b|regained"
    r"|presence detected|device enabled|fully redundant)",
    re.IGNORECASE,
)
UNCORRECTED = re.compile(r"uncorrect\w*|multi-?bit|unrecoverable|non-?correctable", re.IGNORECASE)
CORRECTED_WORDS = re.compile(
    r"(?<!un)correct(?:ed|able)|single-?bit|predict\w*|pre-?fail|non-critical|threshold exceeded",
    re.IGNORECASE,
)
BAD = re.compile(
    r"fail(?:ed|ure)|critical|fault|lost|error|non-?recoverable|exception|trip|offline|removed",
    re.IGNORECASE,
)
LIGHT = re.compile(r"redundan|degraded|caution|warning", re.IGNORECASE)


def sentence(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The part, how bad it is, and whether it is over; None where no part is named."""
    said = match["said"]
    known = next((one for one in PARTS if one.words.search(said)), None)
    if known is None:
        return None
    uncorrected = UNCORRECTED.search(said) is not None
    if OVER.search(said) and not uncorrected:
        return Reading(role=NOISE, category=Category.NONE, fields={"cleared": "yes"})
    if uncorrected:
        return Reading(category=known.category, fields={"severity": FATAL})
    if CORRECTED_WORDS.search(said):
        return Reading(
            category=known.category, role=ADVICE, weak=True, fields={"severity": CORRECTED}
        )
    if LIGHT.search(said) and not re.search(r"failed|failure|critical", said, re.IGNORECASE):
        return Reading(category=known.category, weak=True, fields={"severity": WARN})
    if BAD.search(said) is None:
        return Reading(role=NOISE, category=Category.NONE)
    return Reading(category=known.category, fields={"severity": ERROR})


AGENT = HostFamily("vendor", Kind.POWER, scope=Scope.ANY, read=sentence)

AGENT.root(
    "dell",
    r"Server Administrator(?: \([^)\n]{1,30}\))?:? ?[^\n]{0,40}?EventID: (?P<event>\d{4})\s{1,4}"
    r"(?P<said>[^\n]{4,300})",
    literals=(
        "server administrator: ",
        "server administrator (",
        "instrumentation service eventid",
    ),
    matches=(
        "Server Administrator: Instrumentation Service EventID: 1404  Memory device status is"
        " critical Memory device location: DIMM_A3 Possible memory module event cause: Multi bit"
        " error encountered",
        "Server Administrator: Instrumentation Service EventID: 1354  Power supply detected a"
        " failure Sensor location: PS 2 Status",
    ),
    near_misses=(
        "Server Administrator: Instrumentation Service EventID: 1000  Server Administrator"
        " starting",
    ),
    source="Dell OpenManage: message reference",
    severity=UNGRADED,
)
AGENT.root(
    "hpe",
    r"\b(?:hpasm\w{0,8}|hp-ams|hp-health|amsd|ahslog|hpelogd?|hplog|iLO ?\d?)(?:\[\d{1,9}\])?: "
    r"(?:(?:CRITICAL|WARNING|CAUTION|INFO|REPAIRED|NOTICE)\b:? ?)?(?P<said>[^\n]{4,300})",
    literals=("hpasm", "hp-ams", "hp-health", "amsd", "hpehealth", "hplog", "ilo"),
    matches=(
        "hpasmlited[3390]: CRITICAL: System Memory: Uncorrectable Memory Error (Processor 1, DIMM"
        " 4)",
        "hpasmlited: CRITICAL: Power Supplies: System power supply 2 has failed.",
        "hp-ams[2140]: CRITICAL: System Fans: Fan 4 has failed",
    ),
    near_misses=("hpasmlited[3390]: INFO: hp-health has started", "silo: WARNING: fan failed"),
    source="HPE: hp-health and ams, entries of the integrated management log",
    severity=UNGRADED,
)
AGENT.root(
    "ipmi_events",
    r"\bipmievd(?:\[\d{1,9}\])?: (?P<said>[^\n]{4,300})",
    literals=("ipmievd",),
    matches=(
        "ipmievd: Memory sensor DIMM_E1 - Uncorrectable ECC Asserted",
        "ipmievd[2011]: Power Supply sensor PS2 Status - Failure detected Asserted",
    ),
    near_misses=("ipmievd: Reading sensors...", "the ipmievd: was stopped"),
    source="ipmitool: ipmievd",
    severity=UNGRADED,
)

SIGNATURES = AGENT.signatures()
