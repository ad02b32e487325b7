"""The envelopes of kernel logs: one node's lines in the form in which that node hands them out."""

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from simulator.incidents.story import KernelLine
from simulator.incidents.world import SECOND, Node

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_Form = Callable[[Node, Sequence[KernelLine]], list[str]]


def wall(node: Node, at_ns: int) -> datetime:
    """What the node's clock shows, without its zone."""
    return datetime.fromtimestamp((at_ns + node.skew_ns) // SECOND + node.zone_s, UTC)


def _micro(node: Node, at_ns: int) -> int:
    """Microseconds of the second."""
    return (at_ns + node.skew_ns) % SECOND // 1000


def _zone(node: Node) -> str:
    """The zone as +hh:mm."""
    minutes = abs(node.zone_s) // 60
    return f"{'-' if node.zone_s < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _uptime(node: Node, at_ns: int) -> str:
    """``[  123.456789]``."""
    since = max(at_ns - node.boot_ns, 0) // 1000
    return f"[{since // 1_000_000:5d}.{since % 1_000_000:06d}]"


def syslog(node: Node, at_ns: int) -> str:
    """``Sep 19 16:18:02``."""
    at = wall(node, at_ns)
    return f"{_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S}"


def _ctime(node: Node, at_ns: int) -> str:
    """``[Fri Mar  3 04:27:08 2023]``: reckoned from the uptime, so it drifts."""
    at = wall(node, at_ns + node.drift_ns)
    return f"[{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S} {at.year}]"


def iso(node: Node, at_ns: int, point: str = ".") -> str:
    """Full date, fraction and zone."""
    return f"{wall(node, at_ns):%Y-%m-%dT%H:%M:%S}{point}{_micro(node, at_ns):06d}{_zone(node)}"


def _utc(node: Node, at_ns: int) -> str:
    """Full date in UTC with nine digits."""
    shown = at_ns + node.skew_ns
    return f"{datetime.fromtimestamp(shown // SECOND, UTC):%Y-%m-%dT%H:%M:%S}.{shown % SECOND:09d}Z"


def _raw(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg."""
    return [f"{_uptime(node, one.at_ns)} {one.text}" for one in lines]


def _raw_thread(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg of newer kernels."""
    return [f"{_uptime(node, one.at_ns)} [ T{1000 + node.index}] {one.text}" for one in lines]


def _human(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg -T."""
    return [f"{_ctime(node, one.at_ns)} {one.text}" for one in lines]


def _levelled(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg -x -T."""
    return [
        f"kern  :{_LEVELS[one.level]:<6}: {_ctime(node, one.at_ns)} {one.text}" for one in lines
    ]


def _iso_comma(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg --time-format iso."""
    return [f"{iso(node, one.at_ns, ',')} {one.text}" for one in lines]


def _relative(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Dmesg -e: a minute now and then, and what passed since the line before."""
    shown, minute, before = [], "", 0
    for one in lines:
        at = wall(node, one.at_ns + node.drift_ns)
        now = f"[{_MONTHS[at.month - 1]}{at.day:2d} {at:%H:%M}]"
        if now != minute:
            shown.append(f"{now} {one.text}")
        else:
            passed = (one.at_ns - before) // 1000
            shown.append(f"[ {f'+{passed // 1_000_000}':>3}.{passed % 1_000_000:06d}] {one.text}")
        minute, before = now, one.at_ns
    return shown


def _kmsg(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """/dev/kmsg."""
    return [
        f"{one.level},{4000 + place},{max(one.at_ns - node.boot_ns, 0) // 1000},-;{one.text}"
        for place, one in enumerate(lines)
    ]


def _journal(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Journalctl -k."""
    head = "-- Journal begins at Mon 2026-03-02 09:11:20 UTC. --"
    return [head, *(f"{syslog(node, one.at_ns)} {node.fqdn} kernel: {one.text}" for one in lines)]


def _journal_nameless(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Journalctl -k --no-hostname."""
    return [f"{syslog(node, one.at_ns)} kernel: {one.text}" for one in lines]


def _journal_json(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Journalctl -k -o json; a message may be an array of bytes."""
    boot = f"{random.Random(node.name).getrandbits(128):032x}"
    return [
        json.dumps(
            {
                "__REALTIME_TIMESTAMP": str((one.at_ns + node.skew_ns) // 1000),
                "_BOOT_ID": boot,
                "_TRANSPORT": "kernel",
                "PRIORITY": str(one.level),
                "SYSLOG_IDENTIFIER": "kernel",
                "_HOSTNAME": node.fqdn,
                "MESSAGE": list(one.text.encode()) if place % 97 == 13 else one.text,
            }
        )
        for place, one in enumerate(lines)
    ]


def _rsyslog(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """/var/log/kern.log, with both clocks."""
    return [
        f"{syslog(node, one.at_ns)} {node.name} kernel: {_uptime(node, one.at_ns)} {one.text}"
        for one in lines
    ]


def _rsyslog_iso(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """/var/log/kern.log with full dates."""
    return [
        f"{iso(node, one.at_ns)} {node.fqdn} kernel: {_uptime(node, one.at_ns)} {one.text}"
        for one in lines
    ]


def _year_first(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """A network operating system's syslog."""
    shown = []
    for one in lines:
        at = wall(node, one.at_ns)
        shown.append(
            f"{at.year} {_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S}."
            f"{_micro(node, one.at_ns):06d} {node.name} {_LEVELS[one.level].upper()} kernel: "
            f"{_uptime(node, one.at_ns)} {one.text}"
        )
    return shown


def _grepped(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """Grep over files."""
    return [f"/var/log/messages:{line}" for line in _journal(node, lines)[1:]]


def _talos(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """A machine without a shell."""
    return [
        f"{node.ip}: kern: {_LEVELS[one.level]:>7}: [{_utc(node, one.at_ns)}]: {one.text}"
        for one in lines
    ]


def _container(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """A container that follows the kernel log, as its runtime writes it; long lines come in two."""
    shown = []
    for one in lines:
        at, text = _utc(node, one.at_ns), f"{_uptime(node, one.at_ns)} {one.text}"
        if len(text) > 220:
            shown.append(f"{at} stdout P {text[:180]}")
            text = text[180:]
        shown.append(f"{at} stdout F {text}")
    return shown


def _docker(node: Node, lines: Sequence[KernelLine]) -> list[str]:
    """The same, as Docker writes it."""
    return [
        json.dumps(
            {
                "log": f"{_uptime(node, one.at_ns)} {one.text}\n",
                "stream": "stdout",
                "time": _utc(node, one.at_ns),
            }
        )
        for one in lines
    ]


FORMS: dict[str, _Form] = {
    "raw": _raw, "raw_thread": _raw_thread, "human": _human, "levelled": _levelled,
    "iso_comma": _iso_comma, "relative": _relative, "kmsg": _kmsg, "journal": _journal,
    "journal_nameless": _journal_nameless, "journal_json": _journal_json, "rsyslog": _rsyslog,
    "rsyslog_iso": _rsyslog_iso, "year_first": _year_first, "grepped": _grepped, "talos": _talos,
    "container": _container, "docker": _docker,
}  # fmt: skip


def kernel_log(node: Node, lines: Sequence[KernelLine]) -> str:
    """The whole log of ``node`` in its form; ``lines`` are ascending in time."""
    return "\n".join(FORMS[node.form](node, lines)) + "\n"
