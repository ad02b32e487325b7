"""Special nodes: front ends, login nodes, test stands, which do other work than the rest.

They fail of what runs on them. They are set aside: no lemons, and no part of what others are held
against. Known by the role or the name that an inventory gives them.
"""

import re
from typing import Final

from triage.fleet.record.columns import FleetRecord

# How names of such nodes begin, before a number or a separator: login1, head-0, fe2, mgmt.
_NAMES: Final = re.compile(
    r"(?:login|logon|head|fe|front-?end|front|mgmt|manage|management|admin|master|gateway|gw"
    r"|bastion|service|slurmctl\w*|ctl|controller|test|testbed|staging|dev|submit|visu?|dtn)"
    r"(?:node)?(?:[-_.]?\d+)?(?:[.].*)?",
    re.IGNORECASE,
)
_FEW: Final = 0.1


def by_inventory(record: FleetRecord) -> dict[int, str]:
    """Why each special node is one, by its role or its name."""
    roles = record.role or (None,) * len(record.nodes)
    named = {node for node, name in enumerate(record.nodes) if _NAMES.fullmatch(name)}
    if len(named) > _FEW * len(record.nodes):
        named = set()  # a name that so many have is no other work
    return {
        node: "does other work than the rest: "
        + (f"its role is {role}" if role else "its name says so")
        for node, role in enumerate(roles)
        if role or node in named
    }
