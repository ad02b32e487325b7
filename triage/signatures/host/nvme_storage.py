"""Disks of the node: NVMe controllers, the block layer, SATA and SAS, software RAID.

A controller that stops answering is the event; errors of its block device follow it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Trait
from triage.signatures.host.block_device import place
from triage.signatures.load import load
from triage.signatures.severity import ADVICE, CONSEQUENCE, FATAL, NOISE, WARN, get_group_text
from triage.signatures.signature import Reading

_ALONE = frozenset({Trait.ROOT_WHEN_ALONE})


def timeout(match: re.Match[str], after: Sequence[str]) -> Reading:
    """What the driver does about a command without an answer, and whether the device obeys."""
    aborted = f"{match['device']}: Abort status: 0x0"
    polled = (
        get_group_text(match, "step") == "completion polled"
    )  # its interrupt was lost, not the answer
    if polled or any(line.rstrip().endswith(f" {aborted}") for line in after):
        return Reading(role=ADVICE, weak=True, fields={"severity": WARN})
    return Reading()


def controller(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """All ones in the status register: the device no longer answers on PCIe at all."""
    if get_group_text(match, "status").startswith("0xffffffff"):
        return Reading(category=Category.SSD, also=(Category.IO_BOARD,), fields={"severity": FATAL})
    return Reading()


_MEDIA, _PATH = 2, 3


def command(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The status code type says whether the medium failed or the host gave up."""
    kind = int(match["type"], 16)
    if kind == _MEDIA:
        return Reading()
    if kind == _PATH:
        return Reading(role=CONSEQUENCE, traits=_ALONE)
    # The host asked for what the device does not know: every boot has some of these.
    if kind == 0 and int(match["status"], 16) in (0x01, 0x02):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    return Reading(weak=True)


def block(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An error of a block device: an origin, unless its driver has said more before.

    What a buffer or a stack of devices says comes behind the device's own error.
    """
    where = place(match["device"])
    if where.harmless:
        return Reading(category=Category.NONE, role=NOISE, fields={"severity": WARN})
    error = get_group_text(match, "error")
    if "DISCARD" in match.string or "WRITE_ZEROES" in match.string:
        return Reading(
            category=where.category,
            also=where.also,
            role=ADVICE,  # the device does not know how; nothing was lost
            weak=True,
            fields={"severity": WARN},
        )
    follows = error.startswith(("buffer", "lost"))
    blame = Blame.SHARED if where.category is Category.STORAGE and not where.also else None
    return Reading(
        category=where.category,
        also=where.also,
        role=CONSEQUENCE if follows else None,
        blame=blame,
        traits=_ALONE if follows else None,
    )


# Asked of a device when it is found, and of drives without a disc in them.
_QUESTIONS = ("identify", "packet", "read log", "set features", "check power", "standby", "smart")


def ata(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A question that a device does not answer harms nobody; a reset follows an error."""
    if get_group_text(match, "command").startswith(_QUESTIONS):
        return Reading(role=ADVICE, weak=True, fields={"severity": WARN})
    return Reading(role=CONSEQUENCE if match["step"] else None)


SIGNATURES = load(__name__)
