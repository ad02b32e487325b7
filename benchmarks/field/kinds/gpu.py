"""A GPU that is lost or stops answering, and its system processor."""

# ruff: noqa: E501
from benchmarks.field.endings import by_crash, by_timeout, cuda_error
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.registry import kind
from benchmarks.field.nodes import DAY
from benchmarks.field.sources import health

ALL_BUT_CLOUD = "dgx-a100,dgx-h100,hgx-h200-cloud,gb200-nvl72,azure-nd,roce-fleet,gcp-a3,aws-p5"


def lose_dumps(c: Incident, weights: tuple[float, float, float] = (4, 2, 3)) -> None:
    """The guilty rank's dump is missing, or its whole node's, or nothing is."""
    pick = c.rng.choices(("rank", "node", "none"), weights)[0]
    if pick == "rank":
        c.no_dump.add(c.rank)
    elif pick == "node":
        c.no_dump |= set(c.ranks_on(c.node))


def gpu_stop(c: Incident, error: str | None, told: float = 0.6) -> None:
    """A device stops: its rank says so at once, or everybody waits for the watchdog."""
    rng = c.rng
    own = error is not None and rng.random() < told
    c.device_stops([c.rank])
    c.begin()
    lose_dumps(c)
    if own and error is not None:
        at = c.at + rng.uniform(0.1, 4)
        cuda_error(c, at, c.rank, error)
        c.keep_job.add(c.node)
        c.told = True
        if rng.random() < 0.5:
            by_crash(c, at, code=rng.choice([1, -6]))
            return
        by_timeout(c, {c.rank})
        return
    by_timeout(c, {c.rank} if rng.random() < 0.5 else set())


def _lost_words(c: Incident) -> None:
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    major = int(n.driver[:3])
    form = rng.choice(["xid", "xid", "words", "three", "split"])
    if form in ("xid", "split"):
        text = "GPU has fallen off the bus."
        n.xid(t, g, 79, text, rng.choice([None, "unknown", n.pids[g]]))
        if form == "split":
            # Another processor prints between the head of the record and its rest.
            n.lines.pop()
            n.say(
                t, f"NVRM: Xid (PCI:{n.bus(g)}): 79, pid={n.pids[g]}, name={n.process}, GPU has", 3
            )
            n.say(t + 1e-5, "audit: rate limit exceeded", 5)
            n.say(t + 2e-5, " fallen off the bus.", 3)
        n.say(t + 1e-4, f"NVRM: GPU {n.bus(g)}.0: GPU has fallen off the bus.", 3)
        n.say(t + 2e-4, f"NVRM: GPU {n.bus(g)}.0: GPU serial number is {n.serials[g]}.", 3)
    elif form == "words":
        n.say(t, "NVRM: krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.", 3)
        n.say(
            t + 0.002,
            f"NVRM: nvCheckOkFailedNoLog: Check failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F) returned from gpuSanityCheckRegRead @ gpu_access.c:{rng.randrange(400, 999)}",
            3,
        )
        n.say(t + 0.004, f"NVRM: GPU at PCI:{n.bus(g)}: {n.uuids[g]}", 3)
        for i in range(rng.randrange(2, 7)):
            n.say(
                t + 0.01 + i * 0.2,
                f"NVRM: _issueRpcAndWait: rpcSendMessage failed with status 0x0000000f for fn {rng.choice([76, 78, 10])}!",
                3,
            )
        n.say(
            t + 2,
            "NVRM: rpcRmApiFree_GSP: GspRmFree failed: hClient=0xc1d0004f; hObject=0x5c000003; paramsStatus=0x00000000; status=0x0000000f",
            3,
        )
        n.say(
            t + 2.2,
            f"NVRM: osHandleGpuLost: NVRM: GPU {n.bus(g)}.0: GPU has fallen off the bus.",
            3,
        )
    else:
        n.say(
            t,
            f"NVRM: The NVIDIA GPU {n.bus(g)}.0\nNVRM: (PCI ID: {n.platform.device}) installed in this system has\nNVRM: fallen off the bus and is not responding to commands.",
            3,
        )
    if major >= 565:
        n.xid(
            t + 0.1,
            g,
            154,
            f"GPU recovery action changed from 0x0 (None) to 0x2 ({'Node Reboot Required' if major < 590 else 'OS Reboot'})",
        )
    if rng.random() < 0.5:
        n.say(
            t + 0.3,
            "NVRM: A GPU crash dump has been created. If possible, please run\nNVRM: nvidia-bug-report.sh as root to collect this data before\nNVRM: the NVIDIA kernel module is unloaded.",
            3,
        )
    if rng.random() < 0.4 and n.platform.generation in ("ampere", "hopper"):
        for s in range(rng.choice([2, 4])):
            n.say(
                t + rng.uniform(1, 9),
                f"nvidia-nvswitch{s}: SXid (PCI:0000:{4 + s:02x}:00.0): 20034, Fatal, Link {rng.randrange(64):02d} LTSSM Fault Up",
                3,
            )
    if rng.random() < 0.4:
        n.say(
            t + 130,
            f"INFO: task nvidia-smi:{rng.randrange(9000, 90000)} blocked for more than 120 seconds.",
            3,
        )


def _elsewhere(c: Incident, code: int, system: str, words: str, check: str) -> str:
    """The fault is told by one tool only; returns which."""
    rng, n, g = c.rng, c.bad, c.gpu
    t = c.at + rng.uniform(20, 200)
    folder = f"nodes/{n.name}/"
    agents = [a for a in c.platform.agents if a != "none"] or ["smi"]
    agent = rng.choice([*agents, "smi"] if code == 79 else agents)
    if agent == "smi" and code == 79:
        c.files[folder + rng.choice(["nvidia-smi.txt", "epilog-gpu-check.out", "smi.log"])] = (
            health.lost_gpu(rng, n, g, t)
        )
    elif agent in ("dcgm", "nvsm", "smi", "aznhc"):
        pick = rng.randrange(3)
        if pick == 0:
            c.files[folder + "dcgmi-health.txt"] = health.dcgm_health(n, g, system, words)
        elif pick == 1:
            c.files["metrics/dcgm-exporter.prom"] = health.exporter(c.nodes, n.index, g, code, t)
        else:
            c.files[folder + "nv-hostengine.log"] = health.hostengine(rng, t, f"GPU {g}: {words}")
    elif agent == "nhc":
        health.nhc(n, t, f"check_gpu_health:  GPU {health.smi_bus(n, g)}: {words}")
        c.keep_kernel.add(c.node)
        c.whole_log = True
    elif agent == "gpud":
        c.files[folder + "gpud-events.json"] = health.gpud(
            n,
            t,
            "accelerator-nvidia-error-xid",
            "error_xid",
            f"XID {code} detected on GPU {n.uuids[g]} (PCI {n.bus(g)}): {words}",
        )
    elif agent == "nvsentinel":
        c.files["nvsentinel/health-events.jsonl"] = health.sentinel(
            n, g, t, str(code), check, words, 15
        )
    elif agent == "hyperpod":
        health.hyperpod(
            n,
            t,
            f"kernel-monitor NvidiaXid{code} GPU {n.bus(g)} {words}",
            "HardwareFailure:Replace",
        )
        c.keep_kernel.add(c.node)
        c.whole_log = True
    else:
        health.npd(n, t, "NvidiaGPUError", f"GPU {n.uuids[g]} at {n.bus(g)}: Xid {code}: {words}")
        c.keep_kernel.add(c.node)
        c.whole_log = True
    return agent


@kind("gpu", "gpu", 8)
def lost(c: Incident) -> None:
    """A GPU is lost or stops: told by the driver, by one tool, or by repeats at one place."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    c.say("gpu", ["hang", "crash"]).notes.append("gpu")
    if c.platform.vendor == "amd":
        _amd_hang(c)
        return
    pick = rng.choices(("lost", "elsewhere", "62", "109", "repeat", "init"), (9, 4, 2, 2, 2, 1))[0]
    c.truth.notes.append(pick)
    error = rng.choice(
        [
            "unspecified launch failure",
            "unknown error",
            "the launch timed out and was terminated",
            "an illegal instruction was encountered",
        ]
    )
    gpu_stop(c, error if pick != "init" else "unknown error", 1.0 if pick == "repeat" else 0.55)
    if pick == "lost":
        _lost_words(c)
    elif pick == "elsewhere":
        agent = _elsewhere(
            c, 79, "PCIe system", "GPU has fallen off the bus", "SysLogsGPUFallenOff"
        )
        c.truth.notes.append(f"told by {agent} only")
        c.truth.hard.append("one source")
        c.truth.acceptable += ["io_board"]
    elif pick == "62":
        n.xid(
            t,
            g,
            62,
            f"{rng.getrandbits(16):04x}({rng.getrandbits(16):04x}) 00000000 00000000",
            "unknown",
        )
        n.xid(t + 0.3, g, 45, "Ch 00000008", n.pids[g])
        if n.driver >= "565":
            n.xid(
                t + 0.35,
                g,
                154,
                "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            )
    elif pick == "109":
        n.xid(
            t,
            g,
            109,
            f"Ch {rng.randrange(64):08x}, errorString CTX SWITCH TIMEOUT, Info 0x{rng.getrandbits(19):05x}",
            n.pids[g],
        )
        n.xid(
            t + 0.2,
            g,
            45,
            f"Ch {rng.randrange(64):08x}"
            + (" caused by previous Xid 109" if n.driver >= "570.124" else ""),
            n.pids[g],
        )
        c.truth.acceptable += ["software_framework"]
        c.blame([c.rank])
        c.truth.cordon_allowed = [c.node]
        return
    elif pick == "repeat":
        gpc, tpc = rng.randrange(8), rng.randrange(9)
        for _ in range(rng.randrange(4, 8)):
            old = max(n.boot + 600, t - rng.uniform(0.3, 12) * DAY)
            n.xid(
                old,
                g,
                13,
                f"Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM 1): Illegal Instruction Encoding",
                rng.randrange(9000, 999999),
                rng.choice(["python3", "vllm", "lmp"]),
            )
            n.xid(old + 0.1, g, 43, "Ch 00000008", "unknown")
        n.xid(
            t,
            g,
            13,
            f"Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM 1): Illegal Instruction Encoding",
            n.pids[g],
        )
        n.xid(
            t + 0.001,
            g,
            13,
            f"Graphics Exception: ESR 0x{rng.getrandbits(24):x}=0x{rng.getrandbits(16):x} 0x{rng.getrandbits(24):x}=0x4 0x{rng.getrandbits(24):x}=0xf",
            n.pids[g],
        )
        n.xid(t + 0.3, g, 43, "Ch 00000010", n.pids[g])
        c.truth.acceptable += ["software_framework"]
        c.truth.hard.append("repeat only")
        c.long_log = True
    else:
        n.say(t, f"NVRM: GPU {n.bus(g)}.0: RmInitAdapter failed! (0x62:0xffff:2477)", 3)
        n.say(
            t + 0.01, f"NVRM: GPU {n.bus(g)}.0: rm_init_adapter failed, device minor number {g}", 3
        )
        n.say(t - 3, f"NVRM: GPU {n.bus(g)}.0: GPU has fallen off the bus.", 3)
    c.blame([c.rank], cordon=pick in ("lost", "elsewhere", "62", "init"))
    c.truth.cordon_allowed = [c.node]


def _amd_hang(c: Incident) -> None:
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    gpu_stop(c, "unspecified launch failure", 0.5)
    b = f"amdgpu {n.bus(g)}.0: amdgpu: "
    if rng.random() < 0.5:
        n.say(t, "amdgpu: qcm fence wait loop timeout expired", 3)
        n.say(
            t + 0.1,
            "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
            3,
        )
    else:
        n.say(t, b + "ring sdma0.0.0 timeout, signaled seq=81123, emitted seq=81125", 3)
    n.say(t + 0.5, b + "GPU reset begin!", 4)
    n.say(
        t + 4,
        b
        + rng.choice(
            [
                "MES failed to respond to msg=REMOVE_QUEUE",
                "SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x0000003F SMN_C2PMSG_82:0x00000000",
                "device lost from bus!",
            ]
        ),
        3,
    )
    n.say(t + 9, b + "GPU reset(2) failed", 3)
    n.say(t + 9.1, b + "GPU reset end with ret = -62", 3)
    if rng.random() < 0.5:
        c.log.say(
            t + 1,
            c.rank,
            f"HW Exception by GPU node-{g + 2} (Agent handle: 0x{rng.getrandbits(40):x}) reason :GPU Hang",
        )
        c.told = True
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("gpu_gsp", "gpu_gsp", 3, vendor="nvidia")
def gsp(c: Incident) -> None:
    """The GPU's system processor stops answering; the job mostly says nothing."""
    rng, n, g, t = c.rng, c.bad, c.gpu, c.at
    c.keep_kernel.add(c.node)
    gpu_stop(c, "unknown error", 0.15)
    major = int(n.driver[:3])
    pick = rng.choice(["119", "119", "120", "heartbeat"])
    if major < 510:
        pick = "119"
    if pick == "119":
        for i in range(rng.randrange(1, 5)):
            fn = rng.choice(
                ["76 (GSP_RM_CONTROL)", "103 (GSP_RM_ALLOC)", "10 (FREE)", "78 (DUP_OBJECT)"]
            )
            if major >= 550:
                text = f"Timeout after 45s of waiting for RPC response from GPU{g} GSP! Expected function {fn} sequence {rng.randrange(900, 99999)} (0x2080{rng.getrandbits(16):04x} 0x{rng.randrange(4, 900):x})."
            else:
                text = f"Timeout waiting for RPC from GSP{g if major >= 535 else ''}! Expected function {fn} (0x2080{rng.getrandbits(16):04x} 0x{rng.randrange(4, 900):x})."
            n.xid(
                t + 45 * i,
                g,
                119,
                text,
                rng.choice([n.pids[g], rng.randrange(2000, 9000)]),
                rng.choice(["nvidia-smi", "dcgm-exporter", "nv-hostengine", n.process]),
            )
            n.say(
                t + 45 * i + 0.01,
                f"NVRM: GPU{g} GSP RPC buffer contains function 76 (GSP_RM_CONTROL) and data 0x{rng.getrandbits(32):016x} 0x{rng.getrandbits(8):016x}.",
                3,
            )
        if rng.random() < 0.5:
            n.say(
                t + 50,
                f"NVRM: rpcRmApiControl_GSP: GspRmControl failed: hClient=0xc1d00{rng.getrandbits(12):03x}; hObject=0xcaf00001; cmd=0x20801702; paramsSize=0x4; paramsStatus=0x00000000; status=0x00000065",
                3,
            )
    elif pick == "120":
        n.say(
            t - 0.01,
            "NVRM: kgspHealthCheck_TU102: ****************************** GSP-CrashCat Report *******************************",
            3,
        )
        n.xid(
            t,
            g,
            120,
            f"GSP task {rng.choice(['exception: load access page fault (cause:0xd)', 'panic: ErrorCode 0x5a', 'timeout'])} @ pc:0x{rng.getrandbits(24):x}, partition:4#0, task:{rng.randrange(1, 6)}",
        )
        n.say(t + 0.001, "NVRM:     Reported by libos partition:4#5 kernel v3.1 [0] @ ts:2", 3)
        n.say(
            t + 0.002,
            "NVRM:     RISC-V CSR State:\nNVRM:         sstatus:0x0000000200000020  sscratch:0xffffffffa30144d0     sie:0x0000000000000220",
            3,
        )
    else:
        n.say(
            t,
            f"NVRM: GPU{g} _kgspIsHeartbeatTimedOut: Heartbeat timed out (current: {rng.getrandbits(40)}, last: {rng.getrandbits(40)})",
            3,
        )
        n.say(t + 0.1, f"NVRM: GPU {n.bus(g)}.0: GSP RM heartbeat timed out, GPU is likely hung", 3)
    if n.driver >= "565":
        n.xid(
            t + 46,
            g,
            154,
            "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        )
    c.say("gpu_gsp", ["hang", "crash"], *(["gpu"] if pick == "heartbeat" else []))
    c.blame([c.rank], cordon=True)
    c.truth.cordon_allowed = [c.node]
