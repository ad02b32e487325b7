"""Who a machine is: serial numbers of system, board and chassis, GUIDs of adapters, UUIDs alone.

Rows tell which part a node holds; they are evidence of nothing else.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.evidence import Kind
from triage.signatures.family import Family
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

TABLES: Final = {
    "system": "system_serial", "base board": "board_serial", "chassis": "chassis_serial",
}  # fmt: skip
# "\tSerial Number: J3009X4K", of dmidecode's tables
DMI_SERIAL: Final = re.compile(r"\s{1,8}Serial Number: (?P<serial>[^\n]{1,100}?)\s*$")
NEXT_TABLE: Final = re.compile(r"Handle 0x|\S")
# "\tNode GUID: 0xb8cef60300aabbcc" of ibstat, "\tnode_guid:\t\tb8ce:f603:00aa:bbcc" of ibv_devinfo
NODE_GUID: Final = re.compile(
    r"\s{1,16}(?:Node GUID|node_guid): {0,4}\s{0,8}(?P<guid>[0-9a-fx:]{16,23})"
)
NEXT_ADAPTER: Final = re.compile(r"\s{0,4}(?:CA '|hca_id:)")


def dmi(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The serial number in the table that this line opens."""
    for line in after:
        if NEXT_TABLE.match(line):
            return None
        found = DMI_SERIAL.match(line)
        if found is not None:
            return Reading(fields={TABLES[match["table"].lower()]: found["serial"]})
    return None


def adapter(_match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The GUID of the adapter whose block this line opens."""
    for line in after:
        if NEXT_ADAPTER.match(line):
            return None
        found = NODE_GUID.match(line)
        if found is not None:
            return Reading(fields={"nic_guid": found["guid"]})
    return None


NAMES = Family(
    "hardware_names",
    Kind.IDENTITY,
    source="dmidecode, ibstat, ibv_devinfo, dcgmi discovery, amd-smi list, NCCL: graph/xml.cc",
    scope=Scope.ANY,
    quiet=True,
)

NAMES.noise(
    "dmi",
    r"^(?P<table>System|Base Board|Chassis) Information\s*$",
    literals=("system information", "base board information", "chassis information"),
    matches=(
        "System Information\n\tManufacturer: Acme\n\tSerial Number: J3009X4K",
        "Base Board Information\n\tManufacturer: Acme\n\tSerial Number: .J3009X4K.CN7475",
    ),
    near_misses=(
        "System Information",
        "Chassis Information\n\tManufacturer: Acme\n\nHandle 0x0400\n\tSerial Number: J3009X4K",
    ),
    context=16,
    read=dmi,
)
NAMES.noise(
    "adapter",
    r"^\s{0,4}(?:CA '(?P<adapter>[\w.-]{1,64})'|hca_id:\s{0,8}(?P<hca>[\w.-]{1,64}))\s*$",
    literals=("ca 'mlx", "ca 'ib", "ca 'roce", "ca 'bnxt", "ca 'irdma", "ca 'hfi", "hca_id:"),
    matches=(
        "CA 'mlx5_5'\n\tCA type: MT4129\n\tNode GUID: 0xb8cef60300aabbcc",
        "hca_id:\tmlx5_5\n\ttransport:\t\t\tInfiniBand (0)\n\tnode_guid:\t\t\tb8ce:f603:00aa:bbcc",
    ),
    near_misses=(
        "CA 'mlx5_5'",
        "hca_id:\tmlx5_5\nhca_id:\tmlx5_6\n\tnode_guid: b8ce:f603:00aa:bbcc",
    ),
    context=14,
    read=adapter,
)
NAMES.noise(
    "nccl_net",
    r'<net name="(?P<adapter>[\w.-]{1,64})"[^>]{0,240}?\bguid="(?P<nic_guid>0x[0-9a-f]{9,16})"',
    literals=(' guid="0x',),
    matches=(
        '<net name="mlx5_5" dev="5" latency="0" speed="400000" port="1"'
        ' guid="0xb8cef60300aabbcc" maxconn="131072" gdr="1"/>',
    ),
    near_misses=('<net name="eth0" dev="0" speed="10000" port="0" guid="0x0" maxconn="65536"/>',),
)
NAMES.noise(
    "gpu",
    r"(?:Device UUID\s{0,8}:\s{0,8}(?P<gpu_uuid>GPU-[0-9a-f]{8}-[0-9a-f-]{27})"
    r"|\buuid\"?\s{0,20}[:=]\s{0,8}\"?(?P<amd_uuid>[0-9a-f]{8}-0000-1000-80[0-9a-f]{2}-[0-9a-f]{12}))\b",
    literals=("device uuid: gpu-", "-0000-1000-80"),
    matches=(
        "|        | Device UUID: GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14                |",
        '        "uuid": "2cff74a1-0000-1000-80ab-1f2e3d4c5b6a",',
    ),
    near_misses=("UUID: 0000110a-0000-1000-8000-00805f9b34f", "Device UUID: N/A"),
)

SIGNATURES = NAMES.signatures()
