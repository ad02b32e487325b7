"""Alarming lines near the fault, or grave ones long repaired, on nodes that are innocent."""

# ruff: noqa: E501

import random

from benchmarks.field.nodes import DAY, Node

FATAL = {
    79: "GPU has fallen off the bus.",
    48: "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x{a:x} partition {p}, subpartition 0.",
    74: "NVLink: fatal error detected on link {p}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    119: "Timeout waiting for RPC from GSP{p}! Expected function 76 (GSP_RM_CONTROL) (0x20801702 0x4).",
    95: "Uncontained: LTC TAG (0x{p},0x0). RST: Yes, D-RST: No",
}


def repaired(rng: random.Random, n: Node, stop: float) -> str:
    """A grave fault days ago that was mended: a reset or a new boot stands after it."""
    t = max(n.boot + 900, stop - rng.uniform(0.8, 8) * DAY)
    if stop - t < 0.5 * DAY:
        return ""
    kind = rng.choice(["gpu", "gpu", "link", "disk", "power"])
    if kind == "gpu" and n.platform.vendor == "nvidia":
        code = rng.choice(sorted(FATAL))
        g = rng.randrange(n.platform.per_node)
        n.xid(t, g, code, FATAL[code].format(a=rng.getrandbits(36), p=rng.randrange(8)), "unknown")
        back = t + rng.uniform(900, 9000)
        n.say(back, "nvidia-nvlink: Unregistered Nvlink Core, major device number 235")
        n.say(
            back + 3,
            f"NVRM: loading NVIDIA UNIX Open Kernel Module for {n.platform.arch}  {n.driver}  Release Build  (dvs-builder@U22-I3-B07-02-5)",
            5,
        )
    elif kind in ("gpu", "link"):
        dev, iface, bdf = n.nic(rng.randrange(len(n.platform.nics)))
        what = {
            "mlx5_core": (f"mlx5_core {bdf} {dev}: Port: 1 Link DOWN", f"mlx5_core {bdf} {dev}: Port: 1 Link ACTIVE"),
            "bnxt_en": (f"bnxt_en {bdf} {iface}: NIC Link is Down", f"bnxt_en {bdf} {iface}: NIC Link is Up, 400000 Mbps (PAM4 112Gbps) full duplex"),
            "gve": (f"gve {bdf} {iface}: Device link is down.", f"gve {bdf} {iface}: Device link is up."),
        }.get(n.platform.nic_driver, ("ena 0000:00:05.0 ens5: Reset attempt failed. Can not reset the device", "ena 0000:00:05.0: Device reset completed successfully"))  # fmt: skip
        n.say(t, what[0], 4)
        n.say(t + rng.uniform(2, 300), what[1], 6)
    elif kind == "disk":
        n.say(
            t,
            f"nvme nvme3: I/O {rng.randrange(900)} QID {rng.randrange(1, 64)} timeout, aborting",
            4,
        )
        n.say(t + 0.5, "nvme nvme3: Abort status: 0x0", 6)
    else:
        n.say(t, "power_meter ACPI000D:00: Found ACPI power meter.", 6)
        n.say(t + 2, "Power consumption will be higher as dynamic power capping is disabled", 5)
    return f"repaired {kind} on {n.name}"


def decoy(rng: random.Random, n: Node, stop: float, avoid: frozenset[str]) -> str:
    """An alarming thing on an innocent node, at most twenty minutes before the stop or after."""
    t = stop + rng.uniform(-1200, 240)
    pool = [
        k
        for k in (
            "xid31",
            "aer",
            "mgmt",
            "nfs",
            "ce",
            "flap",
            "remap",
            "segv",
            "hung",
            "thermal",
            "probe",
        )
        if k not in avoid
    ]
    if n.platform.vendor == "amd":
        pool = [k for k in pool if k not in ("xid31", "remap", "probe")]
    kind = rng.choice(pool)
    g, pid = rng.randrange(n.platform.per_node), rng.randrange(9000, 900_000)
    dev, iface, bdf = n.nic(g)
    if kind == "xid31":
        n.xid(
            t,
            g,
            31,
            f"Ch 00000012, intr 00000000. MMU Fault: ENGINE CE3 HUBCLIENT_CE1 faulted @ 0x7f11_{rng.getrandbits(32):08x}. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE",
            pid,
            "bandwidthTest",
        )
    elif kind == "aer":
        for i in range(rng.randrange(4, 40)):
            n.say(
                t + i * 0.9,
                f"pcieport 0000:15:01.0: AER: Correctable error message received from {n.bus(g)}.0",
                4,
            )
            n.say(
                t + i * 0.9,
                f"nvidia {n.bus(g)}.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
                4,
            )
    elif kind == "mgmt":
        n.say(t, "tg3 0000:04:00.0 eno8303: Link is down", 6)
        n.say(t + 5, "tg3 0000:04:00.0 eno8303: Link is up at 1000 Mbps, full duplex", 6)
    elif kind == "nfs":
        n.say(t, "nfs: server nas-software not responding, timed out", 5)
        n.say(t + 20, "nfs: server nas-software OK", 5)
    elif kind == "ce":
        for i in range(rng.randrange(2, 12)):
            n.say(t + i, "EDAC skx MC2: HANDLING MCE MEMORY ERROR", 4)
            n.say(
                t + i,
                f"EDAC MC2: {i + 1} CE memory scrubbing error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x{rng.getrandbits(26):x} offset:0x0 grain:32 syndrome:0x0)",
                4,
            )
    elif kind == "flap":
        t = stop - rng.uniform(1500, 9000)
        down = (
            f"mlx5_core {bdf} {dev}: Port: 1 Link DOWN"
            if n.platform.link == "ib"
            else f"{n.platform.nic_driver} {bdf} {iface}: Link down"
        )
        n.say(t, down, 4)
        n.say(t + 3.1, down.replace("DOWN", "ACTIVE").replace("down", "up"), 6)
    elif kind == "remap":
        n.xid(
            t,
            g,
            63,
            f"Row Remapper: New row (0x{rng.getrandbits(36):016x}) marked for remapping, reset gpu to activate.",
            "unknown",
        )
    elif kind == "segv":
        n.say(
            t,
            f"dcgm-exporter[{pid}]: segfault at 18 ip 00007f3a{rng.getrandbits(32):08x} sp 00007ffd{rng.getrandbits(32):08x} error 4 in libdcgm.so.3[7f3a00000000+2e000]",
            6,
        )
    elif kind == "hung":
        n.say(
            t,
            f"INFO: task khugepaged:{rng.randrange(300, 900)} blocked for more than 122 seconds.",
            3,
        )
        n.say(t, '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.', 3)
    elif kind == "thermal":
        n.say(
            t,
            "mce: CPU17: Package temperature is above threshold, cpu clock is throttled (total events = 311)",
            4,
        )
        n.say(t + 0.1, "mce: CPU17: Package temperature/speed normal", 6)
    else:
        n.xid(t, g, 43, f"Ch {rng.randrange(64):08x}", pid, "nccl_probe")
    return f"decoy {kind} on {n.name}"
