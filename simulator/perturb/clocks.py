"""Clocks that go wrong, and clocks of another part of the world."""

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from simulator.perturb.incident import Incident
from simulator.perturb.stamps import ISO, SECOND_NS, moved_wall
from simulator.perturb.transformation import Keep

_MINUTE_NS: Final = 60 * SECOND_NS
# An int of eight bytes in a pickle; a number of nineteen digits in JSON.
_LONG: Final = re.compile(rb"\x8a\x08(.{8})", re.DOTALL)
_DIGITS: Final = re.compile(rb"(?<=[ :])(\d{19})(?=[,}\s])")
# A dump holds times of some days; ids of communicators lie elsewhere.
_NEAR_NS: Final = 40 * 86_400 * SECOND_NS
_ZONED: Final = re.compile(rf"{ISO.pattern}(Z|[+-]\d\d:?\d\d)")


@dataclass(frozen=True, slots=True)
class ClocksOff:
    """The clock of each node is off by up to five minutes, in its dumps as well."""

    name: str = "clocks-off"
    law: int = 3
    keeps: frozenset[Keep] = frozenset({Keep.NODE, Keep.CATEGORY, Keep.NO_INNOCENT})
    max_s: int = 300

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Files of no single node stay as they are."""
        off = {node: rng.randint(-self.max_s, self.max_s) * SECOND_NS for node in incident.nodes}
        near = incident.end_ns or incident.start_ns
        made: dict[str, bytes] = {}
        dumps = set(incident.dumps())
        for name, node in incident.node_of.items():
            data = incident.files.get(name)
            if data is None or node not in off:
                continue
            if name in dumps and near is not None:
                made[name] = dump_moved(data, off[node], near)
            elif name in incident.texts([node]):
                made[name] = log_moved(data, off[node], incident.end_ns)
        return incident.with_files(made) if made else None


@dataclass(frozen=True, slots=True)
class OtherZone:
    """All logs in the time of another zone; where a zone is printed it is the new one."""

    name: str = "other-zone"
    law: int = 3
    keeps: frozenset[Keep] = frozenset({Keep.NODE, Keep.ROLE, Keep.CATEGORY, Keep.NO_INNOCENT})

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Epochs and times since boot stay."""
        hours = rng.choice((-8, -5, 1, 2, 8, 9))
        year = _year_of(incident.end_ns)
        made = {}
        for name in incident.texts():
            text = incident.files[name].decode("utf-8", "surrogateescape")
            text = moved_wall(text, hours * 3600 * SECOND_NS, year=year, epochs=False)
            text = _ZONED.sub(lambda match: _rezoned(match, hours), text)
            made[name] = text.encode("utf-8", "surrogateescape")
        return incident.with_files(made) if made else None


def _rezoned(match: "re.Match[str]", by_hours: int) -> str:
    """The zone behind a time that was moved."""
    old = match[match.lastindex or 0]
    minutes = 0 if old == "Z" else int(old[1:3]) * 60 + int(old[-2:])
    minutes = (-minutes if old[0] == "-" else minutes) + by_hours * 60
    sign, (hour, minute) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    colon = ":" if old == "Z" or ":" in old else ""
    return match[0][: -len(old)] + f"{sign}{hour:02d}{colon}{minute:02d}"


def log_moved(data: bytes, by_ns: int, end_ns: int | None) -> bytes:
    """A log whose wall-clock times are all ``by_ns`` later."""
    text = data.decode("utf-8", "surrogateescape")
    return moved_wall(text, by_ns, year=_year_of(end_ns)).encode("utf-8", "surrogateescape")


def _year_of(end_ns: int | None) -> int:
    return datetime.fromtimestamp((end_ns or 0) / SECOND_NS, UTC).year if end_ns else 2026


def dump_moved(data: bytes, by_ns: int, near_ns: int) -> bytes:
    """The dump with its times moved; those that lie far from ``near_ns`` are no times."""

    def packed(match: "re.Match[bytes]") -> bytes:
        at_ns = int.from_bytes(match[1], "little", signed=True)
        if abs(at_ns - near_ns) > _NEAR_NS:
            return match[0]
        return b"\x8a\x08" + (at_ns + by_ns).to_bytes(8, "little", signed=True)

    def printed(match: "re.Match[bytes]") -> bytes:
        at_ns = int(match[1])
        return match[0] if abs(at_ns - near_ns) > _NEAR_NS else str(at_ns + by_ns).encode()

    return _LONG.sub(packed, data) if data[:1] == b"\x80" else _DIGITS.sub(printed, data)
