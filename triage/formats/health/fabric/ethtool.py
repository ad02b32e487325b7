"""``ethtool`` of one interface: its link, its counters (``-S``) and its module (``-m``).

::

    Settings for ens2f0np0:
            Speed: 400000Mb/s
            Link detected: yes

    NIC statistics:
         rx_crc_errors_phy: 0
         link_down_events_phy: 3

            Rcvr signal avg optical power(Channel 1)  : 0.0001 mW / -40.00 dBm
            Laser rx power low alarm    (Channel 1)   : On

Counters are totals since the driver was loaded: they advise, unless they grew between two
readings in one file. Of a module the alarms count: one lane without light beside lanes that
have it is a bad module or a dirty fibre; no light on any lane is a cable that is not plugged in.
"""

import re
from collections import defaultdict
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["ETHTOOL_LINK", "ETHTOOL_MODULE", "ETHTOOL_STATISTICS"]

SETTINGS: Final = re.compile(r"Settings for (?P<name>[\w.@-]{1,32}):\s*$")
SPEED: Final = re.compile(r"\s+Speed: (?P<speed>\d{1,7})Mb/s")
DETECTED: Final = re.compile(r"\s+Link detected: (?P<said>yes|no)\b(?P<why>[^\n]{0,80})")
# "400000baseSR8/Full": the fastest mode that the port supports says which ports are alike
MODES: Final = re.compile(r"\s+Supported link modes:|\s+(?:\d{1,6}base\w{1,12}/(?:Full|Half))")
MODE: Final = re.compile(r"(\d{1,7})base\w{1,12}/(?:Full|Half)")
# "$ ethtool -S ens2f0np0", "ethtool_-S_ens2f0np0"
ASKED: Final = re.compile(
    r"ethtool[ _]-(?:S|m|-statistics|-module-info)[ _](?P<name>[\w.@-]{1,32})"
)
BARE: Final = re.compile(r"(?:^|[^\w.-])(?P<name>(?:en|eth|ib|bond|roce)[a-z0-9]{1,14})[:\s]*$")
LINK: Final = "eth.link"


def claimed_link(head: str) -> bool:
    return any(SETTINGS.search(line) for line in head.split("\n")[:200])


def read_link(text: str, reading: Reading) -> None:
    name, first = "", 1
    best = 0
    speed: int | None = None
    said: re.Match[str] | None = None
    modes = False
    found: list[tuple[str, int, int, int | None, re.Match[str] | None]] = []
    for index, line in lines_of(text):
        header = SETTINGS.search(line)
        if header is not None:
            if name:
                found.append((name, first, best, speed, said))
            name, first, best, speed, said, modes = header["name"], index, 0, None, None, False
        elif not name:
            continue
        elif (rate := SPEED.match(line)) is not None:
            speed = int(rate["speed"])
        elif (up := DETECTED.match(line)) is not None:
            said = up
        elif "Supported link modes:" in line or (modes and MODES.match(line)):
            modes = True
            best = max([best, *(int(mode) for mode in MODE.findall(line))])
        else:
            modes = False
        if line.strip():
            reading.saw(index)
    if name:
        found.append((name, first, best, speed, said))
    top: dict[int, int] = defaultdict(int)
    for _, _, kind, rate_mb, link in found:
        if link is not None and link["said"] == "yes":
            top[kind] = max(top[kind], rate_mb or 0)
    for name, line_at, kind, rate_mb, link in found:
        judge_link(name, line_at, rate_mb, link, top.get(kind, 0), reading)


def judge_link(
    name: str,
    line: int,
    speed: int | None,
    link: re.Match[str] | None,
    best: int,
    reading: Reading,
) -> None:
    """``best`` is the speed of the fastest interface of its kind in the file, in Mb/s."""
    if link is None:
        reading.unknown(
            LINK, "breaks off before it says whether there is a link", part=name, line=line
        )
        return
    outcome, detail = Outcome.PASS, f"link at {speed or 0:,} Mb/s"
    if link["said"] == "no":
        detail = f"no link{link['why'].rstrip()}"
        outcome = Outcome.FAIL if best else Outcome.WARN
        detail += "" if best else "; no other of its kind has one, it may be unused"
    elif speed is not None and speed < best:
        outcome, detail = Outcome.FAIL, f"{speed:,} of {best:,} Mb/s"
    reading.add(LINK, outcome, part=name, detail=detail, category=Category.NETWORK, line=line)


STATISTICS: Final = re.compile(r"^NIC statistics:\s*$", re.M)
COUNTER: Final = re.compile(
    r"\s{1,16}(?P<name>[A-Za-z][\w .\[\]-]{1,60}?): (?P<count>-?\d{1,20})\s*$"
)
# Of the wire itself: frames and symbols that came damaged, and links that went down.
OF_THE_WIRE: Final = re.compile(
    r"(?:rx_)?(?:crc_errors?(?:_phy)?|crc|symbol_err(?:ors?)?_phy|pcs_symbol_err_phy|fcs_err\w{0,12})"
    r"|rx_crc_err\w{0,8}|rx_fcs_err\w{0,8}|(?:port\.)?(?:rx_)?crc_errors(?:\.nic)?|rx_err_lane_\d_phy"
    r"|(?:total_)?link_down_events(?:_phy)?|module_(?:bus_stuck|high_temp|bad_shorted)"
    r"|(?:rx|tx)_pci_signal_integrity|rx_undersize_pkts_phy", re.I
)  # fmt: skip
MOST: Final = 10


def claimed_statistics(head: str) -> bool:
    return STATISTICS.search(head) is not None and any(
        COUNTER.match(line) for line in head[:8000].split("\n")
    )


def read_statistics(text: str, reading: Reading) -> None:
    asked = named_in(reading.artifact)
    name, first = asked, 0
    counts: dict[str, int] = {}
    before: dict[str | None, dict[str, int]] = {}
    for index, line in lines_of(text):
        if STATISTICS.match(line):
            judge_counts(name, first, counts, before, reading)
            name, first, counts = asked, index, {}
        elif first and (found := COUNTER.match(line)) is not None:
            if (count := int(found["count"])) >= 0:  # -1: not counted
                counts[found["name"]] = count
        else:
            asked = named_in(line) or asked
            continue
        reading.saw(index)
    judge_counts(name, first, counts, before, reading)


def named_in(line: str) -> str | None:
    """The interface that a command line or a file name asks for, or a heading names."""
    found = ASKED.search(line) or BARE.search(line[-60:])
    return None if found is None else found["name"]


def judge_counts(
    name: str | None,
    line: int,
    counts: dict[str, int],
    before: dict[str | None, dict[str, int]],
    reading: Reading,
) -> None:
    """One reading of one interface, beside an earlier one of the same."""
    if not line:
        return
    check = "eth.counters"
    wire = {key: count for key, count in counts.items() if OF_THE_WIRE.fullmatch(key)}
    known = before.get(name)
    before[name] = wire
    if not counts:
        reading.unknown(check, "the list of counters breaks off", part=name, line=line)
        return
    grown = [
        f"{key} grew by {count - known[key]:,}"
        for key, count in wire.items()
        if known is not None and key in known and count > known[key]
    ]
    high = [f"{key} {count:,}" for key, count in wire.items() if count > MOST]
    if not wire:
        reading.unknown(check, "no counter of the wire is among them", part=name, line=line)
        return
    reading.add(
        check,
        Outcome.FAIL if grown else Outcome.WARN if high and known is None else Outcome.PASS,
        part=name,
        detail=", ".join(grown or high) or "no error of the wire",
        category=Category.NETWORK,
        line=line,
    )


MODULE: Final = re.compile(r"^\s{0,16}Identifier\s{1,60}: 0x[0-9a-f]{2} \(", re.M)
MODULE_FAILED: Final = re.compile(
    r"(?:Cannot get [Mm]odule EEPROM (?:information|data)|netlink error): (?P<why>[^\n]{1,120})"
)
FLAG: Final = re.compile(
    r"\s{0,16}(?P<name>(?:Laser|Module|Rx|Tx)[\w /]{3,60}? (?P<grade>alarm|warning))\s{0,8}"
    r"(?:\((?:Chan|Channel) (?P<lane>\d{1,2})\))?\s{0,60}: (?P<state>On|Off)\s*$"
)
POWER: Final = re.compile(
    r"\s{0,16}(?:Rcvr|Receiver) signal (?:avg|average) optical power\s{0,4}"
    r"(?:\(Channel (?P<lane>\d{1,2})\))?\s{0,60}: (?P<mw>\d{1,3}\.\d{1,6}) mW"
    r"(?: / (?P<dbm>-?(?:\d{1,3}\.\d{1,3}|inf)) dBm)?"
)
DARK_MW: Final = 0.001
"""-30 dBm: below it there is no light."""
# A cable of copper, or a module without diagnostics.
NO_DIAGNOSTICS: Final = re.compile(r"Optical diagnostics support\s{1,60}: No|Copper|passive", re.I)
TYPE: Final = "eth.module"


def claimed_module(head: str) -> bool:
    return ("Vendor" in head and MODULE.search(head) is not None) or (
        MODULE_FAILED.search(head[:400]) is not None
    )


def read_module(text: str, reading: Reading) -> None:
    asked = named_in(reading.artifact)
    name, first = asked, 0
    flags: list[re.Match[str]] = []
    lanes: dict[str, float] = {}
    copper = False
    for index, line in lines_of(text):
        if MODULE.match(line) is not None:
            if first:
                judge_module(name, first, flags, lanes, copper, reading)
            name, first, flags, lanes, copper = asked, index, [], {}, False
        elif (failed := MODULE_FAILED.match(line)) is not None:
            tell_failed(named_in(line) or asked, failed["why"], index, reading)
        elif not first:
            asked = named_in(line) or asked
            continue
        elif (flag := FLAG.match(line)) is not None:
            flags.append(flag)
        elif (power := POWER.match(line)) is not None:
            lanes[power["lane"] or "1"] = float(power["mw"])
        elif ":" not in line:
            asked = named_in(line) or asked
            continue
        copper = copper or NO_DIAGNOSTICS.search(line) is not None
        reading.saw(index)
    if first:
        judge_module(name, first, flags, lanes, copper, reading)


def tell_failed(name: str | None, why: str, line: int, reading: Reading) -> None:
    """A module that does not answer is a warning; a port that has none says nothing."""
    if re.search(r"input/output|timed? ?out|remote i/o", why, re.I):
        detail = f"the module does not answer: {why}"
        reading.add(
            TYPE, Outcome.WARN, part=name, detail=detail, category=Category.NETWORK, line=line
        )
    else:
        reading.unknown(TYPE, why, part=name, line=line)


def judge_module(
    name: str | None,
    line: int,
    flags: list[re.Match[str]],
    lanes: dict[str, float],
    copper: bool,
    reading: Reading,
) -> None:
    on = [flag for flag in flags if flag["state"] == "On"]
    dark = sorted((lane for lane, mw in lanes.items() if mw < DARK_MW), key=int)
    if lanes and len(dark) == len(lanes):
        outcome, said = Outcome.WARN, "no light on any lane: not plugged in, or the far end is off"
    elif dark:
        outcome, said = Outcome.FAIL, f"no light on lane {', '.join(dark)} of {len(lanes)}"
    elif any(flag["grade"] == "alarm" for flag in on):
        outcome, said = Outcome.FAIL, flag_words(on, "alarm")
    elif on:
        outcome, said = Outcome.WARN, flag_words(on, "warning")
    elif flags:
        outcome, said = Outcome.PASS, "no alarm"
    else:
        why = "it measures nothing" if copper else "no alarm of it is listed"
        reading.unknown(TYPE, why, part=name, line=line)
        return
    reading.add(TYPE, outcome, part=name, detail=said, category=Category.NETWORK, line=line)


def flag_words(on: list[re.Match[str]], grade: str) -> str:
    return ", ".join(
        " ".join(flag["name"].split()) + (f" of lane {flag['lane']}" if flag["lane"] else "")
        for flag in on
        if flag["grade"] == grade
    )


ETHTOOL_LINK: Final = CheckFormat(
    "ethtool", claimed_link, read_link, cut_as=LINK, words=("Settings for",)
)
ETHTOOL_STATISTICS: Final = CheckFormat(
    "ethtool_statistics",
    claimed_statistics,
    read_statistics,
    cut_as="eth.counters",
    words=("NIC statistics",),
)
ETHTOOL_MODULE: Final = CheckFormat(
    "ethtool_module",
    claimed_module,
    read_module,
    cut_as=TYPE,
    words=("Identifier", "odule EEPROM ", "netlink error: "),
)
