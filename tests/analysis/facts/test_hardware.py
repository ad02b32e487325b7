"""Which parts files name: each tool's own print, and what only quotes."""

from pathlib import Path

import pytest

from triage.report import read_rows

U = "8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b1"
ZERO, ONE, TWO = (f"GPU-{U}{k}" for k in range(3))

SMI_L = f"GPU 0: NVIDIA H100 (UUID: {ZERO})\nGPU 1: NVIDIA H100 (UUID: {ONE})\n"
QUERY = (
    "index, uuid, serial, pci.bus_id\n"
    f"0, {ZERO}, 1655023014410, 00000000:1B:00.0\n1, {ONE}, 1655023014411, 00000000:5D:00.0\n"
)
SMI_Q = f"""\
==============NVSMI LOG==============

Timestamp                                 : Sat Nov 21 03:20:11 2026
Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : {ZERO}
    Minor Number                          : 0
    PCI
        Bus Id                            : 00000000:1B:00.0
"""
SMI_XML = f"""\
<?xml version="1.0" ?>
<nvidia_smi_log>
\t<timestamp>Sat Nov 21 03:20:11 2026</timestamp>
\t<gpu id="00000000:1B:00.0">
\t\t<uuid>{ZERO}</uuid>
\t\t<minor_number>0</minor_number>
\t\t<pci>
\t\t\t<pci_bus_id>00000000:1B:00.0</pci_bus_id>
"""
DCGMI = f"""\
1 GPU found.
| 0      | Name: NVIDIA H100 80GB HBM3                                          |
|        | PCI Bus ID: 00000000:1B:00.0                                         |
|        | Device UUID: {ZERO}                |
"""
DMI = """\
# dmidecode 3.3
Handle 0x0100, DMI type 1, 27 bytes
System Information
\tManufacturer: Acme
\tSerial Number: J3009X4K
\tUUID: 4c4c4544-0033-3010-8058-ca4f4e384b34

Handle 0x0200, DMI type 2, 8 bytes
Base Board Information
\tManufacturer: Acme
\tSerial Number: .J3009X4K.CN7475.

Handle 0x0300, DMI type 3, 22 bytes
Chassis Information
\tType: Rack Mount Chassis
\tSerial Number: To Be Filled By O.E.M.
"""
IBSTAT = """\
CA 'mlx5_5'
\tCA type: MT4129
\tNumber of ports: 1
\tNode GUID: 0xb8cef60300aabbcc
\tSystem image GUID: 0xb8cef60300aabbcc
\tPort 1:
\t\tState: Active
"""
DEVINFO = """\
hca_id:\tmlx5_5
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tnode_guid:\t\t\tb8ce:f603:00aa:bbcc
"""
KERNEL = f"""\
2026-03-14T02:40:57.000Z n12 kernel: NVRM: GPU at PCI:0000:6d:00: {TWO}
2026-03-14T02:40:57.000Z n12 kernel: NVRM: GPU Board Serial Number: 1650224011973
"""
AMD = """\
GPU: 0
    BDF: 0000:05:00.0
    UUID: 2cff74a1-0000-1000-80ab-1f2e3d4c5b6a
    KFD_ID: 45412
"""
NET = (
    'n12:4100:4100 [0] NCCL INFO <net name="mlx5_5" dev="5" latency="0" speed="400000"'
    ' port="1" guid="0xb8cef60300aabbcc" maxconn="131072" gdr="1"/>\n'
)
UTILISATION = (
    "index, uuid, utilization.gpu [%], utilization.memory [%], power.draw [W], power.limit [W]\n"
    f"0, {ZERO}, 100 %, 0 %, 232.1 W, 700 W\n"
)
SAMPLES = (
    "timestamp, index, uuid, pci.bus_id, utilization.gpu [%], temperature.gpu\n"
    f"2026/03/14 02:41:07.113, 0, {ZERO}, 00000000:18:00.0, 100 %, 41\n"
)
NIC = ("nic", "b8cef60300aabbcc", "mlx5_5")


def parts(folder: Path, text: str) -> list[tuple[str, str, str]]:
    (folder / "n12.log").write_text(text)
    return [
        (part["kind"], part["identity"], part["slot"])
        for row in read_rows(folder)
        for part in row.get("parts", ())
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMI_L, [("gpu", ZERO, "0"), ("gpu", ONE, "1")]),
        (
            QUERY,
            [
                ("gpu", ZERO, "0000:1b:00"),
                ("gpu_board", "1655023014410", "0000:1b:00"),
                ("gpu", ONE, "0000:5d:00"),
                ("gpu_board", "1655023014411", "0000:5d:00"),
            ],
        ),
        (SMI_Q, [("gpu", ZERO, "0000:1b:00")]),
        (SMI_XML, [("gpu", ZERO, "0000:1b:00")]),
        (DCGMI, [("gpu", ZERO, "")]),
        (DMI, [("chassis", "J3009X4K", ""), ("board", "J3009X4K.CN7475", "")]),
        (IBSTAT, [NIC]),
        (DEVINFO, [NIC]),
        (KERNEL, [("gpu", TWO, "0000:6d:00"), ("gpu_board", "1650224011973", "")]),
        (AMD, [("gpu", "GPU-2cff74a1-0000-1000-80ab-1f2e3d4c5b6a", "")]),
        (NET, [NIC]),
        (UTILISATION, [("gpu", ZERO, "0")]),
        (SAMPLES, [("gpu", ZERO, "0000:18:00")]),
    ],
    ids=[
        "smi -L", "smi query", "smi -q", "smi xml", "dcgmi", "dmidecode", "ibstat", "ibv_devinfo",
        "kernel", "amd-smi", "nccl", "utilisation", "samples",
    ],
)  # fmt: skip
def test_each_tools_print_is_read(tmp_path: Path, text: str, expected: list[object]) -> None:
    assert parts(tmp_path, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"scheduler: no handle for device: {ZERO}\n",
        f"peers: {ZERO}, {ONE}\n",
        "System Information\n\tSerial Number: Not Specified\n",
        "GPU 0: NVIDIA H100 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n",
        '<net name="eth0" dev="0" speed="10000" port="0" guid="0x0" maxconn="65536"/>\n',
        "System Information\n" * 500,
        "GPU 0: NVIDIA H100 (UUID: GPU-" + "8" * 5000 + ")\n",
    ],
)
def test_what_names_no_part_says_nothing(tmp_path: Path, text: str) -> None:
    assert parts(tmp_path, text) == []
