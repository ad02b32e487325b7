"""The first minutes after a boot: links that come up say what a machine is, not what broke a job.

Every driver prints its ports as down when it takes them, and a port without a cable
stays so; an empty slot reports that it has no power. A link that was up and goes down
later is another matter.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.parsers.logs.stamps import SECOND_NS

FIRST_NS: Final = 120 * SECOND_NS
# What a slot for cards says of itself.
_HOT_PLUG: Final = "pcie.hot_plug"
# What a kernel prints first.
BANNERS: Final = frozenset({"boot.kernel_version", "boot.boot_mark"})


def list_boots(rows: Iterable[Evidence]) -> tuple[int, ...]:
    """The printed times at which the node of a log came up, in ns as if they were UTC."""
    return tuple(
        sorted(
            row.stamp.wall_ns
            for row in rows
            if row.signature in BANNERS and row.stamp.wall_ns is not None
        )
    )


def is_soon_after_boot(stamp: Stamp, boots: Iterable[int]) -> bool:
    """Whether ``stamp`` lies within two minutes after a boot, by uptime or by ``boots``."""
    if stamp.uptime_ns is not None:
        return stamp.uptime_ns <= FIRST_NS
    wall_ns = stamp.wall_ns
    return wall_ns is not None and any(0 <= wall_ns - boot <= FIRST_NS for boot in boots)


def mark_as_boot(row: Evidence) -> Evidence:
    """A link that is down while the node boots, or a slot without a card that has no power then,
    as what it is: noise of the start.
    """
    if row.role is EvidenceRole.NOISE or not (row.kind is Kind.LINK or row.signature == _HOT_PLUG):
        return row
    return replace(
        row,
        role=EvidenceRole.NOISE,
        category=Category.NONE,
        also=(),
        traits=row.traits | {Trait.TEARDOWN},
    )
