"""Local file systems: what ext4, XFS and btrfs say when their device fails them.

The device names the fault; the file system mostly follows it. A bad checksum without
an I/O error is an origin of its own: the device gave back other bytes than it took.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.host.block_device import place
from triage.signatures.load import load
from triage.signatures.severity import NOISE, ROOT, WARN
from triage.signatures.signature import Reading

_CHECKSUM = compile_re(
    r"checksum|\bcrc\b|csum|bad extent|corrupt|bad header|bad entry", re.IGNORECASE
)


def on_device(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The category of the device that is named."""
    device = match.groupdict().get("device")
    if device is None:
        return Reading()
    where = place(device)
    if where.harmless:
        return Reading(category=Category.NONE, role=NOISE, fields={"severity": WARN})
    return Reading(category=where.category, also=where.also)


def checked(match: re.Match[str], after: Sequence[str]) -> Reading:
    """As :func:`on_device`; a bad checksum is an origin, though it may also come from memory."""
    reading = on_device(match, after)
    if reading.role is not None or _CHECKSUM.search(match.string, match.start()) is None:
        return reading
    also = (*(reading.also or ()), Category.HOST_MEMORY)
    return Reading(category=reading.category, also=also, role=ROOT, weak=True)


SIGNATURES = load(__name__)
