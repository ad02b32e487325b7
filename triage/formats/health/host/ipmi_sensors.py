"""``ipmitool sensor``, ``sdr``, ``sdr elist`` and ``chassis status``: what a controller measures.

::

    GPU5_TEMP    | 97.000     | degrees C  | cr    | na  | na  | na  | 85.000 | 95.000 | na
    GPU5_TEMP    | 97 degrees C      | cr
    GPU5_TEMP    | 3Ah | cr  | 11.5 | 97 degrees C
    Main Power Fault     : true

``cr`` and ``nr`` are limits that are passed now, and fail; ``nc`` warns. ``na`` and ``ns`` are
sensors that were not read: they are no zero. The state of a discrete sensor is words in
``elist``; in ``sensor`` it is a mask, which is read of power supplies alone.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IPMI_CHASSIS", "IPMI_SENSORS", "sensor_category"]

CHECK: Final = "bmc.sensor"
STATE: Final = r"(?:ok|ns|na|nc|cr|nr|us|[lu](?:nc|cr|nr)|0x[0-9a-fA-F]{4})"
LONG: Final = re.compile(
    rf"(?P<name>[^|\n]{{1,40}}?)\s*\|\s*(?P<reading>[^|\n]{{1,24}}?)\s*\|\s*(?P<unit>[^|\n]{{0,24}}?)\s*"
    rf"\|\s*(?P<state>{STATE})\s*\|(?P<limits>(?:[^|\n]{{1,16}}\|){{5}}[^|\n]{{0,16}})$"
)
ELIST: Final = re.compile(
    rf"(?P<name>[^|\n]{{1,40}}?)\s*\|\s*[0-9A-Fa-f]{{2}}h\s*\|\s*(?P<state>{STATE})\s*"
    r"\|\s*\d{1,3}\.\d{1,3}\s*\|(?P<reading>[^|\n]{0,160})$"
)
SHORT: Final = re.compile(
    rf"(?P<name>[^|\n]{{1,40}}?)\s*\|\s*(?P<reading>[^|\n]{{1,60}}?)\s*\|\s*(?P<state>{STATE})\s*$"
)
FORMS: Final = (LONG, ELIST, SHORT)
BAD: Final = frozenset({"cr", "nr", "lcr", "ucr", "lnr", "unr"})
NEAR: Final = frozenset({"nc", "lnc", "unc"})
NOT_READ: Final = frozenset({"ns", "na", "us"})
# IPMI 2.0, table 42-3: events of discrete sensors, in words.
BAD_WORDS: Final = re.compile(
    r"failure detected|ac lost|input lost|uncorrectable|ierr\b|thermal trip|machine check"
    r"|drive fault|bus fatal|failed array|config(?:uration)? error|redundancy lost"
    r"|transition to (?:critical|non-recoverable)|predictive failure asserted", re.I
)  # fmt: skip
NEAR_WORDS: Final = re.compile(
    r"predictive failure|redundancy degraded|non-redundant|throttled|correctable|intrusion", re.I
)
LEAST_ROWS: Final = 2
LOOKED_AT: Final = 60
# PSU1_Status, "PS2 Status": the lower half of the mask has presence, failure, predicted, AC lost
SUPPLY: Final = re.compile(r"(?:ps|psu|power ?supply)[ _-]?\d{0,2}[ _-]?(?:stat\w{0,4})", re.I)
PRESENT, FAILED, PREDICTED, NO_INPUT = 0x01, 0x02, 0x04, 0x08
PARTS: Final = tuple(
    (re.compile(pattern, re.I), category)
    for pattern, category in (
        (r"gpu.{0,20}(?:temp|tmp|therm)|(?:temp|tmp).{0,12}gpu|hbm", Category.GPU_THERMAL),
        (r"\bps(?:u)?\d{0,2}(?:[ _-]|$)|power ?supply|\bpdb|\bpwr|12v|3\.3v|\b5v|vcore|vbat|volt",
         Category.POWER),
        (r"dimm|ddr|\bmem", Category.HOST_MEMORY),
        (r"nvme|\bssd|\bhdd|drive|disk", Category.SSD),
        (r"\bnic|mlx|\bhca|ocp", Category.NIC),
        (r"fan|cool|pump|leak|inlet|exhaust|ambient|chassis|intru|temp", Category.CHASSIS),
        (r"cpu|proc", Category.CPU),
    )
)  # fmt: skip


def sensor_category(name: str) -> Category:
    """The part that a sensor's name means: a GPU's heat, a power supply, a fan ..."""
    return next((part for pattern, part in PARTS if pattern.search(name)), Category.CHASSIS)


def row_in(line: str) -> re.Match[str] | None:
    if line.count("|") < 2:
        return None
    return next((found for form in FORMS if (found := form.match(line)) is not None), None)


def claimed(head: str) -> bool:
    """Rows of sensors, and hardly anything else; an event list has numbers and dates in front."""
    if " |" not in head and "| " not in head:
        return False
    lines = [line for line in head.split("\n")[:LOOKED_AT] if "|" in line]
    if len(head) > 4000 and len(lines) < LOOKED_AT:
        lines = lines[:-1]
    rows = [row for row in map(row_in, lines) if row is not None]
    if len(rows) < max(LEAST_ROWS, 0.8 * len(lines)):
        return False
    return any(MEASURED.search(row[0]) for row in rows)


UNITS: Final = (
    "degrees", "volts", "amps", "watts", "rpm", "percent", "discrete", "presence",
    "fully redundant", "unspecified", "no reading",
)  # fmt: skip
MEASURED: Final = re.compile("|".join(UNITS), re.I | re.A)


def read(text: str, reading: Reading) -> None:
    whole = text.endswith("\n")
    last = text.count("\n") + 1
    for index, line in lines_of(text):
        row = row_in(line)
        if row is not None:
            reading.saw(index)
            judge(row, index, reading)
        elif "|" in line:
            reading.saw(index)
            name = line.partition("|")[0].strip()[:60]
            if index == last and not whole:
                reading.unknown(CHECK, "its row breaks off", part=name, line=index)
            else:
                reading.skip(index, "no row of a sensor")


def judge(row: re.Match[str], index: int, reading: Reading) -> None:
    name, state = row["name"].strip(), row["state"].lower()
    value = row["reading"].strip()
    unit = row.groupdict().get("unit") or ""
    if state in NOT_READ:
        return
    if state.startswith("0x"):
        outcome, said = of_mask(name, int(state, 16))
    elif state in BAD:
        outcome, said = Outcome.FAIL, f"{value} {unit}, beyond a critical limit ({state})"
    elif state in NEAR:
        outcome, said = Outcome.WARN, f"{value} {unit}, beyond a first limit ({state})"
    elif BAD_WORDS.search(value):
        outcome, said = Outcome.FAIL, value
    elif NEAR_WORDS.search(value):
        outcome, said = Outcome.WARN, value
    else:
        outcome, said = Outcome.PASS, f"{value} {unit}"
    if outcome is not None:
        category = sensor_category(name)
        reading.add(CHECK, outcome, part=name, detail=said, category=category, line=index)


def of_mask(name: str, mask: int) -> tuple[Outcome | None, str]:
    """What a discrete mask says: of a power supply that is there; of others nobody knows."""
    bits = mask >> 8
    if SUPPLY.search(name) is None or not bits & PRESENT:
        return None, ""
    if bits & FAILED or bits & NO_INPUT:
        lost = " and ".join(
            word for bit, word in ((FAILED, "failure detected"), (NO_INPUT, "input lost"))
            if bits & bit
        )  # fmt: skip
        return Outcome.FAIL, f"{lost} ({mask:#06x})"
    if bits & PREDICTED:
        return Outcome.WARN, f"predictive failure ({mask:#06x})"
    return Outcome.PASS, f"present ({mask:#06x})"


FAULTS: Final = {
    "power overload": Category.POWER, "main power fault": Category.POWER,
    "power control fault": Category.POWER, "drive fault": Category.SSD,
    "cooling/fan fault": Category.CHASSIS,
}  # fmt: skip
FIELD: Final = re.compile(
    r"\s{0,8}(?P<name>[A-Z][A-Za-z/ -]{4,30}?)\s{0,20}: ?(?P<value>[\w -]{0,60})$"
)
LAST_EVENTS: Final = frozenset({"ac-failed", "overload", "interlock", "fault"})


# "System Power         : on", below it "Power Overload       : false"
POWER: Final = re.compile(r"^\s{0,8}System Power\s{1,20}: ?\w", re.M)
FAULT: Final = re.compile(r"^\s{0,8}(?:Power Overload|Main Power Fault)\s{1,20}:", re.M)


def claimed_chassis(head: str) -> bool:
    return POWER.search(head) is not None and FAULT.search(head) is not None


def read_chassis(text: str, reading: Reading) -> None:
    seen: set[str] = set()
    check = "bmc.chassis"
    for index, line in lines_of(text):
        field = FIELD.match(line)
        if field is None:
            continue
        name, value = field["name"].lower(), field["value"].strip().lower()
        if name in FAULTS and value in ("true", "false"):
            outcome = Outcome.FAIL if value == "true" else Outcome.PASS
            reading.add(check, outcome, part=name, detail=value, category=FAULTS[name], line=index)
        elif (name == "system power" and value != "on") or (
            name == "last power event" and value in LAST_EVENTS
        ):
            reading.add(
                check, Outcome.WARN, part=name, detail=value, category=Category.POWER, line=index
            )
        seen.add(name)
        reading.saw(index)
    missing = [name for name in FAULTS if name not in seen]
    if missing:
        reading.unknown(check, f"breaks off before {missing[0]!r}")


IPMI_SENSORS: Final = CheckFormat("ipmi_sensors", claimed, read, cut_as=CHECK, words=UNITS)
IPMI_CHASSIS: Final = CheckFormat(
    "ipmi_chassis",
    claimed_chassis,
    read_chassis,
    cut_as="bmc.chassis",
    words=("System Power",),
)
