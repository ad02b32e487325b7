"""What the NVIDIA driver says without an error number.

A GPU that left the bus, an adapter that would not start, a system processor that
stopped answering and the tables that the driver prints then, links that it gave
up, and the banners that only say that a driver was loaded.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import CONSEQUENCE, ERROR, NOISE
from triage.signatures.signature import Reading

ADDRESS = r"(?:PCI:)?(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?"
_SLOT = (Category.IO_BOARD, Category.POWER, Category.CHASSIS)


def addressed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Only the GPU, in the form in which it is joined."""
    return Reading(gpu=normalize_bus_id(match["gpu"]) if match["gpu"] else None)


def probed(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """A record of three lines: the GPU, its PCI ID, and only then what is wrong with it."""
    rest = " ".join((match.string[match.end() :], *after[:3]))
    gone = re.search(r"fallen off the bus", rest[:600], re.IGNORECASE)
    return None if gone is None else Reading(gpu=normalize_bus_id(match["gpu"]))


_NAMED_GPU = compile_re(rf"\bGPU (?:at )?(?P<gpu>{ADDRESS})")


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Without an address it may be the third line of a record that counted already."""
    gpu = match["gpu"] or match["other"]
    if not gpu:
        named = _NAMED_GPU.search(match.string, max(0, match.start() - 100), match.end())
        gpu = named["gpu"] if named is not None else None
    return Reading(
        gpu=normalize_bus_id(gpu) if gpu else None, weak=not gpu, signature="nvidia.fallen_off_bus"
    )


def asserted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A failed assertion is noise, unless it failed because the GPU was gone."""
    if "GPU_IS_LOST" in match["why"].upper():
        return Reading(
            role=CONSEQUENCE, category=Category.GPU, also=_SLOT, fields={"severity": ERROR}
        )
    return Reading(role=NOISE)


SIGNATURES = load(
    __name__,
    probe_failed=lambda match, _after: Reading(
        gpu=normalize_bus_id(match["gpu"] or match["named"])
    ),
    companion_function=lambda match, _after: Reading(gpu=normalize_bus_id(match["device"])),
)
