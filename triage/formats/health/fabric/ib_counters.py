"""Error counters of InfiniBand ports: ``perfquery`` of one port, ``ibqueryerrors`` of a fabric.

::

    # Port counters: Lid 13 port 1 (CapMask: 0x5A00)
    PortSelect:......................1
    SymbolErrorCounter:..............0
    LinkDownedCounter:...............2

    Errors for "n3 mlx5_0"
       GUID 0xe41d2d0300a5ff12 port 1: [SymbolErrorCounter == 34] [LinkDownedCounter == 2]

Counters are totals since somebody cleared them, so that a single reading warns and does not
fail. A port that was read twice in one file fails where links went down or symbols were
lost in between. Thresholds are those of infiniband-diags (``error_thresholds``).
"""

import re
from collections.abc import Mapping
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IB_COUNTERS"]

# "# Port counters: Lid 13 port 1 (CapMask: 0x5A00)"; extended counters say so.
BLOCK: Final = re.compile(
    r"# Port (?:extended )?counters(?: info)?: (?:Lid )?(\S{1,40}) port (\d{1,3})"
)
COUNTER: Final = re.compile(r"([A-Z][A-Za-z0-9]{2,40}):\.{2,40}(\d{1,20})\s*$")
# Errors for "n3 mlx5_0": a node and its adapter; a switch has another name or only a number.
ENTITY: Final = re.compile(r'Errors for (?:0x[0-9a-f]{1,16} )?"([^"]{1,200})"')
ADAPTER_OF: Final = re.compile(r"(\S{1,256}) (mlx\w{1,20}|HCA-\d{1,3}|hfi\w{1,10}|qib\w{1,10})")
LISTED: Final = re.compile(r"\bport (\d{1,3}|ALL):")
CELL: Final = re.compile(r"\[([A-Z][A-Za-z0-9]{2,40}) == (\d{1,20})\]")
# A counter warns above this.
THRESHOLDS: Final = {
    "SymbolErrorCounter": 10, "LinkErrorRecoveryCounter": 10, "LinkDownedCounter": 10,
    "PortRcvErrors": 10, "PortRcvRemotePhysicalErrors": 100, "PortRcvSwitchRelayErrors": 100,
    "PortXmitDiscards": 100, "PortXmitConstraintErrors": 100, "PortRcvConstraintErrors": 100,
    "LocalLinkIntegrityErrors": 10, "ExcessiveBufferOverrunErrors": 10, "VL15Dropped": 100,
    "EffectiveErrorCounter": 10,
}  # fmt: skip
# A counter that a port does not have is -1 or N/A, and no zero. What comes last of all:
SELECT: Final = re.compile(r"CounterSelect\d?:\.{2,40}")
LAST: Final = frozenset(
    {"PortRcvPkts", "PortXmitWait", "PortUnicastRcvPkts", "PortMultiCastRcvPkts"}
)
# Not to grow within one file: the link itself is ill.
LINK: Final = ("SymbolErrorCounter", "LinkDownedCounter", "LinkErrorRecoveryCounter")
Names = dict[str, tuple[int, int]]


def claimed(head: str) -> bool:
    if BLOCK.search(head[:4000]) and COUNTER.search(first_lines(head)):
        return True
    return ENTITY.search(head[:4000]) is not None and CELL.search(head) is not None


def first_lines(head: str) -> str:
    """The first line that is a counter, if any."""
    return next((line for line in head[:8000].split("\n") if COUNTER.match(line)), "")


def read(text: str, reading: Reading) -> None:
    seen: dict[str, Names] = {}
    part = ""
    found: Names = {}
    entity = ""
    selects = False
    for index, line in lines_of(text):
        if (block := BLOCK.search(line)) is not None:
            add_port(part, found, seen, reading, cut=selects and LAST.isdisjoint(found))
            part, found, selects = f"lid {block[1]}/{block[2]}", {}, False
        elif SELECT.match(line) is not None:
            selects = True
        elif (named := ENTITY.search(line)) is not None:
            entity = named[1]
        elif entity and (place := LISTED.search(line)) is not None:
            cells = {one[1]: (int(one[2]), index) for one in CELL.finditer(line)}
            listed(entity, place[1], cells, reading)
        elif part and (counter := COUNTER.match(line)) is not None:
            found[counter[1]] = (int(counter[2]), index)
    add_port(part, found, seen, reading, cut=selects and LAST.isdisjoint(found))


def add_port(
    part: str, found: Names, seen: dict[str, Names], reading: Reading, *, cut: bool
) -> None:
    """One reading of one port, beside an earlier one of the same port."""
    if not part:
        return
    before = seen.get(part)
    seen[part] = found
    if found.keys() <= {"PortSelect"}:
        reading.unknown("ib.counters", "the list of counters breaks off", part=part)
        return
    line = min(line for _, line in found.values())
    grown = [
        f"{name} grew by {found[name][0] - before[name][0]}"
        for name in LINK
        if before is not None
        and name in found
        and name in before
        and found[name][0] > before[name][0]
    ]
    if grown:
        reading.add(
            "ib.counters",
            Outcome.FAIL,
            part=part,
            detail=", ".join(grown),
            category=Category.NETWORK,
            line=line,
        )
        return
    if cut and not any(found[name][0] > most for name, most in THRESHOLDS.items() if name in found):
        reading.unknown("ib.counters", "the list of counters breaks off", part=part, line=line)
        return
    judged(part, found, line, None, reading)


def listed(entity: str, port: str, cells: Names, reading: Reading) -> None:
    """One line of ibqueryerrors; the sum over all ports of a switch says nothing new."""
    if port == "ALL" or not cells:
        return
    adapter = ADAPTER_OF.fullmatch(entity.strip())
    line = next(iter(cells.values()))[1]
    if adapter is None:
        reading.skip(line, f"the port of a switch, {entity[:80]!r}: it belongs to no node")
        return
    judged(f"{adapter[2]}/{port}", cells, line, adapter[1], reading)


def judged(
    part: str, found: Mapping[str, tuple[int, int]], line: int, node: str | None, reading: Reading
) -> None:
    high = [
        f"{name} {found[name][0]:,}"
        for name, most in THRESHOLDS.items()
        if name in found and found[name][0] > most
    ]
    reading.add(
        "ib.counters",
        Outcome.WARN if high else Outcome.PASS,
        part=part,
        node=node,
        detail=", ".join(high) or "no counter above its threshold",
        category=Category.NETWORK,
        line=line,
    )


IB_COUNTERS: Final = CheckFormat(
    "ib_counters",
    claimed,
    read,
    cut_as="ib.counters",
    words=("# Port counters", "# Port extended counters", "Errors for "),
)
