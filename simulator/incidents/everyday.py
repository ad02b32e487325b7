"""What the kernel of a healthy node prints: at boot, on any day, and when a job is torn down.

All of it is harmless. Wordings are the kernel's and the drivers' own; ``{n}`` and ``{m}`` are
numbers by chance, ``{nic}``, ``{dev}``, ``{port}`` and ``{gpu}`` parts of the node.
"""

from typing import Final

from simulator.incidents.driver_lines import channel_errors
from simulator.incidents.story import KernelLine, Story
from simulator.incidents.world import SECOND, Node

_DAY = 86_400.0
_NICS: Final = tuple(f"0000:{0x0C + 0x12 * place:02x}:00.0" for place in range(8))

QUIET: Final = (
    'audit: type=1400 audit({t}.123:{n}): apparmor="STATUS" operation="profile_load" '
    'profile="unconfined" name="docker-default" pid={m} comm="apparmor_parser"',
    'audit: type=1400 audit({t}.123:{n}): apparmor="DENIED" operation="open" class="file" '
    'profile="ubuntu_pro_apt_news" name="/opt/venv/lib/" pid={m} comm="python3" '
    'requested_mask="r" denied_mask="r" fsuid=0 ouid=0',
    "audit: type=1326 audit({t}.123:{n}): auid=1000 uid=1000 gid=1000 ses=3 pid={m} "
    'comm="code" exe="/usr/share/code/code" sig=0 arch=c000003e syscall=330 compat=0 '
    "ip=0x7f2b code=0x50000",
    "kauditd_printk_skb: {n} callbacks suppressed",
    "audit: backlog limit exceeded",
    "docker0: port 1(veth{n:07x}) entered disabled state",
    "docker0: port 1(veth{n:07x}) entered blocking state",
    "docker0: port 1(veth{n:07x}) entered forwarding state",
    "cni0: port {m}(veth{n:07x}) entered disabled state",
    "device veth{n:07x} entered promiscuous mode",
    "veth{n:07x}: left promiscuous mode",
    "eth0: renamed from veth{n:07x}",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth{n:07x}: link becomes ready",
    "IPv4: martian source 10.20.0.255 from 10.20.{m}.1, on dev eno1",
    "perf: interrupt took too long ({n} > 2500), lowering kernel.perf_event_max_sample_rate to "
    "79500",
    "hrtimer: interrupt took {n} ns",
    "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.",
    "TCP: request_sock_TCP: Possible SYN flooding on port 8080. Dropping request.  Check SNMP "
    "counters.",
    "loop{m}: detected capacity change from 0 to 131072",
    "EXT4-fs (loop{m}): mounted filesystem without journal. Opts: (null)",
    "XFS (dm-{m}): Mounting V5 Filesystem",
    "XFS (dm-{m}): Ending clean mount",
    "overlayfs: null uuid detected in lower fs '/', falling back to "
    "xino=off,index=off,nfs_export=off.",
    "overlayfs: upper fs does not support tmpfile.",
    "overlayfs: idmapped layers are currently not supported",
    "squashfs: version 4.0 (2009/01/31) Phillip Lougher",
    "RPC: Registered tcp NFSv4.1 backchannel transport module.",
    "NFS: Registering the id_resolver key type",
    "Key type id_legacy registered",
    "FS-Cache: Duplicate cookie detected",
    "cgroup: fork rejected by pids controller in /user.slice/user-{n}.slice",
    "x86/split lock detection: #AC: python/{n} took a split_lock trap at address: 0x7f2b41",
    "workqueue: blk_mq_timeout_work hogged CPU for >10000us {m} times, consider switching to "
    "WQ_UNBOUND",
    "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us {m} times, consider switching to "
    "WQ_UNBOUND",
    "clocksource: timekeeping watchdog on CPU{m}: hpet wd-wd read-back delay of {n}ns",
    "sched: RT throttling activated",
    "NOHZ tick-stop error: local softirq work is pending, handler #08!!!",
    "process 'nvidia-smi' launched '/bin/sh' with NULL argv: empty string added",
    "systemd-journald[1139]: /dev/kmsg buffer overrun, some messages lost.",
    "systemd-journald[1139]: Data hash table of /run/log/journal/system.journal has a fill level "
    "at 75.0 (8535 of 11377 items, 6553600 file size, 767 bytes per hash table item), suggesting "
    "rotation.",
    "systemd[1]: Started Session {n} of user ubuntu.",
    "systemd[1]: /lib/systemd/system/snapd.service:23: Unknown key name 'RestartMode' in section "
    "'Service', ignoring.",
    "usb 1-14.1: new high-speed USB device number {m} using xhci_hcd",
    "usb 1-14.1: USB disconnect, device number {m}",
    "input: American Megatrends Inc. Virtual Keyboard and Mouse as /devices/pci0000:00/"
    "0000:00:14.0/usb1/1-14/1-14.1/input/input{m}",
    "hid-generic 0003:046B:FF10.{n:04X}: input,hidraw0: USB HID v1.10 Keyboard [American "
    "Megatrends Inc. Virtual Keyboard and Mouse]",
    "[UFW BLOCK] IN=eno1 OUT= MAC=0c:c4:7a SRC=10.20.{m}.7 DST=10.20.0.4 LEN=40 TOS=0x00 PREC=0x00 "
    "TTL=238 ID=54321 PROTO=TCP SPT={n} DPT=22 WINDOW=1024 RES=0x00 SYN URGP=0",
    "SELinux:  Converting {n} SID table entries...",
    "SELinux:  policy capability cgroup_seclabel=1",
    "traps: code[{n}] trap int3 ip:55d1 sp:7ffd error:0 in code[55d1]",
    "Process accounting resumed",
    "ice 0000:31:00.0 eno1: PTP clock adjusted by {m} ppb",
    "bond0: (slave eno1): link status definitely up, 25000 Mbps full duplex",
    "mlx5_core {nic}: mlx5_cmd_out_err:808:(pid {n}): ACCESS_REG(0x805) op_mod(0x1) failed, status "
    "bad parameter(0x3), syndrome (0x15c356), err(-22)",
    "mlx5_core {nic}: mlx5_cmd_out_err:838:(pid {n}): QUERY_HCA_VPORT_CONTEXT(0x762) op_mod(0x0) "
    "failed, status bad parameter(0x3), syndrome (0x5c5dff), err(-22)",
    "mlx5_core {nic}: E-Switch: Disable: mode(LEGACY), nvfs(0), necvfs(0), active vports(0)",
    "mlx5_ib: Mellanox Connect-IB Infiniband driver v5.0-0",
    "nvidia-uvm: Loaded the UVM driver, major device number 509.",
    "nvidia-uvm: Unloaded the UVM driver.",
    "nvidia_p2p: disabled write-combining for peer mapping",
    "NVRM: Persistence mode is deprecated and will be removed in a future release. Please use "
    "nvidia-persistenced instead.",
    "nvidia {gpu}.0: vgaarb: changed VGA decodes: olddecodes=none,decodes=none:owns=none",
    "resource sanity check: requesting [mem 0x000c0000-0x000fffff], which spans more than PCI Bus "
    "0000:00",
    "power_meter ACPI000D:00: Ignoring unsafe software power cap!",
    "EDAC sbridge: Seeking for: PCI ID 8086:3ca0",
    "Bluetooth: RFCOMM ver 1.11",
    "fuse: init (API version 7.38)",
    "tun: Universal TUN/TAP device driver, 1.6",
    "nr_pdflush_threads exported in /proc is scheduled for removal",
    "TaskScheduler[{n}]: slice cleaned",
    "warning: `python3' uses wireless extensions which will stop working for Wi-Fi 7 hardware; use "
    "nl80211",
    "bpfilter: Loaded bpfilter_umh pid {n}",
    "LNet: Added LNI 10.40.{m}.12@o2ib [8/256/0/180]",
    "Lustre: Mounted scratch-client",
    "beegfs: enabling unsafe global rkey",
    "ceph: loaded (mds proto 32)",
    "libceph: mon{m} (1)10.9.0.{m}:6789 session established",
)

KERNEL_HEAD: Final = (
    "Command line: BOOT_IMAGE=/vmlinuz-{kernel} root=UUID=5f1c ro iommu=pt pci=realloc=off",
    "Kernel command line: console=ttyS0,115200n8 panic=30 nvme_core.multipath=N",
    "KERNEL supported cpus:",
    "x86/cpu: SGX disabled by BIOS.",
    "x86/split lock detection: #AC: crashing the kernel on kernel split_locks and warning on "
    "user-space split_locks",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "MCE: In-kernel MCE decoding enabled.",
    "Spectre V2 : Mitigation: Enhanced / Automatic IBRS",
    "MMIO Stale Data: Unknown: No mitigations",
    "ACPI: PCI: Interrupt link LNKA configured for IRQ 11",
    "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.RP01._DSM], AE_NOT_FOUND "
    "(20230628/psargs-330)",
    "ACPI Error: Aborting method \\_SB.PMI0._PMC due to previous error (AE_NOT_EXIST) "
    "(20230628/psparse-529)",
    "ERST: Error Record Serialization Table (ERST) support is initialized.",
    "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
    "HEST: Table parsing has been initialized.",
    "EDAC MC: Ver: 3.0.0",
    "EDAC i10nm: v0.0.6",
    "DMAR-IR: Enabled IRQ remapping in x2apic mode",
    "pci 0000:00:1f.0: BAR 13: no space for [io  size 0x1000]",
    "pci 0000:00:1f.0: BAR 13: failed to assign [io  size 0x1000]",
    "pci_bus 0000:16: Some PCI device resources are unassigned, try booting with pci=realloc",
    "pcieport 0000:15:01.0: AER: enabled with IRQ 30",
    "pcieport 0000:15:01.0: DPC: enabled with IRQ 31",
    "pcieport 0000:15:01.0: pciehp: Slot #3 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ "
    "Surprise+ Interlock- NoCompl+ IbPresDis- LLActRep+",
    "tpm_crb MSFT0101:00: [Firmware Bug]: ACPI region does not cover the entire command/response "
    "buffer.",
    "i8042: No controller found",
    "ipmi_si IPI0001:00: IPMI kcs interface initialized",
    "hpet_acpi_add: no address or irqs in _CRS",
    'Unstable clock detected, switching default tracing clock to "global"',
    "Loading compiled-in X.509 certificates",
    "integrity: Problem loading X.509 certificate -65",
    "cfg80211: failed to load regulatory.db",
    "platform regulatory.0: Direct firmware load for regulatory.db failed with error -2",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: (null)",
    "nvme nvme0: pci function 0000:01:00.0",
    "nvme nvme0: missing or invalid SUBNQN field.",
    "nvme nvme0: 64/0/0 default/read/poll queues",
    "systemd[1]: Detected architecture x86-64.",
    "systemd[1]: Failed to find module 'autofs4'",
    "ACPI Warning: SystemIO range 0x0000000000000428-0x000000000000042F conflicts with OpRegion "
    "0x0000000000000400-0x000000000000047F (\\PMIO) (20230628/utaddress-204)",
)
DRIVERS_COME: Final = (
    "mlx5_core {nic}: firmware version: {fw}",
    "mlx5_core {nic}: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
    "mlx5_core {nic}: Rate limit: 127 rates are supported, range: 0Mbps to 48828Mbps",
    "mlx5_core {nic}: Port module event: module {m}, Cable plugged",
    "mlx5_core {nic}: mlx5_pcie_event:301:(pid 1203): PCIe slot advertised sufficient power (75W).",
    "mlx5_core {nic} mlx5_{m}: Port: 1 Link INIT",
    "mlx5_core {nic} mlx5_{m}: Port: 1 Link ACTIVE",
    "nvidia: loading out-of-tree module taints kernel.",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "nvidia: module license 'NVIDIA' taints kernel.",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
    "nvidia {gpu}.0: enabling device (0140 -> 0142)",
    "nvidia {gpu}.0: vgaarb: VGA decodes changed: olddecodes=none,decodes=none:owns=none",
    "{module}",
    "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  {driver}  "
    "release build",
    "[drm] [nvidia-drm] [GPU ID 0x00001800] Loading driver",
    "[drm] Initialized nvidia-drm 0.0.0 20160202 for {gpu}.0 on minor 1",
    "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 22013, Non-fatal, Link {m:02d} Minion Link DLREQ "
    "interrupt",
    "nvidia-nvswitch{m}: open (major=234)",
    "NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ gpu_user_shared_data.c:161",
    "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module "
    "nvidia, inheriting taint.",
    "nvidia-uvm: Loaded the UVM driver, major device number 505.",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ens3np0: link becomes ready",
    "bond0: (slave eno1): Enslaving as a backup interface with a down link",
    "8021q: adding VLAN 0 to HW filter on device eno1",
)
TEARDOWN: Final = (
    "mlx5_core {nic}: mlx5_cmd_out_err:802:(pid {n}): DESTROY_QP(0x501) op_mod(0x0) failed, status "
    "bad resource state(0x9), syndrome (0x25b161), err(-22)",
    "mlx5_core {nic}: mlx5_cmd_out_err:838:(pid {n}): DESTROY_MKEY(0x202) op_mod(0x0) failed, "
    "status bad resource(0x5), syndrome (0x13a9ca), err(-22)",
    "mlx5_core {nic}: mlx5_cmd_out_err:808:(pid {n}): DEALLOC_PD(0x801) op_mod(0x0) failed, status "
    "resource busy(0x6), syndrome (0xef0c8a), err(-16)",
    "infiniband mlx5_{m}: destroy_qp_common:2802:(pid {n}): modify QP 0x00{n:04x} to RESET failed",
    "mlx5_{m}: dereg_mr: destroy_mkey failed, err -22",
    "infiniband mlx5_{m}: dump_cqe:277:(pid {n}): dump error cqe",
    "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further "
    "processing",
    "NVRM: nvAssertOkFailedNoLog: Assertion failed: Invalid object handle "
    "[NV_ERR_INVALID_OBJECT_HANDLE] (0x00000033) returned from pRmApi->Free(pRmApi, hClient, "
    "hObject) @ rs_server.c:259",
    "docker0: port 1(veth{n:07x}) entered disabled state",
    "veth{n:07x}: renamed from eth0",
    "device veth{n:07x} left promiscuous mode",
    "XFS (loop{m}): Unmounting Filesystem",
    "EXT4-fs (loop{m}): unmounting filesystem.",
    'overlayfs: unrecognized mount option "volatile" or missing value',
    "kauditd_printk_skb: {n} callbacks suppressed",
    "nvidia-uvm: Unloaded the UVM driver.",
)


def boot(story: Story, node: Node) -> None:
    """The first lines after a boot, with look-alikes that mean nothing."""
    software, chance = story.world.software, story.chance
    into = story.kernel.setdefault(node.index, [])
    at = node.boot_ns + chance.randrange(SECOND)
    banner = (
        f"Linux version {software.kernel} (buildd@lcy02-amd64-0{chance.randrange(10, 99)}) "
        f"({software.compiler}) #{chance.randrange(1, 120)} SMP PREEMPT_DYNAMIC"
    )
    into.append(KernelLine(at, 5, banner))
    dry = story.world.chance("boot words").random() * 0.5
    for text in (*KERNEL_HEAD, *DRIVERS_COME):
        if chance.random() < dry:
            continue
        at += int(chance.expovariate(3.0) * SECOND)
        into.append(KernelLine(at, 6, _filled(story, node, text)))
    at = node.boot_ns + 4 * SECOND + chance.randrange(SECOND)
    stamp = (at + node.skew_ns) // SECOND
    into.append(
        KernelLine(at, 6, f"rtc_cmos 00:02: setting system clock to {_clock(stamp)} UTC ({stamp})")
    )


def quiet_kernel(story: Story, node: Node, lines: int) -> None:
    """``lines`` benign lines over the last days and through the incident."""
    chance = story.chance
    span = max(min(5 * _DAY * SECOND, story.fault_ns - node.boot_ns - 60 * SECOND), SECOND)
    into = story.kernel.setdefault(node.index, [])
    after = story.end_ns - story.fault_ns if node.index not in story.silent_nodes else 0
    uniform, choice, gpu = chance.random, chance.choice, node.buses[0]
    for _ in range(lines):
        at = (
            story.fault_ns - int(span * uniform() ** 2)
            if uniform() < 0.8
            else (story.fault_ns + int(after * uniform()))
        )
        some = uniform()
        text = choice(QUIET).format(
            n=int(some * 90_000),
            m=int(some * 8),
            nic=_NICS[int(some * 64) % 8],
            gpu=gpu,
            t=(at + node.skew_ns) // SECOND,
        )
        into.append(KernelLine(at, 6, text))


def teardown(story: Story, seconds: float) -> None:
    """The job was given up: drivers, containers and mounts go, on every node that lives.

    Some nodes clean up minutes later; innocent GPUs lose their channels.
    """
    chance, world = story.chance, story.world
    living = [node for node in world.nodes if node.index not in story.silent_nodes]
    if world.chance("teardown").random() < 0.6:
        for node in living[:64]:
            after = seconds + chance.uniform(0.2, 5.0) + chance.choice((0.0, 0.0, 20.0, 240.0))
            few = chance.sample(TEARDOWN, chance.randrange(1, 4))
            story.log_kernel(
                after, *[_filled(story, node, text) for text in few], node=node, level=4, step_s=0.7
            )
    if chance.random() < 0.5:
        for rank in chance.sample(range(world.ranks), min(12, world.ranks)):
            if world.node_of(rank).index not in story.silent_nodes:
                code = chance.choice((45, 45, 43))
                channel_errors(story, seconds + chance.uniform(0, 4), rank, code, most=6)


def _filled(story: Story, node: Node, text: str) -> str:
    """A line with this node's parts in it."""
    chance, software = story.chance, story.world.software
    module = (
        f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {software.driver}  Release "
        "Build  (dvs-builder@U22-I3-AF01-10-1)"
        if software.open_module
        else f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {software.driver}  Thu Jul 11 "
        "22:00:14 UTC 2024"
    )
    return text.format(
        n=chance.randrange(90_000),
        m=chance.randrange(8),
        nic=chance.choice(_NICS),
        gpu=chance.choice(node.buses),
        driver=software.driver,
        kernel=software.kernel,
        module=module,
        fw=software.firmware,
    )


def _clock(stamp: int) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(stamp, UTC):%Y-%m-%dT%H:%M:%S}"
