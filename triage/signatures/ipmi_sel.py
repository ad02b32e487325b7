"""The system event log of a node's management controller, as ipmitool and its kin list it.

``7 | 11/21/2026 | 03:04:05 | Power Supply #0x51 | Failure detected | Asserted``: the
type of the sensor and the event decide; what is deasserted has ended.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.host_line import CORRECTED, ERROR, FATAL, WARN, HostFamily
from triage.signatures.job_line import NOISE, ROOT, Read
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

SEL = HostFamily("sel", Kind.POWER)
SOURCE = "IPMI 2.0 sensor types and offsets; ipmitool sel list, sel elist; ipmi-sel"


@dataclass(frozen=True, slots=True)
class Event:
    """Words of an event, how bad it is, and a category where it is not the sensor's."""

    words: re.Pattern[str]
    severity: str
    category: Category | None = None


GONE = re.compile(r"\bdeassert(?:ed|ion)?\b|\bde-asserted\b", re.IGNORECASE)


def by_event(events: tuple[Event, ...]) -> Read:
    """A reader that takes the first of ``events`` in the line, None where there is none."""

    def read(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
        rest = found.string[found.end("sensor") :]
        for one in events:
            if one.words.search(rest) is None:
                continue
            if GONE.search(rest):
                return Reading(
                    role=NOISE,
                    category=Category.NONE,
                    fields={"severity": WARN, "cleared": "yes"},
                )
            mended = one.severity in (CORRECTED, WARN)
            return Reading(category=one.category, weak=mended, fields={"severity": one.severity})
        return None

    return read


def event(words: str, severity: str, category: Category | None = None) -> Event:
    """An event, its words compared without case."""
    return Event(re.compile(words, re.IGNORECASE), severity, category)


LIMIT_LOST = event(r"(?:lower|upper) (?:critical|non-recoverable)", ERROR)
LIMIT_NEAR = event(r"(?:lower|upper) non-?critical", WARN)


def sensor(
    name: str,
    kind: Kind,
    types: str,
    literals: Sequence[str],
    category: Category,
    also: Sequence[Category],
    events: tuple[Event, ...],
    hits: Sequence[str],
    near: Sequence[str],
) -> None:
    """One type of sensor, between the bars of the list."""
    SEL.line(
        name,
        ROOT,
        ERROR,
        literals,
        rf"[|;,] ?(?P<sensor>(?:{types})\b[^|;\n]{{0,60}}) ?[|;]",
        hits,
        near,
        SOURCE,
        category=category,
        also=also,
        kind=kind,
        scope=Scope.ANY,
        read=by_event(events),
    )


sensor(
    "power",
    Kind.POWER,
    r"Power Supply|Power Unit|PSU?\d?|Power Redundancy",
    ("| power supply", "| power unit"),
    Category.POWER,
    (),
    (
        event(r"failure detected|failed|input (?:lost|out.of.range)|ac lost|fault", ERROR),
        event(r"power off|power down|soft-power control failure|240va power down", FATAL),
        event(r"redundancy (?:lost|degraded)|non-redundant|predictive failure|config", WARN),
        LIMIT_LOST,
        LIMIT_NEAR,
    ),
    (
        "1c | 11/20/2026 | 22:10:41 | Power Supply #0x53 | Failure detected | Asserted",
        "1d | 11/20/2026 | 22:10:44 | Power Supply PSU3 Status | Power Supply AC lost | Asserted",
        "1e | 11/20/2026 | 22:10:45 | Power Unit #0x01 | Redundancy Lost | Asserted",
        "1f | 11/20/2026 | 22:10:45 | Power Supply #0x53 | Failure detected | Deasserted",
    ),
    ("2 | 11/20/2026 | 22:10:41 | Power Supply #0x53 | Presence detected | Asserted",),
)
sensor(
    "fan",
    Kind.THERMAL,
    r"Fan|Cooling Device",
    ("| fan",),
    Category.CHASSIS,
    (),
    (
        LIMIT_LOST,
        LIMIT_NEAR,
        event(
            r"failure|failed|redundancy lost|non-redundant|transition to (?:critical|off)", ERROR
        ),
    ),
    ("20 | 11/20/2026 | 22:11:00 | Fan FAN5_F | Lower Critical going low  | Asserted",),
    ("20 | 11/20/2026 | 22:11:00 | Fan FAN5_F | Fully Redundant | Asserted",),
)
sensor(
    "gpu_temperature",
    Kind.THERMAL,
    r"Temperature [^|;\n]{0,30}GPU\w{0,16}",
    ("| temperature",),
    Category.GPU_THERMAL,
    (Category.CHASSIS,),
    (LIMIT_LOST, LIMIT_NEAR),
    ("21 | 11/20/2026 | 22:11:09 | Temperature GPU4_TEMP | Upper Critical going high | Asserted",),
    ("21 | 11/20/2026 | 22:11:09 | Temperature GPU4_TEMP | Device Enabled | Asserted",),
)
sensor(
    "temperature",
    Kind.THERMAL,
    r"Temperature",
    ("| temperature",),
    Category.CHASSIS,
    (),
    (LIMIT_LOST, LIMIT_NEAR),
    ("22 | 11/20/2026 | 22:11:09 | Temperature Inlet_TEMP | Upper Critical going high | Asserted",),
    ("22 | 11/20/2026 | 22:11:09 | Temperature Inlet_TEMP | Device Enabled | Asserted",),
)
sensor(
    "voltage",
    Kind.POWER,
    r"Voltage",
    ("| voltage",),
    Category.POWER,
    (Category.CHASSIS,),
    (LIMIT_LOST, LIMIT_NEAR, event(r"limit exceeded|state asserted", ERROR)),
    ("23 | 11/20/2026 | 22:11:10 | Voltage P12V_AUX | Lower Critical going low | Asserted",),
    ("23 | 11/20/2026 | 22:11:10 | Voltage P12V_AUX | Device Enabled | Asserted",),
)
sensor(
    "memory",
    Kind.MEMORY,
    r"Memory",
    ("| asserted", "| deasserted", "| uncorrectable", "| correctable"),
    Category.HOST_MEMORY,
    (),
    (
        event(r"uncorrectable|parity|multi-?bit", FATAL),
        event(r"correctable|scrub|threshold|log limit", CORRECTED),
        event(r"critical overtemperature|throttl", WARN),
        event(r"device disabled|configuration error|map.?out|failure", ERROR),
    ),
    (
        "24 | 11/20/2026 | 22:12:00 | Memory #0x87 | Uncorrectable ECC | Asserted",
        "25 | 11/20/2026 | 22:12:00 | Memory DIMM_B3 | Correctable ECC | Asserted",
    ),
    ("26 | 11/20/2026 | 22:12:00 | Memory DIMM_B3 | Presence Detected | Asserted",),
)
sensor(
    "processor",
    Kind.CPU,
    r"Processor",
    ("| asserted", "| deasserted", "| processor"),
    Category.CPU,
    (),
    (
        event(r"thermal trip|ierr|caterr|machine check|frb\d|configuration error|internal", FATAL),
        event(r"throttl", WARN),
    ),
    ("27 | 11/20/2026 | 22:12:30 | Processor CPU1_Status | IERR | Asserted",),
    ("28 | 11/20/2026 | 22:12:30 | Processor CPU1_Status | Presence detected | Asserted",),
)
sensor(
    "bus",
    Kind.PCIE,
    r"Critical Interrupt|Slot ?/ ?Connector|Slot/Conn\w*",
    ("| asserted", "| deasserted", "| critical interrupt"),
    Category.IO_BOARD,
    (Category.CHASSIS,),
    (
        event(r"bus (?:fatal|uncorrectable)|pci (?:serr|perr)|fatal nmi|fault", FATAL),
        event(r"bus correctable|bus degraded", CORRECTED),
    ),
    ("29 | 11/20/2026 | 22:13:00 | Critical Interrupt PCIE_E | Bus Fatal Error | Asserted",),
    ("29 | 11/20/2026 | 22:13:00 | Critical Interrupt PCIE_E | Software NMI | Asserted",),
)
sensor(
    "drive",
    Kind.STORAGE,
    r"Drive Slot(?: / Bay)?|Drive Bay|HDD",
    ("| drive slot",),
    Category.SSD,
    (),
    (
        event(r"drive fault|in (?:critical|failed) array|failure", ERROR),
        event(r"predictive failure|rebuild", WARN),
    ),
    ("2a | 11/20/2026 | 22:13:40 | Drive Slot / Bay #0x6b | Drive Fault | Asserted",),
    ("2a | 11/20/2026 | 22:13:40 | Drive Slot / Bay #0x6b | Drive Present | Asserted",),
)
sensor(
    "chassis",
    Kind.POWER,
    r"Cable ?/ ?Interconnect|Physical Security|Chassis|Management Subsys\w*"
    r"|Module ?/ ?Board|Watchdog ?2",
    ("| asserted", "| deasserted"),
    Category.CHASSIS,
    (),
    (
        event(r"config(?:uration)? error|interconnect (?:is )?(?:fault|bad)|fault", ERROR),
        event(r"intrusion|unavailable|off-?line|degraded|hard reset|power cycle|timer", WARN),
    ),
    ("2b | 11/20/2026 | 22:14:10 | Cable / Interconnect BP2 | Config Error | Asserted",),
    ("2b | 11/20/2026 | 22:14:10 | Cable / Interconnect BP2 | Connected | Asserted",),
)

SIGNATURES = SEL.signatures()
