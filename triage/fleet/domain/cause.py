"""Why a node was out of service, as one of a few causes, out of the words of whoever wrote it down.

Tickets, schedulers and public traces each have words of their own. What none of the patterns
knows is ``unknown``, which is a cause with a rate like any other: on 400 servers that train
language models 144 of 584 faults are (InfiniteHBD trace).
"""

import re
from enum import StrEnum
from typing import Final

from triage.domain.patterns import compile_re


class OutageCause(StrEnum):
    """The part or the circumstance that took a node out."""

    GPU = "gpu"  # with its memory, its links and NVSwitches
    MEMORY = "memory"
    CPU = "cpu"
    BOARD = "board"  # mainboard, backplane, PCIe, management controller
    NIC = "nic"
    CABLE = "cable"  # with optics and transceivers
    SWITCH = "switch"  # whatever lies behind the cable
    STORAGE = "storage"
    POWER = "power"
    COOLING = "cooling"
    SOFTWARE = "software"
    FAILED_TEST = "failed_test"  # a test of the node failed, and no part is named
    HUMAN = "human"
    FACILITY = "facility"  # power or cooling of the building
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


def rank_vagueness(cause: str | None) -> int:
    """How little a cause says: 2 for an unknown one, 1 for a failed test, 0 for all others.

    >>> vagueness(None), vagueness("failed_test"), vagueness(OutageCause.GPU)
    (2, 1, 0)
    """
    if cause is None or cause == OutageCause.UNKNOWN:
        return 2
    return int(cause == OutageCause.FAILED_TEST)


# The word for a whole class, as the first field of a record has it, decides before any part:
# "Software; Network" is no fault of the network.
_CLASSES: Final = (
    (compile_re(r"\s*software\b", re.IGNORECASE), OutageCause.SOFTWARE),
    (compile_re(r"\s*human\b", re.IGNORECASE), OutageCause.HUMAN),
    (compile_re(r"\s*facilit", re.IGNORECASE), OutageCause.FACILITY),
)
# The first that matches has it, so a word that names a part stands before one that may.
_PATTERNS: Final = tuple(
    (compile_re(pattern, re.IGNORECASE), cause)
    for pattern, cause in (
        (r"\b(?:scheduled|planned) |\bmaintenance window|^\W*maint", OutageCause.MAINTENANCE),
        (r"\bhuman|operator error|by mistake", OutageCause.HUMAN),
        (
            r"facilit|environment|power (?:outage|spike|surge|loss)|chiller|\bups\b|water leak",
            OutageCause.FACILITY,
        ),
        (r"out of memory|\boom\b|kill task failed|prolog|epilog", OutageCause.SOFTWARE),
        (
            r"gpu|\bs?xid\b|nvlink|nvswitch|\bhbm|\bdbe\b|double.bit|\bcuda|nvidia-smi",
            OutageCause.GPU,
        ),
        (r"cable|optic|transceiver|\b(?:dac|aoc|sfp|osfp|qsfp)\b", OutageCause.CABLE),
        (
            r"\bnic\b|\bhca\b|infiniband|\bmlx\d?|connectx|ethernet (?:card|board)"
            r"|interconnect interface|network (?:card|adapt)|\broce\b",
            OutageCause.NIC,
        ),
        (r"\blink (?:down|flap)|\bport (?:down|flap)", OutageCause.CABLE),
        (r"switch|\bleaf\b|\bspine\b|network|fabric|interconnect", OutageCause.SWITCH),
        (r"\bdimm|memory|\becc\b|\bram\b", OutageCause.MEMORY),
        (r"\bcpu\b|processor|\bmce\b|machine check", OutageCause.CPU),
        (r"power|\bpsu\b", OutageCause.POWER),
        (r"\bfans?\b|thermal|temperature|overheat|cooling|leak", OutageCause.COOLING),
        (
            r"\bdisk|nvme|\bssd\b|\braid\b|\bsan\b|scsi|fibre channel|fibre hba|file ?system"
            r"|lustre|gpfs|\bnfs\b|scratch|smartctl",
            OutageCause.STORAGE,
        ),
        (
            r"board|back ?plane|bach plane|chassis|\bpcie?\b|riser|\bbmc\b|\bmmb\b|console",
            OutageCause.BOARD,
        ),
        (
            r"software|\bos\b|kernel|driver|firmware|daemon|slurmd|user code|scheduler|kubelet",
            OutageCause.SOFTWARE,
        ),
        (r"maintenance|upgrade", OutageCause.MAINTENANCE),
        (
            r"stress|burn.?in|\btests?\b|health ?check|\bnhc\b|\bdiag",
            OutageCause.FAILED_TEST,
        ),
    )
)  # fmt: skip


def classify_outage_cause(*texts: str) -> OutageCause:
    """The cause that these words name, the most general field first.

    >>> cause_of("Hardware Failure; Parameter Plane Cable; Link Down")
    <OutageCause.CABLE: 'cable'>
    >>> cause_of("Software", "Network"), cause_of("Not responding")
    (<OutageCause.SOFTWARE: 'software'>, <OutageCause.UNKNOWN: 'unknown'>)
    """
    fields = [text for text in texts if text and text.strip()]
    if len(fields) == 1 and (own := _parse_cause(fields[0])) is not None:
        return own
    whole = "; ".join(fields)
    for pattern, cause in _CLASSES:
        if pattern.match(whole):
            return cause
    # A field that stands later is the narrower one.
    for text in (*reversed(fields), whole):
        for pattern, cause in _PATTERNS:
            if pattern.search(text):
                return cause
    return OutageCause.UNKNOWN


def _parse_cause(text: str) -> OutageCause | None:
    try:
        return OutageCause(text.strip().lower())
    except ValueError:
        return None
