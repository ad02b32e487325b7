"""How good a drive is by its own counters, whichever tool read them.

``critical_warning`` is the drive's own verdict and fails. Media errors and wear are totals of
its whole life: they advise a look, and accuse nobody.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.reading import Reading

__all__ = ["DRIVE", "Drive", "count_in", "device_in", "judge_drive"]

DRIVE: Final = "disk.smart"
# "/dev/nvme3n1"; "smartctl_-a_.dev.nvme3n1" is how a sosreport names the file
DEVICE: Final = re.compile(
    r"(?:/dev/|[._]dev[._])((?:nvme\d{1,4}(?:n\d{1,4})?|sd[a-z]{1,3}|sg\d{1,3}))"
)
NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,16}|\d[\d,.' \u00a0\u202f]{0,40}", re.ASCII)
# NVMe base specification, SMART / Health Information, byte 0.
WARNINGS: Final = (
    "spare below its threshold", "too hot or too cold", "reliability degraded", "read-only",
    "backup of volatile memory failed", "persistent memory unreliable",
)  # fmt: skip
WORN: Final = 100


@dataclass(slots=True)
class Drive:
    """What a tool said of one drive; None where it said nothing.

    ``passed`` is the drive's own verdict, ``bad`` and ``advice`` are more that was found, in
    words. ``whole`` is whether the report came to its end.
    """

    name: str | None = None
    line: int = 1
    passed: bool | None = None
    warning: int | None = None
    spare: int | None = None
    spare_threshold: int | None = None
    used: int | None = None
    media_errors: int | None = None
    critical_minutes: int | None = None
    bad: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    whole: bool = True


def device_in(text: str) -> str | None:
    """The drive that a command line or a file name asks for: ``nvme3n1``."""
    found = DEVICE.search(text)
    return None if found is None else found[1]


def count_in(text: object) -> int | None:
    """A count as tools print it: ``0x04``, ``14,892,104 (7.62 TB)``, ``101%``; None for none."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return text
    if isinstance(text, float):
        return int(text) if abs(text) < 1e18 else None
    if isinstance(text, dict):  # nvme-cli -o json -v: {"value": 4, "available_spare": 0, ...}
        return count_in(text.get("value"))
    found = NUMBER.match(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    if found[0].startswith("0x"):
        return int(found[0], 16)
    return int(re.sub(r"[^0-9]", "", found[0])[:24])


def judge_drive(drive: Drive, reading: Reading) -> None:
    """The result of one drive: what it says of itself fails, what it counted advises."""
    bad = [*drive.bad]
    if drive.warning:
        told = [word for bit, word in enumerate(WARNINGS) if drive.warning >> bit & 1]
        bad.append(f"critical warning {drive.warning:#04x}: {', '.join(told) or 'reserved bits'}")
    if drive.passed is False:
        bad.append("the drive's own verdict is that it fails")
    advice = [*drive.advice]
    if drive.spare is not None and drive.spare_threshold is not None:
        if drive.spare < drive.spare_threshold:
            bad.append(f"spare {drive.spare}% below {drive.spare_threshold}%")
        elif drive.spare == drive.spare_threshold:
            advice.append(f"spare {drive.spare}%, at its threshold")
    if drive.used is not None and drive.used >= WORN:
        advice.append(f"{drive.used}% of its rated writes used")
    if drive.media_errors:
        advice.append(f"{drive.media_errors:,} media errors in its life")
    if drive.critical_minutes:
        advice.append(f"{drive.critical_minutes:,} min above its critical temperature")
    if not drive.whole and not bad:
        why = "the report of the drive breaks off"
        reading.unknown(DRIVE, "; ".join([*advice, why]), part=drive.name, line=drive.line)
        return
    outcome = Outcome.FAIL if bad else Outcome.WARN if advice else Outcome.PASS
    reading.add(
        DRIVE,
        outcome,
        part=drive.name,
        detail="; ".join([*bad, *advice]) or "no warning of the drive",
        category=Category.SSD,
        line=drive.line,
    )
