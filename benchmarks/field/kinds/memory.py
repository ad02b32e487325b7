"""Memory of a GPU: its HBM, and the small memories on the chip."""

# ruff: noqa: E501
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.gpu import gpu_stop
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import health

ECC = "uncorrectable ECC error encountered"


def _advice(c: Incident, at: float) -> None:
    if c.bad.driver >= "565":
        c.bad.xid(
            at,
            c.gpu,
            154,
            "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        )


def _finish(c: Incident, category: str, *also: str) -> None:
    c.say(category, ["crash", "hang"], *also)
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("gpu_hbm", "gpu_hbm", 5)
def hbm(c: Incident) -> None:
    """Uncorrectable error in HBM: driver's events, words without a number, or one tool."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    gpu_stop(c, ECC if c.platform.vendor == "nvidia" else "unspecified launch failure", 0.75)
    if c.platform.vendor == "amd":
        head = f"amdgpu {n.bus(g)}.0: amdgpu: "
        n.say(
            t,
            head
            + f"{{{rng.randrange(40)}}}socket: {g}, die: 0, {rng.randrange(1, 3)} new uncorrectable hardware errors detected in umc block",
            3,
        )
        n.say(t + 0.01, head + "poison is consumed by client 27, kick off gpu reset flow", 3)
        n.say(t + 0.4, head + "GPU reset begin!", 4)
        n.say(
            t + 1,
            head + f"Saved bad pages {rng.randrange(1, 9)} reaches threshold value 256"
            if rng.random() < 0.3
            else head + "retire page, total 1 bad pages",
            4,
        )
        _finish(c, "gpu_hbm")
        return
    part, sub = rng.randrange(12), rng.randrange(2)
    row = f"0x{rng.getrandbits(36):016x}"
    pick = rng.choice(["48", "48", "94", "64", "140", "tool"])
    if pick == "48":
        n.xid(
            t,
            g,
            48,
            f"An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x{rng.getrandbits(36):x} partition {part}, subpartition {sub}."
            if n.driver > "530"
            else f"DBE (double bit error) ECC Error: FBPA{part}",
            "unknown",
        )
        if n.driver > "555":
            n.xid(t + 0.01, g, 171, f"Uncorrectable DRAM error on HBM site {part} channel {sub}")
        n.xid(
            t + 0.05,
            g,
            63,
            f"Row Remapper: New row ({row}) marked for remapping, reset gpu to activate.",
            "unknown",
        )
        n.xid(
            t + 0.06,
            g,
            rng.choice([94, 95]),
            f"{'Contained' if rng.random() < 0.7 else 'Uncontained'}: CE User Channel (0x9). RST: No, D-RST: No",
            n.pids[g],
        )
        _advice(c, t + 0.1)
    elif pick == "94":
        n.xid(t, g, 94, "Contained: CE User Channel (0x17). RST: No, D-RST: No", n.pids[g])
        n.xid(
            t + 4,
            g,
            63,
            f"Row Remapper: New row ({row}) marked for remapping, reset gpu to activate.",
            "unknown",
        )
    elif pick == "64":
        n.xid(
            t,
            g,
            64,
            f"Row Remapper Error: ({row}) - All reserved rows for bank are remapped",
            "unknown",
        )
        n.xid(
            t + 0.01,
            g,
            48,
            f"An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x{rng.getrandbits(36):x} partition {part}, subpartition {sub}.",
            "unknown",
        )
    elif pick == "140":
        n.xid(
            t,
            g,
            140,
            f"An uncorrectable ECC error detected (possible firmware handling failure) DRAM:{rng.randrange(1, 4)}, LTC:0, MMU:0, PCIE:0",
        )
        _advice(c, t + 0.1)
    else:
        fields = {
            "Volatile SRAM Uncorrectable Parity": "0",
            "Volatile DRAM Uncorrectable": str(rng.randrange(1, 6)),
            "Remapped Rows Uncorrectable": str(rng.randrange(1, 9)),
            "Remapped Rows Pending": "Yes",
            "Remapping Failure Occurred": rng.choice(["No", "Yes"]),
            "GPU Recovery Action": "Reset",
        }
        where = f"nodes/{n.name}/"
        if rng.random() < 0.6:
            c.files[where + "nvidia-smi-q.txt"] = health.query(n, g, t + 90, fields)
        else:
            c.files[where + "dcgmi-health.txt"] = health.dcgm_health(
                n,
                g,
                "Memory",
                f"GPU {g} had uncorrectable memory errors and row remapping is pending; {fields['Volatile DRAM Uncorrectable']} volatile DBE errors in DRAM.",
            )
        c.truth.hard.append("one source")
    _finish(c, "gpu_hbm", *(["gpu_sram"] if pick == "94" else []))


@kind("gpu_sram", "gpu_sram", 3)
def sram(c: Incident) -> None:
    """Uncorrectable error in a cache or register file; the job log says only 'ECC'."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    gpu_stop(c, ECC if c.platform.vendor == "nvidia" else "unspecified launch failure", 0.7)
    if c.platform.vendor == "amd":
        head = f"amdgpu {n.bus(g)}.0: amdgpu: "
        n.say(
            t,
            head
            + f"socket: {g}, die: {rng.randrange(2)}, 1 new uncorrectable hardware errors detected in {rng.choice(['gfx', 'mmhub', 'sdma'])} block",
            3,
        )
        n.say(t + 0.1, head + "GPU reset begin!", 4)
        n.say(t + 3, head + "GPU reset(1) succeeded!", 4)
        _finish(c, "gpu_sram", "gpu")
        return
    pick = rng.choice(["95", "95", "172", "140", "48", "tool"])
    if pick == "95":
        unit = rng.choice(
            [
                "LTC TAG (0x2,0x1)",
                "LTC DATA (0x5,0x3)",
                "SM SRAM (0x1,0x4)",
                "GPCCS (0x3)",
                "L1 DATA (0x0,0x7)",
            ]
        )
        n.xid(
            t,
            g,
            rng.choice([94, 95]),
            f"{rng.choice(['Uncontained', 'Contained'])}: {unit}. RST: Yes, D-RST: No",
            n.pids[g],
        )
    elif pick == "172":
        n.xid(
            t,
            g,
            48,
            f"An uncorrectable ECC error has been detected on GPU in the SM L1 cache, GPC {rng.randrange(8)}, TPC {rng.randrange(9)}",
            "unknown",
        )
        n.xid(
            t + 0.01,
            g,
            172,
            f"Uncorrectable SRAM error in unit LTC{rng.randrange(10)} slice {rng.randrange(4)}",
        )
    elif pick == "140":
        n.xid(
            t,
            g,
            140,
            f"An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:{rng.randrange(1, 4)}, MMU:0, PCIE:0",
        )
    elif pick == "48":
        n.xid(
            t,
            g,
            48,
            f"An Uncorrectable SRAM error has been detected in L2 cache slice {rng.randrange(80)} (LTC {rng.randrange(10)})",
            "unknown",
        )
    else:
        fields = {
            "Volatile SRAM Uncorrectable SEC-DED": str(rng.randrange(1, 4)),
            "Volatile DRAM Uncorrectable": "0",
            "Aggregate SRAM Threshold Exceeded": rng.choice(["Yes", "No"]),
            "Aggregate Uncorrectable SRAM Sources SRAM L2": str(rng.randrange(1, 5)),
            "Remapped Rows Pending": "No",
        }
        c.files[f"nodes/{n.name}/nvidia-smi-q.txt"] = health.query(n, g, t + 90, fields)
        c.truth.hard.append("one source")
    _advice(c, t + 0.2)
    _finish(c, "gpu_sram")
