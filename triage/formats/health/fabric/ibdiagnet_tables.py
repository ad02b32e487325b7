"""What ``ibdiagnet`` leaves beside its log: ``ibdiagnet2.db_csv`` and ``ibdiagnet2.net_dump``.

::

    START_PM_INFO
    NodeGUID,PortGUID,PortNumber,LinkDownedCounter,SymbolErrorCounter,PortRcvErrors
    0xb8e924030047c1d2,0xb8e924030047c1d2,1,6,41872,188
    END_PM_INFO

Counters are totals since somebody cleared them, so that they warn. NODES gives names to the
identifiers, LINKS joins the two ends of a link. Columns vary; -1 is a counter that a device
does not have. ``.net_dump`` lists the ports of each switch with what hangs on them::

    11/1/1 : 21 : ACT : LINK_UP : 5 : 4x : 100 : ... : "gpu-n02 mlx5_5"
"""

import csv
import re
from collections.abc import Iterator
from typing import Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.fabric.link_report import BadEnd, LinkEnd, end_of, report_ends
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IBDIAGNET_TABLES", "NET_DUMP"]

CHECK: Final = "ib.diagnet"
STARTS: Final = (
    "START_NODES", "START_LINKS", "START_PM_INFO", "START_CABLE_INFO", "START_DUMMY_NODES",
    "START_PORTS", "START_INDEX_TABLE", "START_SWITCHES",
)  # fmt: skip
START: Final = re.compile(rf"^(?:{'|'.join(STARTS)})\r?$", re.M)
COLUMNS: Final = re.compile(r"^[A-Za-z]\w{2,40}(?:, ?[A-Za-z]\w{1,60}){2}", re.M)
TOTALS: Final = {
    "SymbolErrorCounter": 10, "SymbolErrorCounterExt": 10, "LinkDownedCounter": 0,
    "LinkDownedCounterExt": 0, "LinkErrorRecoveryCounter": 10, "LinkErrorRecoveryCounterExt": 10,
    "PortRcvErrors": 10, "PortRcvErrorsExt": 10, "LocalLinkIntegrityErrors": 10,
}  # fmt: skip
"""Above these a total warns: infiniband-diags' thresholds, and links that went down at all."""
NUMBER: Final = re.compile(r"-?\d{1,20}", re.ASCII)
MAX_ROWS: Final = 400_000


def claimed_tables(head: str) -> bool:
    return START.search(head) is not None and COLUMNS.search(head) is not None


def read_tables(text: str, reading: Reading) -> None:
    names: dict[str, str] = {}
    joined: list[list[str]] = []
    counted: list[tuple[str, str, str, int]] = []
    clean: list[tuple[str, str, int]] = []
    for block, cells, index in rows_of(text):
        guid = cells.get("nodeguid", "")
        if block == "NODES" and guid:
            names[guid] = cells.get("nodedesc", "")
        elif block == "LINKS":
            joined.append([cells.get(name, "") for name in LINK_COLUMNS])
        elif block == "PM_INFO" and guid:
            port = cells.get("portnumber") or cells.get("portnum", "")
            if high := over(cells):
                counted.append((guid, port, high, index))
            elif any(counts(cells)):
                clean.append((guid, port, index))
    links: dict[LinkEnd, LinkEnd] = {}
    for guid1, port1, guid2, port2 in joined:
        one, other = end_of(names.get(guid1, guid1), port1), end_of(names.get(guid2, guid2), port2)
        links[one], links[other] = other, one
    bad = [
        BadEnd(end_of(names.get(guid, guid), port), said, index, fails=False)
        for guid, port, said, index in counted
    ]
    report_ends(CHECK, bad, links, reading)
    told = {seen.end for seen in bad} | {links[seen.end] for seen in bad if seen.end in links}
    for guid, port, index in clean:
        end = end_of(names.get(guid, guid), port)
        if end.node is not None and end not in told:
            reading.add(CHECK, Outcome.PASS, part=end.part, node=end.node, line=index)
    opened, ended = text.rfind("\nSTART_"), text.rfind("\nEND_")
    if opened > ended:
        reading.unknown(CHECK, "the last table breaks off")


LINK_COLUMNS: Final = ("nodeguid1", "portnum1", "nodeguid2", "portnum2")


def counts(cells: dict[str, str]) -> Iterator[bool]:
    """For each total that the device has, that it does."""
    return (
        NUMBER.fullmatch(cells.get(name.lower(), "")) is not None
        and not cells[name.lower()].startswith("-")
        for name in TOTALS
    )


def over(cells: dict[str, str]) -> str:
    """The totals of a port above their thresholds, in words."""
    high = []
    for name, most in TOTALS.items():
        value = cells.get(name.lower(), "")
        if NUMBER.fullmatch(value) and int(value) > most:
            high.append(f"{name} {int(value):,}")
    return ", ".join(high)


def rows_of(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """(block, cells by name in lower case, line) of each row of the tables."""
    block = ""
    names: list[str] = []
    count = 0
    for index, line in lines_of(text):
        if line.startswith("START_"):
            block, names = line[6:].strip(), []
        elif line.startswith("END_") or not block:
            block = "" if line.startswith("END_") else block
        elif line.strip() and count < MAX_ROWS:
            try:
                cells = next(csv.reader([line], skipinitialspace=True), [])
            except csv.Error:
                continue
            if not names:
                names = [cell.strip().lower() for cell in cells]
                continue
            count += 1
            yield block, dict(zip(names, (cell.strip() for cell in cells), strict=False)), index


NET_HEADER: Final = re.compile(r"#\s{1,20}: IB#\s{0,8}: Sta\s{0,8}: PhysSta\s{0,8}:")
NET_SWITCH: Final = re.compile(r'"(?P<name>[^"\n]{1,200})", [^\n]{1,80}, 0x[0-9a-f]{6,16}, LID')
NET_ROW: Final = re.compile(
    r"\s{0,8}\S{1,20}\s{1,12}: (?P<port>\d{1,3})\s{1,8}: (?P<state>\w{2,10})\s{1,8}:"
    r" (?P<physical>\w{2,20})\s{1,12}:"
    r'(?P<rest>[^\n]{0,300}?)(?:"(?P<neighbour>[^"\n]{0,200})")?\s*$'
)


def claimed_dump(head: str) -> bool:
    return NET_HEADER.search(head) is not None and NET_SWITCH.search(head) is not None


def read_dump(text: str, reading: Reading) -> None:
    """Ports of switches, whose neighbours name nodes; a port that leads nowhere says nothing."""
    switch = ""
    for index, line in lines_of(text):
        header = NET_SWITCH.match(line)
        if header is not None:
            switch = header["name"]
            continue
        row = NET_ROW.match(line)
        if row is None or not row["neighbour"]:
            continue
        end = end_of(row["neighbour"], "1")
        if end.node is None:
            continue
        links = {end: end_of(switch, row["port"])}
        if row["state"] in ("ACT", "ACTIVE"):
            reading.add(
                CHECK,
                Outcome.PASS,
                part=f"{end.device}/1",
                node=end.node,
                detail=f"active at {links[end].words}",
                line=index,
            )
        else:
            said = f"state {row['state']}, {row['physical']}"
            report_ends(CHECK, [BadEnd(end, said, index)], links, reading)


IBDIAGNET_TABLES: Final = CheckFormat(
    "ibdiagnet_tables", claimed_tables, read_tables, words=STARTS, cut_as=CHECK
)
NET_DUMP: Final = CheckFormat(
    "ibdiagnet_net_dump", claimed_dump, read_dump, cut_as=CHECK, words=(": PhysSta",)
)
