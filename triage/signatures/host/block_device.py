"""Whose fault an error of a block device is, by the device's name.

A name tells the driver, not the cable: ``sd`` may be a local disk or a volume over
iSCSI, ``dm`` a logical volume of either. The likelier comes first, the other beside it.
"""

import re
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.patterns import compile_re


@dataclass(frozen=True, slots=True)
class Place:
    """The category of a device, what its name does not exclude, and whether it matters at all."""

    category: Category | None
    also: tuple[Category, ...] = ()
    harmless: bool = False


_LOCAL = Place(Category.SSD)
_DISK = Place(Category.SSD, (Category.STORAGE,))
_VOLUME = Place(Category.STORAGE, (Category.SSD,))
_REMOTE = Place(Category.STORAGE)
# A file behind a loop device, an optical drive and a floppy that nobody has.
_HARMLESS = Place(None, harmless=True)

_NAMES: tuple[tuple[re.Pattern[str], Place], ...] = (
    (compile_re(r"loop|z?ram|sr\d|fd\d"), _HARMLESS),
    (compile_re(r"nvme|pmem|mmcblk"), _LOCAL),
    (compile_re(r"n?bd\d|rbd|drbd"), _REMOTE),
    (compile_re(r"dm-|vd[a-z]|xvd|mapper/"), _VOLUME),
)


def place(device: str) -> Place:
    """Where ``device`` most likely is; a plain disk where the name says nothing."""
    name = device.lower().removeprefix("/dev/")
    for pattern, where in _NAMES:
        if pattern.match(name):
            return where
    return _DISK
