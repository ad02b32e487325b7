"""What fabrics log: the node at the far end of a link, the switch, and what is everyday."""

import pytest

from triage.parsers.logs.envelope import read_envelope
from triage.signatures import registry

# line, signature, role, node
READ = [
    ("2026-03-14 02:39:12.123 [70211] [329] CRITICAL [Hardware] Switch: MF0;leaf07:MQM9700/U1 port"
     " 12: Link went down: (Switch leaf07 Port 12) - (Host gpu-17 mlx5_3 Port 1), cause: BER",
     "far_end", "root", "gpu-17"),
    ("2026-03-14 02:39:15.123 [70212] [328] INFO [Hardware] IBPort: Link is up: (Switch:leaf07:12)"
     "(Computer: gpu-17.cluster.local HCA-1:1)", "far_end", "noise", "gpu-17.cluster.local"),
    ("[329] CRITICAL: Link went down: (Switch leaf07 Port 12) - (Switch spine02 Port 3)",
     "between_switches", "root", None),
    ("[907] CRITICAL [Fabric Topology] leaf07: Switch is Down", "between_switches", "root", None),
    ("[331] CRITICAL [Fabric Topology] Computer: gpu-17 HCA-1: Node is Down", "node_gone", "root",
     "gpu-17"),
    ("Mar 14 02:39:12 123456 [6F3FF700] 0x02 -> osm_drop_mgr_process: Removed port with"
     " GUID:0x946dae0300abcdef LID range [12,12] of node:gpu-17 mlx5_3", "subnet_port", "root",
     "gpu-17"),
    ("0x02 -> state_mgr_report_new_ports: Discovered new port with GUID:0x946dae0300abcdef LID"
     " range [12,12] of node: gpu-17 mlx5_3", "subnet_port", "noise", "gpu-17"),
    ("Removed port with GUID:0x946dae0300abcdef LID range 12 of node:MF0;leaf07:MQM9700/U1",
     "subnet_port", "root", "leaf07"),
    ("Mar 14 02:39:12 leaf07 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet12/1"
     " (to gpu-17 eth3), changed state to down", "interface", "root", "gpu-17"),
    ("%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet12/1 (gpu-17:eth3), changed state to"
     " up", "interface", "noise", "gpu-17"),
    ("%LINK-3-UPDOWN: Interface Ethernet1/12, changed state to down", "interface", "root", None),
    ("XcvrAgent: %PHY-4-LINK_FAULT: Ethernet12/1 (to gpu-17): local fault, PCS lost", "fault",
     "root", "gpu-17"),
    ("syncd: :- Ethernet96 (alias gpu-17:eth3) link down, reason REMOTE_FAULT", "fault", "root",
     "gpu-17"),
    ("%ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/12(description:gpu-17 mlx5_3) is down",
     "fault", "root", "gpu-17"),
    ("%ETHPORT-5-IF_UP: Interface Ethernet1/12 is up in mode access", "fault", "noise", None),
    ("leaf07 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet48 oper state set from up"
     " to down", "port_state", "root", "leaf07"),
    ("[116] WARNING: PortXmitDiscards counter threshold exceeded. Threshold is 200, received value"
     " is 317", "counter", "noise", None),
]  # fmt: skip

OTHERS = [
    "%LLDP-5-NEIGHBOR_NEW: LLDP neighbor added on interface Ethernet3/1",
    "NOTICE pmon#xcvrd: Publishing ASIC-side SI setting for port Ethernet8",
    "INFO bgp#bgpcfgd: Peer 10.1.1.1 admin state is up",
    "osm_ucast_mgr_process: ar_updn tables configured on all switches",
    "SUBNET UP",
    "state machine changed state to running",
]


@pytest.mark.parametrize(("line", "name", "role", "node"), READ)
def test_reads_what_a_fabric_says(line: str, name: str, role: str, node: str | None) -> None:
    found = registry.match(read_envelope(line).text, [])

    assert found is not None
    assert found.signature.id == f"switch.{name}"
    assert str(found.reading.role or found.signature.role) == role
    assert found.reading.fields.get("node") == node


@pytest.mark.parametrize("line", OTHERS)
def test_passes_over_the_everyday(line: str) -> None:
    found = registry.match(read_envelope(line).text, [])

    assert found is None or not found.signature.id.startswith("switch.")
