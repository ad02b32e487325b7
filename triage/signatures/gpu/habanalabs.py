"""Intel's Gaudi driver: heartbeats, resets, memory and link reports of an accelerator.

The driver speaks with the PCI address in front, its newer releases with ``hl3`` or
``accel3`` too. Command submissions that do not end are nearly always a program's doing.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import ADVICE, BDF, CORRECTED, FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.pci import bus_id
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

DRIVER = "Linux: drivers/accel/habanalabs"
# habanalabs 0000:33:00.0:    accel accel3: or habanalabs hl3: on newer kernels
SPEAKER = rf"\b(?:habanalabs|accel) (?:(?P<bus>{BDF})|(?:hl|accel)\d{{1,3}})(?: \w{{2,12}})?: "
PROGRAM = (Category.SOFTWARE_FRAMEWORK, Category.GPU)


def place(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The accelerator in front of the words."""
    bus = says(match, "bus")
    return Reading(gpu=bus_id(bus) if bus else None)


# Received H/W interrupt 271 ["HBM0_MC0_SEI_SEVERE"]
UNITS = (
    (re.compile(r"HBM", re.IGNORECASE), Category.GPU_HBM, (Category.GPU,)),
    (re.compile(r"ECC|SERR|DERR|SRAM|PARITY", re.IGNORECASE), Category.GPU_SRAM, (Category.GPU,)),
    (re.compile(r"NIC|PORT", re.IGNORECASE), Category.NIC, (Category.NETWORK, Category.GPU)),
    (re.compile(r"PCIE|PSWAP", re.IGNORECASE), Category.IO_BOARD, (Category.GPU,)),
    (re.compile(r"POWER", re.IGNORECASE), Category.POWER, (Category.GPU,)),
    (re.compile(r"THERM|OVERHEAT", re.IGNORECASE), Category.GPU_THERMAL, (Category.CHASSIS,)),
)
# What is corrected, only counted, or a limit that did its work.
MILD = re.compile(r"NON_?SEVERE|SERR\b|_CORR|SINGLE|WARN|FIX_|ENV_S|ENV_E|THROTTL|_INFO", re.I)


def interrupt(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The unit in the name of the event, and whether it was corrected."""
    event = match["event"]
    category: Category = Category.GPU
    also: tuple[Category, ...] = (Category.SOFTWARE_USER,)
    for words, named, others in UNITS:
        if words.search(event):
            category, also = named, others
            break
    mild = MILD.search(event) is not None
    return Reading(
        category=category,
        also=also,
        gpu=place(match, after).gpu,
        role=ADVICE if mild else None,
        weak=mild or ("ECC" not in event.upper() and "SEVERE" not in event.upper()),
        fields={"severity": CORRECTED if mild else FATAL},
    )


def memory(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Which of the error bits of a memory channel are set."""
    gpu = place(match, after).gpu
    if match["double"] != "0" or re.search(r"_PAR=[1-9]", match[0]):
        return Reading(gpu=gpu, fields={"severity": FATAL})
    return Reading(role=ADVICE, weak=True, gpu=gpu, fields={"severity": CORRECTED})


def link(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A port of the accelerator that went down or came up."""
    gpu = place(match, after).gpu
    if says(match, "state") == "up":
        return Reading(
            role=NOISE,
            category=Category.NONE,
            gpu=gpu,
            fields={"severity": WARN, "state": "up", "recovered": "yes"},
        )
    return Reading(gpu=gpu, weak=True, fields={"state": "down"})


GAUDI = HostFamily("gaudi", Kind.GPU, source=DRIVER, read=place)

GAUDI.root(
    "heartbeat",
    rf"{SPEAKER}(?:Device heartbeat failed|PCI health check failed|[Dd]evice CPU is unresponsive)",
    literals=("device heartbeat failed", "pci health check failed", "device cpu is unresponsive"),
    matches=(
        "habanalabs 0000:33:00.0: Device heartbeat failed!",
        "accel accel3: Device heartbeat failed! PCI link is broken",
    ),
    near_misses=(
        "app: device heartbeat failed: timeout",
        "habanalabs 0000:33:00.0: heartbeat is enabled",
    ),
    severity=FATAL,
    category=Category.GPU,
    also=(Category.IO_BOARD,),
)
GAUDI.root(
    "unusable",
    rf"{SPEAKER}(?:Failed to (?:reset|initialize)[^\n]{{0,40}}?Device is NOT usable"
    r"|[^\n]{0,40}Device is NOT usable)",
    literals=(
        "failed to reset! device is not usable",
        "device is not usable",
        "failed to initialize accel device",
        "fatal error during hardware init",
    ),
    matches=("habanalabs 0000:33:00.0: Failed to reset! Device is NOT usable",),
    near_misses=("habanalabs 0000:33:00.0: Device is usable", "the device is NOT usable at home"),
    severity=FATAL,
    category=Category.GPU,
    also=(Category.IO_BOARD,),
)
GAUDI.consequence(
    "reset",
    rf"{SPEAKER}Going to (?:hard-|soft-|compute |inference soft-)?reset",
    literals=("going to reset device", "going to hard-reset device", "hard-reset device"),
    matches=(
        "habanalabs 0000:33:00.0: Going to hard-reset device",
        "habanalabs 0000:33:00.0: Going to reset device",
    ),
    near_misses=("habanalabs 0000:33:00.0: not going to reset device",),
    category=Category.GPU,
    also=(Category.SOFTWARE_USER,),
)
GAUDI.root(
    "interrupt",
    rf"{SPEAKER}(?:Received|Got) H/W (?:error )?interrupt \d{{1,5}} \[?\"?(?P<event>\w{{2,80}})",
    literals=("received h/w interrupt", "got h/w interrupt", "error interrupt gaudi"),
    matches=(
        'habanalabs 0000:33:00.0: Received H/W interrupt 271 ["HBM0_MC0_SEI_SEVERE"]',
        'habanalabs 0000:33:00.0: Received H/W interrupt 272 ["HBM0_MC0_SEI_NON_SEVERE"]',
    ),
    near_misses=("gpio: received H/W interrupt 5",),
    category=Category.GPU,
    read=interrupt,
)
GAUDI.root(
    "memory",
    rf"{SPEAKER}HBM(?P<stack>\d{{1,2}}) pc(?P<channel>\d{{1,2}}) interrupts info: WR_PAR=\d{{1,9}}"
    r"[^\n]{0,80}?DERR=(?P<double>\d{1,9})",
    literals=("interrupts info: wr_par=",),
    matches=(
        "habanalabs 0000:33:00.0: HBM2 pc3 interrupts info: WR_PAR=0, RD_PAR=0, CA_PAR=0, SERR=0,"
        " DERR=1",
        "habanalabs 0000:33:00.0: HBM2 pc3 interrupts info: WR_PAR=0, RD_PAR=0, CA_PAR=0, SERR=1,"
        " DERR=0",
    ),
    near_misses=("HBM2 pc3 interrupts info: DERR=1",),
    severity=FATAL,
    category=Category.GPU_HBM,
    also=(Category.GPU,),
    read=memory,
)
GAUDI.root(
    "submission",
    rf"{SPEAKER}(?:(?:Command submission|CS) \d{{1,20}} has not finished in"
    r"|user \w{1,32} \d{0,9} ?CS timed-out)",
    literals=("has not finished in ", "cs timed-out", "command submission "),
    matches=(
        "habanalabs 0000:33:00.0: Command submission 4871 has not finished in 615 seconds!",
        "habanalabs 0000:33:00.0: CS 17 has not finished in time!",
    ),
    near_misses=("make: command submission 7 has not finished in time",),
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
    weak=True,
)
GAUDI.root(
    "port",
    rf"{SPEAKER}(?:NIC |[Pp]ort )(?P<port>\d{{1,3}})[:,]? [Ll]ink (?:is )?(?P<state>down|up)\b",
    literals=("link down", "link up", "nic link lost", "link is down", "link is up"),
    matches=(
        "habanalabs 0000:33:00.0 hl0: port 3 Link down",
        "habanalabs 0000:33:00.0: NIC 3 link up",
    ),
    near_misses=("habanalabs 0000:33:00.0: port 3 is external",),
    category=Category.NETWORK,
    also=(Category.NIC, Category.GPU),
    kind=Kind.LINK,
    read=link,
)
GAUDI.noise(
    "chatter",
    rf"{SPEAKER}(?:Successfully (?:finished resetting|added device)|habanalabs device found"
    r"|(?:preboot|boot|firmware)[\w -]{0,16} version:? )|habanalabs: loading driver",
    literals=(
        "successfully finished resetting",
        "successfully added device",
        "habanalabs device found",
        "to habanalabs driver",
        "loading driver",
        "firmware version: hl-",
    ),
    matches=(
        "habanalabs 0000:33:00.0: Successfully finished resetting the 0000:33:00.0 device",
        "habanalabs 0000:33:00.0: firmware version: hl-gaudi2-1.17.0-fw-51.3.0",
    ),
    near_misses=("bash: loading driver", "habanalabs 0000:33:00.0: Device heartbeat failed!"),
    category=Category.NONE,
)

SIGNATURES = GAUDI.signatures()
