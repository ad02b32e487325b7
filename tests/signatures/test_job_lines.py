"""Job lines in the words of many versions and frameworks, and what each may say."""

import pytest

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.parsers.logs.envelope import read_envelope
from triage.signatures import registry
from triage.signatures.load import load
from triage.signatures.network.readers import format_gpu_bus
from triage.signatures.registry import Match

FILES = (
    "gpu/cuda",
    "gpu/gpu_tools",
    "network/c10d",
    "network/gloo",
    "network/nccl",
    "network/nccl_identity",
    "program/advice",
    "program/data_loading",
    "program/numerics",
    "program/progress",
    "program/python_errors",
    "program/storage",
    "scheduler/scheduler",
    "scheduler/torchelastic",
)
JOB = tuple(one for file in FILES for one in load(file))


def read(text: str) -> Match | None:
    """The match of the first line of ``text``, with the others behind it, envelopes off."""
    first, *after = (read_envelope(line).text for line in text.split("\n"))
    return registry.match(first, after)


def role_of(found: Match) -> EvidenceRole:
    return found.reading.role or found.signature.role


def category_of(found: Match) -> Category | None:
    return found.reading.category or found.signature.category


def weak_of(found: Match) -> bool:
    return found.signature.weak if found.reading.weak is None else found.reading.weak


# line, signature, role ("root", "weak", "consequence", "noise", "advice"), category
LINES = [
    # --- CUDA, however it is wrapped
    (
        "[rank5]: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        "cuda.ecc_uncorrectable",
        "root",
        "gpu_hbm",
    ),
    (
        "[rank12]:[E1106 04:11:09.220117653 ProcessGroupNCCL.cpp:1899] [PG ID 0 PG GUID"
        " 0(default_pg) Rank 12] Process group watchdog thread terminated with exception: CUDA"
        " error: uncorrectable NVLink error detected during the execution",
        "cuda.nvlink_uncorrectable",
        "root",
        "nvlink",
    ),
    (
        "terminate called after throwing an instance of 'c10::Error'",
        "crash.thrown",
        "consequence",
        None,
    ),
    (
        "  what():  [PG ID 1 PG GUID 1 Rank 2] Process group watchdog thread terminated with"
        " exception: CUDA error: an illegal memory access was encountered",
        "cuda.illegal_address",
        "weak",
        "software_framework",
    ),
    (
        "(RayWorkerWrapper pid=811, ip=10.4.0.9) RuntimeError: CUDA error: unspecified launch"
        " failure",
        "cuda.launch_failure",
        "weak",
        None,
    ),
    (
        "ERROR 11-20 03:04:05 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to"
        " allocate 812.00 MiB. GPU 2 has a total capacity of 79.11 GiB",
        "cuda.out_of_memory",
        "root",
        "gpu_oom",
    ),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        "cuda.library_failure",
        "weak",
        None,
    ),
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda"
        " functions before calling NumCudaDevices() that might have already set an error? Error"
        " 802: system not yet initialized",
        "cuda.fabric_not_ready",
        "weak",
        "nvlink",
    ),
    (
        "Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was"
        " attempted on non supported HW",
        "cuda.driver_mismatch",
        "root",
        "dependency",
    ),
    # --- c10d
    (
        "[rank9]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG ID 5 PG GUID"
        " 55(mesh_replicate) Rank 1] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=4, OpType=_REDUCE_SCATTER_BASE, NumelIn=64, NumelOut=8,"
        " Timeout(ms)=600000) ran for 600055 milliseconds before timing out.",
        "c10d.watchdog_timeout",
        "consequence",
        "nccl_timeout",
    ),
    (
        "[E ProcessGroupNCCL.cpp:828] [Rank 3] Watchdog caught collective operation timeout:"
        " WorkNCCL(OpType=ALLREDUCE, TensorShape=[1], Timeout(ms)=1800000) ran for 1803000"
        " milliseconds before timing out.",
        "c10d.watchdog_timeout",
        "consequence",
        "nccl_timeout",
    ),
    (
        "RuntimeError: NCCL communicator was aborted on rank 5.",
        "c10d.aborted_elsewhere",
        "consequence",
        "nccl_timeout",
    ),
    (
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients."
        " 31/32 clients joined.",
        "c10d.store_timeout",
        "consequence",
        "dependency",
    ),
    (
        "[W1120 03:04:05.678 TCPStore.cpp:122] [c10d] recvValue failed on SocketImpl(fd=67,"
        " addr=[n1]:5000, remote=[n0]:29500): failed to recv, got 0 bytes",
        "c10d.store_lost",
        "consequence",
        None,
    ),
    # --- NCCL
    (
        "n2:812:930 [4] transport/net_ib.cc:2215 NCCL WARN NET/IB: Got completion from peer"
        " 10.0.0.4<51122> with status=5 opcode=0 len=0 vendor err 249 (Recv)",
        "nccl.ib_completion",
        "consequence",
        None,
    ),
    (
        "[2026-03-13 22:26:02] n2:812:930 [4] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_4:1"
        " Got async event : port error",
        "nccl.ib_async_event",
        "root",
        "network",
    ),
    (
        "n2:812:930 [4] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error No"
        " such device",
        "nccl.verbs_call",
        "root",
        "nic",
    ),
    (
        "n2:812:930 [4] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote"
        " peer n7<40112>",
        "nccl.peer_closed",
        "consequence",
        None,
    ),
    (
        "n2:812:930 [4] NCCL INFO comm 0x55d rank 20 nranks 64 cudaDev 4 nvmlDev 4 busId 9b000"
        " commId 0x8 - Init COMPLETE",
        "identity.nccl_comm",
        "noise",
        None,
    ),
    (
        "n2:812:930 [4] include/alloc.h:102 NCCL WARN Cuda failure 2 'out of memory'",
        "cuda.out_of_memory",
        "root",
        "gpu_oom",
    ),
    (
        "n2:812:930 [4] transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'",
        "nccl.nvls",
        "root",
        "nvlink",
    ),
    (
        "n2:812:930 [4] enqueue.cc:1142 NCCL WARN Cuda failure 1 'invalid argument'",
        "nccl.cuda_failure",
        "weak",
        "software_framework",
    ),
    (
        "n2:812:930 [4] init.cc:51 NCCL WARN Cuda failure 1 'invalid argument'",
        "nccl.cuda_failure",
        "weak",
        "dependency",
    ),
    # --- gloo
    (
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by"
        " peer [10.8.0.2]:37411",
        "gloo.pair_error",
        "consequence",
        None,
    ),
    # --- launchers and schedulers
    (
        "E0325 20:57:27.620000 139812345678901 torch/distributed/elastic/multiprocessing/api.py:"
        "826] failed (exitcode: -9) local_rank: 5 (pid: 2630) of binary: /usr/bin/python3",
        "elastic.worker_exit",
        "weak",
        "host_oom",
    ),
    (
        "[2024-02-09 09:09:15,164] torch.distributed.elastic.multiprocessing.api: [ERROR] failed"
        " (exitcode: -11) local_rank: 1 (pid: 77) of binary: python",
        "elastic.worker_exit",
        "root",
        "software_framework",
    ),
    (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 1"
        " (pid: 77) of binary: python",
        "elastic.worker_exit",
        "consequence",
        None,
    ),
    (
        "W1120 03:04:05.600000 811 torch/distributed/elastic/multiprocessing/api.py:897] Sending"
        " process 814 closing signal SIGTERM",
        "elastic.closing_signal",
        "consequence",
        None,
    ),
    (
        "slurmstepd: error: *** STEP 812.0 ON n1 CANCELLED AT 2026-11-20T03:04:05 DUE TO NODE"
        " FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "scheduler.slurm_cancelled",
        "weak",
        "host_maintenance",
    ),
    (
        "srun: error: n7: task 12: Exited with exit code 137",
        "scheduler.slurm_task",
        "weak",
        "host_oom",
    ),
    (
        "srun: error: n7: tasks 0-7: Terminated",
        "scheduler.slurm_task",
        "consequence",
        None,
    ),
    # --- Python
    (
        "[rank3]: ValueError: Expected input batch_size (8) to match target batch_size (4).",
        "python.user_code",
        "root",
        "software_user",
    ),
    (
        "12: KeyError: 'attention_mask'",
        "python.user_code",
        "root",
        "software_user",
    ),
    (
        "[1,3]<stderr>:ImportError: libnccl.so.2: cannot open shared object file: No such file or"
        " directory",
        "python.missing_library",
        "root",
        "dependency",
    ),
    (
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "python.connection",
        "consequence",
        None,
    ),
    (
        "BrokenPipeError: [Errno 32] Broken pipe",
        "python.connection",
        "consequence",
        None,
    ),
    # --- storage and data
    (
        "OSError: [Errno 116] Stale file handle: '/lustre/ckpt/iter_100'",
        "storage.stale_handle",
        "root",
        "storage",
    ),
    (
        "OSError: [Errno 28] No space left on device: '/dev/shm/torch_812'",
        "storage.full",
        "root",
        "dependency",
    ),
    (
        "Map (num_proc=16):  12%|#2        | 120/1000 [00:10<01:10, 12.00 examples/s]",
        "data.preprocessing_bar",
        "noise",
        "host_stall",
    ),
    # --- numbers
    (
        "AssertionError: Rank 11: found NaN in local grad norm in backward pass before"
        " data-parallel communication collective. Device: 3, node: n9",
        "numerics.rank_nan",
        "weak",
        "sdc",
    ),
    (
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is not"
        " reproducible within the tolerance (7.1 != 2.2)",
        "numerics.rerun_verdict",
        "weak",
        "sdc",
    ),
    (
        " [2026-11-20 03:04:05] iteration     12/  100 | consumed samples: 96 | elapsed time per"
        " iteration (ms): 812.1 | lm loss: NAN | grad norm: 1.0 | number of nan iterations: 0 |",
        "numerics.nan_printed",
        "weak",
        "numerical",
    ),
    (
        " [2026-11-20 03:04:05] iteration     12/  100 | consumed samples: 96 | elapsed time per"
        " iteration (ms): 812.1 | lm loss: 2.1E+00 | grad norm: 1.0 | number of nan iterations: 0"
        " |",
        "progress.megatron",
        "noise",
        None,
    ),
    # --- tools
    (
        "            HW Power Brake Slowdown           : Active",
        "gpu_tool.power_brake",
        "root",
        "power",
    ),
]


@pytest.mark.parametrize(
    ("line", "signature", "role", "category"), LINES, ids=[one[1] for one in LINES]
)
def test_says_what_the_line_says(
    line: str, signature: str, role: str, category: str | None
) -> None:
    found = read(line)

    assert found is not None
    said = "weak" if role_of(found) == "root" and weak_of(found) else str(role_of(found))
    assert (found.signature.id, said, category_of(found)) == (signature, role, category)


QUIET = [
    "CUDA kernel errors might be asynchronously reported at some other API call, so the"
    " stacktrace below might be incorrect.",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
    "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used"
    " across ranks",
    "[rank0]:[W1120 03:04:05.60 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has"
    " NOT been destroyed before we destruct ProcessGroupNCCL.",
    "(1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
    "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer",
    "number of skipped iterations:   0 | number of nan iterations:   0 |",
    "        HW Thermal Slowdown           : Not Active",
    "        SW Power Cap                  : Not Active",
    "            DRAM Uncorrectable                : 0",
    "cmd = python train.py --ecc-check --nan=abort --oom-retry --on-error=illegal",
    '[rank3]:     raise RuntimeError("CUDA out of memory, see the log")',
    "[rank3]:     raise ValueError(f'bad batch: {batch}')",
    "    except torch.cuda.OutOfMemoryError:",
    '  File "/x/train.py", line 12, in check_nan_loss',
    "n2:812:930 [4] NCCL INFO [Service thread] Connection closed by localRank 3",
    "n2:812:930 [4] NCCL INFO Channel 00/0 : 3[3] -> 4[4] [send] via NET/IB/2/GDRDMA",
    "n2:812:930 [4] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0",
    "n2:812:930 [4] NCCL INFO comm 0x55d rank 3 nranks 8 cudaDev 3 busId 5d000 - Destroy COMPLETE",
    "NCCL version 2.21.5+cuda12.4",
    "[NeMo W 2026-11-20 12:00:00 nemo_logging:393] The checkpoint callback was told to monitor a"
    " validation value",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "[INFO] [launch.py:351:main] Process 8123 exits successfully.",
    "saving checkpoint at iteration 100 to /ckpt",
    "  successfully saved checkpoint from iteration 100 to /ckpt",
    "[Rank 0] Watchdog started with a heartbeat of 600000 ms",
    "INFO: loss function: cross_entropy, timeout=1800, retry_on_error=True, rank=3",
    "  check_for_nan_in_loss_and_grad .................. True",
    "  error_injection_type ............................ transient_error",
    "n2:812:930 [4] NCCL INFO transport/nvls.cc:90 NVLS multicast support is not available",
    "n2:812:930 [4] NCCL INFO Failed to open libibverbs.so[.1]",
    "NCCL watchdog thread started!",
    "val_loss improved from inf to 2.31",
    "best_loss: inf",
    "text: the server said KeyError: none",
    "user message: how do I fix CUDA out of memory",
    "This DataLoader will create 16 worker processes in total, might get DataLoader running slow or"
    " even freeze",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    '{"name": "torchelastic.worker.status.SUCCEEDED", "source": "WORKER", "metadata": {}}',
]


@pytest.mark.parametrize("line", QUIET)
def test_never_reads_a_failure_into_advice_or_health(line: str) -> None:
    found = read(line)

    assert found is None or role_of(found) in (EvidenceRole.ADVICE, EvidenceRole.NOISE)


def test_lone_keywords_are_no_literals() -> None:
    common = {"error", "failed", "rank", "timeout", "loss", "warning", "nccl", "cuda", "step"}

    for signature in JOB:
        assert not common & set(signature.literals)
        assert all(text == text.lower() and text.isascii() for text in signature.literals)
        assert all(len(text) >= 4 for text in signature.literals)


def test_no_consequence_puts_a_fault_on_a_gpu() -> None:
    blamed = {
        Category.GPU,
        Category.GPU_HBM,
        Category.GPU_SRAM,
        Category.GPU_GSP,
        Category.NVLINK,
        Category.IO_BOARD,
    }

    for signature in JOB:
        if signature.role is EvidenceRole.CONSEQUENCE:
            assert signature.category not in blamed, signature.id


def test_uncorrectable_memory_is_never_told_apart_by_a_job() -> None:
    named = [one for one in load("gpu/cuda") if one.category is Category.GPU_HBM]

    assert named
    assert all(Category.GPU_SRAM in one.also for one in named)


TABLE = """\
  time      : 2026-03-04_05:06:07
  host      : n3
  rank      : 27 (local_rank: 3)
  exitcode  : {code} (pid: 812)
  error_file: <N/A>
  traceback : {why}
{end}"""


def test_reads_the_root_entry_of_a_table() -> None:
    found = read(
        TABLE.format(code=-11, why="Signal 11 (SIGSEGV) received by PID 812", end="=" * 60)
    )

    assert found is not None
    assert category_of(found) is Category.SOFTWARE_FRAMEWORK
    assert dict(found.reading.fields) == {
        "time": "2026-03-04_05:06:07",
        "node": "n3",
        "rank": "27",
        "local_rank": "3",
        "pid": "812",
        "exit_code": "-11",
        "error_file": "<N/A>",
        "traceback": "Signal 11 (SIGSEGV) received by PID 812",
        "first": "1",
    }


@pytest.mark.parametrize("end", ["[1]:", "-" * 60])
def test_other_entries_of_a_table_are_weak(end: str) -> None:
    found = read(TABLE.format(code=-11, why="x", end=end))

    assert found is not None
    assert weak_of(found)
    assert found.reading.fields["first"] == "0"


@pytest.mark.parametrize(
    ("code", "role"), [(1, "consequence"), (-6, "consequence"), (-15, "consequence"), (-7, "root")]
)
def test_exit_codes_of_tables(code: int, role: str) -> None:
    found = read(TABLE.format(code=code, why="x", end="=" * 60))

    assert found is not None
    assert role_of(found) == role


def test_reads_the_work_and_the_group_of_a_watchdog_line() -> None:
    found = read(LINES[9][0])

    assert found is not None
    assert dict(found.reading.fields) == {
        "pg": "5",
        "guid": "55",
        "pg_desc": "mesh_replicate",
        "group_rank": "1",
        "seq_id": "4",
        "op": "_REDUCE_SCATTER_BASE",
        "numel_in": "64",
        "numel_out": "8",
        "timeout_ms": "600000",
        "ran_ms": "600055",
    }


def test_reads_a_watchdog_line_that_a_terminal_wrapped() -> None:
    found = read(
        "[default2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught \n"
        "collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
        " Timeout(ms)=1000) ran for 1001 milliseconds before timing out."
    )

    assert found is not None
    assert found.reading.fields["seq_id"] == "1"
    assert Category.HOST_STALL in (found.reading.also or ())


@pytest.mark.parametrize("who", [" rank 34", "  rank 34", "this local rank"])
def test_the_sender_of_a_dump_signal_is_a_reporter(who: str) -> None:
    found = read(
        "[PG ID 0 PG GUID 0(default_pg) Rank 5] Received a dump signal due to a collective timeout"
        f" from {who} and we will try our best to dump the debug info. Last enqueued NCCL work:"
        " 97, last completed NCCL work: 46.This is most likely caused by incorrect usages"
    )

    assert found is not None
    assert found.signature.id == "c10d.dump_signal"
    assert found.reading.peer is None
    assert found.reading.fields["last_enqueued"] == "97"
    assert found.reading.fields["last_completed"] == "46"
    assert found.reading.fields.get("reporter") == ("34" if "34" in who else None)


def test_reads_both_fingerprints() -> None:
    found = read(load("network/c10d")[0].matches[0])

    assert found is not None
    fields = found.reading.fields
    assert (fields["rank_a"], fields["op_a"], fields["shape_a"]) == ("4", "ALLREDUCE", "[8]")
    assert (fields["rank_b"], fields["op_b"], fields["shape_b"]) == ("0", "BROADCAST", "[1]")


@pytest.mark.parametrize(
    ("bus", "gpu"),
    [
        ("9b000", "0000:9b:00"),
        ("1000", "0000:01:00"),
        ("1001b0000", "1001:b0:00"),
        ("5", None),
        ("xyz00", None),
    ],
)
def test_bus_ids_of_nccl(bus: str, gpu: str | None) -> None:
    assert format_gpu_bus(bus) == gpu


def test_progress_gives_numbers() -> None:
    found = read(load("program/progress")[0].matches[0])

    assert found is not None
    assert dict(found.reading.fields) == {
        "loss": "9.8E+00",
        "grad_norm": "3.141",
        "step_time_s": "4.5127",
    }
    assert found.found["iteration"] == "10"
