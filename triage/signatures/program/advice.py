"""Texts that speak of failures in general and must never count as one.

They stand before every other family, so that a keyword inside them is not read
as an event: advice behind a CUDA error, guesses that a watchdog prints each time,
the arguments of a command, a list of conceivable causes.
"""

from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family

__all__ = ["SIGNATURES"]


CUDA = Family("advice", Kind.CUDA)

CUDA.advice(
    "cuda_debugging",
    r"^\s{0,40}(?:For debugging consider passing|Compile with `?TORCH_USE_CUDA_DSA"
    r"|CUDA kernel errors might be|(?:If reserved|See documentation).{0,200}ALLOC_CONF)",
    literals=(
        "consider passing cuda_launch_blocking",
        "torch_use_cuda_dsa",
        "might be asynchronously reported",
        "pytorch_cuda_alloc_conf",
        "pytorch_alloc_conf",
    ),
    matches=(
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "CUDA kernel errors might be asynchronously reported at some other API call",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
    ),
    near_misses=(
        "RuntimeError: CUDA error: x. For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    ),
    source="PyTorch: CUDAException.cpp",
    blame=Blame.NOBODY,
)
NCCL = Family("advice", Kind.NCCL, source="PyTorch: ProcessGroupNCCL.cpp", blame=Blame.NOBODY)

NCCL.advice(
    "watchdog_guess",
    r"^\s{0,8}(?:\[[^\]]{0,120}\] ?){0,4}(?:This (?:is most likely caused|typically indicates"
    r"|could be because)|.{0,40}?If you suspect the watchdog|You can increase the timeout"
    r"|.{0,40}?could be triggered by another thread|.{0,60}?[Ss]tack trace of the "
    r"(?:failed collective|timed out operation) not found"
    r"|.{0,160}?set TORCH_\w{1,60} to a non-zero value)",
    literals=(
        "this is most likely caused by incorrect usages",
        "this typically indicates a nccl/cuda api",
        "could be triggered by another thread holding the gil",
        "if you suspect the watchdog is not actually stuck",
        "this could be because the ranks",
        "you can increase the timeout",
        "torch_nccl_heartbeat_timeout_sec",
        "torch_nccl_enable_monitoring",
        "stack trace of the failed collective not found",
        "stack trace of the timed out operation not found",
        "torch_nccl_trace_buffer_size",
        "torch_fr_buffer_size",
    ),
    matches=(
        "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes",
        "[PG ID 0 PG GUID 0 Rank 3] This typically indicates a NCCL/CUDA API (e.g.,"
        " CudaEventDestroy) hang blocking the watchdog",
        "Stack trace of the failed collective not found, potentially because FlightRecorder is"
        " disabled.",
    ),
    near_misses=("Heartbeat monitor timed out! This typically indicates a NCCL/CUDA API hang",),
)
NCCL.noise(
    "group_not_destroyed",
    r"process group has NOT been destroyed",
    literals=("process group has not been destroyed",),
    matches=(
        "Warning: WARNING: process group has NOT been destroyed before we destruct"
        " ProcessGroupNCCL.",
    ),
    near_misses=("process group was destroyed",),
)
SCHEDULER = Family("advice", Kind.SCHEDULER)

SCHEDULER.advice(
    "ray_causes",
    r"^\s{0,40}There are some potential root causes",
    literals=("there are some potential root causes",),
    matches=(
        "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer"
        " due to high memory usage. (2) ray stop --force is called.",
    ),
    near_misses=(
        "The actor is dead because its worker process has died. There are some potential root"
        " causes. (1) ...",
    ),
    source="Ray: exceptions",
    blame=Blame.NOBODY,
)
PYTHON = Family("advice", Kind.PYTHON, blame=Blame.NOBODY)

PYTHON.noise(
    "arguments",
    r"^\s{0,40}(?:\S{1,40} )?(?:cmd = |[Cc]ommand: |argv: |args: |Namespace\(|[Aa]rguments: )"
    r".{0,2000}?(?:--\w|=)",
    literals=(
        "arguments:",
        "cmd = ",
        "command: ",
        "namespace(",
        "args: ",
        "argv: ",
        "launching with",
    ),
    matches=(
        "cmd = python -u train.py --check-for-nan-in-loss --nccl-timeout=1800",
        "Namespace(detect_nan=True, oom_retry=3)",
    ),
    near_misses=("arguments: none",),
    source="launchers that echo their command",
)
PYTHON.noise(
    "shell_trace",
    r"^\s{0,8}\+{1,6} (?:python|torchrun|srun|mpirun|accelerate|deepspeed|exec |grep|dmesg|"
    r"journalctl|echo|export |bash |\[\[ )",
    literals=(
        "+ python",
        "+ torchrun",
        "+ srun",
        "+ mpirun",
        "+ accelerate",
        "+ deepspeed",
        "+ exec ",
        "+ grep",
        "+ dmesg",
        "+ journalctl",
        "+ echo",
        "+ export ",
        "+ bash ",
        "+ [[ ",
    ),
    matches=(
        "+ python -u train.py --on-error 'CUDA error: out of memory'",
        "++ dmesg --since yesterday",
        "+ echo 'NCCL error'",
    ),
    near_misses=("loss a + b: + python is slow", "c10d + pythonic"),
    source="shells told to print what they run (`set -x`)",
)
PYTHON.noise(
    "source_line",
    r"^\s{0,40}(?:raise [A-Za-z_][\w.]{0,120}(?:\(|\s|$)|except\b.{0,200}:\s*$)",
    literals=("    raise ", "except "),
    matches=("    raise RuntimeError('CUDA out of memory')", "    except KeyboardInterrupt:"),
    near_misses=("I raise the limit",),
    source="Python: a line of source echoed in a traceback",
)

SIGNATURES = CUDA.signatures() + NCCL.signatures() + SCHEDULER.signatures() + PYTHON.signatures()
