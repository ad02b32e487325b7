"""What NVIDIA's driver prints when a GPU fails, by driver generation: whole blocks, not lines."""

from simulator.incidents.story import Story

_DOUBLE_BIT = "An uncorrectable double bit error (DBE) has been detected on GPU"


def xid(story: Story, code: int, text: str, *, rank: int | None = None, bus: str = "") -> str:
    """One Xid line; the process is named where ``rank`` is given and the driver does so."""
    who = ""
    if rank is not None:
        pid = story.world.pid(rank)
        name = story.world.chance("comm").choice(("python", "python3", "pt_main_thread"))
        who = f"pid={pid}, name={name}, "
    elif code != 154 and story.chance.random() < 0.4:
        who = story.pick("pid='<unknown>', name=<unknown>, ", "pid=<n/a>, name=<n/a>, ")
    return f"NVRM: Xid (PCI:{bus or story.bus}): {code}, {who}{text}"


def banner(story: Story, bus: str) -> list[str]:
    """What comes before the first Xid of a GPU."""
    uuid = "-".join(story.hexa(n) for n in (8, 4, 4, 4, 12))
    serial = story.chance.randrange(1_320_000_000_000, 1_659_999_999_999)
    return [f"NVRM: GPU at PCI:{bus}: GPU-{uuid}", f"NVRM: GPU Board Serial Number: {serial}"]


def _channel(story: Story) -> str:
    """A channel as this generation writes it."""
    number = story.chance.randrange(2, 90)
    return f"channel 0x{number:08x}" if story.world.driver >= 580 else f"Ch {number:08x}"


def recovery(story: Story, seconds: float, *, bus: str = "") -> None:
    """The driver's own advice, from 565 on."""
    if story.world.driver < 565:
        return
    action = story.pick(
        "0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)", "0x4 (Drain and Reset)"
    )
    text = f"GPU recovery action changed from 0x0 (None) to {action}"
    story.log_kernel(seconds, xid(story, 154, text, bus=bus))


def channel_errors(
    story: Story, seconds: float, rank: int, code: int = 45, parent: int = 0, most: int = 9
) -> None:
    """The channels of a dying process, one line each."""
    count = story.chance.randrange(2, most)
    cause = f" caused by previous Xid {parent}" if parent and story.world.driver >= 570 else ""
    lines = [
        xid(story, code, _channel(story) + cause, rank=rank, bus=story.world.bus_of(rank))
        for _ in range(count)
    ]
    story.log_kernel(seconds, *lines, node=story.world.node_of(rank), step_s=0.0003)


def fell_off(
    story: Story, seconds: float = 0.0, *, bus: str = "", numbered: bool = True, root: bool = True
) -> None:
    """A GPU that answers no more, and what dies with it."""
    bus = bus or story.bus
    if numbered:
        story.log_kernel(seconds, *banner(story, bus), level=5)
        text = story.pick("GPU has fallen off the bus.", "GPU has fallen off the bus.")
        story.log_kernel(seconds, xid(story, 79, text, bus=bus), root=root)
        if story.chance.random() < 0.7:
            story.log_kernel(seconds, f"NVRM: GPU {bus}.0: GPU has fallen off the bus.")
        if story.chance.random() < 0.4:
            story.log_kernel(
                seconds, f"NVRM: GPU {bus}.0: GPU serial number is {story.hexa(12)}.", level=4
            )
        recovery(story, seconds + 0.1, bus=bus)
    else:
        story.log_kernel(
            seconds,
            f"NVRM: The NVIDIA GPU {bus}.0",
            "NVRM: (PCI ID: 10de:2330) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
            root=root,
        )
    more = story.chance.random()
    if more < 0.5:
        line = (
            f"nvidia {bus}.0: Unable to change power state from D3cold to D0, device inaccessible"
        )
        story.log_kernel(seconds + 0.9, line)
    if more > 0.6:
        story.log_kernel(seconds + 45.0, _gsp_text(story, bus))
    if story.chance.random() < 0.4:
        story.log_kernel(seconds + 121.0, *hung(story, "nvidia-smi"))


def _gsp_text(story: Story, bus: str) -> str:
    """The line of an Xid 119."""
    number, name = story.chance.choice(
        ((76, "GSP_RM_CONTROL"), (103, "GSP_RM_ALLOC"), (10, "FREE"), (78, "DUMP_PROTOBUF"))
    )
    data = f"(0x{story.hexa(8)} 0x{story.chance.randrange(0, 4096):x})"
    if story.world.driver < 550:
        gpu = story.chance.choice(("", str(story.chance.randrange(8))))
        text = f"Timeout waiting for RPC from GSP{gpu}! Expected function {number} ({name}) {data}."
    else:
        gpu = str(story.chance.randrange(8))
        text = (
            f"Timeout after {story.pick('6', '45')}s of waiting for RPC response from GPU{gpu} "
            f"GSP! Expected function {number} ({name}) {data}."
        )
        if story.world.driver >= 570:
            text = text[:-1] + f" sequence {story.chance.randrange(10_000, 900_000)}."
    rank = story.culprit if bus == story.bus and story.chance.random() < 0.5 else None
    return xid(story, 119, text, bus=bus, rank=rank)


def gsp_timeout(story: Story) -> None:
    """The system processor stops answering; every caller waits for its own answer."""
    bus = story.bus
    repeats = story.chance.randrange(1, 6)
    for turn in range(repeats):
        at = 45.0 * turn
        story.log_kernel(at, _gsp_text(story, bus), root=turn == 0)
        if turn == 0:
            story.log_kernel(
                0.001,
                f"NVRM: GPU{story.chance.randrange(8)} GSP RPC buffer contains function 76 "
                f"(GSP_RM_CONTROL) and data 0x{story.hexa(16)} 0x{story.hexa(16)}.",
                "NVRM: GPU GSP RPC history (CPU -> GSP):",
                "NVRM:     entry function                   data0              data1",
                f"NVRM:      0    76   GSP_RM_CONTROL        0x{story.hexa(16)} 0x{story.hexa(16)}",
                f"NVRM:     -1    47   UNLOADING_GUEST_DRIVER 0x{story.hexa(16)} 0x0",
                "NVRM: GPU RPC event history (CPU <- GSP):",
                f"NVRM:      0    4108 UCODE_LIBOS_PRINT     0x{story.hexa(16)} 0x{story.hexa(16)}",
                f"CPU: {story.chance.randrange(128)} PID: {story.world.pid(story.culprit)} Comm: "
                f"python Tainted: P           OE      {story.world.software.kernel} #58",
                "Call Trace:",
                " <TASK>",
                " dump_stack_lvl+0x4a/0x63",
                " _nv013039rm+0x2a6/0x350 [nvidia]",
                " nvidia_ioctl+0x5a4/0x8a0 [nvidia]",
                " </TASK>",
                level=4,
            )
    if story.chance.random() < 0.5:
        text = (
            "NVRM: _kgspLogXid119: ********************************* GSP Timeout "
            "**********************************"
        )
        story.log_kernel(0.01, text)
    recovery(story, 6.1)
    story.log_kernel(125.0, *hung(story, story.pick("python", "nvidia-smi")))


def gsp_exception(story: Story) -> None:
    """The system processor's own program dies."""
    if story.chance.random() < 0.5:
        text = (
            f"GSP task exception: {story.pick('load access fault', 'store/AMO page fault')} "
            f"(cause:0x{story.pick('5', 'f')}) @ pc:0x{story.hexa(7)}, partition:4#0, task:1"
        )
        story.log_kernel(0.0, xid(story, 120, text), root=True)
        story.log_kernel(
            0.0,
            f"NVRM:     Reported by libos kernel v3.{story.chance.randrange(10)} [0] @ ts:17299",
            "NVRM:     RISC-V CSR State:",
            f"NVRM:         mstatus:0x{story.hexa(16)}  mscratch:0x{story.hexa(16)}",
            "NVRM:     RISC-V GPR State:",
            f"NVRM:         ra:0x{story.hexa(16)}   sp:0x0",
        )
        recovery(story, 0.2)
    else:
        story.log_kernel(
            0.0,
            story.pick(
                "NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out",
                f"NVRM: nvGpuOpsReportFatalError: GSP RM heartbeat timed out on GPU {story.bus}.0",
                "NVRM: kgspHealthCheck_TU102: GSP RM heartbeat timed out",
            ),
            root=True,
        )
    story.log_kernel(46.0, _gsp_text(story, story.bus))


def hung(story: Story, task: str, frame: str = "nvidia") -> list[str]:
    """A hung task and its frames."""
    pid = story.chance.randrange(2_000, 900_000)
    frames = {
        "nvidia": [
            " rwsem_down_write_slowpath+0x1ed/0x3a0",
            " os_acquire_rwlock_write+0x35/0x50 [nvidia]",
            " nvidia_open+0x1b6/0x4c0 [nvidia]",
        ],
        "nfs": [" nfs_wait_bit_killable+0x2a/0xa0 [nfs]", " nfs4_proc_getattr+0x7a/0xf0 [nfsv4]"],
        "lustre": [
            " ptlrpc_set_wait+0x5e4/0x760 [ptlrpc]",
            " ll_file_io_generic+0x3a2/0x7d0 [lustre]",
        ],
        "ext4": [" jbd2_log_wait_commit+0x10b/0x180", " ext4_sync_file+0x1c4/0x3d0"],
    }[frame]
    return [
        f"INFO: task {task}:{pid} blocked for more than {story.pick('120', '120', '122')} seconds.",
        f"      Tainted: P           OE     {story.world.software.kernel}",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        f"task:{task:<16}state:D stack:    0 pid:{pid} ppid:  4021 flags:0x00000002",
        "Call Trace:",
        " <TASK>",
        *frames,
        " schedule+0x69/0x110",
        " </TASK>",
    ]


def dbe(story: Story, unit: str = "DRAM") -> None:
    """A double-bit error in memory: event, place, booking, reach, advice, in one second."""
    rank = story.culprit
    part, sub = story.chance.randrange(12), story.chance.randrange(2)
    event = _dbe_in_memory(story, part, sub)
    if unit == "SRAM":
        place = story.pick("L2 cache", "SM L1", "GPCCS")
        where = story.pick("SRAM", place)
        event = xid(story, 48, f"{_DOUBLE_BIT} ({where}).")
    tail = []
    if story.world.driver >= 570:
        code, name = (171, "DRAM") if unit == "DRAM" else (172, "SRAM")
        tail.append(xid(story, code, f"Uncorrectable {name} error, XidCount 1"))
    if unit == "DRAM":
        tail.append(xid(story, 63, _new_row(story)))
    reach = 94 if story.chance.random() < 0.75 else 95
    if reach == 94:
        block = "LTC" if unit == "SRAM" else "FBHUB"
        text = f"Contained: {block} (0x{part:x},0x{sub:x}). RST: No, D-RST: No"
        tail.append(xid(story, 94, text, rank=rank))
    else:
        block = "LTC TAG" if unit == "SRAM" else "FBHUB"
        text = f"Uncontained: {block} (0x{part:x},0x0). RST: Yes, D-RST: No"
        tail.append(xid(story, 95, text))
    # The first is the event; the rest may overtake each other by microseconds.
    if story.chance.random() < 0.3:
        story.chance.shuffle(tail)
    if story.chance.random() < 0.6:
        story.log_kernel(-0.001, *banner(story, story.bus), level=5)
    for turn, line in enumerate([event, *tail]):
        story.log_kernel(0.12 * turn, line, root=turn == 0)
    recovery(story, 0.7)
    channel_errors(story, 0.8, rank, parent=reach)


def _dbe_in_memory(story: Story, part: int, sub: int) -> str:
    address = f"0x{story.hexa(9)}"
    where = f"{story.pick(f'physAddr {address} ', '')}partition {part}, subpartition {sub}."
    rank = story.culprit if story.chance.random() < 0.5 else None
    return xid(story, 48, f"{_DOUBLE_BIT} in the framebuffer at {where}", rank=rank)


def _new_row(story: Story) -> str:
    """The booking of a row that replaces a bad one."""
    row = story.hexa(16)
    return f"Row Remapper: New row (0x{row}) marked for remapping, reset gpu to activate."


def uncontained(story: Story, code: int = 95) -> None:
    """Contained (94) or uncontained (95) memory error without a 48 before it."""
    unit = story.pick("FBHUB", "HBM", "DRAM", "FBPA")
    words = "Contained" if code == 94 else "Uncontained"
    reset = "No" if code == 94 else "Yes"
    text = f"{words}: {unit} (0x{story.chance.randrange(16):x},0x0). RST: {reset}, D-RST: No"
    story.log_kernel(
        0.0, xid(story, code, text, rank=story.culprit if code == 94 else None), root=True
    )
    if story.chance.random() < 0.6:
        story.log_kernel(0.4, xid(story, 63, _new_row(story)))
    recovery(story, 0.6)
    channel_errors(story, 0.9, story.culprit, parent=code)


def remap_failure(story: Story) -> None:
    """No spare row is left."""
    text = f"Row Remapper Error: (0x{story.hexa(16)}) - All reserved rows for bank are remapped"
    story.log_kernel(0.0, xid(story, 64, text), root=True)
    if story.chance.random() < 0.5:
        text = f"{_DOUBLE_BIT} in the framebuffer at partition 3, subpartition 1."
        story.log_kernel(-0.1, xid(story, 48, text), root=True)
    recovery(story, 0.3)
    channel_errors(story, 0.6, story.culprit, parent=64)


def sram(story: Story) -> None:
    """An error in a cache or a register file."""
    way = story.chance.randrange(3)
    if way == 0:
        dbe(story, "SRAM")
        return
    if way == 1:
        counts = story.pick(
            "DRAM:0, LTC:1, MMU:0, PCIE:0",
            "DRAM:0, LTC:0, MMU:2, PCIE:0",
            "DRAM:0, LTC:3, MMU:0, PCIE:0",
        )
        text = f"An uncorrectable ECC error detected (possible firmware handling failure) {counts}"
        story.log_kernel(0.0, xid(story, 140, text), root=True)
        recovery(story, 0.3)
    else:
        unit = story.pick("LTC TAG", "LTC DATA", "SM SRAM", "GPC L1", "SM RF")
        code = story.chance.choice((94, 95))
        words = "Contained" if code == 94 else "Uncontained"
        text = (
            f"{words}: {unit} (0x{story.chance.randrange(8):x},"
            f"0x{story.chance.randrange(4):x}). RST: "
            f"{'No' if code == 94 else 'Yes'}, D-RST: No"
        )
        story.log_kernel(0.0, xid(story, code, text), root=True)
        recovery(story, 0.3)
    channel_errors(story, 0.5, story.culprit, parent=140)


def nvlink_fatal(story: Story) -> None:
    """A link of the GPU dies (before NVLink 5)."""
    link = story.chance.randrange(18)
    if story.chance.random() < 0.8:
        words = ", ".join(
            f"0x{story.chance.choice((0, 0, 0, 1 << story.chance.randrange(31))):x}"
            for _ in range(7)
        )
        text = f"NVLink: fatal error detected on link {link}({words})"
    else:
        peer = story.chance.choice([bus for bus in story.node.buses if bus != story.bus])
        text = f"NVLink: failed to train link {link} to remote PCI:{peer}"
    story.log_kernel(0.0, xid(story, 74, text), root=True)
    if story.chance.random() < 0.5:
        line = (
            f"NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect "
            f"Link mask on GPU {story.chance.randrange(8)}!"
        )
        story.log_kernel(0.05, line)
    if story.chance.random() < 0.6:
        switch_error(story, 0.02, 20034, "LTSSM Fault Up")
    recovery(story, 0.3)
    channel_errors(story, 0.6, story.culprit, parent=74)


def nvlink_five(story: Story) -> None:
    """A link event of NVLink 5: one GPU is the local end, its peers hear of it."""
    code, unit = story.chance.choice(
        (
            (144, "SAW_MVB"),
            (145, "RLW_REMAP"),
            (146, "TLW_RX"),
            (149, "NETIR_LINK_EVT"),
            (150, "MSE_WATCHDOG"),
            (149, "NETIR_LINK_DOWN"),
        )
    )
    link = story.chance.randrange(18)
    words = " ".join(f"0x{story.hexa()}" for _ in range(6))
    text = f"{unit} Fatal XC0 i0 Link {link:02d} ({words})"
    story.log_kernel(0.0, xid(story, code, text), root=True)
    for rank in story.world.ranks_on(story.node):
        if rank != story.culprit and story.chance.random() < 0.5:
            words = " ".join(f"0x{story.hexa()}" for _ in range(6))
            text = f"RLW_RXPIPE Nonfatal XC0 i0 Link {link:02d} ({words})"
            story.log_kernel(0.3, xid(story, 145, text, bus=story.world.bus_of(rank)))
    recovery(story, 0.5)
    channel_errors(story, 0.8, story.culprit, parent=code)


def switch_error(story: Story, seconds: float, code: int, text: str, *, root: bool = False) -> None:
    """An NVSwitch reports a fatal error: three lines or more."""
    link, switch = story.chance.randrange(64), story.chance.randrange(4)
    head = f"nvidia-nvswitch{switch}: SXid (PCI:0000:{switch + 5:02x}:00.0): {code},"
    data = ", ".join(f"0x{story.hexa()}" for _ in range(9))
    story.log_kernel(
        seconds,
        f"{head} Fatal, Link {link:02d} {text}{story.pick('', ' (First)')}",
        f"{head} Severity 1 Engine instance {link:02d} Sub-engine instance 00",
        f"{head} Data {{{data}}}",
        root=root,
    )
