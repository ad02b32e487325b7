"""Ports of adapters, and whether they are up at full rate: ``ibstat`` and its kin.

``ibstat`` in full; ``ibstatus``, ``ibv_devinfo`` and ``rdma link`` say the same in other words::

    CA 'mlx5_0'
            CA type: MT4129
            Number of ports: 1
            Port 1:
                    State: Active
                    Physical state: LinkUp
                    Rate: 400
                    Link layer: InfiniBand

    Infiniband device 'mlx5_0' port 1 status:
            state:           4: ACTIVE
            phys state:      5: LinkUp
            rate:            400 Gb/sec (4X NDR)

    link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ibp12s0

A port that is down fails only where another of the same type and layer is up: many machines
have ports that nothing is plugged into.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IBV_DEVINFO", "IB_PORTS", "IB_STATUS", "RDMA_LINK"]

# "CA 'mlx5_0'", and in the next line "CA type: MT4129"
CLAIM: Final = re.compile(r"^\s*CA '[\w.-]{1,64}'\s*\n\s+CA type:", re.M)
ADAPTER: Final = re.compile(r"CA '([\w.-]{1,64})'\s*$")
STATE: Final = "ib.link_state"
PORT: Final = re.compile(r"\s+Port (\d{1,3}):\s*$")
VALUE: Final = re.compile(r"\s+(CA type|State|Physical state|Rate|Link layer): ?(.{0,80}?)\s*$")
NUMBER: Final = re.compile(r"\d{1,6}", re.ASCII)
NUM_PORTS: Final = re.compile(r"\s+Number of ports: (\d{1,3})\s*$")
UP: Final = frozenset({"active", "port_active"})
LINKED: Final = frozenset({"linkup", "link_up", ""})
OFF: Final = frozenset({"disabled"})


@dataclass(slots=True)
class Port:
    """One port as it is printed; ``rate`` is in Gb/s."""

    part: str
    line: int
    ca_type: str = ""
    state: str = ""
    physical: str = ""
    rate: int = 0
    layer: str = ""
    whole: bool = True

    @property
    def up(self) -> bool:
        """Whether it carries traffic."""
        return self.state.lower() in UP and self.physical.lower() in LINKED


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    ports: list[Port] = []
    announced: dict[str, int] = {}
    adapter, ca_type = "", ""
    port: Port | None = None
    for index, line in lines_of(text):
        if (found := ADAPTER.match(line)) is not None:
            adapter, ca_type, port = found[1], "", None
        elif (found := NUM_PORTS.match(line)) is not None and adapter:
            announced[adapter] = int(found[1])
        elif (found := PORT.match(line)) is not None and adapter:
            port = Port(f"{adapter}/{found[1]}", index, ca_type)
            ports.append(port)
        elif (found := VALUE.match(line)) is not None and adapter:
            if found[1] == "CA type":
                ca_type = found[2]
            elif port is not None:
                put(port, found[1], found[2])
        elif adapter and line.strip() and not line[0].isspace():
            break  # another program's output
        if adapter and line.strip():
            reading.saw(index)
    named = any(one.layer for one in ports)
    for one in ports:
        one.whole = bool(one.state and one.physical) and bool(one.layer or not named)
    for name, count in announced.items():
        listed = sum(one.part.startswith(f"{name}/") for one in ports)
        if listed < count:
            reading.unknown(STATE, f"breaks off: {listed} of {count} ports", part=name)
    judge_ports(ports, reading)


def judge_ports(ports: Sequence[Port], reading: Reading) -> None:
    """Each port, held against the others of its type and layer in the same report."""
    up: dict[tuple[str, str], list[int]] = {}
    for one in ports:
        if one.up:
            up.setdefault((one.ca_type, one.layer), []).append(one.rate)
    best = {kind: max(rates) for kind, rates in up.items()}
    for one in ports:
        kind = (one.ca_type, one.layer)
        others_up = len(up.get(kind, ())) > one.up
        judged(one, others_up, best.get(kind, 0), reading)


def put(port: Port, name: str, value: str) -> None:
    if name == "State":
        port.state = value
    elif name == "Physical state":
        port.physical = value
    elif name == "Link layer":
        port.layer = value
    elif name == "Rate" and (found := NUMBER.match(value)) is not None:
        port.rate = int(found[0])


def judged(port: Port, others_up: bool, best: int, reading: Reading) -> None:
    """``others_up`` is whether another port of its kind is up, ``best`` the best rate of these
    and its own, in Gb/s.
    """
    said = ", ".join(word for word in (port.state, port.physical) if word) or "unknown"
    outcome = Outcome.PASS
    if not port.whole:
        reading.unknown(STATE, "the report breaks off in it", part=port.part, line=port.line)
        return
    if port.physical.lower() in OFF:
        outcome, said = Outcome.SKIPPED, f"{said}: switched off"
    elif not port.up:
        outcome = Outcome.FAIL if others_up else Outcome.WARN
        if not others_up:
            said += "; no port of its kind is up, it may be unused"
    reading.add(
        STATE,
        outcome,
        part=port.part,
        detail=said,
        category=Category.NETWORK,
        line=port.line,
    )
    if not port.up or not port.rate:
        return
    slower = Outcome.FAIL if port.rate < best else Outcome.PASS
    reading.add(
        "ib.link_rate",
        slower,
        part=port.part,
        detail=f"{port.rate} of {best} Gb/s",
        category=Category.NETWORK,
        line=port.line,
    )


# "Infiniband device 'mlx5_0' port 1 status:"
STATUS_OF: Final = re.compile(
    r"Infiniband device '(?P<name>[\w.-]{1,64})' port (?P<port>\d{1,3}) status:"
)
STATUS_VALUE: Final = re.compile(
    r"\s+(?P<name>state|phys state|rate|link_layer):\s{1,24}(?:\d{1,2}: )?"
    r"(?P<value>[^\n]{1,60}?)\s*$"
)
STATUS_NAMES: Final = {"state": "State", "phys state": "Physical state", "rate": "Rate",
                       "link_layer": "Link layer"}  # fmt: skip


def claimed_status(head: str) -> bool:
    return STATUS_OF.search(head) is not None


def read_status(text: str, reading: Reading) -> None:
    ports: list[Port] = []
    for index, line in lines_of(text):
        if (header := STATUS_OF.search(line)) is not None:
            ports.append(Port(f"{header['name']}/{header['port']}", index))
            reading.saw(index)
        elif ports and (value := STATUS_VALUE.match(line)) is not None:
            put(ports[-1], STATUS_NAMES[value["name"]], value["value"])
            reading.saw(index)
    named = any(one.layer for one in ports)
    for one in ports:
        one.whole = bool(one.state and one.physical and one.rate and (one.layer or not named))
    judge_ports(ports, reading)


# "hca_id: mlx5_0", below it "port: 1", "state: PORT_ACTIVE (4)", "link_layer: InfiniBand"
CLAIM_DEVINFO: Final = re.compile(r"^hca_id:\s{1,8}[\w.-]{1,64}\s*$", re.M)
HCA: Final = re.compile(r"hca_id:\s{1,8}(?P<name>[\w.-]{1,64})\s*$")
DEVINFO_VALUE: Final = re.compile(
    r"\s+(?P<name>port|state|phys_state|link_layer|vendor_part_id|phys_port_cnt):\s{1,24}"
    r"(?P<value>[^\n]{1,60}?)(?: \(\d{1,3}\))?\s*$"
)


def claimed_devinfo(head: str) -> bool:
    return CLAIM_DEVINFO.search(head) is not None


def read_devinfo(text: str, reading: Reading) -> None:
    ports: list[Port] = []
    name = kind = ""
    counts: dict[str, int] = {}
    for index, line in lines_of(text):
        if (header := HCA.match(line)) is not None:
            name, kind = header["name"], ""
            counts[name] = 1
            reading.saw(index)
        elif name and (value := DEVINFO_VALUE.match(line)) is not None:
            reading.saw(index)
            what, said = value["name"], value["value"]
            if what == "vendor_part_id":
                kind = said
            elif what == "phys_port_cnt" and said[:3].isdigit():
                counts[name] = int(said[:3])
            elif what == "port":
                ports.append(Port(f"{name}/{said}", index, kind))
            elif ports and ports[-1].part.startswith(f"{name}/"):
                put(ports[-1], DEVINFO_NAMES[what], said)
    for one in ports:
        one.whole = bool(one.state and one.layer)
    for name, count in counts.items():
        listed = sum(one.part.startswith(f"{name}/") for one in ports)
        if listed < count:
            reading.unknown(STATE, f"breaks off: {listed} of {count} ports", part=name)
    judge_ports(ports, reading)


DEVINFO_NAMES: Final = {"state": "State", "phys_state": "Physical state",
                        "link_layer": "Link layer"}  # fmt: skip
# "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ibp12s0"; with an index before 2019,
# and with a subnet and a LID of InfiniBand
LINK: Final = re.compile(
    r"(?:link|\d{1,3}/\d{1,3}:) (?P<part>[\w.-]{1,64}/\d{1,3}):? "
    r"(?P<ids>(?:[a-z_]{2,16} \S{1,60} ){0,6}?)"
    r"state (?P<state>[A-Z_]{2,20})(?: physical_state (?P<physical>[A-Z_]{2,32}))?"
    r"(?: netdev (?P<netdev>\S{1,40}))?"
)
STATES: Final = frozenset({"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"})
PHYSICAL: Final = frozenset(
    {
        "NOP", "SLEEP", "POLLING", "DISABLED", "PORT_CONFIGURATION_TRAINING", "LINK_UP",
        "LINK_ERROR_RECOVER", "PHY_TEST",
    }
)  # fmt: skip


def claimed_rdma(head: str) -> bool:
    return any(LINK.match(line) for line in head.split("\n")[:200])


def read_rdma(text: str, reading: Reading) -> None:
    ports: list[Port] = []
    for index, line in lines_of(text):
        found = LINK.match(line)
        if found is None:
            if line.startswith("link ") and ports:
                reading.unknown(
                    STATE, "its row breaks off", part=line[5:].split(" ")[0], line=index
                )
            continue
        reading.saw(index)
        layer = "InfiniBand" if "lid" in found["ids"].split() else "Ethernet"
        port = Port(found["part"], index, "", found["state"], found["physical"] or "", 0, layer)
        port.whole = found["state"] in STATES and found["physical"] in PHYSICAL
        ports.append(port)
    judge_ports(ports, reading)


IB_PORTS: Final = CheckFormat(
    "ibstat", claimed, read, cut_as=STATE, part=ADAPTER, words=("CA type:",)
)
IB_STATUS: Final = CheckFormat(
    "ibstatus", claimed_status, read_status, cut_as=STATE, words=("Infiniband device",)
)
IBV_DEVINFO: Final = CheckFormat(
    "ibv_devinfo", claimed_devinfo, read_devinfo, cut_as=STATE, part=HCA, words=("hca_id:",)
)
RDMA_LINK: Final = CheckFormat(
    "rdma_link", claimed_rdma, read_rdma, cut_as=STATE, words=("state ",)
)
