"""How a job ends: watchdogs that run out, a crash that spreads, a scheduler that takes it down."""

# ruff: noqa: E501
from benchmarks.field.dumps.recorder import sequence
from benchmarks.field.incident import Incident
from benchmarks.field.joblog import ADVICE, FRAMES

OPTYPES = {
    "all_reduce": "ALLREDUCE", "_all_gather_base": "_ALLGATHER_BASE", "_reduce_scatter_base": "_REDUCE_SCATTER_BASE",
    "all_to_all": "ALLTOALL_BASE", "broadcast": "BROADCAST", "send": "SEND", "recv": "RECV", "coalesced": "COALESCED",
    "all_gather_into_tensor_coalesced": "ALLGATHER_coalesced", "reduce_scatter_tensor_coalesced": "REDUCE_SCATTER_coalesced",
}  # fmt: skip


def stuck_work(c: Incident, rank: int) -> tuple[str, str, float] | None:
    """(group words, work words, created) of what a rank's watchdog will find, or None."""
    if c.run is None:
        return None
    i = c.run.stuck(rank)
    if i is None:
        return None
    op = c.run.ops[rank][i]
    group = c.run.mesh.groups[op.group]
    seq = sequence(c.run, rank, i, c.base)
    a, b = op.numel()
    name = OPTYPES.get(op.name, op.name.upper())
    who = group.ranks.index(rank)
    local = sorted(set(c.mesh.of[rank].values())).index(op.group)
    pg = (
        f"[PG ID {local} PG GUID {group.name}({group.desc}) Rank {who}]"
        if c.new_torch
        else f"[Rank {who}]"
    )
    work = f"WorkNCCL(SeqNum={seq}, OpType={name}, NumelIn={a}, NumelOut={b}, Timeout(ms)={c.timeout * 1000})"
    made = c.run.created[rank][i] or 0.0
    return pg, work, c.clock(made)


def watchdogs(c: Incident, silent: set[int], share: float = 1.0) -> float:
    """The watchdog of each waiting rank runs out; returns when the first did."""
    rng, log = c.rng, c.log
    first = c.at + c.timeout + rng.uniform(0.2, 6)
    waits = {r: w for r in range(c.world) if (w := stuck_work(c, r)) is not None}
    if waits:
        first = max(min(w[2] for w in waits.values()) + c.timeout, c.at + 1)
    told = [r for r in waits if r not in silent and rng.random() < share]
    for r in told:
        pg, work, made = waits[r]
        t = max(first, made + c.timeout) + rng.uniform(0, 2.5)
        if t > first + 70:
            continue
        ran = int((t - made) * 1000)
        log.glog(
            t,
            r,
            "E",
            "ProcessGroupNCCL.cpp:632",
            f"{pg} Watchdog caught collective operation timeout: {work} ran for {max(ran, c.timeout * 1000 + 11)} milliseconds before timing out.",
        )
        if c.new_torch and rng.random() < 0.5:
            last = work.split("SeqNum=")[1].split(",")[0]
            log.glog(
                t + 0.01,
                r,
                "E",
                "ProcessGroupNCCL.cpp:2271",
                f"{pg}  failure detected by watchdog at work sequence id: {last} PG status: last enqueued work: {int(last) + rng.randrange(4)}, last completed work: {int(last) - 1}",
            )
        if rng.random() < 0.35:
            log.glog(
                t + 0.3,
                r,
                "E",
                "ProcessGroupNCCL.cpp:684",
                f"{pg} Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
            )
            log.glog(
                t + 0.3,
                r,
                "E",
                "ProcessGroupNCCL.cpp:698",
                f"{pg} To avoid data inconsistency, we are taking the entire process down.",
            )
        if rng.random() < 0.4:
            log.glog(
                t + 1,
                r,
                "E",
                "ProcessGroupNCCL.cpp:1895",
                f"{pg} Process group watchdog thread terminated with exception: {pg} Watchdog caught collective operation timeout: {work} ran for {ran} milliseconds before timing out.\nException raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:635 (most recent call first):\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f31a16c1788 in /usr/local/lib/python3.10/dist-packages/torch/lib/libc10.so)",
            )
    return first


def aftermath(c: Incident, at: float, code: int, dead: set[int] | None = None) -> None:
    """Launchers' tables and the scheduler's last words."""
    rng, log = c.rng, c.log
    names = {-6: "SIGABRT", -15: "SIGTERM", -9: "SIGKILL", -11: "SIGSEGV", -7: "SIGBUS"}
    for n in c.nodes:
        if n.dead_at is not None or rng.random() < 0.25:
            continue
        local = rng.randrange(c.platform.per_node)
        rank = c.ranks_on(n.index)[local]
        if dead and rank in dead:
            continue
        t = at + rng.uniform(0.5, 8)
        log.pylog(
            t,
            n.index,
            "E",
            "torch/distributed/elastic/multiprocessing/api.py:882",
            f"failed (exitcode: {code}) local_rank: {local} (pid: {n.pids[local]}) of binary: /usr/bin/python3",
        )
        if rng.random() < 0.6:
            tail = (
                f"Signal {-code} ({names.get(code, 'SIG')}) received by PID {n.pids[local]}"
                if code < 0
                else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            )
            log.agent(
                t + 0.2,
                n.index,
                f"Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 33, in <module>\n    sys.exit(load_entry_point('torch', 'console_scripts', 'torchrun')())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : {log.wall(at + 0.4, n.index):%Y-%m-%d_%H:%M:%S}\n  host      : {n.full}\n  rank      : {rank} (local_rank: {local})\n  exitcode  : {code} (pid: {n.pids[local]})\n  error_file: <N/A>\n  traceback : {tail}\n============================================================",
            )
    if c.scheduler == "slurm":
        log.agent(
            at + 9,
            c.order[0],
            f"srun: error: {c.nodes[c.order[-1]].name}: task {c.count - 1}: Aborted (core dumped)",
        )
        log.agent(at + 9.5, c.order[0], f"srun: Terminating StepId={c.job}.0")


def by_timeout(c: Incident, silent: set[int] | None = None, share: float | None = None) -> None:
    """Nobody says anything until the watchdogs do."""
    first = watchdogs(
        c, silent or set(), share if share is not None else c.rng.choice([1.0, 1.0, 0.6])
    )
    c.ended = first + c.rng.uniform(5, 70)
    c.exit_code = 134
    if c.new_torch and c.rng.random() < 0.6:
        for r in c.rng.sample(range(c.world), min(c.world, 6)):
            if r not in (silent or set()):
                c.log.glog(
                    first + 1.2,
                    r,
                    "E",
                    "ProcessGroupNCCL.cpp:1685",
                    f"[PG ID 0 PG GUID 0(default_pg) Rank {r}] Observed flight recorder dump signal from another rank via TCPStore.",
                )
    aftermath(c, c.ended, c.rng.choice([-6, -6, 1]), silent)


def by_crash(c: Incident, at: float, silent: set[int] | None = None, code: int = 1) -> None:
    """A process ended with an error; its launcher ends its siblings, the others follow."""
    rng, log = c.rng, c.log
    local = c.gpu
    n = c.bad
    silent = silent or {c.rank}
    if n.dead_at is None:
        log.pylog(
            at + 2,
            c.node,
            "W",
            "torch/distributed/elastic/multiprocessing/api.py:908",
            f"Sending process {n.pids[(local + 1) % len(n.pids)]} closing signal SIGTERM",
        )
        log.pylog(
            at + 4,
            c.node,
            "E",
            "torch/distributed/elastic/multiprocessing/api.py:882",
            f"failed (exitcode: {code}) local_rank: {local} (pid: {n.pids[local]}) of binary: /usr/bin/python3",
        )
    c.ended = at + rng.uniform(6, 45)
    for r in range(c.world):
        if r in silent or c.node_of(r) == c.node or rng.random() < 0.6:
            continue
        pick = rng.random()
        if pick < 0.4:
            peer = c.nodes[c.node]
            log.nccl(
                at + rng.uniform(0.5, 5),
                r,
                f"misc/socket.cc:{rng.choice([49, 58, 484, 752])} NCCL WARN socketProgress: Connection closed by remote peer {peer.full}<{rng.randrange(30000, 60000)}>",
            )
        elif pick < 0.7 and c.new_torch:
            log.glog(
                at + rng.uniform(1, 4),
                r,
                "W",
                "TCPStore.cpp:125",
                f"[c10d] recvValue failed on SocketImpl(fd=79, addr=[{c.nodes[c.node_of(r)].name}]:41822, remote=[{c.nodes[c.order[0]].name}]:29500): Connection reset by peer",
            )
        else:
            log.glog(
                at + rng.uniform(1, 4),
                r,
                "E",
                "ProcessGroupNCCL.cpp:1685",
                f"[PG ID 0 PG GUID 0(default_pg) Rank {r}] Observed flight recorder dump signal from another rank via TCPStore.",
            )
    for m in c.nodes:
        if m.index != c.node and m.dead_at is None and rng.random() < 0.7:
            log.pylog(
                c.ended,
                m.index,
                "W",
                "torch/distributed/elastic/agent/server/api.py:719",
                "Received 15 death signal, shutting down workers",
            )
    if rng.random() < 0.4:
        aftermath(c, c.ended, -15, silent)


def traceback(
    c: Incident, at: float, rank: int, error: str, advice: bool = False, frame: str = ""
) -> None:
    """A Python traceback of a rank."""
    text = "Traceback (most recent call last):\n" + FRAMES[c.log.framework]
    if frame:
        text += "\n" + frame
    text += "\n" + error
    if advice:
        text += "\n" + ADVICE
    c.log.say(at, rank, text)


def cuda_error(c: Incident, at: float, rank: int, what: str) -> None:
    """The runtime's error as the training process prints it."""
    name = (
        "torch.AcceleratorError" if c.version in ("2.10", "2.9") and c.new_torch else "RuntimeError"
    )
    kind = "HIP" if c.platform.vendor == "amd" else "CUDA"
    error = f"{name}: {kind} error: {what}"
    if c.rng.random() < 0.65:
        traceback(c, at, rank, error, advice=True)
    if c.rng.random() < 0.65:
        c.log.glog(
            at + 0.2,
            rank,
            "E",
            "ProcessGroupNCCL.cpp:1895",
            f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: {kind} error: {what}\n{ADVICE}Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43 (most recent call first):",
        )


def cancelled(c: Incident, at: float) -> None:
    """A person ends the job."""
    log = c.log
    c.ended = at
    n0 = c.nodes[c.order[0]]
    if c.scheduler == "slurm":
        log.agent(
            at,
            n0.index,
            f"slurmstepd: error: *** STEP {c.job}.0 ON {n0.name} CANCELLED AT {log.wall(at, n0.index):%Y-%m-%dT%H:%M:%S} ***",
        )
        log.agent(
            at + 0.2,
            n0.index,
            "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        )
    else:
        log.agent(
            at,
            n0.index,
            "^CKeyboardInterrupt: received SIGINT, stopping workers"
            if c.scheduler == "torchrun"
            else "W: Received Signals.SIGTERM death signal, shutting down workers",
        )
    c.exit_code = 130
