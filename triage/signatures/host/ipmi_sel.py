"""The system event log of a node's management controller, as ipmitool and its kin list it.

``7 | 11/21/2026 | 03:04:05 | Power Supply #0x51 | Failure detected | Asserted``: the
type of the sensor and the event decide; what is deasserted has ended.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.gpu.catalogue import Entry, get_xid
from triage.signatures.host.agent_words import find_part
from triage.signatures.severity import (
    ADVICE,
    CORRECTED,
    ERROR,
    FATAL,
    NOISE,
    WARN,
    get_group_text,
)
from triage.signatures.signature import Read, Reading

_GONE = compile_re(r"\bdeassert(?:ed|ion)?\b|\bde-asserted\b", re.IGNORECASE)


# "   3 | 03/14/2026 | 02:39:12 UTC | ", "n12-bmc: 1c | 03/14/26 | 02:39:12 PM CET | ", and of
# ipmi-sel: "12 | Mar-14-2026 | 02:39:12 | "
_DATE: Final = compile_re(
    r"^\s*(?:(?P<host>[A-Za-z][\w.-]{0,127}): {1,4})?[0-9a-f]{1,6} ?[|,] ?"
    r"(?:(?P<first>\d\d?)/(?P<second>\d\d?)/|(?P<month>[a-z]{3})-(?P<day>\d\d)-)"
    r"(?P<year>\d{4}|\d\d) ?[|,] ?(?P<hour>\d\d?)(?P<clock>:\d\d:\d\d)(?: (?P<half>[AP])M\b)?"
    r"(?P<zone> [A-Z]{3,5}\b| ?[+-]\d\d:?\d\d\b|)",
    re.IGNORECASE,
)
# "   5 |  Pre-Init  |0000000012| ..."
_BEFORE_THE_CLOCK: Final = compile_re(
    r"\s{0,8}(?:[A-Za-z][\w.-]{0,127}: {1,4})?[0-9a-f]{1,6} ?[|,] {0,4}Pre-?Init", re.IGNORECASE
)
_MONTHS: Final = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip


def find_place(text: str) -> dict[str, str]:
    """When a row of a list says that it was, and of which node, where it stands in front."""
    match = _DATE.match(text)
    if match is None:
        return {}
    if match["first"] is not None:
        month, day = int(match["first"]), int(match["second"])
        if month > 12:
            month, day = day, month
    elif match["month"].lower() in _MONTHS:
        month, day = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    else:
        return {}
    hour = int(match["hour"])
    if match["half"] is not None:
        hour = hour % 12 + 12 * (match["half"] in "Pp")
    year = match["year"] if len(match["year"]) == 4 else f"20{match['year']}"
    clock = f"{hour:02d}{match['clock']}{match['zone'].upper()}"
    fields = {"time": f"{year}-{month:02d}-{day:02d} {clock}"}
    if match["host"] is not None:
        fields |= {"node": match["host"], "said_of": match["host"]}
    return fields


def _make_event_reader(*events: tuple[str, str]) -> Read:
    """A reader that takes the first of ``events`` in the line, None where there is none: its words,
    compared without case, and how bad it is.
    """
    patterns = [(compile_re(words, re.IGNORECASE), severity) for words, severity in events]

    def read(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
        rest = match.string[match.end("sensor") :]
        severity = next((one for words, one in patterns if words.search(rest)), None)
        if severity is None:
            return None
        fields = {"severity": severity, **find_place(match.string)}
        if _GONE.search(rest):
            cleared = {**fields, "severity": WARN, "cleared": "yes"}
            return Reading(role=NOISE, category=Category.NONE, fields=cleared)
        # Before the controller's clock was set nothing says on which day it was.
        undated = _BEFORE_THE_CLOCK.match(match.string) is not None
        return Reading(
            role=ADVICE if severity == CORRECTED else None,
            weak=undated or severity in (CORRECTED, WARN),
            fields=fields,
        )

    return read


# Sentences of vendors that name no type of sensor, with the vendor's own grade behind them.
_BUS_WORDS: Final = compile_re(r"component at (?:slot|bus)|\bpci|expansion|riser|retimer", re.I)
_BOARD_WORDS: Final = compile_re(
    r"gpu_?(?:tray|board|baseboard)|base ?board|back ?plane|mid ?plane|system board|mother ?board"
    r"|slot ?/ ?connector|management subsys",
    re.I,
)
_HEAT_WORDS: Final = compile_re(r"overheat|temperature|thermal", re.I)
_MODULE: Final = compile_re(r"\bGPU_?(?:SXM_?)?(\d{1,2})\b", re.I)
# "[2026-03-14 02:40:57.118][1032][0] XID 79 GPU has fallen off the bus."
_DRIVER_EVENT: Final = compile_re(r"\bXid (?P<code>\d{1,3})\b", re.IGNORECASE)
_GRAVE: Final = frozenset({"critical", "fatal", "non-recoverable", "major", "error"})


def read_vendor(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The part that a vendor's sentence names, as bad as the vendor says; None where no word of it
    is known, so that the trained reader is asked.
    """
    words = f"{match['sensor']} {match['words']}"
    fields = {
        "severity": ERROR if get_group_text(match, "grade") in _GRAVE else WARN,
        **find_place(match.string),
    }
    driver = _DRIVER_EVENT.search(words)
    if match["state"].lower() != "asserted":
        return Reading(role=NOISE, category=Category.NONE, fields={**fields, "cleared": "yes"})
    part = find_part(words, of_a_job=False)
    category, also = part.category, part.also
    entry = get_xid(int(driver["code"])) if driver is not None else None
    if entry is not None:
        return _read_driver_event(entry, words, part.gpu, fields)
    unsaid = (None, Category.HOST_MAINTENANCE)
    if category in (*unsaid, Category.NETWORK) and _BOARD_WORDS.search(words):
        category, also = Category.CHASSIS, (Category.IO_BOARD,)
    elif category in (*unsaid, Category.GPU) and _BUS_WORDS.search(words):
        category, also = Category.IO_BOARD, (Category.CHASSIS, Category.GPU)
    elif category in unsaid and _HEAT_WORDS.search(words):
        category, also = Category.CHASSIS, (Category.POWER,)
    elif category is Category.HOST_MAINTENANCE:
        category = None
    if category is None:
        return None
    module = _MODULE.search(words)
    if module is not None and "SXM" in module[0].upper():
        fields["gpu_module"] = module[1]
    grave = fields["severity"] == ERROR
    return Reading(
        role=None if grave else ADVICE,
        category=category,
        also=also,
        gpu=part.gpu,
        weak=not grave,
        # Without the number of a GPU: a baseboard counts its modules in an order of its own.
        fields={**{k: v for k, v in part.fields.items() if k != "gpu_index"}, **fields},
    )


def _read_driver_event(
    entry: Entry, words: str, gpu: str | None, fields: dict[str, str]
) -> Reading:
    """The GPU driver's own error, as a baseboard's controller reports it: it survives the node."""
    module = _MODULE.search(words)
    if module is not None and "SXM" in module[0].upper():
        fields = {**fields, "gpu_module": module[1]}
    return Reading(
        role=entry.role,
        category=entry.category,
        also=entry.also,
        gpu=gpu,
        weak=entry.severity == WARN or "time" not in fields,
        fields={**fields, "xid": str(entry.code)},
    )


_LIMIT_LOST = (r"(?:lower|upper) (?:critical|non-recoverable)", ERROR)
_LIMIT_NEAR = (r"(?:lower|upper) non-?critical", WARN)
read_power = _make_event_reader(
    (r"failure detected|failed|input (?:lost|out.of.range)|ac lost|fault", ERROR),
    (r"power off|power down|soft-power control failure|240va power down", FATAL),
    (r"redundancy (?:lost|degraded)|non-redundant|predictive failure|config", WARN),
    _LIMIT_LOST,
    _LIMIT_NEAR,
)
read_fan = _make_event_reader(
    _LIMIT_LOST,
    _LIMIT_NEAR,
    (r"failure|failed|redundancy lost|non-redundant|transition to (?:critical|off)", ERROR),
)
read_temperature = _make_event_reader(_LIMIT_LOST, _LIMIT_NEAR)
read_voltage = _make_event_reader(
    _LIMIT_LOST, _LIMIT_NEAR, (r"limit exceeded|state asserted", ERROR)
)
read_memory = _make_event_reader(
    (r"uncorrectable|parity|multi-?bit", FATAL),
    (r"correctable|scrub|threshold|log limit", CORRECTED),
    (r"critical overtemperature|throttl", WARN),
    (r"device disabled|configuration error|map.?out|failure", ERROR),
)
read_processor = _make_event_reader(
    (r"thermal trip|ierr|caterr|machine check|frb\d|configuration error|internal", FATAL),
    (r"throttl", WARN),
)
read_bus = _make_event_reader(
    (r"bus (?:fatal|uncorrectable)|pci (?:serr|perr)|fatal nmi|fault", FATAL),
    (r"bus correctable|bus degraded", CORRECTED),
)
read_drive = _make_event_reader(
    (r"drive fault|in (?:critical|failed) array|failure", ERROR),
    (r"predictive failure|rebuild", WARN),
)
read_chassis = _make_event_reader(
    (
        r"config(?:uration)? error|interconnect (?:is )?(?:fault|bad)|fault|sensor failure"
        r"|failure detected|has failed",
        ERROR,
    ),
    (r"intrusion", CORRECTED),
    (r"unavailable|off-?line|degraded|hard reset|power cycle|timer", WARN),
)
