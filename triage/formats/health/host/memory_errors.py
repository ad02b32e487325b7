"""Memory errors as daemons count them: ``edac-util``, ``ras-mc-ctl``, ``mcelog --client``.

::

    mc0: csrow2: CPU_SrcID#0_MC#0_Chan#1_DIMM#0: 12 Corrected Errors
    mc0: csrow2: 1 Uncorrected Errors

    Memory controller events summary:
            Corrected on DIMM Label(s): 'DIMM_A1' location: 1:0:0:0 errors: 42

EDAC counts since boot: an uncorrected error fails. rasdaemon's summary is of as long as its
database is kept, so it advises; its list of errors has their dates. Corrected errors advise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["EDAC_UTIL", "MCELOG_CLIENT", "RAS_MC_CTL"]

CHECK: Final = "memory.errors"
# "mc0: csrow2: CPU_SrcID#0_MC#0_Chan#1_DIMM#0: 12 Corrected Errors", "mc0:csrow0:mc#0...:CE:12"
COUNT: Final = re.compile(
    r"(?P<mc>mc\d{1,3}): ?(?P<where>[^\n]{0,120}?)(?::| ) ?(?P<count>\d{1,12}) "
    r"(?P<how>Uncorrected|Corrected) Errors(?P<rest> with no DIMM info)?\s*$"
)
FULL: Final = re.compile(
    r"(?P<mc>mc\d{1,3}):(?P<where>[^\n]{1,120}?):(?P<how>UE|CE):(?P<count>\d{1,12})\s*$"
)
NOTHING: Final = re.compile(r"edac-util: No errors to report")
NO_DATA: Final = re.compile(r"edac-util: (?:Error|Fatal): (?P<why>[^\n]{1,160})")


@dataclass(frozen=True, slots=True)
class Counted:
    """Errors of one place."""

    place: str
    count: int
    uncorrected: bool
    line: int


def claimed_edac(head: str) -> bool:
    lines = head.split("\n")[:200]
    return any(
        COUNT.match(line) or FULL.match(line) or NOTHING.match(line) or NO_DATA.match(line)
        for line in lines
    )


def read_edac(text: str, reading: Reading) -> None:
    counted: list[Counted] = []
    clean = 0
    for index, line in lines_of(text):
        found = COUNT.match(line) or FULL.match(line)
        if found is not None:
            place = f"{found['mc']} {found['where'].strip(' :')}".strip()
            uncorrected = found["how"] in ("Uncorrected", "UE")
            counted.append(Counted(place, int(found["count"]), uncorrected, index))
        elif NOTHING.match(line) is not None:
            clean = index
        elif (why := NO_DATA.match(line)) is not None:
            reading.unknown(CHECK, why["why"], line=index)
        else:
            continue
        reading.saw(index)
    bad = [one for one in counted if one.count]
    for one in bad:
        tell(one.place, one.count, one.uncorrected, one.line, reading)
    if not bad and (clean or counted):
        whole = clean or pairs_whole(counted)
        if whole:
            reading.add(CHECK, Outcome.PASS, detail="no memory error since boot", line=clean or 1)
        else:
            reading.unknown(CHECK, "the list of counters breaks off", line=counted[-1].line)


def pairs_whole(counted: list[Counted]) -> bool:
    """Whether the counters come in both sorts, as the tool prints them."""
    sorts = {one.uncorrected for one in counted}
    return len(sorts) > 1 and not counted[-1].uncorrected


def tell(place: str, count: int, uncorrected: bool, line: int, reading: Reading) -> None:
    """Errors since boot."""
    how = "uncorrected" if uncorrected else "corrected"
    reading.add(
        CHECK,
        Outcome.FAIL if uncorrected else Outcome.WARN,
        part=place,
        detail=f"{count:,} {how} since boot",
        category=Category.HOST_MEMORY,
        line=line,
    )


# "Memory controller events summary:", "PCIe AER events:", "No Memory errors."
SUMMARY: Final = re.compile(
    r"(?P<what>Memory controller|PCIe AER|MCE|Extlog|ARM processor|CXL [\w ]{2,40}|Disk|Devlink"
    r"|Memory failure|SIGNAL)\s{1,2}(?:events|records|errors)(?P<summary> summary)?:\s*$"
)
NONE_OF: Final = re.compile(r"No (?P<what>[\w ]{2,60}?) errors?\.\s*$")
OF_DIMM: Final = re.compile(
    r"\s{1,16}(?P<how>Corrected|Uncorrected|Fatal|Deferred|Info)\b[^\n]{0,20} on DIMM Label\(s\):"
    r" '(?P<label>[^'\n]{0,120})' location: \S{1,40} errors: (?P<count>\d{1,12})"
)
OF_BUS: Final = re.compile(
    r"\s{1,16}(?:(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:\S{4}) )?has \d{1,12} [^\n]{1,80}? errors?"
    r"|\s{1,16}(?P<number>\d{1,12}) (?P<words>[A-Z][^\n]{2,120})"
)
# "1 2026-03-04 11:12:13 +0000 2 Uncorrected error(s): memory read error at DIMM_A1 location: ..."
EVENT: Final = re.compile(
    r"\d{1,12} (?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})[, ] ?(?P<said>[^\n]{3,400})$"
)
OF_EVENT: Final = re.compile(
    r"(?P<count>\d{1,9}) (?P<how>Corrected|Uncorrected|Fatal|Deferred)[^\n]{0,12} error\(s\):? ?"
    r"(?P<what>[^\n]{1,100}?) at (?P<label>[^\n]{1,100}?) location: (?P<location>\S{1,40})"
)
GRAVE: Final = re.compile(r"(?i)\b(?:uncorrected|uncorrectable|fatal)\b")
# "DIMM_A1                42       0"
TABLE: Final = re.compile(r"Label\s{1,60}CE\s{1,20}UE\s*$")
TABLE_ROW: Final = re.compile(
    r"(?P<label>\S[^\n]{0,100}?)\s{1,60}(?P<ce>\d{1,12})\s{1,20}(?P<ue>\d{1,12})\s*$"
)
LAST: Final = re.compile(
    r"^(?:No (?:MCE|ARM processor) errors|MCE records|MCE events|ARM processor events)", re.M
)


def claimed_ras(head: str) -> bool:
    if "ras-mc-ctl: Error: " in head:
        return True
    lines = head.split("\n")[:400]
    told = sum(NONE_OF.match(line) is not None or SUMMARY.match(line) is not None for line in lines)
    known = any("Memory errors." in line or SUMMARY.match(line) for line in lines)
    return (told > 1 and known) or any(TABLE.match(line) for line in lines)


def read_ras(text: str, reading: Reading) -> None:
    section, of_all_time, rows = "", True, 0
    in_table = False
    for index, line in lines_of(text):
        header = SUMMARY.match(line)
        if header is not None:
            section, of_all_time = header["what"], header["summary"] is not None
        elif TABLE.match(line) is not None:
            in_table = True
        elif in_table and (row := TABLE_ROW.match(line)) is not None:
            rows += table_row(row, index, reading)
        elif (dimm := OF_DIMM.match(line)) is not None:
            rows += 1
            detail = f"{int(dimm['count']):,} {dimm['how'].lower()} in all that is recorded"
            add(Outcome.WARN, dimm["label"], detail, Category.HOST_MEMORY, index, reading)
        elif (event := EVENT.match(line)) is not None and section:
            rows += 1
            read_event(event, section, index, reading)
        elif section and of_all_time and (found := OF_BUS.match(line)) is not None:
            rows += 1
            category = Category.CPU if section == "MCE" else Category.IO_BOARD
            add(Outcome.WARN, found["device"], line.strip(), category, index, reading)
        elif line.startswith("ras-mc-ctl: Error: "):
            reading.unknown(CHECK, line[19:], line=index)
            rows += 1
        elif NONE_OF.match(line) is None:
            continue
        reading.saw(index)
    if rows:
        return
    if in_table or LAST.search(text) is not None:
        reading.add(CHECK, Outcome.PASS, detail="no error is recorded", line=1)
    else:
        reading.unknown(CHECK, "the summary breaks off before its last part")


def table_row(row: re.Match[str], index: int, reading: Reading) -> int:
    """Errors of one module since boot; whether it has any."""
    corrected, uncorrected = int(row["ce"]), int(row["ue"])
    if uncorrected:
        tell(row["label"], uncorrected, True, index, reading)
    elif corrected:
        tell(row["label"], corrected, False, index, reading)
    return uncorrected + corrected > 0


def read_event(event: re.Match[str], section: str, index: int, reading: Reading) -> None:
    """One dated error."""
    try:
        at = datetime.strptime(event["at"], "%Y-%m-%d %H:%M:%S %z").astimezone(UTC)
    except (ValueError, OverflowError):
        at = None
    said = event["said"]
    memory = OF_EVENT.search(said)
    grave = GRAVE.search(said) is not None and "Deferred" not in said
    category = {"Memory controller": Category.HOST_MEMORY, "MCE": Category.CPU}.get(
        section, Category.IO_BOARD
    )
    reading.add(
        CHECK,
        Outcome.FAIL if grave and at is not None else Outcome.WARN,
        part=memory["label"] if memory else None,
        detail=said,
        category=category,
        line=index,
        at=at,
    )


def add(
    outcome: Outcome, part: str | None, detail: str, category: Category, line: int, reading: Reading
) -> None:
    reading.add(CHECK, outcome, part=part, detail=detail, category=category, line=line)


# "SOCKET 1 CHANNEL 3 DIMM 0", "SOCKET 1 CHANNEL any DIMM any"
DIMM: Final = re.compile(
    r"SOCKET (?P<socket>\d{1,3})(?: CHANNEL (?P<channel>\w{1,4}))?(?: DIMM (?P<dimm>\w{1,4}))?\s*$"
)
DMI_NAME: Final = re.compile(r'DMI_NAME "(?P<name>[^"\n]{1,80})"')
SORT: Final = re.compile(r"(?P<un>un)?corrected memory errors:\s*$")
TOTAL: Final = re.compile(r"\s{1,16}(?P<count>\d{1,12}) (?P<when>total|in 24h)")


def claimed_mcelog(head: str) -> bool:
    lines = head.split("\n")[:200]
    return any(DIMM.match(one) for one in lines) and any(SORT.match(one) for one in lines)


def read_mcelog(text: str, reading: Reading) -> None:
    for place, line, counts in modules_in(text, reading):
        if "uncorrected total" not in counts:
            reading.unknown(CHECK, "its counters break off", part=place, line=line)
            continue
        recent = counts.get("uncorrected in 24h", 0)
        told = [f"{count:,} {what}" for what, count in counts.items() if count]
        outcome = Outcome.FAIL if recent else Outcome.WARN if told else Outcome.PASS
        reading.add(
            CHECK,
            outcome,
            part=place,
            detail=", ".join(told) or "no memory error",
            category=Category.HOST_MEMORY,
            line=line,
        )


def modules_in(text: str, reading: Reading) -> Iterator[tuple[str, int, dict[str, int]]]:
    """(place, line, counts by what they count) of each module."""
    place, first, sort = "", 1, ""
    counts: dict[str, int] = {}
    for index, line in lines_of(text):
        if DIMM.match(line) is not None:
            if place:
                yield place, first, counts
            place, first, sort, counts = line.strip(), index, "", {}
        elif (name := DMI_NAME.match(line)) is not None and place:
            place = name["name"]
        elif (found := SORT.match(line)) is not None:
            sort = "uncorrected" if found["un"] else "corrected"
        elif sort and (total := TOTAL.match(line)) is not None:
            counts[f"{sort} {total['when']}"] = int(total["count"])
        else:
            continue
        reading.saw(index)
    if place:
        yield place, first, counts


EDAC_UTIL: Final = CheckFormat(
    "edac_util",
    claimed_edac,
    read_edac,
    cut_as=CHECK,
    words=("edac-util: ", "corrected Errors", ":UE:", ":CE:"),
)
RAS_MC_CTL: Final = CheckFormat(
    "ras_mc_ctl",
    claimed_ras,
    read_ras,
    words=(
        "ras-mc-ctl: Error: ",
        "Memory errors.",
        "events:",
        "records:",
        "errors:",
        " summary:",
        "Label",
    ),
    cut_as=CHECK,
)
MCELOG_CLIENT: Final = CheckFormat(
    "mcelog_client", claimed_mcelog, read_mcelog, cut_as=CHECK, words=("corrected memory errors:",)
)
