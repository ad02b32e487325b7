"""Network adapters and their ports: firmware health, modules and cables, links, queues.

A port that goes down names both its ends; what comes up again is said as cleared.
The known chatter of the mlx5 driver (restricted registers, firmware tracer) is noise.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import ADVICE, FATAL, NOISE, WARN, get_group_text
from triage.signatures.signature import Reading

_GENERIC = frozenset({Trait.GENERIC})
# What takes an object away again: refused where the object, or its owner, went first.
_TAKES_AWAY = compile_re(
    r"(?:destroy|dealloc|2rst|2err|teardown|disable|detach|delete|drain|release|page_fault_resume"
    r"|reset|modify_(?:qp|sq|rq|tis|tir)|rst2|rts2|sqd_)"
)
# What a driver asks of firmware that may not know it, or of a function that may not.
_ASKS = compile_re(r"(?:access_reg|query|set_hca_cap|set_driver_version|mad_ifc|nop\b|create_flow)")


def command_failed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A command that hangs means that the firmware does; one that is refused says little.

    Drivers are refused on healthy machines whenever a job ends (the object is busy or
    gone), and at load (firmware that does not know the question).
    """
    command = get_group_text(match, "command")
    what = get_group_text(match, "what")
    if "recovered" in match[0].lower():
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    if "timeout" in what or "completion" in what:
        return Reading()
    if _TAKES_AWAY.match(command):
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={"severity": WARN},
            traits=frozenset({Trait.GENERIC, Trait.TEARDOWN}),
        )
    if _ASKS.match(command):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    return Reading(
        role=ADVICE, weak=True, fields={"severity": WARN}, traits=frozenset({Trait.GENERIC})
    )


def health(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The number that names the fault, and the slot beside the card where the card says so."""
    syndrome = int(match["syndrome"], 16)
    words = get_group_text(match, "words")
    if syndrome == 0:
        return Reading(role=NOISE, category=Category.NONE)
    if "temperature" in words:
        return Reading(fields={"severity": FATAL})
    if "pci" in words or "icm fetch" in words:
        return Reading(category=Category.NIC, also=(Category.IO_BOARD,))
    return Reading()


def module(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What the port says of the cable or optics in it."""
    event = get_group_text(match, "event")
    fields = {"event": event}
    if event.startswith("cable plugged"):
        return Reading(role=NOISE, category=Category.NONE, fields={**fields, "cleared": "yes"})
    if "temperature" in event:
        return Reading(
            category=Category.NETWORK, also=(Category.NIC, Category.CHASSIS), fields=fields
        )
    if event.startswith("cable unplugged"):
        return Reading(weak=True, fields=fields)  # also of a port that never had a cable
    return Reading(fields=fields)


# One gigabit and virtual ports: a desktop's or a management network, never a job's fabric.
_SLOW = compile_re(
    r"(?:r8169|r8152|e100|e1000e?|igb|igc|tg3|bnx2|bcmgenet|forcedeth|alx|sky2|8139\w*|virtio_net|vmxnet3|usbnet"
    r"|ax88\w+|cdc_\w+|rndis_host|smsc\d+|lan78xx|macb|fec|stmmac\w*|dwmac\w*)\b[: ]"
)
UP = ("up", "active")
_ON_THE_WAY = ("init", "armed")


def link(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Down is the fault, up its end; what lies between is neither."""
    state = get_group_text(match, "state")
    if state in UP:
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={"severity": WARN, "state": "up", "recovered": "yes"},
        )
    if state in _ON_THE_WAY:
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    if _SLOW.search(match.string[: match.end()]):
        return Reading(
            role=ADVICE, weak=True, fields={"severity": WARN, "state": "down"}, traits=_GENERIC
        )
    return Reading(weak=True, fields={"state": "down"})


def bond(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The bond only repeats what its port did."""
    if "up" in get_group_text(match, "state"):
        return Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
    return Reading()


SIGNATURES = load(
    __name__,
    health_recovered=lambda _match, _after: Reading(fields={"recovered": "yes"}),
)
