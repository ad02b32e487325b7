"""Faults of the setting: memory that runs out, packages that do not fit, numbers that explode."""

# ruff: noqa: E501
from benchmarks.field.endings import aftermath, by_crash, cancelled, traceback
from benchmarks.field.incident import Incident
from benchmarks.field.joblog import prologue
from benchmarks.field.kinds.gpu import lose_dumps
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import schedulers


@kind("gpu_oom", "gpu_oom", 2)
def gpu_oom(c: Incident) -> None:
    """A rank runs out of device memory."""
    rng, t = c.rng, c.at
    c.has_job = True
    c.keep_job.add(c.node)
    c.dies([c.rank])
    c.begin()
    hip = c.platform.vendor == "amd"
    pick = rng.random()
    if pick < 0.7:
        name = "torch.OutOfMemoryError" if c.new_torch else "torch.cuda.OutOfMemoryError"
        traceback(
            c,
            t,
            c.rank,
            f"{name}: {'HIP' if hip else 'CUDA'} out of memory. Tried to allocate {rng.randrange(1, 60)}.{rng.randrange(99):02d} GiB. GPU {c.gpu} has a total capacity of 79.11 GiB of which {rng.randrange(20, 900)}.00 MiB is free. Process {c.bad.pids[c.gpu]} has 78.80 GiB memory in use. Of the allocated memory 71.02 GiB is allocated by PyTorch, and 5.10 GiB is reserved by PyTorch but unallocated.",
        )
    elif pick < 0.85:
        c.log.nccl(t, c.rank, "include/alloc.h:228 NCCL WARN Cuda failure 'out of memory'")
        traceback(
            c,
            t + 0.1,
            c.rank,
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, unhandled cuda error\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to CUDA calloc async 608 bytes",
        )
    else:
        traceback(
            c,
            t,
            c.rank,
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        )
    c.told = True
    lose_dumps(c, (5, 1, 2))
    by_crash(c, t, {c.rank}, code=1)
    c.say("gpu_oom", ["crash", "hang"])
    c.blame([c.rank])


@kind("host_oom", "host_oom", 2)
def host_oom(c: Incident) -> None:
    """The job's own memory runs out on a node: kernel, scheduler or Kubernetes tell."""
    rng, t, n = c.rng, c.at, c.bad
    c.dies([c.rank])
    c.begin()
    pick = rng.choice(["kernel", "kernel", "scheduler", "shm"])
    pid = n.pids[c.gpu]
    c.say("host_oom", ["crash", "hang"])
    if pick == "kernel":
        c.keep_kernel.add(c.node)
        cg = (
            f"/slurm/uid_10021/job_{c.job}/step_0"
            if c.scheduler == "slurm"
            else f"/kubepods.slice/kubepods-pod{rng.getrandbits(32):08x}.slice/cri-containerd-{rng.getrandbits(40):010x}.scope"
        )
        n.say(
            t,
            f"{n.process} invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
            4,
        )
        n.say(
            t + 0.01,
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg={cg},task_memcg={cg}/task_{c.gpu},task={n.process},pid={pid},uid=10021",
            6,
        )
        n.say(
            t + 0.02,
            f"Memory cgroup out of memory: Killed process {pid} ({n.process}) total-vm:{rng.randrange(10**8, 9 * 10**8)}kB, anon-rss:{rng.randrange(10**8, 4 * 10**8)}kB, file-rss:100kB, shmem-rss:20480kB, UID:10021 pgtables:200000kB oom_score_adj:0",
            3,
        )
        c.whole_log = False
    elif pick == "scheduler" and c.scheduler == "slurm":
        c.has_job = True
        c.keep_job.add(c.node)
        c.log.agent(
            t + 1,
            c.node,
            f"slurmstepd-{n.name}: error: Detected 1 oom_kill event in StepId={c.job}.0. Some of the step tasks have been OOM Killed.",
        )
        c.log.agent(
            t + 1.2,
            c.order[0],
            f"srun: error: {n.name}: task {c.order.index(c.node)}: Out Of Memory",
        )
        c.keep_job.add(c.order[0])
    elif pick == "scheduler" and c.scheduler.startswith("kubernetes"):
        rows = schedulers.kube_noise(rng, c.nodes, t, c.job)
        pod = f"{c.job}-worker-{c.order.index(c.node)}"
        rows += [
            (
                t + 1,
                "Warning",
                "OOMKilling",
                f"node/{n.name}",
                f"Memory cgroup out of memory: Killed process {pid} ({n.process}) total-vm:812345678kB, anon-rss:402345678kB",
            ),
            (
                t + 2,
                "Warning",
                "OOMKilled",
                f"pod/{pod}",
                f"Container pytorch in pod {pod} on node {n.name} was OOM-killed (exit code 137)",
            ),
        ]
        c.files["k8s-events.txt"] = schedulers.kube_table(rows, t + 900)
    else:
        c.has_job = True
        c.keep_job.add(c.node)
        c.log.say(
            t,
            c.rank,
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nRuntimeError: DataLoader worker (pid 90211) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        )
        c.told = True
    lose_dumps(c, (6, 2, 0))
    by_crash(c, t + 0.5, {c.rank}, code=-9 if pick != "shm" else 1)
    c.blame([c.rank])


@kind("dependency", "dependency", 2)
def dependency(c: Incident) -> None:
    """Versions that do not fit: on one node, or everywhere."""
    rng, t, n = c.rng, c.at, c.bad
    c.has_job = True
    c.has_dumps = False
    c.base = 0
    c.runs()
    prologue(c.log, c.world, t - 60, c.versions, c.info)
    c.started = t - 60
    one = rng.random() < 0.6
    amd = c.platform.vendor == "amd"
    node_wide = [
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.163",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination",
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /opt/ext/fused_ops.so)",
    ]  # fmt: skip
    if amd:
        node_wide = [
            node_wide[4],
            "OSError: libamdhip64.so.6: cannot open shared object file: No such file or directory",
        ]
    everywhere = [
        "ImportError: /opt/venv/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs",
        "ModuleNotFoundError: No module named 'transformer_engine_torch'",
        "ImportError: cannot import name 'AdaptedAttentionProcessor' from 'peft' (/opt/venv/lib/python3.11/site-packages/peft/__init__.py)",
        "pkg_resources.VersionConflict: (transformers 4.38.2 (/opt/venv), Requirement.parse('transformers>=4.43'))",
    ]
    if one:
        error = rng.choice(node_wide)
        c.keep_job.add(c.node)
        for r in c.ranks_on(c.node):
            traceback(c, t + rng.uniform(0, 1), r, error)
        c.truth.nodes = [c.node]
    else:
        error = rng.choice(everywhere)
        c.keep_job |= set(range(c.count))
        for r in range(c.world):
            traceback(c, t + rng.uniform(0, 2), r, error)
    if one and "NVML" in error:
        n.say(
            t - 30,
            f"NVRM: API mismatch: the client has the version 550.163.01, but\nNVRM: this kernel module has the version {n.driver}.  Please\nNVRM: make sure that this kernel module and all NVIDIA driver\nNVRM: components have the same version.",
            3,
        )
    c.ended = t + rng.uniform(8, 40)
    aftermath(c, c.ended, 1)
    c.say("dependency", ["crash", "inconclusive"], *(["software_user"] if not one else []))


@kind("numerical", "numerical", 2)
def numerical(c: Incident) -> None:
    """The loss goes to NaN or the scale collapses everywhere; nobody's node."""
    rng, log = c.rng, c.log
    c.has_job = True
    c.keep_job |= set(range(c.count))
    c.runs()
    told = c.begin()
    t = c.at
    pick = rng.choice(["nan", "scale", "spike"])
    for k in range(rng.randrange(4, 12)):
        t += c.step_s
        if pick == "nan":
            log.progress(t, told + k, c.step_s, float("nan"), c.world, c.base + 100_000)
        elif pick == "scale":
            log.say(
                t,
                0,
                f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** max(0, 16 - k)}, reducing to {2 ** max(0, 15 - k)}",
            )
        else:
            log.progress(t, told + k, c.step_s, 2.5 * 1.9**k, c.world, c.base + 100_000)
    end = {
        "nan": "ValueError: loss is nan on all ranks, stopping training",
        "scale": "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
        "spike": "RuntimeError: loss diverged (moving average above 4x of its minimum), aborting",
    }[pick]
    if pick == "nan" and rng.random() < 0.4:
        cancelled(c, t + 30)
    else:
        for r in range(c.world):
            if rng.random() < 0.8 or r == 0:
                traceback(c, t + rng.uniform(0.2, 1), r, end)
        c.ended = t + 10
        aftermath(c, c.ended, 1)
    c.has_dumps = False
    c.say("numerical", ["crash", "inconclusive"])
