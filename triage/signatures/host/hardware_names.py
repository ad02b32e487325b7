"""Who a machine is: serial numbers of system, board and chassis, GUIDs of adapters, UUIDs alone.

Rows tell which part a node holds; they are evidence of nothing else.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading

_TABLES: Final = {
    "system": "system_serial", "base board": "board_serial", "chassis": "chassis_serial",
}  # fmt: skip
# "\tSerial Number: J3009X4K", of dmidecode's tables
_DMI_SERIAL: Final = compile_re(r"\s{1,8}Serial Number: (?P<serial>[^\n]{1,100}?)\s*$")
_NEXT_TABLE: Final = compile_re(r"Handle 0x|\S")
# "\tNode GUID: 0xb8cef60300aabbcc" of ibstat, "\tnode_guid:\t\tb8ce:f603:00aa:bbcc" of ibv_devinfo
_NODE_GUID: Final = compile_re(
    r"\s{1,16}(?:Node GUID|node_guid): {0,4}\s{0,8}(?P<guid>[0-9a-fx:]{16,23})"
)
_NEXT_ADAPTER: Final = compile_re(r"\s{0,4}(?:CA '|hca_id:)")


def dmi(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The serial number in the table that this line opens."""
    for line in after:
        if _NEXT_TABLE.match(line):
            return None
        found = _DMI_SERIAL.match(line)
        if found is not None:
            return Reading(fields={_TABLES[match["table"].lower()]: found["serial"]})
    return None


def adapter(_match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The GUID of the adapter whose block this line opens."""
    for line in after:
        if _NEXT_ADAPTER.match(line):
            return None
        found = _NODE_GUID.match(line)
        if found is not None:
            return Reading(fields={"nic_guid": found["guid"]})
    return None


SIGNATURES = load(__name__)
