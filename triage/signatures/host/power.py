"""Power and cooling of a node where a log speaks of them: supplies, brakes, fans, backplanes.

Faults of these parts live in the management controller; what kernels, vendors' agents
and copied event lists say of them is read here in its plain wording.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.host_line import ERROR, FATAL, WARN, HostFamily
from triage.signatures.job_line import ADVICE, NOISE, ROOT
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

POWER = HostFamily("power", Kind.POWER)
VENDOR = "server vendors' event texts"
SUPPLY = r"(?:power supply|PSU)(?:[ #_.-]?(?P<part>(?:unit |slot\.?)?[\w.-]{1,12}))?"
# Said of the same part a while later.
OVER = re.compile(
    r"\b(?:restored|recovered|deassert\w*|returned to normal|is back|cleared)\b", re.I
)
LIGHT = re.compile(r"redundan|predict|degraded|mismatch", re.I)


def supply(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """A lost supply is an error, lost redundancy a warning, and either may have ended."""
    rest = found.string[found.start() :]
    if OVER.search(rest):
        return Reading(
            role=NOISE, category=Category.NONE, fields={"severity": WARN, "cleared": "yes"}
        )
    if LIGHT.search(found[0]):
        return Reading(weak=True, fields={"severity": WARN})
    return Reading()


POWER.line(
    "supply",
    ROOT,
    ERROR,
    (
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
    rf"\b{SUPPLY}\b[^\n]{{0,40}}?\b(?P<event>(?:has |have |is |was |input )?"
    r"(?:failed|failure detected"
    r"|failure|lost|fault(?:y|ed)?\b|AC lost|input lost|absent|over-?temperature|over-?current"
    r"|under-?voltage|predictive failure|redundancy (?:is )?(?:lost|degraded)|not redundant))",
    (
        "Power supply 2 failed.",
        "The power input for power supply 1 is lost.",
        "Power Supply PS1 | Failure detected",
        "dgx-agent: PSU3 input lost",
        "Power supply redundancy is lost.",
        "PSU 4: power supply failure detected",
    ),
    ("power_supply AC: online", "Power supply 2 is operating normally.", "hwmon: psu driver"),
    VENDOR,
    category=Category.POWER,
    scope=Scope.ANY,
    read=supply,
)
POWER.line(
    "brake",
    ROOT,
    WARN,
    ("power brake", "power_brake"),
    r"\bpower[ _]brake (?:signal |line |pin )?(?:was |is )?"
    r"(?:assert(?:ed|ion)|engaged|triggered|detected)",
    ("power_brake detected on GPU tray 2", "BMC: GPU power brake asserted by PDB"),
    ("HW Power Brake Slowdown : Not Active", "power brake deasserted"),
    VENDOR,
    category=Category.POWER,
    weak=True,
    scope=Scope.ANY,
)
POWER.line(
    "lost",
    ROOT,
    FATAL,
    (
        "unexpected power loss",
        "power loss detected",
        "power failure detected",
        "loss of ac power",
        "ac power lost",
        "power fault detected",
        "last power event: ac-failed",
        "sudden power loss",
    ),
    r"unexpected power loss\b|(?:power (?:loss|failure)|power fault) detected|loss of AC power"
    r"|AC power lost|Last Power Event: ac-failed|sudden power loss",
    (
        "chassis: unexpected power loss on feed B",
        "bmcd: AC power lost",
        "pmbus 3-0058: power fault detected",
    ),
    ("no unexpected power losses",),
    VENDOR,
    category=Category.POWER,
    scope=Scope.ANY,
)
POWER.line(
    "management",
    ADVICE,
    WARN,
    (
        "kcs in invalid state",
        "bmc returned incorrect response",
        "bmc unresponsive",
        "timed out from bmc",
    ),
    r"\bipmi\w*[^\n]{0,60}?(?:KCS in invalid state|BMC returned incorrect response|BMC unresponsive"
    r"|timed out from BMC)",
    ("ipmi_si IPI0001:00: KCS in invalid state 6",),
    ("ipmi_si IPI0001:00: IPMI kcs interface initialized",),
    "Linux: drivers/char/ipmi",
    category=Category.CHASSIS,
    weak=True,
)
POWER.line(
    "fan",
    ROOT,
    ERROR,
    (
        "fan failure",
        "fan failed",
        "fan has failed",
        "fan fault",
        "rpm is less than",
        "fan redundancy",
        "fan alarm",
        "fan module",
    ),
    r"\bfan (?:(?:module |tray |#)?[\w.-]{0,12} )?(?:failure|(?:has )?failed|fault\b|alarm"
    r"|RPM is less than|redundancy (?:is )?(?:lost|degraded))",
    (
        "System Board Fan 4A RPM is less than the lower critical threshold.",
        "bmc: fan failure on tray 2",
        "Fan redundancy is lost.",
        "fan module 3 failed",
    ),
    ("hwmon: fan 3 speed 9800 RPM",),
    VENDOR,
    category=Category.CHASSIS,
    kind=Kind.THERMAL,
    scope=Scope.ANY,
)
POWER.line(
    "inlet",
    ROOT,
    WARN,
    ("inlet temperature", "ambient temperature", "inlet temp"),
    r"\b(?:inlet|ambient) temp(?:erature)?\b[^\n]{0,40}?"
    r"(?:greater than|above|exceed\w*|over|upper (?:critical|non-recoverable)|too high)",
    ("The system inlet temperature is greater than the upper critical threshold.",),
    ("Inlet Temperature: 24 C",),
    VENDOR,
    category=Category.CHASSIS,
    kind=Kind.THERMAL,
    scope=Scope.ANY,
    weak=True,
)
POWER.line(
    "backplane",
    ROOT,
    ERROR,
    ("backplane",),
    r"\bbackplane\b[^\n]{0,40}?\b(?:fail(?:ed|ure)|communication (?:is )?lost|not detected|fault"
    r"|error|removed|disconnected)",
    ("Backplane 2 communication is lost.", "enclosure: backplane failure"),
    ("Backplane 2 is present.",),
    VENDOR,
    category=Category.CHASSIS,
    scope=Scope.ANY,
)

SIGNATURES = POWER.signatures()
