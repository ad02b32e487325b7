"""``ibstat``: the ports of each adapter, and whether they are up at full rate.

::

    CA 'mlx5_0'
            CA type: MT4129
            Number of ports: 1
            Port 1:
                    State: Active
                    Physical state: LinkUp
                    Rate: 400
                    Link layer: InfiniBand

A port that is down fails only where another of the same type and layer is up: many machines
have ports that nothing is plugged into.
"""

import re
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IB_PORTS"]

ADAPTER: Final = re.compile(r"CA '([\w.-]{1,64})'\s*$")
PORT: Final = re.compile(r"\s+Port (\d{1,3}):\s*$")
VALUE: Final = re.compile(r"\s+(CA type|State|Physical state|Rate|Link layer): ?(.{0,80}?)\s*$")
NUMBER: Final = re.compile(r"\d{1,6}", re.ASCII)


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

    @property
    def up(self) -> bool:
        """Whether it carries traffic."""
        return self.state.lower() == "active" and self.physical.lower() == "linkup"


def claimed(head: str) -> bool:
    return re.match(r"\s*CA '[\w.-]{1,64}'\s*\n\s+CA type:", head) is not None


def read(text: str, reading: Reading) -> None:
    ports: list[Port] = []
    adapter, ca_type, last = "", "", 1
    port: Port | None = None
    for index, line in lines_of(text):
        if (found := ADAPTER.match(line)) is not None:
            adapter, ca_type, port = found[1], "", None
        elif (found := PORT.match(line)) is not None and adapter:
            port = Port(f"{adapter}/{found[1]}", index, ca_type)
            ports.append(port)
        elif (found := VALUE.match(line)) is not None and adapter:
            if found[1] == "CA type":
                ca_type = found[2]
            elif port is not None:
                put(port, found[1], found[2])
        elif line.strip() and not line[0].isspace():
            break  # another program's output
        if line.strip():
            last = index
    reading.last_line = last
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
    said = f"{port.state or 'unknown'}, {port.physical or 'unknown'}"
    outcome = Outcome.PASS
    if port.physical.lower() == "disabled":
        outcome, said = Outcome.SKIPPED, f"{said}: switched off"
    elif not port.up:
        outcome = Outcome.FAIL if others_up else Outcome.WARN
        if not others_up:
            said += "; no port of its kind is up, it may be unused"
    reading.add(
        "ib.link_state",
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


IB_PORTS: Final = CheckFormat("ibstat", claimed, read)
