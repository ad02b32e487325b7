"""Boot lines of GPU servers: the kernel, its drivers, and the daemons that come up after it."""

# ruff: noqa: E501

import datetime as dt
import random

from benchmarks.field.nodes import Node


def _stamp(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _kernel(rng: random.Random, n: Node, at: float) -> list[str]:
    arm = n.platform.arch == "aarch64"
    return [
        f"Linux version {n.kernel} (buildd@lcy02-amd64-0{rng.randrange(10, 99)}) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0, GNU ld 2.38) #{rng.randrange(9, 140)} SMP",
        f"Command line: BOOT_IMAGE=/boot/vmlinuz-{n.kernel} root=UUID=3e1b{rng.getrandbits(20):05x}-a1c4-4d0e-9d2f-0c7a ro console=tty0 console=ttyS1,115200n8 iommu=pt",
        "BIOS-provided physical RAM map:"
        if not arm
        else "Booting Linux on physical CPU 0x0000000000 [0x410fd4f0]",
        f"DMI: {_board(n)}",
        "x86/fpu: Supporting XSAVE feature 0x001: 'x87 floating point registers'"
        if not arm
        else "efi: EFI v2.7 by EDK II",
        "ACPI: Early table checksum verification disabled",
        "Spectre V2 : Mitigation: Enhanced / Automatic IBRS",
        "MDS: Vulnerable: Clear CPU buffers attempted, no microcode",
        "mce: CPU0: Thermal monitoring enabled (TM1)"
        if n.platform.cpu == "Intel"
        else "MCE: In-kernel MCE decoding enabled.",
        "pci 0000:00:1f.5: can't claim BAR 0 [mem 0xfe010000-0xfe010fff]: no compatible bridge window",
        "pci 0000:16:00.0: BAR 7: no space for [mem size 0x00400000]",
        "pci 0000:16:00.0: BAR 7: failed to assign [mem size 0x00400000]",
        f"pci {n.bus(0)}.0: Max Payload Size set to 256 (was 128, max 256)",
        f"pci {n.bus(1)}.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at {n.bus(1)}.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
        "pcieport 0000:15:01.0: pciehp: Slot #12 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- NoCompl+ IbPresDis- LLActRep+",
        "pciehp 0000:5a:00.0:pcie004: Failed to check link status",
        "ACPI Error: AE_NOT_FOUND, While resolving a named reference package element - \\_PR_.CPU0 (20220331/dspkginit-438)",
        "ERST: Error Record Serialization Table (ERST) support is initialized.",
        "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
        "EDAC MC: Ver: 3.0.0",
        "hpet_acpi_add: no address or irqs in _CRS",
        "ipmi_si IPI0001:00: IPMI kcs interface initialized",
        "tpm_crb MSFT0101:00: [Firmware Bug]: ACPI region does not cover the entire command/response buffer.",
        "i8042: No controller found",
        f"rtc_cmos 00:02: setting system clock to {_stamp(at + 4)} UTC ({int(at + 4)})"
        if not arm
        else f"rtc-efi rtc-efi.0: setting system clock to {_stamp(at + 4)} UTC ({int(at + 4)})",
        f"nvme nvme0: pci function 0000:{rng.randrange(1, 8):02x}:00.0",
        "nvme nvme1: missing or invalid SUBNQN field.",
        "nvme nvme0: 64/0/0 default/read/poll queues",
        "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: (null)",
        "systemd[1]: Failed to find module 'autofs4'",
        "systemd[1]: Inserted module 'br_netfilter'",
        "systemd-journald[812]: File /var/log/journal/4c1f/system.journal corrupted or uncleanly shut down, renaming and replacing.",
        'audit: type=1400 audit(1700000000.123:2): apparmor="STATUS" operation="profile_load" profile="unconfined" name="lsb_release" pid=1811',
        "bonding: bond0 is being created...",
        "8021q: 802.1Q VLAN Support v1.8",
        "IPv6: ADDRCONF(NETDEV_UP): eno1: link is not ready",
        "usb 1-14.1: device descriptor read/64, error -71",
        "power_meter ACPI000D:00: Ignoring unsafe software power cap!",
        "ACPI: \\_SB_.PC00.RP01: failed to evaluate _DSM bf0212f2-788f-c64d-a5b3-1f738e285ade (0x1001)",
        "cgroup: cgroup: disabling cgroup2 socket matching due to net_prio or net_cls activation",
        "kvm: support for 'kvm_intel' disabled by bios"
        if n.platform.cpu == "Intel"
        else "kvm: Nested Virtualization enabled",
    ]


def _board(n: Node) -> str:
    return {
        "ami": "NVIDIA DGXH100/DGXH100, BIOS 1.04.02 08/22/2023" if "h100" in n.platform.key else "NVIDIA DGXA100 920-23687-2530-000/DGXA100, BIOS 1.21 06/30/2023",
        "supermicro": "Supermicro SYS-821GE-TNHR/X13DEG-OAD, BIOS 2.1 01/17/2024",
        "lenovo": "Inspur NF5688M7/NF5688M7, BIOS 06.08.01 12/12/2023",
        "openbmc": "NVIDIA GB200 NVL/P3809-BMC, BIOS 02.02.04 20250211",
        "none": "Amazon EC2 p5.48xlarge/, BIOS 1.0 10/16/2017",
    }.get(n.platform.bmc, "Dell Inc. PowerEdge XE9680/0KK8YK, BIOS 2.1.3 01/24/2024")  # fmt: skip


def _gpus(rng: random.Random, n: Node) -> list[str]:
    rows: list[str] = []
    if n.platform.vendor == "nvidia":
        kind = "Open " if int(n.driver[:3]) >= 515 and rng.random() < 0.7 else ""
        major = rng.randrange(234, 512)
        rows += [
            "nvidia: loading out-of-tree module taints kernel.",
            "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
            f"nvidia-nvlink: Nvlink Core is being initialized, major device number {major}",
        ]
        rows += [f"nvidia {b}.0: enabling device (0140 -> 0142)" for b in n.platform.buses[:3]]
        rows += [
            f"NVRM: loading NVIDIA UNIX {kind}Kernel Module for {n.platform.arch}  {n.driver}  Release Build  (dvs-builder@U22-I3-B{rng.randrange(2, 20):02d}-02-5)",
            f"nvidia-modeset: Loading NVIDIA UNIX {kind}Kernel Mode Setting Driver for {n.platform.arch}  {n.driver}",
            f"[drm] [nvidia-drm] [GPU ID 0x{int(n.bus(0)[5:7], 16) << 8:08x}] Loading driver",
            f"[drm] Initialized nvidia-drm 0.0.0 20160202 for {n.bus(0)}.0 on minor 1",
            "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module nvidia, inheriting taint.",
            "nvidia-uvm: Loaded the UVM driver, major device number 505.",
        ]
        if n.platform.generation in ("ampere", "hopper") and n.platform.key != "gb200-nvl72":
            for s in range(4):
                rows += [
                    f"nvidia-nvswitch{s}: open (major={major})",
                    f"nvidia-nvswitch{s}: SXid (PCI:0000:{4 + s:02x}:00.0): 22013, Non-fatal, Link {rng.randrange(64):02d} Minion Link DLREQ interrupt",
                ]
        rows.append("NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ gpu_user_shared_data.c:161")
    else:
        rows += [
            f"amdgpu: Virtual CRAT table created for CPU, driver {n.driver}",
            "[drm] amdgpu kernel modesetting enabled.",
        ]
        for b in n.platform.buses[:3]:
            rows += [
                f"amdgpu {b}.0: amdgpu: Fetched VBIOS from VFCT",
                f"amdgpu {b}.0: amdgpu: MEM ECC is active.",
                f"amdgpu {b}.0: amdgpu: RAS: optional ras ta ucode is not available",
                f"amdgpu {b}.0: amdgpu: SMU is initialized successfully!",
            ]
        rows.append("amdgpu: Peer-to-peer access is supported between all devices")
    return rows


def _nics(rng: random.Random, n: Node) -> list[str]:
    rows: list[str] = []
    for i, (dev, iface, bdf) in enumerate(n.platform.nics):
        if n.platform.nic_driver == "mlx5_core":
            rows += [
                f"mlx5_core {bdf}: firmware version: {rng.choice(['20.39.3004', '28.39.1002', '28.41.1000'])}",
                f"mlx5_core {bdf}: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
                f"mlx5_core {bdf}: Port module event: module {i}, Cable plugged",
                f"mlx5_core {bdf}: mlx5_cmd_out_err:838:(pid {rng.randrange(600, 1500)}): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x{rng.getrandbits(24):06x}), err(-22)",
            ]
            if n.platform.link == "ib":
                rows.append(f"mlx5_core {bdf} {dev}: Port: 1 Link ACTIVE")
            else:
                rows.append(f"mlx5_core {bdf} {iface}: Link up")
        elif n.platform.nic_driver == "efa":
            rows += [
                f"efa {bdf}: Setup irq:{rng.randrange(90, 400)} name:efa-mgmnt@pci:{bdf}",
                f"infiniband {dev}: set_uverbs_abi: efa_{i} 1",
            ]
        elif n.platform.nic_driver == "gve":
            rows += [f"gvnic {bdf}: Device link is up.", f"gve {bdf} {iface}: Device link is up."]
        else:
            rows += [
                f"bnxt_en {bdf} {iface}: NIC Link is Up, 400000 Mbps (PAM4 112Gbps) full duplex, Flow control: ON - receive & transmit",
                f"bnxt_en {bdf} {iface}: FEC autoneg off encoding: RS544_IEEE",
            ]
    return rows


DAEMONS = (
    ("systemd[1]", "Started OpenSSH server daemon."),
    ("systemd[1]", "Dependency failed for Network Time Synchronization."),
    ("systemd[1]", "nv_peer_mem.service: Main process exited, code=exited, status=1/FAILURE"),
    ("systemd[1]", "Failed to start LSB: nv_peer_mem kernel module."),
    ("systemd[1]", "Reached target Multi-User System."),
    ("systemd-udevd[1204]", "nvidia: Process '/usr/bin/nvidia-modprobe -c0 -u' failed with exit code 1."),
    ("chronyd[2011]", "Selected source 169.254.169.123"),
    ("nvidia-persistenced[2877]", "Started (2877)"),
    ("nv-hostengine[3120]", "DCGM initialized"),
    ("dockerd[3311]", "time=\"2025-01-01T00:00:00Z\" level=warning msg=\"failed to load plugin io.containerd.snapshotter.v1.devmapper\""),
    ("snapd[2901]", "stateengine.go:149: state ensure error: Get \"https://api.snapcraft.io/api/v1/snaps/sections\": dial tcp: lookup api.snapcraft.io: Temporary failure in name resolution"),
    ("cloud-init[1622]", "Cloud-init v. 23.4.4 finished"),
)  # fmt: skip


def boot(rng: random.Random, n: Node, at: float) -> None:
    """A boot of a node, a hundred lines or so; some of each family are left out."""
    t = at
    for text in _kernel(rng, n, at):
        if rng.random() < 0.85 or "setting system clock" in text:
            n.say(t, text, 4 if "fail" in text.lower() or "error" in text.lower() else 6)
        t += rng.expovariate(4)
    t = max(t, at + 9)
    for text in _gpus(rng, n) + _nics(rng, n):
        n.say(t, text, 6)
        t += rng.expovariate(3)
    for who, text in DAEMONS:
        if rng.random() < 0.6:
            n.say(t, text, 5, who)
            t += rng.expovariate(1)
