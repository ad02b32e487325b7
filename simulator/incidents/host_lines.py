"""What the kernel prints when something else than a GPU fails: boards, cards, disks, memory."""

from simulator.incidents.driver_lines import hung
from simulator.incidents.story import Story
from simulator.incidents.world import Node


def root_port(bus: str) -> str:
    """The port in front of the GPU on ``bus``."""
    domain, number, _ = bus.split(":")
    return f"{domain}:{max(int(number, 16) - 1, 0):02x}:01.0"


def aer_fatal(story: Story, seconds: float = 0.0) -> None:
    """A fatal PCIe error on the way to the GPU, in old and in new words."""
    port = root_port(story.bus)
    driver = story.pick("pcieport", "pcieport")
    old = story.chance.random() < 0.4
    word = "Uncorrected" if old else "Uncorrectable"
    bit, name = story.chance.choice(((5, "SDES"), (14, "CmpltTO"), (18, "MalfTLP"), (4, "DLP")))
    layer = {5: "Data Link Layer", 4: "Data Link Layer"}.get(bit, "Transaction Layer")
    agent = story.pick("(Receiver ID)", "(Requester ID)")
    status = f"{1 << bit:08x}/00100000"
    story.log_kernel(
        seconds,
        f"{driver} {port}: AER: {word} (Fatal) error {story.pick('', 'message ')}received: "
        f"{story.pick(port, story.bus + '.0')}",
        f"{driver} {port}: PCIe Bus Error: severity={word} (Fatal), type={layer}, {agent}",
        f"{driver} {port}:   device [8086:352a] error status/mask={status}",
        f"{driver} {port}:    [{bit:2d}] {name:<22} (First)",
        root=True,
    )
    story.log_kernel(
        seconds + 0.05, f"nvidia {story.bus}.0: AER: can't recover (no error_detected callback)"
    )
    story.log_kernel(
        seconds + 1.1,
        f"{driver} {port}: AER: Root Port link has been reset (0)",
        f"{driver} {port}: AER: device recovery failed",
    )


def dpc(story: Story, seconds: float = 0.0) -> None:
    """The port contains the error and takes the link down; hot-plug sees the card go."""
    port = root_port(story.bus)
    slot = story.chance.randrange(1, 40)
    if story.chance.random() < 0.6:
        story.log_kernel(
            seconds,
            f"pcieport {port}: DPC: containment event, status:0x1f0{story.hexa(1)} source:0x0000",
            f"pcieport {port}: DPC: unmasked uncorrectable error detected",
            root=True,
        )
    story.log_kernel(
        seconds + 0.01,
        f"pcieport {port}: pciehp: Slot({slot}): Link Down",
        f"pcieport {port}: pciehp: Slot({slot}): Card not present",
        root=True,
    )


def slot_power(story: Story, seconds: float) -> None:
    """A card gets less power than it needs."""
    watts = story.chance.choice((25, 26, 27, 75))
    text = (
        f"mlx5_core {_nic_bus(story)}: mlx5_pcie_event:30{story.chance.randrange(9)}:"
        f"(pid {story.chance.randrange(99999)}): Detected insufficient power on the PCIe slot "
        f"({watts}W)."
    )
    story.log_kernel(seconds, text, level=4)


def _nic_bus(story: Story) -> str:
    """The address of the network card beside the culprit's GPU."""
    at = story.world.local(story.culprit)
    return f"0000:{0x0C + 0x12 * at:02x}:00.{story.chance.choice((0, 0, 0, 1))}"


def _interface(story: Story) -> str:
    """A network interface's name."""
    at = story.world.local(story.culprit)
    return story.pick(f"ens{at + 3}np0", f"enp{12 + 18 * at}s0np0", f"ib{at}", f"rdma{at}")


def nic_health(story: Story) -> None:
    """The card's firmware dies."""
    bus = _nic_bus(story)
    pid = story.chance.randrange(100_000)
    story.log_kernel(
        0.0,
        f"mlx5_core {bus}: poll_health:8{story.chance.randrange(10)}7:(pid {pid}): "
        + story.pick(
            "device's health compromised - reached miss count",
            "Fatal error 1 detected",
            "Fatal error 3 detected",
        ),
        f"mlx5_core {bus}: print_health_info:43{story.chance.randrange(10)}:(pid {pid}): "
        "Health issue observed, " + story.pick("firmware internal error", "High temperature"),
        f"mlx5_core {bus}: print_health_info:44{story.chance.randrange(10)}:(pid {pid}): "
        f"assert_var[0] 0x{story.hexa()}",
        f"mlx5_core {bus}: print_health_info:45{story.chance.randrange(10)}:(pid {pid}): "
        f"synd 0x{story.pick('1: firmware internal error', '7: irisc not responding', '8: unrecoverable hardware error')}",  # noqa: E501
        root=True,
        level=3,
    )
    story.log_kernel(
        2.0,
        f"mlx5_core {bus}: mlx5_cmd_comp_handler: MODIFY_QP(0x502) timeout. Will cause a leak of a "
        "command resource",
        f"mlx5_core {bus}: mlx5_error_sw_reset:244:(pid {pid}): start",
    )
    if story.chance.random() < 0.5:
        text = (
            f"mlx5_core {bus}: mlx5_load_one:1388:(pid {pid}): mlx5_load_one failed with "
            "error code -110"
        )
        story.log_kernel(60.0, text)


def nic_timeout(story: Story) -> None:
    """The card's queues stop."""
    bus, name = _nic_bus(story), _interface(story)
    queue = story.chance.randrange(60)
    if story.chance.random() < 0.5:
        text = f"NETDEV WATCHDOG: {name} (mlx5_core): transmit queue {queue} timed out"
    else:
        text = (
            f"mlx5_core {bus} {name}: NETDEV WATCHDOG: CPU: {story.chance.randrange(96)}: transmit "
            f"queue {queue} timed out {story.chance.randrange(5000, 9000)} ms"
        )
    story.log_kernel(0.0, text, root=True)
    story.log_kernel(
        0.01,
        f"mlx5_core {bus} {name}: TX timeout detected",
        f"mlx5_core {bus} {name}: TX timeout on queue: {queue}, SQ: 0x{story.hexa(4)}, CQ: "
        f"0x{story.hexa(4)}, SQ Cons: 0x1 SQ Prod: 0x1f, usecs since last trans: 8212000",
    )


def link_down(
    story: Story, seconds: float, node: Node, *, back_s: float | None = None, root: bool = True
) -> None:
    """A port loses its link, and gets it back after ``back_s``."""
    bus = f"0000:{0x0C + 0x12 * story.chance.randrange(8):02x}:00.0"
    name = _interface(story)
    way = story.chance.randrange(4)
    down, up = {
        0: (f"mlx5_core {bus} {name}: Link down", f"mlx5_core {bus} {name}: Link up"),
        1: (
            f"mlx5_core {bus} mlx5_{node.index % 8}: Port: 1 Link DOWN",
            f"mlx5_core {bus} mlx5_{node.index % 8}: Port: 1 Link ACTIVE",
        ),
        2: (
            f"mlx5_core {bus}: Port module event[error]: module {story.chance.randrange(8)}, "
            f"Cable {story.pick('error', 'unplugged')}",
            f"mlx5_core {bus}: Port module event: module 0, Cable plugged",
        ),
        3: (f"{name}: NIC Link is Down", f"{name}: NIC Link is Up"),
    }[way]
    story.log_kernel(seconds, down, node=node, level=4, root=root)
    if way in (0, 3) and story.chance.random() < 0.4:
        text = f"bond0: (slave {name}): link status definitely down, disabling slave"
        story.log_kernel(seconds + 0.1, text, node=node, level=4)
    if back_s is not None:
        story.log_kernel(seconds + back_s, up, node=node, level=6)


def disk_fails(story: Story) -> None:
    """A local disk stops answering; the file system on it follows."""
    disk = story.chance.randrange(4)
    name = f"nvme{disk}"
    tag, queue = story.chance.randrange(1000), story.chance.randrange(64)
    kind = story.pick("", " (I/O Cmd)", " opcode 0x2 (Read)")
    text = (
        f"nvme {name}: I/O {tag}{kind} QID {queue} timeout, "
        f"{story.pick('aborting', 'aborting req_op:READ(0) size:131072')}"
    )
    story.log_kernel(0.0, text, root=True, level=4)
    story.log_kernel(
        30.0, f"nvme {name}: I/O {tag}{kind} QID {queue} timeout, reset controller", level=4
    )
    story.log_kernel(
        62.0,
        f"nvme {name}: controller is down; will reset: CSTS=0x{story.pick('ffffffff', '3')}, "
        "PCI_STATUS=0xffff",
        f"nvme {name}: Device not ready; aborting reset, CSTS=0x{story.pick('1', '0')}",
        f"nvme {name}: {story.pick('Removing after probe failure status: -19', 'Disabling device after reset failure: -19')}",  # noqa: E501
    )
    sector = story.chance.randrange(10**9)
    story.log_kernel(
        62.1,
        f"{story.pick('blk_update_request: ', '')}I/O error, dev {name}n1, sector {sector} op "
        "0x0:(READ) flags 0x80700 phys_seg 4 prio class 0",
        f"Buffer I/O error on dev {name}n1p1, logical block {sector // 8}, lost async page write",
    )
    _file_system_fails(story, f"{name}n1")
    story.log_kernel(185.0, *hung(story, "python", "ext4"))


def _file_system_fails(story: Story, disk: str) -> None:
    if story.chance.random() < 0.5:
        story.log_kernel(
            62.3,
            f"EXT4-fs error (device {disk}p1): ext4_journal_check_start:83: Detected aborted "
            "journal",
            f"EXT4-fs ({disk}p1): Remounting filesystem read-only",
            level=2,
        )
    else:
        story.log_kernel(
            62.3,
            f'XFS ({disk}): metadata I/O error in "xfs_buf_ioend" at daddr 0x{story.hexa(6)} '
            "len 32 error 5",
            f"XFS ({disk}): log I/O error -5",
            f"XFS ({disk}): Filesystem has been shut down due to log error (0x2).",
            level=1,
        )


def machine_check(story: Story) -> None:
    """The processor gives up; the node with it."""
    cpu, bank = story.chance.randrange(128), story.chance.randrange(8)
    status = f"be{story.hexa(14)}"
    if story.chance.random() < 0.5:
        story.log_kernel(
            0.0,
            f"mce: [Hardware Error]: CPU {cpu}: Machine Check Exception: 5 Bank {bank}: {status}",
            f"mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff{story.hexa()}> {{mwait_idle}}",
            f"mce: [Hardware Error]: TSC {story.hexa(12)} ADDR {story.hexa(9)} MISC 86",
            "mce: [Hardware Error]: PROCESSOR 0:806f8 TIME 1795230855 SOCKET 1 APIC 80",
            "mce: [Hardware Error]: Run the above through 'mcelog --ascii'",
            "mce: [Hardware Error]: Machine check: Processor context corrupt",
            "Kernel panic - not syncing: Fatal machine check",
            root=True,
            level=0,
        )
    else:
        story.log_kernel(
            0.0,
            "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 5",
            "{1}[Hardware Error]: event severity: fatal",
            "{1}[Hardware Error]:  Error 0, type: fatal",
            "{1}[Hardware Error]:   section_type: IA32/X64 processor error",
            f"{{1}}[Hardware Error]:   Local APIC_ID: 0x{cpu:x}",
            "{1}[Hardware Error]:   Error Type: cache error",
            "Kernel panic - not syncing: Fatal hardware error!",
            root=True,
            level=0,
        )
    story.log_kernel(0.0, f"CPU: {cpu} PID: 0 Comm: swapper/{cpu} Tainted: P   M       OE", level=0)


def edac_storm(story: Story, seconds: float, corrected: bool, *, node: Node | None = None) -> None:
    """Errors of a memory module, counted or not to be corrected."""
    channel = story.chance.randrange(8)
    label = story.pick(
        f"CPU_SrcID#1_MC#2_Chan#{channel}_DIMM#0",
        f"P1_DIMM_{channel}0",
        f"CPU#0Channel#{channel}_DIMM#0",
    )
    word = "CE" if corrected else "UE"
    count = story.chance.randrange(3, 25) if corrected else 1
    for turn in range(count):
        story.log_kernel(
            seconds + 1.7 * turn,
            "mce: [Hardware Error]: Machine check events logged",
            f"EDAC MC{story.chance.randrange(2)}: 1 {word} memory "
            f"{story.pick('read', 'scrubbing')} error on {label} (channel:{channel} slot:0 "
            f"page:0x{story.hexa(6)} offset:0x{story.hexa(3)} grain:32 syndrome:0x0)",
            node=node,
            level=4 if corrected else 2,
            root=not corrected,
        )


def memory_poison(story: Story) -> None:
    """An error that cannot be corrected takes a process."""
    page = story.hexa(6)
    way = story.chance.random()
    if way < 0.4:
        edac_storm(story, 0.0, corrected=False)
    elif way < 0.75:
        story.log_kernel(
            0.0,
            "{2}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
            "{2}[Hardware Error]: event severity: recoverable",
            "{2}[Hardware Error]:   section_type: memory error",
            f"{{2}}[Hardware Error]:   physical_address: 0x{page}1c0",
            f"{{2}}[Hardware Error]:   DIMM location: CPU 1 DIMM {story.pick('C1', 'F2', 'A1')}",
            root=True,
        )
    pid = story.world.pid(story.culprit)
    if way > 0.5:
        killed = f"Memory failure: 0x{page}: Sending SIGBUS to python:{pid}"
        killed += " due to hardware memory corruption"
    else:
        killed = f"MCE: Killing python:{pid} due to hardware memory corruption"
        killed += f" fault at 7f{story.hexa(10)}"
    story.log_kernel(
        0.02,
        killed,
        f"Memory failure: 0x{page}: recovery action for dirty LRU page: Recovered",
        root=way >= 0.75,
    )


# Whose limit was met: constraint, scope, and the head of the kernel's sentence.
_OF_THE_CONTAINER = (
    "CONSTRAINT_MEMCG",
    "oom_memcg=/kubepods/burstable/pod1,task_memcg=/kubepods/burstable/pod1",
    "Memory cgroup out of memory",
)
_OF_THE_NODE = (
    "CONSTRAINT_NONE",
    "global_oom,task_memcg=/slurm/uid_1000/job_1/step_0",
    "Out of memory",
)


def oom_kill(story: Story, *, container: bool) -> None:
    """The kernel kills a rank for its memory, with the table that comes along."""
    rank = story.culprit
    pid = story.world.pid(rank)
    task = story.pick("python", "python3", "pt_main_thread")
    lines = [
        f"{task} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        f"CPU: {story.chance.randrange(96)} PID: {pid} Comm: {task} Tainted: P           OE",
        "Call Trace:",
        " dump_header+0x4a/0x1ff",
        " oom_kill_process.cold+0xb/0x10",
        f"memory: usage {story.chance.randrange(10**8, 10**9)}kB, limit 943718400kB, failcnt 8120",
        "Tasks state (memory values in pages):",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    ]
    for other in map(story.world.pid, story.world.ranks_on(story.node)):
        pages = story.chance.randrange(10**6, 10**7)
        lines.append(
            f"[{other:7d}]  1000 {other:7d} 52814236 {pages} 190144512        0     0 {task}"
        )
    kind, scope, head = _OF_THE_CONTAINER if container else _OF_THE_NODE
    lines.append(
        f"oom-kill:constraint={kind},nodemask=(null),cpuset=/,mems_allowed=0-1,{scope},"
        f"task={task},pid={pid},uid=1000"
    )
    lines.append(
        f"{head}: Killed process {pid} "
        f"({task}) total-vm:211256944kB, anon-rss:{story.chance.randrange(10**7, 10**8)}kB, "
        "file-rss:120kB, shmem-rss:8192kB, UID:1000 pgtables:190144kB oom_score_adj:0"
    )
    story.log_kernel(0.0, *lines, level=4, root=True)
    text = (
        f"oom_reaper: reaped process {pid} ({task}), now anon-rss:0kB, file-rss:0kB, "
        "shmem-rss:8192kB"
    )
    story.log_kernel(1.2, text, level=6)


def nfs(story: Story, seconds: float, node: Node, *, ok_s: float | None = None) -> None:
    """A file server does not answer."""
    server = "10.0.200.7" if story.seed_bit("server") else "filer02"
    how = story.pick("still trying", "timed out")
    story.log_kernel(
        seconds, f"nfs: server {server} not responding, {how}", node=node, level=5, root=True
    )
    if ok_s is not None:
        story.log_kernel(seconds + ok_s, f"nfs: server {server} OK", node=node, level=5)
    if story.chance.random() < 0.5:
        story.log_kernel(seconds + 130.0, *hung(story, "python", "nfs"), node=node)


def lustre(story: Story, seconds: float, node: Node) -> None:
    """A Lustre server is lost."""
    pid = story.chance.randrange(1000, 9000)
    story.log_kernel(
        seconds,
        f"Lustre: {pid}:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed "
        f"out for slow reply: [sent 1795230855/real 1795230855]  req@{story.hexa(16)} "
        "x1782/t0(0) o4->scratch-OST002a-osc-ffff9f8@10.0.201.9@o2ib:6/4 lens 488/448",
        "Lustre: scratch-OST002a-osc-ffff9f8: Connection to scratch-OST002a (at 10.0.201.9@o2ib) "
        "was lost; in progress operations using this service will wait for recovery to complete",
        node=node,
        level=4,
        root=True,
    )
    if story.chance.random() < 0.5:
        text = (
            f"LustreError: {pid}:0:(import.c:1330) operation ost_write to node "
            "10.0.201.9@o2ib failed: rc = -107"
        )
        story.log_kernel(seconds + 7.0, text, node=node)
    if story.chance.random() < 0.4:
        story.log_kernel(seconds + 130.0, *hung(story, "python", "lustre"), node=node)
