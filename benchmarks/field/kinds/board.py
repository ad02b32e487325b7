"""The server around the GPUs: power, chassis, PCIe board, processor, memory, disk."""

# ruff: noqa: E501
from benchmarks.field.endings import by_crash, by_timeout, traceback
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.gpu import lose_dumps
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import controllers, schedulers

NO_CLOUD = "dgx-a100,dgx-h100,hgx-h200-cloud,gb200-nvl72,mi300x,roce-fleet"


def _list(c: Incident, events: list[controllers.Event]) -> None:
    """The board controller's list of the guilty node, in its vendor's words, and of another one."""
    write, name = controllers.FORMS.get(c.platform.bmc, controllers.FORMS["dell"])
    if c.rng.random() < 0.25:
        write, name = c.rng.choice([controllers.FORMS["dell"], controllers.FORMS["hpe"]])
    for i in [c.node, *c.others(1)]:
        n = c.nodes[i]
        rows = controllers.everyday(c.at) + (events if i == c.node else [])
        c.files[f"nodes/{n.name}/{name}"] = write(rows)


def node_gone(c: Incident, back: bool) -> None:
    """The whole node stops at the fault; it may boot again later."""
    n = c.bad
    c.dies(c.ranks_on(c.node))
    c.begin()
    n.dead_at = c.at
    if back:
        n.reboots.append(c.at + c.rng.uniform(240, 900))
    c.no_dump |= set(c.ranks_on(c.node))
    c.keep_kernel.add(c.node)


def others_notice(c: Incident) -> None:
    """The rest of the job finds its peers gone."""
    rng = c.rng
    ranks = set(c.ranks_on(c.node))
    if rng.random() < 0.5:
        by_timeout(c, ranks)
    else:
        by_crash(c, c.at + rng.uniform(1, 20), ranks, code=-9)
    if c.scheduler == "slurm" and rng.random() < 0.5:
        n0 = c.nodes[c.order[0]]
        if n0.dead_at is None:
            c.log.agent(
                c.at + rng.uniform(60, 320), n0.index, f"srun: error: Node failure on {c.bad.name}"
            )


def _gpus_fall(c: Incident, which: list[int], t: float) -> None:
    n, rng = c.bad, c.rng
    for g in which:
        at = t + rng.uniform(0, 1.5)
        if c.platform.vendor == "amd":
            n.say(at, f"amdgpu {n.bus(g)}.0: amdgpu: device lost from bus!", 3)
        else:
            n.xid(at, g, 79, "GPU has fallen off the bus.", rng.choice([None, "unknown"]))
            n.say(at + 1e-4, f"NVRM: GPU {n.bus(g)}.0: GPU has fallen off the bus.", 3)


@kind("power", "power", 2.5, only=NO_CLOUD)
def power(c: Incident) -> None:
    """Power goes: told by the board controller's list alone, or beside the kernel's."""
    rng, t = c.rng, c.at
    whole = rng.random() < 0.6
    if whole:
        node_gone(c, rng.random() < 0.7)
        others_notice(c)
    else:
        gpus = list(range(c.platform.per_node))
        c.device_stops(c.ranks_on(c.node))
        c.begin()
        c.keep_kernel.add(c.node)
        lose_dumps(c, (0, 3, 1))
        _gpus_fall(c, gpus, t)
        by_timeout(c, set(c.ranks_on(c.node)))
    words = {
        "dell": [("PSU", "The power input for power supply 2 is lost.", "Critical"), ("PSU", "Power supply redundancy is lost.", "Critical")],
        "hpe": [("Power Supply", "System Power Supply Failure (Power Supply 3)", "Critical"), ("Power", "Power Fault Detected, System Board (Zone 1, Location 0x16)", "Critical")],
    }.get(c.platform.bmc, [
        (f"Power Supply PSU{rng.randrange(1, 6)}_Status", rng.choice(["Power Supply AC lost", "Failure detected", "Predictive failure"]), "Critical"),
        ("Power Unit PWR_Redundancy", rng.choice(["Redundancy Lost", "Non-redundant: Insufficient Resources"]), "Critical"),
        (rng.choice(["Voltage P12V_GPU", "Voltage HSC_VOUT", "Power Supply PDB_54V"]), rng.choice(["Lower Non-recoverable going low", "State Asserted"]), "Critical"),
    ])  # fmt: skip
    events = [(t + rng.uniform(-2.5, 0.8), a, b, s) for a, b, s in words]
    _list(c, events)
    c.say("power", ["hang", "crash"], *(["chassis"] if not whole else []))
    c.blame(c.ranks_on(c.node) if not whole else None, cordon=True)
    c.truth.cordon_allowed = [c.node]
    c.truth.hard.append("one source")


@kind("chassis", "chassis", 2, only=NO_CLOUD)
def chassis(c: Incident) -> None:
    """Several GPUs and devices of all branches go at once; fans or board in the controller's list."""
    rng, t = c.rng, c.at
    c.keep_kernel.add(c.node)
    c.device_stops(c.ranks_on(c.node))
    c.begin()
    lose_dumps(c, (0, 4, 1))
    gpus = list(range(c.platform.per_node))
    _gpus_fall(
        c, gpus if rng.random() < 0.6 else sorted(rng.sample(gpus, max(3, len(gpus) - 2))), t
    )
    words = rng.choice([
        [("Fan SYS_FAN4_R", "Lower Critical going low", "Critical"), ("Fan FAN_Redundancy", "Redundancy Lost", "Critical"), ("Temperature Inlet_MB", "Upper Non-critical going high", "Warning")],
        [("Baseboard HGX_Baseboard_0", "The baseboard reported a fatal fault: BASEBOARD_FAULT asserted", "Critical")],
        [("Management Subsystem Health GPU_BOARD", "Sensor failure", "Critical"), ("Slot / Connector GPU_TRAY", "Fault Status asserted", "Critical")],
    ])  # fmt: skip
    _list(c, [(t + rng.uniform(-4, 1), a, b, s) for a, b, s in words])
    by_timeout(c, set(c.ranks_on(c.node)))
    c.say("chassis", ["hang", "crash"], "power", "io_board")
    c.blame(c.ranks_on(c.node), cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("io_board", "io_board", 2.5, only="dgx-a100,dgx-h100,hgx-h200-cloud,roce-fleet,mi300x")
def io_board(c: Incident) -> None:
    """The PCIe port above a GPU reports it first: surprise down, containment, fatal AER."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    pair = [g, g ^ 1]
    both = rng.random() < 0.6
    ranks = [c.ranks_on(c.node)[x] for x in (pair if both else [g])]
    c.device_stops(ranks)
    c.begin()
    lose_dumps(c)
    port = f"0000:{int(n.bus(g)[5:7], 16) - 2 & 0xFF:02x}:0{rng.randrange(1, 5)}.0"
    n.say(t, f"pcieport {port}: DPC: containment event, status:0x1f01 source:0x0000", 3)
    n.say(t + 1e-3, f"pcieport {port}: DPC: unmasked uncorrectable error detected", 3)
    n.say(
        t + 2e-3,
        f"pcieport {port}: PCIe Bus Error: severity={'Uncorrectable' if n.kernel > '6.6' else 'Uncorrected'} (Fatal), type=Transaction Layer, (Receiver ID)",
        3,
    )
    n.say(t + 3e-3, f"pcieport {port}:   device [1000:c030] error status/mask=00000020/00010000", 3)
    n.say(t + 4e-3, f"pcieport {port}:    [ 5] SDES                   (First)", 3)
    if rng.random() < 0.6:
        n.say(t + 0.05, f"pcieport {port}: pciehp: Slot({rng.randrange(20, 60)}): Link Down", 4)
        n.say(
            t + 0.06, f"pcieport {port}: pciehp: Slot({rng.randrange(20, 60)}): Card not present", 4
        )
    _gpus_fall(c, pair if both else [g], t + 0.2)
    bdf = n.nic(g)[2]
    if rng.random() < 0.5 and c.platform.nic_driver == "mlx5_core":
        n.say(
            t + 0.3,
            f"mlx5_core {bdf}: mlx5_pci_err_detected Device state = 1 health sensors: 0. pci_status: 2. Enter, pci channel state = 2",
            3,
        )
        n.say(t + 0.4, f"mlx5_core {bdf}: mlx5_error_sw_reset:244:(pid 411): start", 3)
    by_timeout(c, set(ranks))
    c.say("io_board", ["hang", "crash"], *([] if both else ["gpu"]))
    c.blame(ranks, cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("cpu", "cpu", 2)
def cpu(c: Incident) -> None:
    """A processor's fatal machine check, a panic, or a core that hangs hard."""
    rng, n, t = c.rng, c.bad, c.at
    core = rng.randrange(96)
    node_gone(c, True)
    others_notice(c)
    t0 = t - 0.5
    form = rng.choice(["mce", "mce", "erst", "lockup"]) if c.platform.cpu != "ARM" else "ghes"
    if form == "mce":
        bank = rng.choice([0, 1, 2, 3])
        n.say(
            t0,
            f"mce: [Hardware Error]: CPU {core}: Machine Check Exception: 5 Bank {bank}: b{rng.getrandbits(4):x}000000000{rng.getrandbits(20):05x}",
            0,
        )
        n.say(
            t0 + 0.01,
            f"mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff8{rng.getrandbits(28):07x}> {{intel_idle+0x86/0x130}}",
            0,
        )
        n.say(
            t0 + 0.02,
            f"mce: [Hardware Error]: TSC {rng.getrandbits(52):x} ADDR {rng.getrandbits(40):x} MISC {rng.getrandbits(32):x}",
            0,
        )
        n.say(
            t0 + 0.03,
            f"mce: [Hardware Error]: PROCESSOR 0:806f8 TIME {int(t)} SOCKET 1 APIC {core:x} microcode 2b000590",
            0,
        )
        n.say(t0 + 0.04, "mce: [Hardware Error]: Machine check: Processor context corrupt", 0)
        n.say(t0 + 0.05, "Kernel panic - not syncing: Fatal machine check", 0)
    elif form == "erst":
        at = n.reboots[0] + 14
        n.say(at, "mce: [Hardware Error]: Machine check events logged", 3)
        n.say(
            at + 0.01,
            "[Hardware Error]: Uncorrected, software restartable error."
            if c.platform.cpu == "AMD"
            else f"mce: [Hardware Error]: CPU {core}: Machine Check: 0 Bank 3: fe00000000800400",
            3,
        )
        n.say(
            at + 0.02,
            f"[Hardware Error]: CPU:{core} (19:11:1) MC5_STATUS[-|UE|MiscV|-|PCC|TCC|SyndV|-|-|-]: 0xbea0000000000108"
            if c.platform.cpu == "AMD"
            else f"mce: [Hardware Error]: TSC 0 ADDR fef1{rng.getrandbits(16):04x} MISC 4 PPIN {rng.getrandbits(40):x}",
            3,
        )
        n.say(
            at + 0.03,
            "[Hardware Error]: Execution Unit Ext. Error Code: 0, Watchdog Timeout error."
            if c.platform.cpu == "AMD"
            else f"mce: [Hardware Error]: PROCESSOR 0:806f8 TIME {int(t)} SOCKET 0 APIC {core:x} microcode 2b000590",
            3,
        )
        c.long_log = True
    elif form == "lockup":
        n.say(t0 - 20, f"watchdog: Watchdog detected hard LOCKUP on cpu {core}", 0)
        n.say(
            t0 - 10,
            f"mce: [Hardware Error]: CPU {core}: Machine Check Exception: 4 Bank 3: be00000000800400",
            0,
        )
        n.say(
            t0,
            "Kernel panic - not syncing: Timeout: Not all CPUs entered broadcast exception handler",
            0,
        )
    else:
        n.say(
            t0, "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1", 0
        )
        n.say(t0 + 0.01, "{1}[Hardware Error]: event severity: fatal", 0)
        n.say(t0 + 0.02, "{1}[Hardware Error]:  Error 0, type: fatal", 0)
        n.say(t0 + 0.03, "{1}[Hardware Error]:   section_type: ARM processor error", 0)
        n.say(t0 + 0.04, "{1}[Hardware Error]:   error_type: 0, cache error", 0)
        n.say(t0 + 0.05, "Kernel panic - not syncing: Fatal hardware error!", 0)
    c.say("cpu", ["hang", "crash"])
    c.blame(cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("host_memory", "host_memory", 2)
def host_memory(c: Incident) -> None:
    """An uncorrectable error in system memory kills a process or the node."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    c.dies([c.rank])
    c.begin()
    lose_dumps(c, (6, 2, 0))
    page = rng.getrandbits(28)
    if c.platform.cpu == "ARM" or rng.random() < 0.4:
        k = rng.randrange(1, 9)
        for i, text in enumerate(
            [
                "Hardware error from APEI Generic Hardware Error Source: 4",
                "event severity: recoverable",
                " Error 0, type: recoverable",
                "  section_type: memory error",
                f"  physical_address: 0x{page << 12:016x}",
                f"  node:{rng.randrange(2)} card:{rng.randrange(8)} module:0 rank:1 bank:5 device:9 row:{rng.randrange(9999)} column:{rng.randrange(900)}",
                "  error_type: 3, multi-bit ECC",
                f"  DIMM location: CPU1 DIMM_{rng.choice('ABCDEFGH')}1",
            ]
        ):
            n.say(t + i * 1e-4, f"{{{k}}}[Hardware Error]: {text}", 2)
    else:
        n.say(
            t,
            f"EDAC MC{rng.randrange(4)}: 1 UE memory read error on CPU_SrcID#1_MC#2_Chan#0_DIMM#0 (channel:0 slot:0 page:0x{page:x} offset:0x0 grain:32 - err_code:0x00a0:0x0090 )",
            0,
        )
    n.say(
        t + 0.01,
        f"Memory failure: 0x{page:x}: Sending SIGBUS to {n.process}:{n.pids[g]} due to hardware memory corruption",
        3,
    )
    n.say(t + 0.02, f"Memory failure: 0x{page:x}: recovery action for dirty LRU page: Recovered", 3)
    at = t + rng.uniform(0.3, 3)
    if rng.random() < 0.5:
        c.log.say(
            at,
            c.rank,
            f'Fatal Python error: Bus error\n\nCurrent thread 0x00007f{rng.getrandbits(40):010x} (most recent call first):\n  File "/usr/local/lib/python3.11/dist-packages/torch/utils/data/_utils/collate.py", line 172 in default_collate',
        )
        c.told = True
    by_crash(c, at, {c.rank}, code=-7)
    c.say("host_memory", ["crash", "hang"])
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("ssd", "ssd", 2.5, only="dgx-a100,dgx-h100,hgx-h200-cloud,gb200-nvl72,mi300x,roce-fleet")
def ssd(c: Incident) -> None:
    """A local disk dies under the data or the scratch directory."""
    rng, n, t = c.rng, c.bad, c.at
    c.keep_kernel.add(c.node)
    disk = rng.randrange(1, 8)
    crash = rng.random() < 0.6
    if crash:
        c.dies([c.rank])
    else:
        c.host_stops([c.rank])
    c.begin()
    t0 = t - rng.uniform(1, 20)
    if rng.random() < 0.5:
        n.say(
            t0,
            f"nvme nvme{disk}: I/O tag {rng.randrange(900)} ({rng.getrandbits(16):04x}) opcode 0x2 (I/O Cmd) QID {rng.randrange(1, 60)} timeout, aborting req_op:READ(0) size:131072",
            4,
        )
        n.say(
            t0 + 2,
            f"nvme nvme{disk}: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 9 timeout, reset controller",
            4,
        )
        n.say(t0 + 6, f"nvme nvme{disk}: Device not ready; aborting reset, CSTS=0x1", 3)
        n.say(t0 + 7, f"nvme nvme{disk}: Disabling device after reset failure: -19", 3)
    else:
        n.say(
            t0,
            f"nvme nvme{disk}: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
            4,
        )
        n.say(t0 + 3, f"nvme nvme{disk}: Removing after probe failure status: -19", 3)
    n.say(
        t0 + 8,
        f"blk_update_request: I/O error, dev nvme{disk}n1, sector {rng.getrandbits(32)} op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 0"
        if n.kernel < "5.16"
        else f"I/O error, dev nvme{disk}n1, sector {rng.getrandbits(32)} op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 2",
        3,
    )
    n.say(
        t0 + 8.2,
        rng.choice(
            [
                f"EXT4-fs error (device nvme{disk}n1): ext4_find_entry:1463: inode #{rng.getrandbits(24)}: comm {n.process}: reading directory lblock 0",
                f'XFS (nvme{disk}n1): metadata I/O error in "xfs_da_read_buf+0xd9/0x130 [xfs]" at daddr 0x{rng.getrandbits(24):x} len 8 error 5',
                f"md/raid0:md127: Disk failure on nvme{disk}n1 detected, failing array.",
            ]
        ),
        3,
    )
    if crash:
        traceback(
            c,
            t + 0.4,
            c.rank,
            "OSError: [Errno 5] Input/output error: '/scratch/cache/shard_00411.bin'",
        )
        c.told = True
        lose_dumps(c, (6, 1, 1))
        by_crash(c, t + 0.4, {c.rank}, code=1)
    else:
        by_timeout(c, {c.rank})
    c.say("ssd", ["crash", "hang"], "storage")
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]


def down_by_controller(c: Incident, at: float) -> None:
    """The controller of jobs sees the node go."""
    rows = schedulers.slurm_noise(c.rng, c.nodes, c.at, c.job)
    rows += [
        (at + 40, f"error: Nodes {c.bad.name} not responding"),
        (at + 300, f"error: Nodes {c.bad.name} not responding, setting DOWN"),
    ]
    c.files["slurmctld.log"] = schedulers.slurm_lines(rows)
