"""The fabric's own logs: UFM's events, the subnet manager, and switches of several makers.

They see the far end of a node's link. A line that names what hangs on its port (a node's
description, a host in brackets) is about that node; one that names the port alone is about
the switch, which is no node of the job. Counters of congestion are crossed on healthy fabrics.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.family import FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.scheduler.node_names import HOST
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

UFM: Final = "NVIDIA UFM: event log, events 328, 329, 331, 332, 907, 909, 915, 916"
OPENSM: Final = "opensm: osm_drop_mgr.c, osm_state_mgr.c"
MAKERS: Final = "Arista EOS, Cisco NX-OS, SONiC: interface events in their syslog"
NODE: Final = rf"(?P<node>{HOST})(?![\w.;-])"
# "gpu-17 eth3", "to gpu-17", "gpu-17:mlx5_3", "server gpu-17 port 2"
DESCRIBED: Final = re.compile(
    rf"\s*(?:(?:to|server|host|link to|connected to)[ :_-]{{1,2}})?(?P<node>{HOST})(?=[ :/,_]|$)",
    re.IGNORECASE,
)
UP: Final = frozenset({"up", "active", "discovered"})


def about(match: re.Match[str]) -> dict[str, str]:
    """The node at the far end, else the switch, with its port."""
    groups = match.groupdict()
    name = groups.get("node")
    described = groups.get("described")
    if name is None and described is not None:
        far = DESCRIBED.match(described)
        name = None if far is None else far["node"]
    name = name or groups.get("switch")
    fields = {"node": name.rstrip(".:"), "said_of": name.rstrip(".:")} if name else {}
    if groups.get("port"):
        fields["port"] = groups["port"] or ""
    return fields


def link(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Down is the fault, up its end. A link may come back, so that down alone is weak."""
    if says(match, "state") in UP:
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={**about(match), "state": "up", "recovered": "yes"},
        )
    return Reading(weak=True, fields={**about(match), "state": "down"})


SWITCH = HostFamily(
    "switch", Kind.LINK, category=Category.NETWORK, scope=Scope.ANY, each=True, read=link
)

SWITCH.root(
    "far_end",
    rf"\bLink (?:went|is) (?P<state>down|up)\b[^\n]{{0,200}}?"
    rf"\((?:Host|Computer|Server|HCA)[: ]{{1,2}}{NODE}",
    literals=("link went down", "link went up", "link is down", "link is up"),
    matches=(
        "[70211] [329] CRITICAL [Hardware] Switch: MF0;leaf07:MQM9700/U1 port 12: Link went down:"
        " (Switch leaf07 Port 12) - (Host gpu-17 mlx5_3 Port 1), cause: Cable unplugged",
        "[70212] [328] INFO [Hardware] IBPort: Link went up: (Switch:leaf07:12)(Computer: gpu-17"
        " HCA-1:1)",
    ),
    near_misses=(
        "Link went down: (Switch leaf07 Port 12) - (Switch spine02 Port 3)",
        "mlx5_core 0000:1a:00.0 enp26s0np0: Link down",
    ),
    source=UFM,
    also=(Category.NIC,),
)
SWITCH.root(
    "between_switches",
    r"\bLink (?:went|is) (?P<state>down|up)\b[^\n]{0,80}?\(Switch[: ]{1,2}(?P<switch>[\w.-]{1,120})"
    r"[^\n]{0,80}?\(Switch[: ]"
    r"|\b(?:Director )?Switch (?:(?P<named>[\w.-]{1,120}) )?[Ii]s (?P<whole>Down|Up)\b",
    literals=("link went down", "link went up", "switch is down", "switch is up"),
    matches=(
        "Link went down: (Switch leaf07 Port 12) - (Switch spine02 Port 3)",
        "[907] CRITICAL [Fabric Topology] leaf07: Switch is Down",
    ),
    near_misses=("the switch is downstream of leaf07",),
    source=UFM,
    blame=Blame.SHARED,
    read=lambda match, _after: (
        Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
        if "up" in (says(match, "state"), says(match, "whole"))
        else Reading(weak=True)
    ),
)
SWITCH.root(
    "node_gone",
    rf"\b(?:Computer|Host|Server)[: ]{{1,2}}{NODE}[^\n]{{0,100}}?\bNode is (?P<state>Down|Up)\b",
    literals=("node is down", "node is up"),
    matches=("[331] CRITICAL [Fabric Topology] Computer: gpu-17 HCA-1: Node is Down",),
    near_misses=("the Node is Downloading",),
    source=UFM,
    severity=FATAL,
    also=(Category.CHASSIS, Category.POWER, Category.NIC),
)
SWITCH.root(
    "subnet_port",
    rf"\b(?P<state>Removed|Discovered)(?: new)? port with GUID:? ?0x[0-9a-f]{{1,16}} LID range"
    rf" \[?[\dx, -]{{1,24}}\]? of node: ?(?:MF0;(?P<switch>[\w.-]{{1,120}})|{NODE})",
    literals=("removed port with guid", "discovered new port with guid"),
    matches=(
        "123456 [6F3FF700] 0x02 -> osm_drop_mgr_process: Removed port with GUID:0x946dae0300ab"
        " LID range [12,12] of node:gpu-17 mlx5_3",
        "0x02 -> state_mgr_report_new_ports: Discovered new port with GUID:0x946dae0300ab LID range"
        " [12,12] of node: gpu-17 mlx5_3",
        "Removed port with GUID:0x946dae0300ab LID range 12 of node:MF0;leaf07:MQM9700/U1",
    ),
    near_misses=("Removed port with GUID of nobody",),
    source=OPENSM,
    also=(Category.NIC,),
)
SWITCH.root(
    "interface",
    r"Interface (?P<port>[A-Za-z][\w/.:-]{1,40})(?: \((?P<described>[^()\n]{1,120})\))?, changed"
    r" (?:\w{1,20} )?state to (?P<state>down|up)\b",
    literals=("changed state to ", "-link_fault", ") link down", ") link up"),
    matches=(
        "%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet12/1 (gpu-17 eth3), changed state"
        " to down",
        "%LINK-3-UPDOWN: Interface Ethernet1/12, changed state to up",
    ),
    near_misses=("Interface eth0 changed its name",),
    source=MAKERS,
    also=(Category.NIC,),
)
SWITCH.root(
    "fault",
    r"%PHY-\d-LINK_FAULT: (?P<port>[A-Za-z][\w/.:-]{1,40}) \((?P<described>[^()\n]{1,120})\)"
    r"|\b(?P<sonic>Ethernet\d{1,4}) \((?:alias|descr?(?:iption)?):? ?(?P<other>[^()\n]{1,120})\)"
    r" link (?P<state>down|up)\b"
    r"|%ETHPORT-\d-IF_(?P<nexus>DOWN|UP)\w{0,60}: Interface (?P<third>[A-Za-z][\w/.:-]{1,40})"
    r"(?:\(descr?(?:iption)?:(?P<words>[^()\n]{1,120})\))?",
    literals=("-link_fault", ") link down", ") link up", "if_down_", "if_up:"),
    matches=(
        "%PHY-4-LINK_FAULT: Ethernet12/1 (to gpu-17): local fault, PCS lost",
        "syncd: :- Ethernet96 (alias gpu-17:eth3) link down, reason REMOTE_FAULT",
        "%ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/12(description:gpu-17 mlx5_3) is"
        " down (Link failure)",
        "%ETHPORT-5-IF_UP: Interface Ethernet1/12 is up in mode access",
    ),
    near_misses=(
        "%ETHPORT-5-SPEED: Interface Ethernet1/12, operational speed changed to 400 Gbps",
    ),
    source=MAKERS,
    also=(Category.NIC,),
    read=lambda match, _after: faulted(match),
)


def faulted(match: re.Match[str]) -> Reading:
    """As :func:`link`, for lines whose names stand in different places."""
    state = says(match, "state") or says(match, "nexus") or "down"
    described = match["described"] or match["other"] or match["words"]
    far = DESCRIBED.match(described) if described else None
    fields = {} if far is None else {"node": far["node"], "said_of": far["node"]}
    fields["port"] = match["port"] or match["sonic"] or match["third"] or ""
    if state == "up":
        return Reading(
            role=NOISE, category=Category.NONE, fields={**fields, "state": "up", "recovered": "yes"}
        )
    return Reading(weak=True, fields={**fields, "state": "down"})


SWITCH.root(
    "port_state",
    r"(?:(?P<switch>[A-Za-z][\w.-]{1,120}) (?:NOTICE|INFO|WARNING|ERR) [^\n]{0,80}?)?\b[Pp]ort"
    r" (?P<port>Ethernet\d{1,4}) oper (?:state set|status changed) from \w{2,10} to"
    r" (?P<state>up|down)\b",
    literals=("oper state set from", "oper status changed"),
    matches=(
        "leaf07 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet48 oper state set"
        " from up to down",
        "leaf07 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet48 oper state set"
        " from down to up",
    ),
    near_misses=("Port Ethernet48 admin state set from up to down",),
    source=MAKERS,
    severity=WARN,
    blame=Blame.SHARED,
)
SWITCH.root(
    "bit_errors",
    rf"\b(?:Computer|Host|Server|HCA)[: ]{{1,2}}{NODE}[^\n]{{0,120}}?\b(?P<grade>Critical|High)"
    r" (?:\w{2,12} )?BER (?:was )?(?:reported|detected)",
    literals=(" ber reported", " ber detected", " ber was "),
    matches=(
        "[915] CRITICAL [Hardware] IBPort [default / Computer: gpu-17 HCA-5 / 1]: Critical BER"
        " reported",
        "[916] WARNING [Hardware] Computer: gpu-17 mlx5_3 port 1: High Effective BER reported",
    ),
    near_misses=("[915] CRITICAL [Hardware] Switch: leaf07 port 12: Critical BER reported",),
    source=UFM,
    also=(Category.NIC,),
    read=lambda match, _after: Reading(
        weak=True,
        fields={**about(match), **({"severity": WARN} if says(match, "grade") == "high" else {})},
    ),
)
SWITCH.noise(
    "counter",
    r"(?:counter|Control) threshold exceeded\. Threshold is|Traffic congestion detected",
    literals=(
        "counter threshold exceeded",
        "control threshold exceeded",
        "traffic congestion detected",
    ),
    matches=(
        "[116] WARNING [Communication Error] Switch: MF0;leaf07:MQM9700/U1 port 12:"
        " PortXmitDiscards counter threshold exceeded. Threshold is 200, received value is 317",
    ),
    near_misses=("the threshold is exceeded",),
    source=UFM,
    category=None,
    each=False,
    read=None,
)

SIGNATURES = SWITCH.signatures()
