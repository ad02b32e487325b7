"""``mlxlink -d mlx5_5 -m -c``, as text or with ``--json``: one port, its errors and its module.

::

    Operational Info
    ----------------
    State                              : Active
    Troubleshooting Info
    --------------------
    Recommendation                     : Bad signal integrity
    Physical Counters and BER Info
    ------------------------------
    Time Since Last Clear [Min]        : 10031.6
    Link Down Counter                  : 6

The device's own recommendation decides; counters are totals since they were cleared. Neither
the node nor the device stands in it, unless the file's name says it. One end of a link cannot
say whether the cable, the far end or this port is bad.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of
from triage.formats.health.reading import Reading, lines_of

__all__ = ["MLXLINK", "MLXLINK_JSON"]

COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,12}m")
TITLES: Final = (
    "Operational Info", "Troubleshooting Info", "Supported Info", "Physical Counters and BER Info",
    "Module Info",
)  # fmt: skip
TITLE: Final = re.compile(
    rf"^(?:\x1b\[[0-9;]{{0,12}}m)*(?:{'|'.join(TITLES)})[^\n]{{0,40}}\r?\n"
    r"(?:\x1b\[[0-9;]{0,12}m)*-{8,60}",
    re.MULTILINE,
)
VALUE: Final = re.compile(r"(?P<name>[A-Z][^:\n]{1,60}?)\s{1,60}: (?P<value>[^\n]{0,300})$")
OUTPUT: Final = re.compile(
    r'"output"\s{0,40}:\s{0,40}\{\s{0,40}"(?:[A-Z][\w /]{2,40})"\s{0,40}:\s{0,40}\{'
)
NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,6})?", re.ASCII)
CHECK: Final = "ib.mlxlink"
DEVICE: Final = re.compile(r"mlx5_\w{1,8}")
# "Rx Power Current [dBm]  : -1.21,-0.92,-40.000,-1.05", with the limits in brackets behind it
RX_POWER: Final = re.compile(r"(?:Rx|RX) Power Current \[dBm\]")
DBM: Final = re.compile(r"-?\d{1,3}(?:\.\d{1,4})?", re.ASCII)
DARK_DBM: Final = -30.0
# "64 [-10..80]": a module's temperature and its limits in degrees
HEAT: Final = re.compile(r"(?P<now>-?\d{1,3})\s{0,4}\[-?\d{1,3}\.\.(?P<most>\d{1,3})\]")
# "-E- Failed to open device: mlx5_9"
FAILED: Final = re.compile(r"^-E- (?P<why>[^\n]{3,200})", re.M)
# A port that nobody uses says this, and no more.
UNUSED: Final = re.compile(r"\bcable is unplugged|disabled by command|port is close|no issue", re.I)


def claimed_text(head: str) -> bool:
    if " Info" in head and TITLE.search(head) is not None:
        return True
    return head.startswith("-E- ") and "mlxlink" in head[:400].lower()


def claimed_json(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith("{")
    return begins and OUTPUT.search(head) is not None and " Info" in head


def read_text(text: str, reading: Reading) -> None:
    values: dict[str, str] = {}
    first = 1
    for index, line in lines_of(text):
        found = VALUE.match(COLOUR.sub("", line).rstrip())
        if found is not None:
            if found["name"] == "State" and values:
                judge(values, first, reading)
                values, first = {}, index
            values.setdefault(found["name"], found["value"].strip())
    failed = FAILED.search(text) if not values else None
    if failed is not None:
        reading.unknown(CHECK, failed["why"], line=1)
        return
    judge(values, first, reading)


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for output in outputs_in(document):
            values: dict[str, str] = {}
            for section in output.values():
                if isinstance(section, Mapping):
                    values.update(values_in(section))
            if reading.num_not_understood and not said_bad(values):
                reading.unknown(CHECK, "the document breaks off")
            else:
                judge(values, 1, reading)


def said_bad(values: Mapping[str, str]) -> bool:
    """Whether what was read recommends something."""
    said = values.get("Recommendation", "")
    return bool(said) and UNUSED.search(said) is None


def outputs_in(document: object) -> Iterator[Mapping[str, Any]]:
    result = document.get("result") if isinstance(document, Mapping) else None
    output = result.get("output") if isinstance(result, Mapping) else None
    if isinstance(output, Mapping):
        yield output


def values_in(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            listed = value.get("values")
            value = (
                ",".join(str(one)[:40] for one in listed[:16]) if isinstance(listed, list) else ""
            )
        if isinstance(value, str | int | float):
            yield str(name), str(value)[:300].strip()


def judge(values: Mapping[str, str], line: int, reading: Reading) -> None:
    """One port: what its device recommends, and its counters."""
    said = values.get("Recommendation", "")
    state = f"{values.get('State', '')}/{values.get('Physical state', '')}".strip("/")
    if not said and not state:
        reading.skip(line, "no state and no recommendation of a port")
        return
    device = DEVICE.search(reading.artifact)
    if not said:
        why = "breaks off before what the device recommends"
        reading.unknown(CHECK, why, part=device[0] if device else None, line=line)
        return
    outcome, detail = Outcome.PASS, said or state
    if said and UNUSED.search(said) is None:
        outcome = Outcome.FAIL
    outcome, module = module_of(values, outcome)
    detail += module
    downs, minutes = (
        number(values, "Link Down Counter"),
        number(values, "Time Since Last Clear [Min]"),
    )
    if downs:
        since = f" in {minutes:,.0f} min" if minutes else ""
        detail += f"; link went down {downs:.0f} times{since}"
        outcome = Outcome.WARN if outcome is Outcome.PASS else outcome
    for name in ("Effective Physical BER", "Symbol BER"):
        if values.get(name):
            detail += f"; {name} {values[name][:20]}"
    reading.add(
        CHECK,
        outcome,
        part=device[0] if device else None,
        detail=f"{detail}; {state}",
        category=Category.NETWORK,
        line=line,
    )


def module_of(values: Mapping[str, str], outcome: Outcome) -> tuple[Outcome, str]:
    """What the module adds: a lane without light beside lanes that have it, and heat."""
    powers = next((value for name, value in values.items() if RX_POWER.match(name)), "")
    lanes = [float(one) for one in DBM.findall(powers.partition("[")[0])]
    dark = [str(lane) for lane, dbm in enumerate(lanes, 1) if dbm <= DARK_DBM]
    detail = ""
    if dark and len(dark) < len(lanes):
        outcome, detail = Outcome.FAIL, f"; no light on lane {', '.join(dark)} of {len(lanes)}"
    heat = HEAT.match(values.get("Temperature [C]", ""))
    if heat is not None and int(heat["now"]) >= int(heat["most"]):
        detail += f"; the module has {heat['now']} C of {heat['most']} C"
        outcome = Outcome.WARN if outcome is Outcome.PASS else outcome
    return outcome, detail


def number(values: Mapping[str, str], name: str) -> float | None:
    found = NUMBER.match(values.get(name, ""))
    return float(found[0]) if found else None


MLXLINK: Final = CheckFormat(
    "mlxlink", claimed_text, read_text, words=(*TITLES, "-E- "), cut_as=CHECK
)
MLXLINK_JSON: Final = CheckFormat(
    "mlxlink_json", claimed_json, read_json, lines=False, words=('"output"',)
)
