"""Network adapters and their ports: firmware health, modules and cables, links, queues.

A port that goes down names both its ends; what comes up again is said as cleared.
The known chatter of the mlx5 driver (restricted registers, firmware tracer) is noise.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import ADVICE, BDF, FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

MLX5 = "Linux: drivers/net/ethernet/mellanox/mlx5"
ETHERNET = "Linux: drivers/net/ethernet"
# Copied lines often lack the address.
MLX = rf"mlx[45]_\w{{2,40}}:? ?(?:(?P<device>{BDF}):? ?)?"
WHO = r"(?:(?P<interface>[a-z][\w.-]{1,20}):? )?"
INTERFACE = r"(?:en|eth|ib|rdma|bond|net|em|hsn|gpu|roce|p\dp|mlx|slingshot)[\w.-]{0,16}"
DRIVERS = (
    r"(?:mlx[45]_\w{2,4}|bnxt_en|ice|idpf|iavf|i40e|ixgbe|igb|igc|e1000e|tg3|ena|gve|qede|cxgb4|ionic"
    r"|be2net|hns3|sfc|atlantic|r8169|enic|nfp|hfi1|fm10k|mana)"
)


GENERIC = frozenset({Trait.GENERIC})
# What takes an object away again: refused where the object, or its owner, went first.
TAKES_AWAY = re.compile(
    r"(?:destroy|dealloc|2rst|2err|teardown|disable|detach|delete|drain|release|page_fault_resume"
    r"|reset|modify_(?:qp|sq|rq|tis|tir)|rst2|rts2|sqd_)"
)
# What a driver asks of firmware that may not know it, or of a function that may not.
ASKS = re.compile(r"(?:access_reg|query|set_hca_cap|set_driver_version|mad_ifc|nop\b|create_flow)")


def command_failed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A command that hangs means that the firmware does; one that is refused says little.

    Drivers are refused on healthy machines whenever a job ends (the object is busy or
    gone), and at load (firmware that does not know the question).
    """
    command = says(match, "command")
    what = says(match, "what")
    if "recovered" in match[0].lower():
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    if "timeout" in what or "completion" in what:
        return Reading()
    if TAKES_AWAY.match(command):
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={"severity": WARN},
            traits=frozenset({Trait.GENERIC, Trait.TEARDOWN}),
        )
    if ASKS.match(command):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    return Reading(
        role=ADVICE, weak=True, fields={"severity": WARN}, traits=frozenset({Trait.GENERIC})
    )


def health(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The number that names the fault, and the slot beside the card where the card says so."""
    syndrome = int(match["syndrome"], 16)
    words = says(match, "words")
    if syndrome == 0:
        return Reading(role=NOISE, category=Category.NONE)
    if "temperature" in words:
        return Reading(fields={"severity": FATAL})
    if "pci" in words or "icm fetch" in words:
        return Reading(category=Category.NIC, also=(Category.IO_BOARD,))
    return Reading()


def module(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What the port says of the cable or optics in it."""
    event = says(match, "event")
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
SLOW = re.compile(
    r"(?:r8169|r8152|e100|e1000e?|igb|igc|tg3|bnx2|bcmgenet|forcedeth|alx|sky2|8139\w*|virtio_net|vmxnet3|usbnet"
    r"|ax88\w+|cdc_\w+|rndis_host|smsc\d+|lan78xx|macb|fec|stmmac\w*|dwmac\w*)\b[: ]"
)
UP = ("up", "active")
ON_THE_WAY = ("init", "armed")


def link(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Down is the fault, up its end; what lies between is neither."""
    state = says(match, "state")
    if state in UP:
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={"severity": WARN, "state": "up", "recovered": "yes"},
        )
    if state in ON_THE_WAY:
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    if SLOW.search(match.string[: match.end()]):
        return Reading(
            role=ADVICE, weak=True, fields={"severity": WARN, "state": "down"}, traits=GENERIC
        )
    return Reading(weak=True, fields={"state": "down"})


def bond(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The bond only repeats what its port did."""
    if "up" in says(match, "state"):
        return Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
    return Reading()


NIC = HostFamily("nic", Kind.NIC)

NIC.noise(
    "driver_chatter",
    rf"{MLX}[^\n]{{0,60}}?(?:fw_tracer|FWTracer|mlx5_tracer|crdump"
    r"|PCIe slot advertised sufficient)",
    literals=("fw_tracer", "fwtracer", "mlx5_tracer", "pcie slot advertised sufficient", "crdump"),
    matches=(
        "mlx5_core 0000:1a:00.0: mlx5_fw_tracer_start:1047: FWTracer: Ownership granted and active",
        "mlx5_core 0000:1a:00.0: mlx5_pcie_event:301:(pid 9): PCIe slot advertised sufficient"
        " power (75W).",
    ),
    near_misses=("fw_tracer of the test bench",),
    source=MLX5,
    severity=WARN,
    category=Category.NONE,
)
NIC.advice(
    "slot_power",
    rf"{MLX}[^\n]{{0,60}}?Detected insufficient power on the PCIe slot ?\((?P<watts>\d{{1,4}})W",
    literals=("detected insufficient power on the pcie slot",),
    matches=(
        "mlx5_core 0000:1a:00.0: mlx5_pcie_event:299:(pid 411): Detected insufficient power on"
        " the PCIe slot (25W).",
    ),
    near_misses=("detected insufficient power on the pcie slot of the desk",),
    source=MLX5,
    category=Category.POWER,
    also=(Category.CHASSIS, Category.NIC),
    weak=True,
    kind=Kind.POWER,
)
NIC.noise(
    "health_recovered",
    rf"{MLX}[^\n]{{0,80}}?(?:health recovery succeeded|health revovery succeded|device recovered)",
    literals=("health recovery succeeded", "health revovery succeded", "device recovered"),
    matches=(
        "mlx5_core 0000:1a:00.0: mlx5_health_try_recover:375:(pid 77): health recovery succeeded",
    ),
    near_misses=("health recovery succeeded for pod x",),
    source=MLX5,
    severity=WARN,
    category=Category.NONE,
    read=lambda _match, _after: Reading(fields={"recovered": "yes"}),
)
NIC.root(
    "health_syndrome",
    rf"{MLX}print_health_info[^\n]{{0,40}}?: synd(?:rome)? (?P<syndrome>0x[0-9a-f]{{1,4}}): "
    r"(?P<words>[^\n]{1,80})",
    literals=("print_health_info",),
    matches=(
        "mlx5_core 0000:1a:00.0: print_health_info:429:(pid 0): synd 0x8: unrecoverable hardware"
        " error",
        "mlx5_core 0000:1a:00.0: print_health_info:431:(pid 0): synd 0x1: firmware internal error",
    ),
    near_misses=("mlx5_core 0000:1a:00.0: print_health_info:425:(pid 0): fw_ver 28.36.1010",),
    source=MLX5,
    severity=FATAL,
    category=Category.NIC,
    read=health,
)
NIC.consequence(
    "health_detail",
    rf"{MLX}print_health_info",
    literals=("print_health_info",),
    matches=(
        "mlx5_core 0000:1a:00.0: print_health_info:420:(pid 0): assert_var[0] 0x00000011",
        "mlx5_core 0000:1a:00.0: print_health_info:425:(pid 0): fw_ver 28.36.1010",
    ),
    near_misses=("print_health_info()",),
    source=MLX5,
    category=Category.NIC,
)
NIC.root(
    "health",
    rf"{MLX}[^\n]{{0,80}}?(?:health compromised|Health issue observed[^\n]{{0,80}}"
    r"|[Ff]atal error:? (?P<error>\d{1,5}) detected|Failed to wait for FW"
    r"|handling bad device|health recovery flow aborted"
    r"|health recovery failed|firmware fatal error|device is in error state"
    r"|Internal error detected:|device is going to be reset|go bit not cleared)",
    literals=(
        "health compromised",
        "health issue observed",
        ": fatal error",
        "failed to wait for fw",
        "handling bad device",
        "health recovery flow aborted",
        "device is in error state",
        "health recovery failed",
        "firmware fatal error",
        "internal error detected:",
        "device is going to be reset",
        "go bit not cleared",
    ),
    matches=(
        "mlx5_core 0000:1a:00.0: poll_health:871:(pid 0): device's health compromised - reached"
        " miss count",
        "mlx5_core 0000:1a:00.0: poll_health:823:(pid 0): Fatal error 3 detected",
        "mlx5_core 0000:1a:00.0: Health issue observed, firmware internal error, severity(3)"
        " ERROR:",
        "mlx5_core 0000:1a:00.0: mlx5_handle_bad_state:148:(pid 9): handling bad device here",
        "mlx4_core 0000:1a:00.0: Internal error detected:",
        "mlx5_core 0000:1a:00.0: mlx5_fw_fatal_reporter_err_work:655:(pid 7): fatal error: 5"
        " detected",
        "mlx5_core 0000:1a:00.0: mlx5_load_one:1396:(pid 9): Failed to wait for FW, err -110",
    ),
    near_misses=("nova: fatal error 7 detected", "health compromised"),
    source=MLX5,
    severity=FATAL,
    category=Category.NIC,
)
NIC.root(
    "command",
    rf"{MLX}[^\n]{{0,60}}?(?:: |cmd\[\d{{1,4}}\]: )(?P<command>[A-Z0-9][A-Z0-9_]{{2,48}})"
    r"\(0x[0-9a-f]{1,6}\)[^\n]{0,60}?(?P<what>timeout|No done completion|failed, status "
    r"[^\n(]{1,60})(?:\(0x[0-9a-f]{1,4}\), syndrome \((?P<syndrome>0x[0-9a-f]{1,8})\))?",
    literals=(
        "will cause a leak of a command resource",
        "mlx5_cmd_out_err",
        "mlx5_cmd_check",
        "access_reg(0x",
        "recovered after timeout",
        "no done completion",
    ),
    matches=(
        "mlx5_core 0000:1a:00.0: wait_func:1195:(pid 610): MANAGE_PAGES(0x108) timeout. Will"
        " cause a leak of a command resource",
        "mlx5_core 0000:1a:00.0: wait_func:1151:(pid 967): 2RST_QP(0x50a) timeout. Will cause a"
        " leak of a command resource",
        "mlx5_core 0000:1a:00.0: wait_func_handle_exec_timeout:1108:(pid 3): cmd[0]:"
        " QUERY_VPORT_COUNTER(0x770) No done completion",
        "mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:808:(pid 5): CREATE_QP(0x500) op_mod(0x0)"
        " failed, status bad resource state(0x9), syndrome (0x3e8dd3), err(-22)",
        "mlx5_core 0000:1a:00.0: mlx5_cmd_check:782:(pid 70): ACCESS_REG(0x805) op_mod(0x1)"
        " failed, status bad parameter(0x3), syndrome (0x305684)",
    ),
    near_misses=("mlx5_core 0000:1a:00.0: mlx5_cmd_check enabled",),
    source=MLX5,
    category=Category.NIC,
    read=command_failed,
)
NIC.root(
    "load_failed",
    rf"{MLX}[^\n]{{0,60}}?(?:mlx5_(?:load|init)_one failed|probe_one failed"
    r"|initializing state, aborting|Failed initializing command interface"
    r"|Waiting for FW initialization, timeout abort)",
    literals=(
        "mlx5_load_one failed",
        "mlx5_init_one failed",
        "pre-initializing state, aborting",
        "initializing state, aborting",
        "failed initializing command interface",
        "waiting for fw initialization, timeout abort",
        "probe_one failed",
    ),
    matches=(
        "mlx5_core 0000:1a:00.0: mlx5_load_one:1311:(pid 1): mlx5_load_one failed with error code"
        " -110",
        "mlx5_core 0000:1a:00.0: probe_one:1768:(pid 1): mlx5_init_one failed with error code -5",
        "mlx5_core 0000:1a:00.0: mlx5_function_setup:1017: Firmware over 120000 MS in"
        " pre-initializing state, aborting",
    ),
    near_misses=("plugin: probe_one failed",),
    source=MLX5,
    severity=FATAL,
    category=Category.NIC,
)
NIC.root(
    "probe_failed",
    rf"{DRIVERS}:? (?:probe of )?(?P<device>{BDF})(?:: probe with driver \w{{2,16}})? failed with"
    r" error (?P<error>-\d{1,4})",
    literals=("probe of ", ": probe with driver "),
    matches=(
        "mlx5_core: probe of 0000:1a:00.0 failed with error -110",
        "ice 0000:4b:00.1: probe with driver ice failed with error -5",
    ),
    near_misses=("i2c: probe of 0-0050 failed with error -6",),
    source=ETHERNET,
    severity=FATAL,
    category=Category.NIC,
)
NIC.root(
    "too_hot",
    rf"{MLX}[^\n]{{0,60}}?High temperature on sensors",
    literals=("high temperature on sensors", "temp_warn"),
    matches=(
        "mlx5_core 0000:1a:00.0: temp_warn:150:(pid 0): High temperature on sensors with bit set"
        " 0 1",
    ),
    near_misses=("high temperature on sensors of the rack",),
    source=MLX5,
    severity=WARN,
    category=Category.NIC,
    also=(Category.CHASSIS,),
    weak=True,
    kind=Kind.THERMAL,
)
NIC.root(
    "module",
    rf"{MLX}{WHO}[^\n]{{0,40}}?Port module event(?:\[error\])?: module (?P<module>\d{{1,3}}), "
    r"(?P<event>[^\n]{3,80})",
    literals=("port module event",),
    matches=(
        "mlx5_core 0000:1a:00.1: Port module event: module 1, Cable unplugged",
        "mlx5_core 0000:1a:00.1: Port module event[error]: module 1, Cable error, Bad or shorted"
        " cable/module",
        "mlx5_core 0000:1a:00.1: Port module event[error]: module 1, Cable error, High Temperature",
        "mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error,"
        " Unknown error",
        "mlx5_core 0000:1a:00.1: Port module event: module 1, Cable plugged",
    ),
    near_misses=("Port module event handlers registered",),
    source=MLX5,
    category=Category.NETWORK,
    kind=Kind.LINK,
    read=module,
)
NIC.root(
    "port_link",
    rf"{MLX}(?P<interface>mlx[45]_\d{{1,3}}):? Port: (?P<port>\d) Link "
    r"(?P<state>DOWN|INIT|ARMED|ACTIVE|UP)\b",
    literals=("port: 1 link ", "port: 2 link "),
    matches=(
        "mlx5_core 0000:1a:00.0 mlx5_4: Port: 1 Link DOWN",
        "mlx5_core 0000:1a:00.0 mlx5_4: Port: 1 Link ACTIVE",
        "mlx5_core 0000:1a:00.0 mlx5_4: Port: 1 Link INIT",
    ),
    near_misses=("switch: port: 1 link speed 100G",),
    source=MLX5,
    category=Category.NETWORK,
    also=(Category.NIC,),
    kind=Kind.LINK,
    read=link,
)
NIC.root(
    "device_port",
    r"\binfiniband (?P<interface>[a-z]\w{1,30}): [Pp]ort:? (?P<port>\d{1,2}) link state changed:"
    r" \w{2,12} -> (?P<state>DOWN|INIT|ARMED|ACTIVE|UP)\b",
    literals=("link state changed: ",),
    matches=(
        "infiniband rdmap164s0: Port 1 link state changed: ACTIVE -> DOWN",
        "infiniband rdmap164s0: Port 1 link state changed: INIT -> ACTIVE",
    ),
    near_misses=("virbr0: port 1(vnet0) link state changed: forwarding",),
    source="Linux: drivers/infiniband/core",
    category=Category.NETWORK,
    also=(Category.NIC,),
    kind=Kind.LINK,
    read=link,
)
NIC.root(
    "link",
    rf"\b{DRIVERS}:? (?P<device>{BDF})(?: (?P<first>[a-z][\w.-]{{1,20}}))?:"
    r"(?: (?P<second>[a-z][\w.-]{1,20}):?)? (?:NIC )?Link (?:is )?(?P<state>down|up)\b",
    literals=(": link down", ": link up", "link is down", "link is up"),
    matches=(
        "mlx5_core 0000:1a:00.0 enp26s0np0: Link down",
        "mlx5_core 0000:1a:00.0 enp26s0np0: Link up",
        "ice 0000:4b:00.0 eth3: NIC Link is Down",
        "bnxt_en 0000:4b:00.0 ens2f0np0: NIC Link is Up, 200000 Mbps full duplex",
        "tg3 0000:04:00.0: eno1: Link is down",
    ),
    near_misses=(
        "pcieport 0000:1a:01.0: pciehp: Slot(12): Link Down",
        "ata5: SATA link down (SStatus 0 SControl 300)",
        "nvidia-nvlink: Link is down",
    ),
    source=ETHERNET,
    category=Category.NETWORK,
    also=(Category.NIC,),
    kind=Kind.LINK,
    read=link,
)
NIC.root(
    "interface_link",
    rf"(?:^|[\s\]:])(?P<device>{INTERFACE}):? (?:NIC )?Link (?:is )?(?P<state>down|up)\b",
    literals=(": link down", ": link up", "link is down", "link is up"),
    matches=("eth3: NIC Link is Down", "ib2: link down", "enp26s0np0: Link up"),
    near_misses=(
        "pciehp: Slot(12): Link Down",
        "ata5: SATA link down (SStatus 0 SControl 300)",
        "the uplink: link down",
    ),
    source=ETHERNET,
    category=Category.NETWORK,
    also=(Category.NIC,),
    kind=Kind.LINK,
    read=link,
)
NIC.consequence(
    "bond",
    r"\b(?P<bond>(?:bond|team)[\w.-]{0,16}): (?:\(slave (?P<device>[\w.-]{1,20})\): )?"
    r"link status (?P<state>(?:definitely )?(?:down|up)(?: again)?)"
    r"(?: for (?:active )?interface (?P<interface>[\w.-]{1,20}))?",
    literals=(
        "link status definitely",
        "link status down for",
        "link status up for",
        "link status up again",
    ),
    matches=(
        "bond2: (slave ens2f0): link status definitely down, disabling slave",
        "bond2: link status down for interface ens2f0, disabling it in 200 ms",
        "bond2: (slave ens2f0): link status definitely up, 100000 Mbps full duplex",
    ),
    near_misses=("bond2: Enslaving ens2f0 as a backup interface",),
    source="Linux: drivers/net/bonding",
    category=Category.NETWORK,
    also=(Category.NIC,),
    kind=Kind.LINK,
    read=bond,
)
NIC.root(
    "queue_timeout",
    rf"(?:{DRIVERS} (?P<device>{BDF}) )?(?P<interface>[a-z][\w.-]{{1,20}}): "
    r"(?:NETDEV WATCHDOG: CPU: \d{1,4}: transmit queue (?P<queue>\d{1,5}) timed out"
    r"|TX timeout (?:detected|on queue)"
    r"|RX timeout on channel|tx_timeout|Detected (?:Tx|Hardware) Unit Hang)"
    r"|NETDEV WATCHDOG: (?P<netdev>[\w.-]{2,20}) \((?P<driver>\w{2,20})\): transmit queue"
    r" (?P<tx_queue>\d{1,5}) timed out",
    literals=(
        "netdev watchdog: ",
        "tx timeout ",
        "tx_timeout",
        "rx timeout on channel",
        "unit hang",
    ),
    matches=(
        "NETDEV WATCHDOG: enp26s0np0 (mlx5_core): transmit queue 31 timed out",
        "mlx5_core 0000:1a:00.0 enp26s0np0: NETDEV WATCHDOG: CPU: 17: transmit queue 3 timed out"
        " 5116 ms",
        "mlx5_core 0000:1a:00.0 enp26s0np0: TX timeout detected",
        "mlx5_core 0000:1a:00.0 enp26s0np0: TX timeout on queue: 3, SQ: 0x11ce2, CQ: 0x5e1",
        "mlx5_core 0000:1a:00.0 enp26s0np0: RX timeout on channel: 3, ICOSQ: 0x11c RQ: 0x1",
        "ice 0000:4b:00.0 eth3: tx_timeout: VSI_num: 6, Q 12, NTC: 0x5d",
        "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:",
    ),
    near_misses=("NETDEV WATCHDOG: enabled", "http: TX timeout raised to 5 s"),
    source=ETHERNET,
    category=Category.NIC,
    also=(Category.NETWORK,),
)
NIC.consequence(
    "pci_error",
    rf"{MLX}(?:mlx5_pci_err_detected|mlx5_pci_slot_reset|mlx5_enter_error_state)",
    literals=("mlx5_pci_err_detected", "mlx5_pci_slot_reset", "mlx5_enter_error_state"),
    matches=(
        "mlx5_core 0000:1a:00.0: mlx5_pci_err_detected Device state = 1 health sensors: 1"
        " pci_status: 1. Exit, result = 3, need reset",
    ),
    near_misses=("mlx5_pci_err_detected()",),
    source=MLX5,
    severity=FATAL,
    category=Category.NIC,
    also=(Category.IO_BOARD,),
)
NIC.consequence(
    "error_cqe",
    r"(?P<device>mlx[45]_\d{1,3}): ?dump_cqe:\d{1,5}:? ?[^\n]{0,20}dump error cqe",
    literals=("dump error cqe",),
    matches=("infiniband mlx5_4: dump_cqe:277:(pid 0): dump error cqe",),
    near_misses=("option: dump error cqe off",),
    source="Linux: drivers/infiniband/hw/mlx5",
    category=Category.NIC,
    also=(Category.NETWORK,),
    traits=(Trait.GENERIC, Trait.TEARDOWN),
)
NIC.root(
    "aws_reset",
    rf"\b(?P<driver>ena|efa) (?P<device>{BDF})[^\n]{{0,80}}?(?:Keep alive watchdog timeout"
    r"|Trigger reset is on|lost tx completions is above the threshold"
    r"|the driver didn't receive|Wait for completion \(polling\) timeout)",
    literals=(
        "keep alive watchdog timeout",
        "trigger reset is on",
        "lost tx completions is above the threshold",
        "the driver didn't receive",
        "wait for completion (polling) timeout",
    ),
    matches=(
        "ena 0000:00:06.0 eth0: Keep alive watchdog timeout.",
        "efa 0000:c7:00.0: The device sent a completion but the driver didn't receive a MSI-X"
        " interrupt (cmd 8), autopolling mode is OFF",
    ),
    near_misses=("tcp: keep alive watchdog timeout set",),
    source="Amazon: ena and efa drivers",
    category=Category.NIC,
    also=(Category.NETWORK,),
)
NIC.root(
    "firmware",
    r"\b(?P<driver>bnxt_en|bnxt_re|ice|i40e|idpf|irdma|ixgbe|qede|qedr|ionic|hfi1|mana|gve) "
    rf"(?P<device>{BDF}|[a-z][\w.-]{{1,20}})\b[^\n]{{0,60}}?"
    r"(?:firmware (?:is )?(?:not |non-)responding"
    r"|FW is not responding|PF reset (?:failed|check timed out)|EMP reset"
    r"|(?:firmware|device) recovery mode|ASQ Send Queue|Error \(timeout: \d{1,8}\)"
    r"|Requesting a reset|abnormal ae_id|Malicious Driver Detection)",
    literals=(
        "firmware not responding",
        "firmware non-responding",
        "firmware is not responding",
        "fw is not responding",
        "pf reset failed",
        "pf reset check timed out",
        "emp reset",
        "firmware recovery mode",
        "device recovery mode",
        "asq send queue",
        "error (timeout: ",
        "requesting a reset",
        "abnormal ae_id",
        "malicious driver detection",
    ),
    matches=(
        "bnxt_en 0000:4b:00.0 ens2f0np0: Error (timeout: 500015) msg {0x0 0x3f} len:0",
        "bnxt_en 0000:4b:00.0 ens2f0np0: Firmware not responding, status: 0x8000",
        "ice 0000:4b:00.0: PF reset check timed out",
        "irdma 0000:4b:00.0: Requesting a reset",
    ),
    near_misses=("i40e 0000:4b:00.0: fw 9.140.76856 api 1.15 nvm 9.40", "app: critical error"),
    source=ETHERNET,
    severity=FATAL,
    category=Category.NIC,
)

SIGNATURES = NIC.signatures()
