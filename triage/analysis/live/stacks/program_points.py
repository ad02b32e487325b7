"""Where a thread of a program stands, by the first frame from the inside that tells it.

A rank that waits in a collective, for its device or for others to come is a victim. One that
stands anywhere else while they wait is whom they wait for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from triage.analysis.live.stacks.normalise import get_bare_name, is_library, shorten_file
from triage.domain.live.stack import StackFrame
from triage.domain.patterns import compile_re


class ProgramPoint(StrEnum):
    """What a thread is in."""

    COLLECTIVE = "collective"
    DEVICE = "device"
    STORE = "store"  # rendezvous, init_process_group, new_group, a key of the store
    NCCL_INIT = "nccl_init"
    DATA = "data"
    CHECKPOINT = "checkpoint"
    STORAGE = "storage"  # the kernel waits for a file system
    COMPILE = "compile"
    GIL = "gil"
    LOCK = "lock"
    GC = "gc"
    LOGGING = "logging"
    IMPORT = "import"
    SLEEP = "sleep"
    BREAKPOINT = "breakpoint"
    FILES = "files"
    NETWORK = "network"
    SUBPROCESS = "subprocess"
    TEARDOWN = "teardown"
    DISPATCH = "dispatch"  # in torch, between operations that it gives to its device
    CODE = "code"
    IDLE = "idle"  # an event loop, or a worker without work
    STOPPED = "stopped"
    GONE = "gone"
    UNKNOWN = "unknown"


WAITS: Final = frozenset(
    {ProgramPoint.COLLECTIVE, ProgramPoint.DEVICE, ProgramPoint.STORE, ProgramPoint.NCCL_INIT}
)
VAGUE: Final = frozenset({ProgramPoint.UNKNOWN, ProgramPoint.IDLE})


@dataclass(frozen=True, slots=True)
class _PointRule:
    """A frame whose bare name and short file match is in ``point``.

    One that is ``inner`` tells it only inside the job's own code: everything waits for a lock
    somewhere.
    """

    point: ProgramPoint
    name: re.Pattern[str] | None = None
    file: re.Pattern[str] | None = None
    native: bool = False
    inner: bool = False

    def fits(self, name: str, file: str) -> bool:
        return (self.name is None or self.name.search(name) is not None) and (
            self.file is None or self.file.search(file) is not None
        )


def _python(
    point: ProgramPoint, file: str, name: str | None = None, *, inner: bool = False
) -> _PointRule:
    named = None if name is None else re.compile(rf"^(?:{name})$")
    return _PointRule(point, named, re.compile(rf"(?:^|/)(?:{file})"), inner=inner)


def _native(point: ProgramPoint, name: str, *, inner: bool = False) -> _PointRule:
    return _PointRule(point, re.compile(name), native=True, inner=inner)


_P = ProgramPoint
_C10D: Final = r"torch/distributed/distributed_c10d\.py$"
_MEETS: Final = (
    "init_process_group|new_group|new_subgroups.*|split_group|_new_group.*|_new_process_group_helper"
    "|_store_based_barrier|_rendezvous_helper|rendezvous|init_device_mesh|_init_device_mesh.*"
)
# In the order in which they are asked; the first that fits a frame decides what it is.
_RULES: Final = (
    _python(_P.STORE, r"torch/distributed/\w+\.py$", _MEETS),
    _python(_P.STORE, r"torch/distributed/(?:rendezvous|device_mesh)\.py$"),
    _python(
        _P.TEARDOWN,
        _C10D,
        "destroy_process_group|_shutdown_backend|_abort_process_group|_shutdown.*"
    ),
    _python(_P.TEARDOWN, r"threading\.py$", "_shutdown"),
    _python(_P.TEARDOWN, r"multiprocessing/util\.py$", "_exit_function"),
    _python(_P.COLLECTIVE, _C10D),
    _python(_P.COLLECTIVE, r"torch/distributed/(?:c10d_logger|_functional_collectives)\.py$"),
    _python(_P.COLLECTIVE, r"torch/distributed/nn/functional\.py$"),
    _python(_P.COLLECTIVE, r"deepspeed/comm/\w+\.py$"),
    _python(_P.COLLECTIVE, r"horovod/|mpi4py/"),
    _python(
        _P.DEVICE, r"torch/(?:cuda|xpu|npu|hpu|mtia|musa|accelerator)/", "synchronize|wait|query"
    ),
    _python(_P.DEVICE, r"torch/_tensor\.py$", "item|cpu|tolist|__bool__|__float__|__int__"),
    _python(_P.DEVICE, r"torch/autograd/(?:graph|__init__)\.py$", "_engine_run_backward|backward"),
    _python(_P.DATA, r"torch/utils/data/_utils/worker\.py$", "_worker_loop"),
    _python(_P.DATA, r"torch/utils/data/|torchdata/|webdataset/|litdata/|nvidia/dali/|ffcv/"),
    _python(_P.DATA, r"streaming/base/|datasets/(?:iterable_dataset|arrow_dataset)\.py$"),
    _python(_P.DATA, r"", r"\w{0,40}prefetch\w{0,40}|next_batch|get_batch|fetch_batch"),
    _python(_P.CHECKPOINT, r"torch/serialization\.py$|torch/distributed/checkpoint/|safetensors/"),
    _python(_P.CHECKPOINT, r"shutil\.py$", "copy.*|_copy.*|move|rmtree|_fastcopy.*"),
    _python(
        _P.CHECKPOINT, r"", r"\w{0,20}(?:save|load|write)_(?:\w{0,20}_)?checkpoint\w{0,20}|fsync"
    ),
    _python(
        _P.COMPILE,
        r"torch/_inductor/(?:async_compile|codecache|compile_fx|graph|scheduler|codegen/|select_alg)",
    ),
    _python(_P.COMPILE, r"torch/_inductor/compile_worker/|triton/(?:compiler|backends)/"),
    _python(_P.COMPILE, r"triton/runtime/(?:build|autotuner)\.py$", "_build|_bench|benchmark"),
    _python(
        _P.COMPILE, r"torch/_dynamo/(?:symbolic_convert|output_graph|bytecode_transformation)\.py$"
    ),
    _python(_P.COMPILE, r"torch/utils/cpp_extension\.py$"),
    _python(_P.BREAKPOINT, r"(?:bdb|pdb|ipdb)\.py$|ipdb/|IPython/|debugpy/|pydevd"),
    _python(_P.LOGGING, r"logging/(?:__init__|handlers)\.py$|loguru/|wandb/|mlflow/|tensorboard/"),
    _python(_P.IMPORT, r"<frozen importlib|importlib/", inner=True),
    _python(_P.IDLE, r"asyncio/(?:base_events|runners)\.py$", "_run_once", inner=True),
    _python(_P.SUBPROCESS, r"subprocess\.py$", inner=True),
    _python(_P.SUBPROCESS, r"os\.py$", "system|waitpid", inner=True),
    _python(
        _P.NETWORK,
        r"(?:socket|ssl)\.py$|http/|urllib/|urllib3/|requests/|boto3/|botocore/|s3transfer/|s3fs/"
        r"|fsspec/|aiohttp/|gcsfs/|google/|azure/|httpx/|httpcore/|huggingface_hub/|paramiko/"
        r"|redis/|pymongo/|grpc/|smart_open/",
        inner=True,
    ),
    _python(
        _P.FILES,
        r"(?:pathlib|tarfile|gzip|zipfile|lzma|bz2|codecs|mmap|pickle|glob|_io)\.py$|pyarrow/|h5py/"
        r"|zarr/|lmdb/|PIL/|numpy/lib/",
        inner=True,
    ),
    _python(
        _P.LOCK, r"threading\.py$", "wait|acquire|join|_wait_for_tstate_lock|__enter__", inner=True
    ),
    _python(_P.LOCK, r"concurrent/futures/|queue\.py$|filelock/|portalocker/", inner=True),
    _python(_P.LOCK, r"multiprocessing/(?:synchronize|queues|connection|pool|popen)", inner=True),
    _native(
        _P.GIL, r"^(?:take_gil|PyGILState_Ensure|PyEval_(?:Restore|Acquire)Thread)|gil_scoped_acq"
    ),
    _native(
        _P.NCCL_INIT,
        r"ncclCommInit|ncclCommSplit|^bootstrap|ncclTransport\w*Setup|socketPollConnect|initTransports",
    ),
    _native(_P.STORE, r"c10d::\w*Store::|tcputil::"),
    _native(_P.TEARDOWN, r"~ProcessGroup|Py_FinalizeEx|wait_for_thread_shutdown|exit_handlers"),
    _native(
        _P.DEVICE,
        r"(?:cuda|cu|hip)(?:Stream|Event|Device|Ctx)Synchronize|_local_scalar_dense"
        r"|(?:cuda|cu|hip|ncclL|hipModuleL)\w{0,12}aunchKernel|(?:cuda|hip)Memcpy|THPVariable_item",
    ),
    _native(
        _P.COLLECTIVE,
        r"^nccl(?:AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|Send|Recv|GroupEnd)|^gloo::"
        r"|c10d::ops::|c10d::ProcessGroup(?:NCCL|Gloo)?::\w|c10d::\w*Work\w*::(?:wait|synchronize)"
        r"|WorkNCCL::|^ncclDevKernel",
    ),
    _native(_P.GC, r"gc_collect|deduce_unreachable|subtract_refs|visit_decref|collect_generations"),
    _native(_P.CHECKPOINT, r"^f(?:data)?sync$"),
    _native(_P.SLEEP, r"nanosleep$|^u?sleep$|^time_sleep$", inner=True),
)  # fmt: skip
# Calls of Python itself, as a debugger without its own commands for Python shows them: below them
# stands the C library, which everything waits in.
_OF_PYTHON: Final = (
    _native(
        _P.LOCK,
        r"^(?:PyThread_acquire_lock|r?lock_PyThread_acquire|rlock_acquire|acquire_timed|_?PyMutex_Lock"
        r"|_?PySemaphore_Wait|_PyParkingLot_Park|simplequeue_get|_queue_SimpleQueue_get"
        r"|thread_PyThread_join|ThreadHandle_join|select_(?:e?poll|select))",
    ),
    _native(_P.NETWORK, r"^(?:sock_(?:recv|send|connect|accept)|_ssl__SSLSocket|internal_connect)"),
    _native(_P.SUBPROCESS, r"^os_(?:waitpid|wait4|waitid|system)"),
    _native(
        _P.FILES,
        r"^(?:os_(?:read|pread|write|open|l?stat|scandir|listdir|ftruncate)"
        r"|_io_\w{1,40}_(?:read|readinto|readall|readline|write|flush)|_io_open)",
    ),
    _native(_P.SLEEP, r"^(?:pysleep|time_sleep)$"),
)
_PYTHON_RULES: Final = tuple(one for one in _RULES if not one.native)
_NATIVE_RULES: Final = tuple(one for one in _RULES if one.native)
# Of the kernel: "nfs_wait_bit_killable", "rpc_wait_bit_killable", "ptlrpc_queue_wait", "ll_fsync"
KERNEL_STORAGE: Final = compile_re(
    r"^(?:_*nfs\d?_|rpc_|_*rpc_|ptlrpc|ll_|cl_sync|osc_|gpfs|cxi_|fuse_|request_wait_answer|ceph_"
    r"|cifs_|smb2?_|io_schedule|wait_on_page|folio_wait|xfs_|ext4_|jbd2_|blk_)"
)
# Frameworks between the job's code and its device.
_DISPATCHES: Final = compile_re(
    r"^(?:torch|triton|transformer_engine|flash_attn|apex|deepspeed/ops|torchvision)/"
)


@dataclass(frozen=True, slots=True)
class PointFound:
    """Where a stack stands; ``at`` is the place of the frame that tells it, None where none does.

    ``told_by`` is the innermost frame of the job's own code, else the frame that tells the point,
    else the innermost: the line to look at.
    """

    point: ProgramPoint
    at: int | None
    told_by: StackFrame | None


def find_point(frames: Sequence[StackFrame]) -> PointFound:
    """Where ``frames``, innermost first, stand."""
    if not frames:
        return PointFound(ProgramPoint.UNKNOWN, None, None)
    own = next((one for one in frames if not is_library(one) and one.function != "<module>"), None)
    own = own or next((one for one in frames if not is_library(one)), None)
    inner: tuple[ProgramPoint, int] | None = None
    reached_own = False
    for at, frame in enumerate(frames):
        reached_own = reached_own or (not is_library(frame) and frame.function != "<module>")
        rule = _find_rule(frame)
        if rule is None:
            continue
        if not rule.inner:
            return PointFound(rule.point, at, own or frame)
        if inner is None and not reached_own:
            inner = (rule.point, at)
    if inner is not None:
        return PointFound(inner[0], inner[1], own or frames[inner[1]])
    if own is None and all(frame.native for frame in frames):
        return _find_python_call(frames) or PointFound(ProgramPoint.UNKNOWN, None, frames[0])
    dispatches = _DISPATCHES.match(shorten_file(frames[0].filename)) is not None
    point = ProgramPoint.DISPATCH if dispatches else ProgramPoint.CODE
    return PointFound(point, None, own or frames[0])


def _find_python_call(frames: Sequence[StackFrame]) -> PointFound | None:
    """What a thread of which no frame of Python is shown waits for in a call of Python's own."""
    for at, frame in enumerate(frames):
        for rule in _OF_PYTHON:
            if rule.fits(get_bare_name(frame), ""):
                return PointFound(rule.point, at, frame)
    return None


def _find_rule(frame: StackFrame) -> _PointRule | None:
    """The first rule that a frame fits."""
    return _match_rule(frame.function, frame.filename, frame.native)


# Thousands of ranks have the same few hundred frames.
@lru_cache(maxsize=65_536)
def _match_rule(function: str, filename: str, is_native: bool) -> _PointRule | None:
    name, file = get_bare_name(StackFrame(function, native=is_native)), shorten_file(filename)
    rules = _NATIVE_RULES if is_native else _PYTHON_RULES
    return next((rule for rule in rules if rule.fits(name, file)), None)
