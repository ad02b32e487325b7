"""Boots, shutdowns and holes in a log: the marks that divide one run of a node from the next.

A boot explains nothing by itself (it follows a crash as well as a reboot), a shutdown
that somebody ordered does. Dropped messages mean that evidence is missing.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import UNGRADED, WARN, HostFamily
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

SYSTEMD = "systemd"


def dropped(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """How many lines are not there."""
    numbers = [value for key, value in match.groupdict().items() if value and key[0] == "n"]
    return Reading(fields={"dropped": numbers[0]} if numbers else {})


# The manager of a user's session ends with every logout; the node's own is process 1.
USERS_MANAGER = re.compile(r"systemd\[(?!1\])\d{1,9}\]: $")


# The system will reboot now! (requested by root via ansible); System is rebooting (kernel update)
REQUESTED = re.compile(r"[!.]? ?\([^()\n]{3,120}\)")


def of_the_node(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The end of the node, not of a user's session on it."""
    before = match.string[: match.start()][-40:]
    if USERS_MANAGER.search(before):
        return None
    # A reason in brackets is that of whoever asked for it: the machine did not fail.
    return Reading(weak=False) if REQUESTED.match(match.string, match.end()) else Reading()


BOOT = HostFamily("boot", Kind.BOOT)

BOOT.consequence(
    "kernel_version",
    r"(?:^|[\s\]:;])Linux version (?P<version>\d{1,2}\.\d{1,3}\.\S{1,80}) \(",
    literals=("linux version ",),
    matches=(
        "Linux version 6.5.0-1024-x (build@h) (gcc 12.3.0) #24 SMP Thu Jan  1 00:00:00 UTC 2026",
    ),
    near_misses=("Linux version check: passed", "minimum Linux version 5.4 (or later)"),
    source="Linux: init/main",
    severity=UNGRADED,
    category=Category.HOST_MAINTENANCE,
    weak=True,
    each=True,
)
BOOT.consequence(
    "boot_mark",
    r"^-- (?:Boot (?P<boot_id>[0-9a-f]{32})|Reboot) --",
    literals=("-- boot ", "-- reboot --"),
    matches=("-- Boot 5f0c1de0a1b2c3d4e5f60718293a4b5c --", "-- Reboot --"),
    near_misses=("git log -- boot scripts",),
    source="journalctl",
    severity=UNGRADED,
    category=Category.HOST_MAINTENANCE,
    weak=True,
    each=True,
    scope=Scope.ANY,
)
BOOT.noise(
    "started",
    r"systemd\[1\]: Startup finished in ",
    literals=("startup finished in",),
    matches=("systemd[1]: Startup finished in 9.1s (kernel) + 31.002s (userspace) = 40.102s.",),
    near_misses=("Spark startup finished in 3 s",),
    source=SYSTEMD,
    category=Category.NONE,
)
BOOT.noise(
    "system_clock",
    r"rtc\S{0,20} .{0,40}setting system clock to ",
    literals=("setting system clock to",),
    matches=(
        "rtc_cmos 00:01: setting system clock to 2026-09-30T08:37:38 UTC (1790757458)",
        "rtc_cmos 00:05: setting system clock to 2020-01-02 03:04:05 UTC (1577934245)",
    ),
    near_misses=("chrony: setting system clock to UTC",),
    source="Linux: drivers/rtc/class",
    category=Category.NONE,
)
BOOT.root(
    "shutdown",
    r"Reached target (?:(?:reboot|poweroff|shutdown|halt)\.target - )?(?:System )?"
    r"(?:Reboot|Power[- ]Off|Shutdown|Halt)(?=\.|\s*$)"
    r"|System is (?:rebooting|powering down|going down for)|[Ss]ystem will (?:reboot|power off) now"
    r"|shutting down for system (?:reboot|halt|power)|reboot: (?:Restarting system|Power down"
    r"|System halted)|kexec(?:_core)?: Starting new kernel|systemd-shutdown(?:\[\d{1,9}\])?: "
    r"|Power key pressed|system is going down for (?:reboot|maintenance|poweroff|system halt)",
    literals=(
        "reached target reboot",
        "reached target system reboot",
        "reached target power",
        "reached target system power off",
        "reached target shutdown",
        "reached target system shutdown",
        "reached target halt",
        "reached target reboot.target",
        "reached target poweroff.target",
        "reached target shutdown.target",
        "system is rebooting",
        "system is powering down",
        "system will reboot now",
        "system is going down for",
        "system will power off now",
        "shutting down for system",
        "reboot: restarting system",
        "reboot: power down",
        "reboot: system halted",
        "starting new kernel",
        "systemd-shutdown",
        "power key pressed",
    ),
    matches=(
        "systemd[1]: Reached target System Reboot.",
        "systemd[1]: Reached target Shutdown.",
        "systemd[1]: Reached target reboot.target - System Reboot.",
        "systemd-logind[911]: System is rebooting.",
        "reboot: Restarting system",
        "kexec_core: Starting new kernel",
        "systemd-shutdown[1]: Sending SIGTERM to remaining processes...",
    ),
    near_misses=(
        "systemd[1]: Reached target Multi-User System.",
        "systemd[1]: Reached target Power Management.",
        "systemd[1885]: Reached target Shutdown.",
        "systemd[1]: Reached target Shutdown running GNOME Session.",
    ),
    source=SYSTEMD,
    severity=WARN,
    category=Category.HOST_MAINTENANCE,
    weak=True,
    scope=Scope.ANY,
    read=of_the_node,
)
BOOT.consequence(
    "unclean",
    r"File (?P<file>\S{1,200}) corrupted or uncleanly shut down, renaming and replacing",
    literals=("corrupted or uncleanly shut down",),
    matches=(
        "systemd-journald[612]: File /var/log/journal/5f0/system.journal corrupted or uncleanly"
        " shut down, renaming and replacing.",
    ),
    near_misses=("postgres: crash recovery done",),
    source=SYSTEMD,
    category=Category.POWER,
    also=(Category.CHASSIS, Category.CPU, Category.HOST_MAINTENANCE),
    weak=True,
    scope=Scope.ANY,
)
BOOT.noise(
    "dropped",
    r"\*\* ?(?P<n1>\d{1,12}) printk messages dropped|(?P<n2>\d{1,12}) callbacks? suppressed"
    r"|printk: (?P<n3>\d{1,12}) messages suppressed|Missed (?P<n4>\d{1,12}) kernel messages"
    r"|Suppressed (?P<n5>\d{1,12}) messages from|kmsg buffer overrun, some messages lost"
    r"|begin to drop messages|(?P<n6>\d{1,12}) messages lost due to rate-limiting",
    literals=(
        "printk messages dropped",
        "callbacks suppressed",
        "messages suppressed",
        "callback suppressed",
        "]: suppressed ",
        "some messages lost",
        "kernel messages",
        "begin to drop messages",
        "messages lost due to rate-limiting",
    ),
    matches=(
        "** 87 printk messages dropped **",
        "net_ratelimit: 213 callbacks suppressed",
        "systemd-journald[612]: Missed 40 kernel messages",
        "systemd-journald[612]: /dev/kmsg buffer overrun, some messages lost.",
    ),
    near_misses=("app: 3 kernel messages were read",),
    source="Linux: kernel/printk, lib/ratelimit; systemd-journald",
    category=Category.NONE,
    kind=Kind.KERNEL,
    scope=Scope.ANY,
    read=dropped,
)
BOOT.noise(
    "module_taint",
    r"(?P<module>\w{2,40}): (?:module verification failed: signature|loading out-of-tree module"
    r" taints kernel)",
    literals=("module verification failed: signature", "loading out-of-tree module taints kernel"),
    matches=("mlx_compat: loading out-of-tree module taints kernel.",),
    near_misses=("module verification failed: signature of the report",),
    source="Linux: kernel/module",
    category=Category.NONE,
    kind=Kind.KERNEL,
)
BOOT.noise(
    "adapter_firmware",
    r"mlx[45]_\w{2,4} (?P<device>[0-9a-f:.]{7,16}): firmware version: (?P<firmware>[\d.]{3,20})",
    literals=(": firmware version: ",),
    matches=("mlx5_core 0000:1a:00.0: firmware version: 28.41.1000",),
    near_misses=("bios: firmware version: 2.1",),
    source="Linux: drivers/net/ethernet/mellanox/mlx5",
    category=Category.NONE,
)

SIGNATURES = BOOT.signatures()
