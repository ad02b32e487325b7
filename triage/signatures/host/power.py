"""Power and cooling of a node where a log speaks of them: supplies, brakes, fans, backplanes.

Faults of these parts live in the management controller; what kernels, vendors' agents
and copied event lists say of them is read here in its plain wording.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import FATAL, NOISE, WARN, HostFamily
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

VENDOR = "server vendors' event texts"
SUPPLY = r"(?:power supply|PSU)(?:[ #_.-]?(?P<part>(?:unit |slot\.?)?[\w.-]{1,12}))?"
# Said of the same part a while later.
OVER = re.compile(
    r"\b(?:restored|recovered|deassert\w*|returned to normal|is back|cleared)\b", re.I
)
LIGHT = re.compile(r"redundan|predict|degraded|mismatch", re.I)


def supply(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A lost supply is an error, lost redundancy a warning, and either may have ended."""
    rest = match.string[match.start() :]
    if OVER.search(rest):
        return Reading(
            role=NOISE, category=Category.NONE, fields={"severity": WARN, "cleared": "yes"}
        )
    if LIGHT.search(match[0]):
        return Reading(weak=True, fields={"severity": WARN})
    return Reading()


POWER = HostFamily("power", Kind.POWER, source=VENDOR, scope=Scope.ANY)

POWER.root(
    "supply",
    rf"\b{SUPPLY}\b[^\n]{{0,40}}?\b(?P<event>(?:has |have |is |was |input )?"
    r"(?:failed|failure detected"
    r"|failure|lost|fault(?:y|ed)?\b|AC lost|input lost|absent|over-?temperature|over-?current"
    r"|under-?voltage|predictive failure|redundancy (?:is )?(?:lost|degraded)|not redundant))",
    literals=(
        "power supply",
        "psu ",
        "psu.",
        "psu#",
        "psu0",
        "psu1",
        "psu2",
        "psu3",
        "psu4",
        "psu5",
        "psu_",
    ),
    matches=(
        "Power supply 2 failed.",
        "The power input for power supply 1 is lost.",
        "Power Supply PS1 | Failure detected",
        "dgx-agent: PSU3 input lost",
        "Power supply redundancy is lost.",
        "PSU 4: power supply failure detected",
    ),
    near_misses=(
        "power_supply AC: online",
        "Power supply 2 is operating normally.",
        "hwmon: psu driver",
    ),
    category=Category.POWER,
    read=supply,
)
POWER.root(
    "brake",
    r"\bpower[ _]brake (?:signal |line |pin )?(?:was |is )?"
    r"(?:assert(?:ed|ion)|engaged|triggered|detected)",
    literals=("power brake", "power_brake"),
    matches=("power_brake detected on GPU tray 2", "BMC: GPU power brake asserted by PDB"),
    near_misses=("HW Power Brake Slowdown : Not Active", "power brake deasserted"),
    severity=WARN,
    category=Category.POWER,
    weak=True,
)
POWER.root(
    "lost",
    r"unexpected power loss\b|(?:power (?:loss|failure)|power fault) detected|loss of AC power"
    r"|AC power lost|Last Power Event: ac-failed|sudden power loss",
    literals=(
        "unexpected power loss",
        "power loss detected",
        "power failure detected",
        "loss of ac power",
        "ac power lost",
        "power fault detected",
        "last power event: ac-failed",
        "sudden power loss",
    ),
    matches=(
        "chassis: unexpected power loss on feed B",
        "bmcd: AC power lost",
        "pmbus 3-0058: power fault detected",
    ),
    near_misses=("no unexpected power losses",),
    severity=FATAL,
    category=Category.POWER,
)
POWER.advice(
    "management",
    r"\bipmi\w*[^\n]{0,60}?(?:KCS in invalid state|BMC returned incorrect response|BMC unresponsive"
    r"|timed out from BMC)",
    literals=(
        "kcs in invalid state",
        "bmc returned incorrect response",
        "bmc unresponsive",
        "timed out from bmc",
    ),
    matches=("ipmi_si IPI0001:00: KCS in invalid state 6",),
    near_misses=("ipmi_si IPI0001:00: IPMI kcs interface initialized",),
    source="Linux: drivers/char/ipmi",
    category=Category.CHASSIS,
    weak=True,
    scope=Scope.KERNEL,
)
POWER.root(
    "fan",
    r"\bfan (?:(?:module |tray |#)?[\w.-]{0,12} )?(?:failure|(?:has )?failed|fault\b|alarm"
    r"|RPM is less than|redundancy (?:is )?(?:lost|degraded))",
    literals=(
        "fan failure",
        "fan failed",
        "fan has failed",
        "fan fault",
        "rpm is less than",
        "fan redundancy",
        "fan alarm",
        "fan module",
    ),
    matches=(
        "System Board Fan 4A RPM is less than the lower critical threshold.",
        "bmc: fan failure on tray 2",
        "Fan redundancy is lost.",
        "fan module 3 failed",
    ),
    near_misses=("hwmon: fan 3 speed 9800 RPM",),
    category=Category.CHASSIS,
    kind=Kind.THERMAL,
)
POWER.root(
    "inlet",
    r"\b(?:inlet|ambient) temp(?:erature)?\b[^\n]{0,40}?"
    r"(?:greater than|above|exceed\w*|over|upper (?:critical|non-recoverable)|too high)",
    literals=("inlet temperature", "ambient temperature", "inlet temp"),
    matches=("The system inlet temperature is greater than the upper critical threshold.",),
    near_misses=("Inlet Temperature: 24 C",),
    severity=WARN,
    category=Category.CHASSIS,
    kind=Kind.THERMAL,
    weak=True,
)
POWER.root(
    "backplane",
    r"\bbackplane\b[^\n]{0,40}?\b(?:fail(?:ed|ure)|communication (?:is )?lost|not detected|fault"
    r"|error|removed|disconnected)",
    literals=("backplane",),
    matches=("Backplane 2 communication is lost.", "enclosure: backplane failure"),
    near_misses=("Backplane 2 is present.",),
    category=Category.CHASSIS,
)

SIGNATURES = POWER.signatures()
