"""The part that a person or a script names in plain words: a drain reason, a host check."""

import re
from typing import Final

from triage.domain.category import Category

__all__ = ["category_in"]

# Looked for in this order: "GPU ECC error" is memory, "NVLink" is no link of the network.
WORDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), category)
    for pattern, category in (
        (r"nv ?link|nvswitch|fabric ?manager|xid\W{0,3}74\b", Category.NVLINK),
        (
            r"row ?remap|\bhbm|gpu.{0,40}\b(?:ecc|dbe)\b|xid\W{0,3}(?:48|63|64|94|95)\b",
            Category.GPU_HBM,
        ),
        (r"fallen off|fell off|xid\W{0,3}79\b|pcie|\blane|bus width|link width", Category.IO_BOARD),
        (r"xid\W{0,3}(?:119|120)\b|\bgsp\b", Category.GPU_GSP),
        (r"gpu.{0,40}(?:therm|temp|hot|throttl)|therm\w*.{0,20}gpu", Category.GPU_THERMAL),
        (r"\bpsu\b|power ?supply|power brake", Category.POWER),
        (r"\bnvme|\bssd\b|\bdisk (?:fail|error)", Category.SSD),
        (r"\bdimm|\bmce\b|host memory|\bedac\b|mem(?:ory)? ecc", Category.HOST_MEMORY),
        (
            r"infiniband|\bib\d?\b|\bib[_ ]|link (?:down|flap)|\btransceiver|\bcable|\broce\b",
            Category.NETWORK,
        ),
        (r"\bhca\b|\bnic\b|\bmlx5|\bconnectx", Category.NIC),
        (r"\bfan\b|chassis|motherboard|baseboard", Category.CHASSIS),
        (r"\bgpu|\bxid|cuda|dcgm|nvidia-smi", Category.GPU),
        (r"\blustre|\bnfs|\bgpfs|\bweka|file ?system|\bmount", Category.STORAGE),
        (r"maintenance|upgrade|reimag|firmware update|reboot requested", Category.HOST_MAINTENANCE),
    )
)


def category_in(text: str) -> Category | None:
    """What the words name first in the order of :data:`WORDS`; None where they name nothing."""
    for pattern, category in WORDS:
        if pattern.search(text):
            return category
    return None
