# ruff: noqa: E501 - a log line is as long as it is
"""Logs that hold only what follows, advice and noise: nobody's hardware is convicted."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import triage
from tests.hostile.log_incident import (
    BUSES,
    NODES,
    PER_NODE,
    WORLD,
    Files,
    glog,
    init_lines,
    job_json,
    kernel,
    steps,
    watchdog,
    write,
)  # fmt: skip
from triage.domain.category import HARDWARE

XID = "NVRM: Xid (PCI:{bus}): {code}, pid={pid}, name=python3, {text}"
CHANGED = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
FALLEN = "NVRM: Xid (PCI:0000:5d:00): 79, pid=4010, name=python3, GPU has fallen off the bus."


def xids(code: int, text: str = "Ch 00000012", count: int = 30) -> list[str]:
    return [XID.format(bus=BUSES[k % 4], code=code, pid=4000 + k, text=text) for k in range(count)]


def on_all(lines: Sequence[str], nodes: Sequence[str] = NODES, at: float = -2.0) -> dict[str, str]:
    """Kernel logs that hold the same lines on every node."""
    return {
        f"nodes/{node}/kernel.log": kernel(
            node, [(at + k / 50, one) for k, one in enumerate(lines)]
        )
        for node in nodes
    }


def job(*lines: str) -> dict[str, str]:
    """A job log of ordinary life that ends with ``lines``."""
    return {"job.log": init_lines() + steps() + "".join(f"{line}\n" for line in lines)}


def of_ranks(text: str, ranks: Sequence[int] = range(WORLD)) -> dict[str, str]:
    """The same line of several ranks; ``RANK`` in it is the rank."""
    return job(*(f"[rank{rank}]: {text.replace('RANK', str(rank))}" for rank in ranks))


def cpp(text: str, ranks: Sequence[int] = range(WORLD)) -> dict[str, str]:
    """The same line of the C++ library of several ranks."""
    return job(
        *(
            f"[rank{rank}]:[{glog(600 + rank / 100)} ProcessGroupNCCL.cpp:1]"
            f" {text.replace('RANK', str(rank))}"
            for rank in ranks
        )
    )


def table(code: int, signal: str, count: int = 4) -> str:
    """The table of a launcher, in which everybody ended the same way."""
    rows = "".join(
        f"[{k}]:\n  time      : 2026-11-21_03:14:2{k}\n  host      : n{k}\n  rank      : {k * 4}"
        f" (local_rank: 0)\n  exitcode  : {code} (pid: {4000 + k})\n  error_file: <N/A>\n"
        f"  traceback : {signal}\n"
        for k in range(count)
    )
    rule, thin = "=" * 60, "-" * 60
    return (
        f"torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n{rule}\ntrain.py"
        f" FAILED\n{thin}\nFailures:\n{rows}{thin}\nRoot Cause (first observed failure):\n"
        f"{rows[: len(rows) // count]}{rule}"
    )


SIGABRT = "Signal 6 (SIGABRT) received by PID 4000"
SIGTERM = "Signal 15 (SIGTERM) received by PID 4000"
NO_TRACE = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
RAY = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. There"
    " are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to"
    " high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due"
    " to SIGSEGV or other unexpected errors."
)
THROTTLE = (
    "    Clocks Event Reasons\n        Idle                              : Not Active\n"
    "        HW Slowdown                       : Not Active\n"
    "            HW Thermal Slowdown           : Not Active\n"
    "            HW Power Brake Slowdown       : Not Active\n"
    "        SW Thermal Slowdown               : Not Active\n"
    "    ECC Errors\n        Volatile\n            SRAM Uncorrectable            : 0\n"
    "            DRAM Uncorrectable            : 0\n    Remapped Rows\n"
    "        Correctable Error                 : 0\n        Pending                           :"
    " No\n"
)
CLOSED = (
    "NET/IB: Connection closed by remote peer n3<50123>",
    "socketProgress: Connection closed by remote peer n2.cluster<42212>",
)

CASES: dict[str, Callable[[], Files]] = {
    "watchdog-all": lambda: job(*(watchdog(rank).rstrip() for rank in range(WORLD))),
    "watchdog-node": lambda: job(*(watchdog(rank).rstrip() for rank in range(4))),
    "watchdog-flood": lambda: job(*(watchdog(k % WORLD, 600 + k).rstrip() for k in range(800))),
    "dump-signal": lambda: cpp("[PG ID 0 PG GUID 0(default_pg) Rank RANK] Received a dump signal"
    " due to a collective timeout from  rank 3 and we will try our best to dump the debug info."),
    "heartbeat": lambda: cpp("[PG ID 0 PG GUID 0(default_pg) Rank RANK] Heartbeat monitor timed"
    " out! Process will be terminated after dumping debug info. workMetaList_.size()=84"),
    "terminated": lambda: cpp("[Rank RANK] Process group watchdog thread terminated with"
    " exception: [Rank RANK] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812,"
    " OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds"
    " before timing out."),
    "some-kernels": lambda: cpp("[Rank RANK] Some NCCL operations have failed or timed out. Due"
    " to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on"
    " corrupted/incomplete data."),
    "take-down": lambda: cpp("[Rank RANK] To avoid data inconsistency, we are taking the entire"
    " process down."),
    "sigterm-agents": lambda: job(*(f"W1121 03:14:16.{rank:06d} 77"
    f" torch/distributed/elastic/multiprocessing/api.py:900] Sending process {4000 + rank}"
    f" closing signal SIGTERM" for rank in range(WORLD))),
    "sigterm-15": lambda: of_ranks("torch.distributed.elastic.multiprocessing.api.SignalException: Process 4000 got signal: 15", range(4)),
    "closed-ranks": lambda: job(*(f"n{rank // 4}:{4000 + rank}:1 [{rank % 4}] NCCL WARN"
    f" {CLOSED[rank % 2]}" for rank in range(8))),
    "gloo-closed": lambda: of_ranks("RuntimeError:"
    " [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer"
    " [10.0.0.4]:12345"),
    "broken-pipe": lambda: of_ranks("RuntimeError: Broken pipe"),
    "reset": lambda: of_ranks("ConnectionResetError: [Errno 104] Connection reset by peer"),
    "store-lost": lambda: of_ranks("torch.distributed.DistNetworkError: failed to recv, got 0"
    " bytes. Connection was likely closed. Did the remote server shutdown or crash?"),
    "store-timeout": lambda: of_ranks("torch.distributed.DistStoreError: wait timeout after"
    " 600000ms, keys: /default_pg/0//cuda//0"),
    "remote-error": lambda: of_ranks("torch.distributed.DistBackendError: NCCL error in:"
    " ProcessGroupNCCL.cpp:2395, remote process exited or there was a network error, NCCL"
    " version 2.21.5"),
    "not-destroyed": lambda: cpp("Warning: WARNING: process group has NOT been destroyed before"
    " we destruct ProcessGroupNCCL."),
    "xid-45": lambda: on_all(xids(45)),
    "xid-45-one-node": lambda: on_all(xids(45, count=500), NODES[:1]),
    "xid-45-with-parent": lambda: on_all(xids(45, "Ch 00000012 caused by previous Xid 43")),
    "xid-43": lambda: on_all(xids(43)),
    "xid-43-one-node": lambda: on_all(xids(43, count=200), NODES[2:3]),
    "xid-154": lambda: on_all(xids(154, CHANGED)),
    "xid-154-one-node": lambda: on_all(xids(154, CHANGED, 4), NODES[1:2]),
    "xid-154-back": lambda: on_all(xids(154, "GPU recovery action changed from 0x1 (GPU Reset"
    " Required) to 0x0 (None)")),
    "xid-13-user": lambda: on_all([XID.format(bus=BUSES[k % 4], code=13, pid=4000 + k, text="Graphics Exception: ESR 0x504648=0x10e") for k in range(8)]),
    "xid-31-everywhere": lambda: on_all([XID.format(bus=BUSES[k % 4], code=31, pid=4000 + k, text="Ch 00000013, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f_1000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ") for k in range(8)]),
    "table-exit-1": lambda: job(table(1, NO_TRACE)),
    "table-abort": lambda: job(table(-6, SIGABRT)),
    "table-term": lambda: job(table(-15, SIGTERM)),
    "failed-abort": lambda: job("E1121 03:14:20.000000 77"
    " torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 1"
    " (pid: 4001) of binary: /usr/bin/python3"),
    "advice-cuda": lambda: of_ranks("For debugging consider passing"
    " CUDA_LAUNCH_BLOCKING=1\n[rankRANK]: Compile with `TORCH_USE_CUDA_DSA` to enable"
    " device-side assertions."),
    "advice-async": lambda: of_ranks("CUDA kernel errors might be asynchronously reported at"
    " some other API call, so the stacktrace below might be incorrect."),
    "advice-watchdog": lambda: cpp("This is most likely caused by incorrect usages of"
    " collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for"
    " all ranks or the scheduled collective, for some reason, didn't run."),
    "advice-gil": lambda: cpp("This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy)"
    " hang blocking the watchdog, and could be triggered by another thread holding the GIL"
    " inside a CUDA api"),
    "ray": lambda: job(*(f"\x1b[36m(WorkerDict pid={4000 + k}, ip=10.0.0.{k})\x1b[0m {RAY}" for k in range(8))),
    "ray-repeated": lambda: job(f"{RAY} [repeated 63x across cluster]"),
    "echo-user": lambda: of_ranks(f"WARNING:health:last kernel message was: {FALLEN}", [3]),
    "echo-source": lambda: of_ranks(f"    PATTERN = \"{FALLEN}\"", [3]),
    "echo-grep": lambda: job(f"+ dmesg | grep '{FALLEN}'", "+ true"),
    "echo-docs": lambda: job(f"See the runbook: if you read \"{FALLEN}\" drain the node."),
    "echo-config": lambda: job(f"health_check: {{'fatal_patterns': ['{FALLEN}', 'NVLink: fatal"
    f" error detected on link 3']}}"),
    "argv": lambda: job("+ python train.py --on-error 'CUDA error: uncorrectable ECC error"
    " encountered' --nodes 4"),
    "throttle": lambda: job(*THROTTLE.splitlines()),
    "nan-zero": lambda: job(*(f" iteration {k:8d}/ 500000 | lm loss: 2.1{k}E+00 | grad norm:"
    f" 0.977 | number of skipped iterations:   0 | number of nan iterations:   0 |" for k in range(30))),
    "healthy": lambda: job(*steps(60).splitlines(), "[rank0]: training finished after 160"
    " steps", "[rank0]: saved checkpoint /ckpt/160 in 41.2 s") | on_all([]) | {"job.json": job_json(exit_code=0)},
    "healthy-boot": lambda: on_all(["NVRM: loading NVIDIA UNIX x86_64 Kernel Module "
    " 570.124.06", "nvidia-nvswitch0: SXid (PCI:0000:c5:00.0): 22013, Non-fatal, Link 12 Minion"
    " Link DLREQ interrupt", "mlx5_core 0000:1a:00.0: Port module event: module 0, Cable"
    " plugged", "EDAC MC0: Giving out device to module skx_edac controller"], at=-3500),
    "peermem": lambda: on_all(["nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected"
    " invalid context, skipping further processing"] * 4),
    "hung-smi": lambda: on_all(["INFO: task nvidia-smi:812 blocked for more than 122 seconds."]),
    "srun-end": lambda: job("srun: error: n2: task 8: Exited with exit code 1", "slurmstepd:"
    " error: *** STEP 4711.0 ON n0 CANCELLED AT 2026-11-21T03:15:27 ***"),
    "interrupt": lambda: of_ranks("KeyboardInterrupt", [0]),
}  # fmt: skip


def test_there_are_many() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize("facts", [True, False], ids=["job.json", "bare"])
@pytest.mark.parametrize("name", CASES)
def test_nobody_is_convicted(name: str, facts: bool, tmp_path: Path) -> None:
    files = dict(CASES[name]())
    if facts:
        files.setdefault("job.json", job_json())
    report = triage.analyze(write(tmp_path, files))
    verdict = report.answer.verdict
    assert verdict.cordon == (), verdict.summary
    assert [
        (one.node, one.category)
        for one in report.answer.suspects
        if one.role == "culprit" and one.category in HARDWARE
    ] == [], verdict.summary
    if name.startswith(("healthy", "nan-zero", "throttle", "argv", "advice", "echo")):
        assert verdict.category not in HARDWARE, verdict.summary
    if name == "healthy":
        assert verdict.kind == "healthy", verdict.summary


def test_they_are_read(tmp_path: Path) -> None:
    for name, case in CASES.items():
        report = triage.analyze(write(tmp_path / name, case()))
        assert report.answer.coverage.lines_read >= PER_NODE, name
