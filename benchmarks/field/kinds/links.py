"""Links between GPUs: of one server, and of a rack that is one domain."""

# ruff: noqa: E501
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.gpu import gpu_stop
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources.switches import fabric_manager


@kind("nvlink", "nvlink", 4)
def nvlink(c: Incident) -> None:
    """A link between GPUs fails: driver, switch driver, fabric manager, or one tool only."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    gpu_stop(
        c,
        "uncorrectable NVLink error detected during the execution"
        if c.platform.vendor == "nvidia"
        else "unspecified launch failure",
        0.6,
    )
    c.say("nvlink", ["hang", "crash"])
    if c.platform.vendor == "amd":
        n.say(
            t,
            f"amdgpu {n.bus(g)}.0: amdgpu: {{{rng.randrange(20)}}}socket: {g}, die: 0, 1 new uncorrectable hardware errors detected in xgmi_wafl block",
            3,
        )
        n.say(t + 0.1, f"amdgpu {n.bus(g)}.0: amdgpu: GPU reset begin!", 4)
    elif c.platform.generation == "blackwell":
        unit = rng.choice(
            [
                (145, "RLW_RXPIPE Fatal"),
                (144, "SAW_MVB Fatal"),
                (150, "MSE_WATCHDOG Fatal"),
                (147, "TREX_GIN Fatal"),
                (148, "NVLPW_CTRL Fatal"),
            ]
        )
        words = " ".join(f"0x{rng.getrandbits(32):08x}" for _ in range(6))
        n.xid(
            t,
            g,
            unit[0],
            f"{unit[1]} XC0 i{rng.randrange(6)} Link {rng.randrange(18):02d} ({words})",
            n.pids[g],
        )
        n.xid(
            t + 0.2,
            g,
            45,
            f"Ch 00000{rng.getrandbits(12):03x} caused by previous Xid {unit[0]}"
            if n.driver >= "570.124"
            else "Ch 00000010",
            n.pids[g],
        )
    else:
        pick = rng.choice(["74", "74", "fm", "sxid"])
        link = rng.randrange(12)
        if pick == "74":
            n.xid(
                t,
                g,
                74,
                f"NVLink: fatal error detected on link {link}(0x{rng.choice([0x10000, 0x20000, 0x4]):x}, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
                "unknown" if rng.random() < 0.5 else n.pids[g],
            )
            if rng.random() < 0.5:
                n.say(
                    t + 0.05,
                    f"nvidia-nvswitch2: SXid (PCI:0000:06:00.0): 20001, Non-fatal, Link {rng.randrange(64):02d} TX Replay Error",
                    3,
                )
        elif pick == "sxid":
            s = rng.randrange(4)
            p = rng.randrange(64)
            n.say(
                t,
                f"nvidia-nvswitch{s}: SXid (PCI:0000:{4 + s:02x}:00.0): {rng.choice([12033, 24007, 19084, 20009])}, Fatal, Link {p:02d} {rng.choice(['ingress ECC DED error', 'sourcetrack timeout error', 'AN1 Heartbeat Timeout Error'])} (First)",
                3,
            )
            n.say(
                t,
                f"nvidia-nvswitch{s}: SXid (PCI:0000:{4 + s:02x}:00.0): 12033, Severity 1 Engine instance {p:02d} Sub-engine instance 00",
                3,
            )
        else:
            rows = [
                (t - 80000, "INFO", "Connected to 1 node."),
                (
                    t - 79990,
                    "INFO",
                    "Successfully configured all the available GPUs and NVSwitches to route NVLink traffic.",
                ),
                (
                    t,
                    "ERROR",
                    f"detected NVSwitch fatal error {rng.choice([20034, 24007, 12020])} on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port {rng.randrange(64)}",
                ),
                (
                    t + 0.5,
                    "ERROR",
                    f"failed to find the GPU handle {n.uuids[g]} in the multicast team request setup 6130333179.",
                ),
            ]
            c.files[f"nodes/{n.name}/fabricmanager.log"] = fabric_manager(rows)
            c.truth.hard.append("one source")
            c.truth.acceptable += ["gpu"]
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("nvlink_domain", "nvlink", 1.5, only="gb200-nvl72")
def nvlink_domain(c: Incident) -> None:
    """One GPU's link end fails in a rack-wide domain: 149 there, 145 on all the others."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.stale = False
    c.keep_kernel |= set(range(c.count))
    gpu_stop(c, "uncorrectable NVLink error detected during the execution", 0.4)
    words = " ".join(f"0x{rng.getrandbits(32):08x}" for _ in range(6))
    n.xid(t, g, 149, f"NETIR_LINK_EVT Fatal XC0 i0 Link {rng.randrange(18):02d} ({words})")
    if rng.random() < 0.6:
        n.xid(
            t + 0.4,
            g,
            45,
            "channel 0x00000010 caused by previous Xid 149"
            if n.driver >= "570.124"
            else "Ch 00000010",
            n.pids[g],
        )
    severity = rng.choice(["Nonfatal", "Nonfatal", "Fatal"])
    for m in c.nodes:
        for k in range(c.platform.per_node):
            if (m is n and k == g) or rng.random() < 0.1:
                continue
            words = " ".join(f"0x{rng.getrandbits(32):08x}" for _ in range(6))
            t2 = t + rng.uniform(0.05, 1.5)
            m.xid(
                t2,
                k,
                145,
                f"RLW_REMAP {severity} XC1 i{rng.randrange(6)} Link {rng.randrange(18):02d} ({words})",
            )
            if rng.random() < 0.5:
                m.xid(
                    t2 + 0.3,
                    k,
                    45,
                    "channel 0x00000010 caused by previous Xid 145"
                    if m.driver >= "570.124"
                    else "Ch 00000010",
                    m.pids[k],
                )
    c.say("nvlink", ["hang", "crash"])
    c.blame([c.rank])
    c.truth.cordon_allowed = [c.node]
    c.truth.notes.append("root 149 on one node of the domain")
