"""Whether lines that nothing marks as a kernel's are one all the same: by how they begin.

A follower of /dev/kmsg in a container, ``dmesg -t`` and a receiver of consoles drop both the
uptime and the word "kernel". What is left begins with a driver and its device, or with one of
the words of the kernel's own parts; a job's lines do not.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.parsers.logs.envelope import Envelope

__all__ = ["is_kernels_own"]

# Of the lines that are looked at, so many begin as a kernel's, and so few as a job's.
OWN_SHARE: Final = 1 / 3
LEAST_OWN: Final = 3
JOB_SHARE: Final = 0.1

# nvidia 0002:00:00.0: enabling device (0140 -> 0142)
# mlx5_core 0104:00:00.0 mlx5_ib3: Port: 1 Link ACTIVE
DEVICE: Final = r"[a-z][\w-]{1,30} (?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7][: ]"
# Linux version 5.15.0-1064-azure (buildd@lcy02-amd64-011) (gcc ...
BOOT: Final = (
    r"Linux version \d|(?:Kernel c|C)ommand line: |BIOS-(?:e820|provided)|x86/\w|DMI: |SMBIOS "
    r"|ACPI: |Memory: \d{1,12}K/"
    r"|(?:PCI|PM|NUMA|SRAT|EFI|efi|e820|smp|smpboot|rcu|tsc|clocksource|pci_bus|pnp|Freeing"
    r"|Zone ranges|devtmpfs|IOMMU|DMAR|AMD-Vi|microcode|Spectre V\d|printk|audit|SELinux"
    r"|AppArmor|IPv6|IPVS|Bridge|bridge|cgroup|cgroup2|zram|hrtimer|workqueue"
    r"|integrity|tpm_\w{1,8}|mousedev|hid-\w{1,20}|usbcore|Bluetooth): "
)
# NVRM: Xid (PCI:0000:4c:00): 79 / XFS (nvme0n1p2): Mounting / EXT4-fs (md0): re-mounted
DRIVERS: Final = (
    r"(?:NVRM|nvidia(?:[-_][a-z]+\d{0,3})?|nvme nvme\d{1,3}|nvme\d{1,3}n\d{1,3}|amdgpu|habanalabs"
    r"|mlx[45]_(?:core|ib)\w{0,4}|mce|EDAC (?:MC\d{0,3}|\w{1,20})|pcieport [\w:.]{5,14}|AER|Lustre"
    r"|LustreError|LNet|LNetError|nfs|NFS|md/?\w{1,12}|sd \d{1,3}:[\d:]{1,9}|usb [\d.-]{1,12}"
    r"|hub [\w.:-]{1,12}|ata\d[\d.]{0,5}|scsi \S{1,12}|blk_update_request"
    r"|Buffer I/O error on \S{1,40}"
    r"|EXT4-fs(?: error)? ?\([^()]{1,80}\)|XFS \([^()]{1,80}\)|BTRFS \w{1,12}(?: \([^()]{1,80}\))?"
    r"|FAT-fs \([^()]{1,80}\)|watchdog|thermal \w{1,30}|drm|\[drm\w{0,8}\]"
    r"|docker\d|cni\d|cali\w{1,20}|veth\w{1,20}|br-\w{1,20}|bond\d{1,3}|ib\d{1,3}|eth\d{1,3}"
    r"|en[opsx]\w{1,14}):? "
)
# What a kernel says of a process, and its traces.
WORDS: Final = (
    r"\S{1,40}: segfault at |\S{1,40}\[\d{1,9}\]: segfault at |traps: \S|Out of memory: |oom-kill:"
    r"|oom_reaper: |\S{1,40} invoked oom-killer: |Memory cgroup out of memory: "
    r"|Tasks state \(memory|CPU\d{1,4}: (?:Core|Package) "
    r"|INFO: (?:task|rcu)\w* |NMI (?:watchdog|backtrace)|BUG: |WARNING: CPU: |general protection "
    r"|------------\[ cut here|---\[ end |Call Trace:|RIP: \d{4}:|RSP: \d{4}:"
    r"|Code: (?:[<(]?[0-9a-f]{2})"
    r"|CPU: \d{1,4} (?:PID|UID): |Hardware name: |Modules linked in: |Kernel panic |Tainted: "
    r"|[RC][A-Z\d]{1,2}: [0-9a-f]{16}| ?(?:\? )?[\w.]{2,80}\+0x[0-9a-f]{1,6}/0x[0-9a-f]{1,6}"
    r"|\{\d{1,6}\}\[Hardware Error\]: |\[Hardware Error\]: "
    r"|device \S{1,30} (?:entered|left) promisc"
    r"|kauditd_printk_skb: "
)
OWN: Final = re.compile(rf"(?:{DEVICE}|{BOOT}|{DRIVERS}|{WORDS})")
JOB: Final = re.compile(
    r"NCCL (?:INFO|WARN)|Traceback \(most recent|\b(?:INFO|WARNING|ERROR|DEBUG)\b ?[:|\]-]"
    r"|\b(?:loss|epoch|iteration|iter|step)\b[ :=/]{1,3}\d|^\S{1,60}\.py:\d|torch"
)


def is_kernels_own(envelopes: Sequence[Envelope]) -> bool:
    """Whether these lines of one log, of which none says so, are a kernel's."""
    payloads = [one.text.lstrip() for one in envelopes if one.text.strip()]
    if not payloads or any(one.kernel for one in envelopes):
        return False  # where a kernel's lines say so, the others are not
    own = sum(OWN.match(text) is not None for text in payloads)
    job = sum(one.rank is not None or one.local_rank is not None for one in envelopes)
    job += sum(JOB.search(text[:400]) is not None for text in payloads)
    if own < min(LEAST_OWN, max(2, len(payloads))):
        return False  # one line alone may be quoted by anybody
    return own >= OWN_SHARE * len(payloads) and job <= JOB_SHARE * len(payloads)
