"""Resources of a management controller by Redfish: ``Thermal``, ``Power``, ``Sensor`` and others.

::

    {"@odata.type": "#Thermal.v1_7_1.Thermal", "Fans": [
        {"Name": "FAN4", "Reading": 0, "Status": {"State": "Enabled", "Health": "Critical"}}]}

``Status.Health`` of each part decides; without it a reading beyond its critical limit. A part
that is absent or switched off is not judged, and neither is the sum over parts
(``HealthRollup``). A baseboard counts its GPUs from 1 (``GPU_SXM_6``): that is no index of
nvidia-smi. Entries of event logs are read as logs, by their time.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.host.ipmi_sensors import sensor_category
from triage.formats.health.json_report import documents_of, text_in
from triage.formats.health.reading import Reading

__all__ = ["REDFISH"]

CHECK: Final = "bmc.redfish"
TYPE: Final = re.compile(
    r'"@odata\.type"\s{0,20}:\s{0,20}"#(?P<type>Thermal|Power|Sensor|PowerSupply|PowerSubsystem'
    r"|ThermalSubsystem|ThermalMetrics|Fan|Chassis|ComputerSystem|Memory|Processor|Drive|Storage"
    r"|Switch|Port|PCIeDevice|NetworkAdapter|EnvironmentMetrics|LeakDetection|LeakDetector|Manager"
    r'|Battery|Assembly)(?:Collection)?[."]'
)
EVENTS: Final = re.compile(r'"@odata\.type"\s{0,20}:\s{0,20}"#(?:LogEntry|Event)')
HEALTH: Final = {"OK": Outcome.PASS, "Warning": Outcome.WARN, "Critical": Outcome.FAIL}
NOT_THERE: Final = frozenset(
    {
        "Absent",
        "Disabled",
        "StandbyOffline",
        "InTest",
        "Qualified",
        "UnavailableOffline",
        "Deferring",
    }
)
READINGS: Final = ("ReadingCelsius", "ReadingVolts", "Reading", "ReadingRPM")
MAX_DEPTH: Final = 12
MAX_PARTS: Final = 20_000
WORDS: Final = tuple(
    (re.compile(pattern, re.I), category)
    for pattern, category in (
        (r"gpu_?sxm|#?hgx_gpu|\bgpu\b(?!.*temp)", Category.GPU),
        (r"nvswitch|nvlink", Category.NVLINK),
        (r"dimm|/memory", Category.HOST_MEMORY),
        (r"drive|nvme|/storage", Category.SSD),
        (r"networkadapter|\bnic|connectx", Category.NIC),
        (r"retimer|pcie", Category.IO_BOARD),
        (r"cpu|/processors/", Category.CPU),
    )
)
MEASURED: Final = re.compile(r"temp|volt|power|current|fan|rpm|pump|leak", re.I)


def claimed(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\n")[:1] in ("{", "[")
    return begins and TYPE.search(head) is not None and EVENTS.search(head) is None


def read(text: str, reading: Reading) -> None:
    seen = 0
    for document in documents_of(text, reading):
        for part, category in parts_in(document, MAX_DEPTH):
            seen += 1
            if seen > MAX_PARTS:
                reading.skip(None, f"more than {MAX_PARTS:,} parts")
                return
            judge(part, category, reading)
    if not reading.results:
        reading.unknown(CHECK, "no part in it says its state")
    elif reading.num_not_understood and not any(
        one.outcome in (Outcome.FAIL, Outcome.WARN) for one in reading.results
    ):
        reading.unknown(CHECK, "the document breaks off")


def parts_in(value: object, depth: int) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each object with a state or a reading, and the word for its sort."""
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value:
            yield from parts_in(one, depth - 1)
    elif isinstance(value, Mapping):
        if isinstance(value.get("Status"), Mapping) or any(name in value for name in READINGS):
            yield value, text_in(value, "@odata.type", "@odata.id")
        for name, one in value.items():
            if isinstance(one, Mapping | list) and name not in (
                "Status",
                "Links",
                "Oem",
                "Thresholds",
            ):
                yield from parts_in(one, depth - 1)


def judge(part: Mapping[str, Any], sort: str, reading: Reading) -> None:
    status = part.get("Status")
    status = status if isinstance(status, Mapping) else {}
    state = text_in(status, "State")
    if state in NOT_THERE:
        return
    name = text_in(part, "Name", "Id", "MemberId") or sort.rpartition("/")[2]
    outcome = HEALTH.get(text_in(status, "Health"))
    said = [f"health {text_in(status, 'Health')}"] if outcome is not None else []
    measured, beyond = reading_of(part)
    if measured:
        said.append(measured)
    if outcome is None and beyond is not None:
        outcome = beyond
    conditions = status.get("Conditions")
    if isinstance(conditions, list):
        said += [text_in(one, "Message") for one in conditions[:2] if isinstance(one, Mapping)]
    if outcome is None:
        return
    reading.add(
        CHECK,
        outcome,
        part=name,
        detail=", ".join(word for word in said if word),
        category=category_of(name, f"{sort} {text_in(part, '@odata.id')}"),
    )


def category_of(name: str, sort: str) -> Category:
    """The part that fails, by its name first: a GPU's temperature is the GPU's."""
    if MEASURED.search(name):
        return sensor_category(name)
    for words in (name, sort):
        found = next((part for pattern, part in WORDS if pattern.search(words)), None)
        if found is not None:
            return found
    return sensor_category(name)


def reading_of(part: Mapping[str, Any]) -> tuple[str, Outcome | None]:
    """A reading in words, and how it stands to its critical limits; None where it has none."""
    value = next((part[name] for name in READINGS if is_number(part.get(name))), None)
    if value is None:
        return "", None
    unit = text_in(part, "ReadingUnits")
    said = f"{value:g} {unit}".strip()
    limits = part.get("Thresholds")
    limits = limits if isinstance(limits, Mapping) else {}
    above = [part.get("UpperThresholdCritical"), part.get("UpperThresholdFatal")]
    below = [part.get("LowerThresholdCritical"), part.get("LowerThresholdFatal")]
    above += [inner(limits, name) for name in ("UpperCritical", "UpperFatal")]
    below += [inner(limits, name) for name in ("LowerCritical", "LowerFatal")]
    if any(value >= limit for limit in above if is_number(limit)):
        return f"{said}, beyond its critical limit", Outcome.FAIL
    if any(value <= limit for limit in below if is_number(limit)):
        return f"{said}, below its critical limit", Outcome.FAIL
    known = any(is_number(limit) for limit in (*above, *below))
    return said, Outcome.PASS if known else None


def inner(limits: Mapping[str, Any], name: str) -> object:
    one = limits.get(name)
    return one.get("Reading") if isinstance(one, Mapping) else None


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


REDFISH: Final = CheckFormat("redfish", claimed, read, lines=False, words=('"@odata.type"',))
