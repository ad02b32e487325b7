"""Exceptions: the last line of a traceback, by type and message.

A traceback is one event and its last line classifies it; frames and echoed source
never do, which is why a pattern wants ``Type: message`` and not a bare word. Errors
of connections are the edge of another rank's end. An exception that nothing here
knows is the program's own, weakly.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.job_line import CONSEQUENCE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

PYTHON = Family("python", Kind.PYTHON)
USER = Category.SOFTWARE_USER
FRAMEWORK = Category.SOFTWARE_FRAMEWORK
TORCH = "PyTorch"
BUILTIN = "Python: built-in exceptions"

# What may stand before the name of an exception: nothing, a logger's mark, a quote, an escaped
# line end of JSON, or a package. A word before it makes it a sentence.
BEFORE = r"(?:^\s{0,40}|[\"'\])>]\s?|[-|:]\s{1,4}|\\n)(?:[A-Za-z_][\w.]{0,120}\.)?"
# Without a message it has the line to itself; a frame echoes ``raise Name`` as well.
ALONE = r"^(?:[A-Za-z_][\w.]{0,120}\.)?"

CLOSED = (
    r"(?:ConnectionResetError|ConnectionRefusedError|ConnectionAbortedError|BrokenPipeError"
    r"|EOFError|Dist(?:Network|Store|Backend)Error|SystemExit|TimeoutError)"
)

WORKER_ENDS = {
    "killed": (ROOT, Category.HOST_OOM),
    "bus error": (ROOT, Category.HOST_OOM),
    "segmentation fault": (ROOT, FRAMEWORK),
}


def worker_end(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """A worker that vanished, by its signal; without one, most often memory."""
    fields = {"worker_pid": found["worker_pid"]}
    if found["signal_name"] is None:
        return Reading(category=Category.HOST_OOM, weak=True, fields=fields)
    name = found["signal_name"].strip().lower()
    role, category = WORKER_ENDS.get(name, (CONSEQUENCE, None))
    return Reading(role=role, category=category, fields=fields)


FATAL = {
    "segmentation fault": (ROOT, FRAMEWORK, (USER,)),
    "bus error": (ROOT, Category.HOST_OOM, (FRAMEWORK,)),
    "illegal instruction": (ROOT, Category.DEPENDENCY, (FRAMEWORK, Category.CPU)),
}


def fatal(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """The report of faulthandler, by its signal; an abort has its reason in other lines."""
    role, category, also = FATAL.get(found["why"].lower(), (CONSEQUENCE, None, ()))
    return Reading(role=role, category=category, also=also)


PYTHON.add(
    "data_worker",
    ROOT,
    ("dataloader worker (pid",),
    r"DataLoader worker \(pid(?:\(s\))? (?P<worker_pid>[\d, ]{1,200})\)"
    r" (?:is killed by signal: (?P<signal_name>[A-Z][a-z]+(?: [a-z]+)?)|exited unexpectedly)",
    (
        "RuntimeError: DataLoader worker (pid 69228) is killed by signal: Killed. ",
        "RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is possible"
        " that dataloader's workers are out of shared memory.",
        "RuntimeError: DataLoader worker (pid(s) 812, 813) exited unexpectedly",
    ),
    ("DataLoader worker (pid 8) started",),
    "PyTorch: utils/data/dataloader.py",
    category=Category.HOST_OOM,
    read=worker_end,
)
PYTHON.add(
    "shared_memory",
    ROOT,
    (
        "unexpected bus error encountered in worker",
        "unable to open shared memory object",
        "from file </torch_",
        "to file </torch_",
        "out of shared memory",
        "insufficient shared memory (shm)",
    ),
    r"Unexpected bus error encountered in worker|unable to open shared memory object"
    r"|unable to (?:mmap|write|resize|open)\b.{0,80}? file </torch_|[Ii]nsufficient shared memory"
    r" \(shm\)|are out of shared memory",
    (
        "RuntimeError: unable to mmap 2147483648 bytes from file </torch_44_12>: Cannot allocate"
        " memory (12)",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by shm.",
    ),
    ("shared memory object opened",),
    "PyTorch: utils/data",
    category=Category.HOST_OOM,
)
PYTHON.add(
    "host_memory",
    ROOT,
    (
        "can't allocate memory",
        "not enough memory: you tried",
        "[errno 12] cannot allocate memory",
        "std::bad_alloc",
        "arraymemoryerror",
        "memoryerror",
        "oom-killed",
        "oom killed",
        "killed by the oom",
        "killed by oom",
    ),
    r"can't allocate memory: you tried to allocate|not enough memory: you tried to allocate"
    r"|\[Errno 12\] Cannot allocate memory|std::bad_alloc|ArrayMemoryError"
    rf"|{BEFORE}MemoryError: |{ALONE}MemoryError\s*$"
    r"|\b(?:rank|worker|process|task|pid|container|trainer|pod)\b.{0,40}?\b(?:was |were |is "
    r"|been |got )"
    r"(?P<killed>OOM[- ]killed|killed by (?:the )?OOM)",
    (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't"
        " allocate memory: you tried to allocate 4096 bytes. Error code 12",
        "OSError: [Errno 12] Cannot allocate memory",
        "MemoryError: Unable to allocate 3.2 GiB for an array",
        "MemoryError",
        "ERROR worker 3 was OOM-killed by the kernel",
    ),
    ("except MemoryError as error:", "if a worker was OOM-killed, look at the node's memory"),
    BUILTIN,
    category=Category.HOST_OOM,
    read=lambda found, _after: (
        None
        if found["killed"]
        and re.search(r"\b(?:may|might|possibl\w+|potential\w*|could|if|likely)\b", found.string)
        else Reading()
    ),
)
PYTHON.add(
    "fatal",
    CONSEQUENCE,
    ("fatal python error: ",),
    r"Fatal Python error: (?P<why>Segmentation fault|Aborted|Bus error|Illegal instruction"
    r"|Floating point exception)",
    ("Fatal Python error: Segmentation fault", "Fatal Python error: Aborted"),
    ("Fatal Python error: none",),
    "Python: faulthandler",
    read=fatal,
)
PYTHON.add(
    "resource_limit",
    ROOT,
    (
        "[errno 24] too many open files",
        "received 0 items of ancdata",
        "can't start new thread",
        "pthread_create failed",
        "thread creation failed",
    ),
    r"\[Errno 24\] Too many open files|received 0 items of ancdata|can't start new thread"
    r"|[Tt]hread creation failed|pthread_create failed",
    ("OSError: [Errno 24] Too many open files", "RuntimeError: can't start new thread"),
    ("limit of open files: 1048576",),
    BUILTIN,
    category=Category.DEPENDENCY,
    also=(USER,),
)
PYTHON.add(
    "ddp_reduction",
    ROOT,
    (
        "expected to have finished reduction",
        "mark a variable ready only once",
        "did not receive grad for rank",
    ),
    r"Expected to have finished reduction in the prior iteration"
    r"|Expected to mark a variable ready only once"
    r"|did not receive grad for rank (?P<rank>\d{1,7})",
    (
        "RuntimeError: Expected to have finished reduction in the prior iteration before starting"
        " a new one.",
        "Parameter indices which did not receive grad for rank 3: 7 8",
    ),
    ("finished reduction in 3 ms",),
    "PyTorch: reducer.cpp",
    category=USER,
)
PYTHON.add(
    "missing_library",
    ROOT,
    (
        "undefined symbol",
        "cannot open shared object file",
        "modulenotfounderror: ",
        "importerror: ",
        "' not found (required by",
        "packagenotfounderror",
        "versionconflict",
        "operator torchvision::nms does not exist",
        "only supports ampere gpus or newer",
        "distributionnotfound",
    ),
    r"undefined symbol: ?\S|cannot open shared object file|ModuleNotFoundError: |ImportError: "
    r"|version `[A-Z]{4,8}_[\d.]{1,12}' not found|PackageNotFoundError|VersionConflict"
    r"|operator torchvision::nms does not exist|only supports Ampere GPUs or newer"
    r"|DistributionNotFound",
    (
        "ImportError: /opt/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        "ModuleNotFoundError: No module named 'apex'",
        "/lib/libc.so.6: version `GLIBC_2.34' not found (required by python)",
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ),
    ("raise ImportError(msg)",),
    "Python: imports; the dynamic linker",
    category=Category.DEPENDENCY,
    also=(USER,),
    # NCCL and aws-ofi-nccl look for plugins that need not be there.
    read=lambda found, _after: (
        None
        if re.search(r"NCCL INFO|dlerror[=:]|NET/Plugin|Could not load dynamic", found.string)
        else Reading()
    ),
)
PYTHON.add(
    "nvml",
    ROOT,
    ("can't initialize nvml", "nvmlerror"),
    r"Can't initialize NVML|NVMLError_?(?P<error>\w{0,40})",
    ("pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded", "UserWarning: Can't initialize NVML"),
    ("import NVML error types",),
    "pynvml",
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
    read=lambda found, _after: (
        Reading(category=Category.IO_BOARD, also=(Category.GPU,), weak=False)
        if (found["error"] or "").lower() == "gpuislost"
        else Reading()
    ),
)
PYTHON.add(
    "checkpoint_shape",
    ROOT,
    (
        "global shape mismatch for loaded",
        "loading state_dict for",
        "size mismatch for ",
        "missing key in checkpoint",
        "unexpected key(s) in state_dict",
        "missing key(s) in state_dict",
    ),
    r"Global shape mismatch for loaded|in loading state_dict for|size mismatch for \S"
    r"|Missing key in checkpoint|(?:Unexpected|Missing) key\(s\) in state_dict",
    (
        "Global shape mismatch for loaded ((8, 4)) and expected ((16, 4)) tensor for key w",
        "RuntimeError: Error(s) in loading state_dict for GPT:",
    ),
    ("shapes match for loaded tensors",),
    "PyTorch and Megatron-LM: checkpoint loading",
    category=Category.DEPENDENCY,
    also=(USER,),
)
PYTHON.add(
    "tensor_shape",
    ROOT,
    (
        "shapes cannot be multiplied",
        "must match the size of tensor",
        "sizes of tensors must match",
        "expected all tensors to be on the same device",
        "does not require grad and does not have",
        "is invalid for input of size",
        "expected scalar type",
        "trying to backward through the graph a second time",
        "modified by an inplace operation",
        "index out of range in self",
        "size of tensor a",
        "each tensor to be equal size",
        "to have scalar type",
    ),
    r"shapes cannot be multiplied|The size of tensor a|[Ss]izes of tensors must match"
    r"|Expected all tensors to be on the same device|does not require grad and does not have"
    r"|is invalid for input of size|expected scalar type \w|backward through the graph a second"
    r"|modified by an inplace operation|index out of range in self"
    r"|each tensor to be equal size|to have scalar type \w",
    (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x8)",
        "RuntimeError: The size of tensor a (8) must match the size of tensor b (9)",
        "IndexError: index out of range in self",
    ),
    ("sizes of tensors are logged",),
    TORCH,
    category=USER,
)
PYTHON.add(
    "compiler",
    ROOT,
    (
        "internal assert failed",
        "torch._dynamo.exc",
        "torch._inductor.exc",
        "backendcompilerfailed",
        "triton.compiler",
        "triton.runtime.errors",
        "ptxas error",
        "ptxas fatal",
    ),
    r"INTERNAL ASSERT FAILED|torch\._(?:dynamo|inductor)\.exc\.\w+(?:Error|Failed|Exception)"
    r"|BackendCompilerFailed|triton\.compiler\.errors\.\w+Error|ptxas (?:error|fatal)"
    r"|triton\.runtime\.errors\.(?:OutOfResources|PTXASError|InterpreterError): ",
    (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 232448",
        "RuntimeError: r INTERNAL ASSERT FAILED at alloc.cpp:812, please report a bug to PyTorch.",
        "torch._inductor.exc.InductorError: CompilationError: at 3:1",
    ),
    ("from torch._dynamo.exc import Unsupported",),
    TORCH,
    category=FRAMEWORK,
    also=(USER,),
)
PYTHON.add(
    "heap",
    ROOT,
    (
        "double free or corruption",
        "free(): invalid",
        "malloc(): ",
        "munmap_chunk(): invalid",
        "corrupted size vs. prev_size",
        "corrupted double-linked list",
        "stack smashing detected",
        "pure virtual method called",
    ),
    r"double free or corruption|free\(\): invalid|malloc\(\): (?:corrupted|invalid|unsorted)"
    r"|munmap_chunk\(\): invalid|corrupted size vs\. prev_size|corrupted double-linked list"
    r"|stack smashing detected"
    r"|pure virtual method called",
    ("double free or corruption (!prev)", "malloc(): corrupted top size"),
    ("malloc(): hook installed",),
    "glibc: malloc",
    category=FRAMEWORK,
    also=(USER, Category.HOST_MEMORY, Category.CPU),
)
PYTHON.add(
    "service",
    ROOT,
    (
        "requests.exceptions.",
        "urllib3.exceptions.",
        "wandb.errors.",
        "wandb.sdk.lib.",
        "huggingface_hub.errors.",
        "huggingface_hub.utils._errors.",
        "hfhubhttperror",
        "localentrynotfounderror",
        "mlflow.exceptions.",
        "aiohttp.client_exceptions.",
    ),
    r"(?:requests|urllib3|mlflow)\.exceptions\.\w{3,40}(?:Error|Timeout|Exception)\b"
    r"|wandb\.(?:errors|sdk\.lib)\.[\w.]{1,60}Error|huggingface_hub\.[\w.]{1,60}Error"
    r"|aiohttp\.client_exceptions\.\w{3,40}|HfHubHTTPError|LocalEntryNotFoundError",
    (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub', port=443): Max"
        " retries exceeded",
        "wandb.errors.CommError: Run initialization has timed out after 90.0 sec.",
    ),
    ("import requests.exceptions.",),
    "services outside the job",
    category=Category.DEPENDENCY,
    also=(Category.STORAGE, USER),
    weak=True,
)
PYTHON.add(
    "connection",
    CONSEQUENCE,
    (
        "connectionreseterror",
        "connectionrefusederror",
        "connectionabortederror",
        "brokenpipeerror",
        "eoferror",
        "transport endpoint is not connected",
        "what():  broken pipe",
        "what():  connection ",
        "runtimeerror: connection reset by peer",
        "runtimeerror: broken pipe",
        "runtimeerror: socket timeout",
        "runtimeerror: connection closed by",
        "distnetworkerror",
        "diststoreerror",
        "distbackenderror",
        "timeouterror: ",
        "systemexit",
    ),
    rf"{BEFORE}{CLOSED}: |{ALONE}{CLOSED}\s*$"
    r"|(?:RuntimeError: |what\(\): {1,4})(?:Transport endpoint is not connected"
    r"|Connection timed out|Connection reset by peer|Broken pipe|Socket Timeout"
    r"|Connection closed by)",
    (
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "torch.distributed.DistNetworkError: failed to recv",
        "RuntimeError: Socket Timeout",
        "  what():  Transport endpoint is not connected",
        "EOFError",
    ),
    ("    except EOFError:", "raise ConnectionResetError"),
    BUILTIN,
    blame=Blame.PEER,
)
PYTHON.add(
    "connection_told",
    CONSEQUENCE,
    (
        "connection closed by remote",
        "connection reset by remote",
        "closed the connection",
        "connection closed by peer",
        "connection reset by peer",
        "connection lost to rank",
        "lost connection to rank",
        "lost connection to peer",
        "socket closed",
        "statuscode.unavailable",
    ),
    r"\b(?P<word>rank|peer) (?P<end>\d{1,7}|[\w.:-]{4,128}?)(?:<\d{1,5}>| \([^()]{1,80}\))?:? {0,2}"
    r"(?:connection (?:was )?(?:closed|reset|lost)|closed the connection)"
    r"|\b[Ll]ost connection to (?:rank|peer)|\bconnection (?:closed|reset) by remote (?:host|end"
    r"|process)"
    r"|StatusCode\.UNAVAILABLE",
    (
        "requests to rank 7 (10.0.0.7:5555): connection closed by remote host",
        "NCCL WARN bootstrapRecv: peer 10.0.0.7<41000> closed the connection",
        "grpc._channel._MultiThreadedRendezvous: StatusCode.UNAVAILABLE Socket closed",
    ),
    (
        "sshd[12]: Connection closed by remote host [preauth]",
        "peer 10.0.0.7 closed the connection, retrying",
        "client closed the connection",
    ),
    "programs that speak of the other end of a connection",
    blame=Blame.PEER,
    read=lambda found, _after: (
        None
        if re.search(r"retry|retries|reconnect|preauth|\bsshd\b", found.string, re.IGNORECASE)
        else Reading(
            peer=None
            if found["end"] is None
            else f"rank {found['end']}"
            if found["word"].lower() == "rank"
            else found["end"]
        )
    ),
)
PYTHON.add(
    "missing_file",
    ROOT,
    ("filenotfounderror: ", "permissionerror: ", "isadirectoryerror: ", "notadirectoryerror: "),
    rf"{BEFORE}(?:FileNotFound|Permission|IsADirectory|NotADirectory)Error: ",
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/part-7.bin'",
        "PermissionError: [Errno 13] Permission denied: '/ckpt/last'",
    ),
    ("except FileNotFoundError:",),
    BUILTIN,
    category=USER,
    also=(Category.STORAGE, Category.DEPENDENCY),
)
PYTHON.add(
    "does_not_fit",
    ROOT,
    (
        "failed to import ",
        "mismatches the version",
        "please install",
        "please upgrade",
        "please update",
        "please reinstall",
        "pip install",
        " is not installed",
        "incompatible version",
        "version mismatch",
        "version is not compatible",
        "no valid installation of",
        "failed to load plugin",
        "could not load library",
        "could not load dynamic library",
        "unable to load plugin",
    ),
    rf"{BEFORE}(?:Runtime|Value|OS|Environment|Import|Assertion|NotImplemented|Attribute|Type)?"
    r"(?:Error|Exception): .{0,240}?(?:[Ff]ailed to import [\w.]{2,120}|mismatches the version"
    " that was"
    r"|[Pp]lease (?:install|upgrade|update|reinstall)\b|pip install |\bis not installed\b"
    r"|\b[Ii]ncompatible version|\bversion mismatch\b|version is not compatible|[Nn]o valid"
    " installation"
    r" of|(?:[Ff]ailed|[Uu]nable) to load plugin|[Cc]ould not load (?:dynamic )?library)",
    (
        "RuntimeError: Failed to import transformers.models.llama.modeling_llama because of the"
        " following error (look up to see its traceback):",
        "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to"
        " compile PyTorch (12.1). Please make sure to use the same CUDA versions.",
        "ValueError: FlashAttention2 cannot be used: the package flash_attn is not installed",
        "RuntimeError: Failed to load plugin 'libfoo_tuner.so'",
    ),
    ("WARNING: triton is not installed, please install it to be faster", "pip install torch"),
    "packages that do not fit each other, in the words of an exception",
    category=Category.DEPENDENCY,
    also=(USER,),
)
PYTHON.add(
    "attribute",
    ROOT,
    ("attributeerror: ",),
    rf"{BEFORE}AttributeError: (?P<module>(?:partially initialized )?module )?",
    (
        "AttributeError: module 'torch.distributed' has no attribute 'tensor'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
    ),
    ("except AttributeError as e: pass",),
    BUILTIN,
    category=USER,
    also=(Category.DEPENDENCY,),
    read=lambda found, _after: (
        Reading(category=Category.DEPENDENCY, also=(USER,)) if found["module"] else Reading()
    ),
)
PYTHON.add(
    "user_code",
    ROOT,
    (
        "valueerror: ",
        "keyerror: ",
        "indexerror: ",
        "typeerror: ",
        "nameerror: ",
        "assertionerror",
        "notimplementederror",
        "zerodivisionerror",
        "unboundlocalerror",
        "syntaxerror: ",
        "indentationerror",
        "recursionerror",
        "fileexistserror",
        "unicodedecodeerror",
        "jsondecodeerror",
        "overflowerror: ",
        "floatingpointerror: ",
        "validationerror: ",
        "configattributeerror",
        "configkeyerror",
        "hydraexception",
        "unrecognized arguments",
        ".py: error: ",
        "stopiteration",
        "yamlerror",
        "misconfigurationexception",
    ),
    rf"{BEFORE}(?P<type>(?:Value|Key|Index|Type|Name|ZeroDivision|UnboundLocal|Syntax|Indentation"
    r"|Recursion|FileExists|UnicodeDecode|JSONDecode|Overflow|FloatingPoint|Validation"
    r"|ConfigAttribute|ConfigKey|YAML)Error|HydraException|MisconfigurationException): "
    rf"|{BEFORE}(?:AssertionError|NotImplementedError|StopIteration): "
    rf"|{ALONE}(?P<bare>AssertionError|NotImplementedError|StopIteration)\s*$"
    r"|error: unrecognized arguments|\.py: error: (?:the following arguments|argument )",
    (
        "ValueError: too many values to unpack (expected 2)",
        "KeyError: 'input_ids'",
        r'{"message": "Traceback (most recent):\n  File \\"t.py\\", line 3\nKeyError: 7"}',
        "AssertionError",
        "AssertionError: hidden size 12 is not divisible by 8",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for Config",
        "train.py: error: unrecognized arguments: --lrr",
    ),
    ("    raise ValueError(f'bad {x}')", "    except KeyError as error:"),
    BUILTIN,
    category=USER,
)
PYTHON.add(
    "others_ended",
    CONSEQUENCE,
    ("runtimeerror: ", "exception: ", "error: "),
    rf"{BEFORE}(?:Runtime|Worker\w{{0,20}}|Engine\w{{0,20}}|Actor\w{{0,20}}|Executor\w{{0,20}})?"
    r"(?:Error|Exception): (?:.{0,60}?\b(?:[Ww]orkers?|[Rr]anks?|[Pp]rocess(?:es)?|[Pp]eers?"
    r"|[Aa]ctors?"
    r"|[Tt]asks?|[Ee]ngine|[Cc]hild(?:ren)?|[Ss]ubprocess(?:es)?|[Jj]ob|[Rr]emote)\b.{0,60}?\b(?:died|"
    r"is dead|are dead|exited|failed|terminated|killed|lost|is gone|crashed|aborted|disconnected|"
    r"unreachable|not responding|did not respond|stopped responding)\b"
    r"|(?:[Uu]nknown )?(?:[Ff]ailed|[Ff]ailure|[Ee]rror|[Uu]nknown|None)\.?\s*$"
    r"|(?:Operation )?(?:[Tt]imed? ?out|[Tt]imeout)\b|[Cc]ancell?ed\b|[Aa]borted\b"
    r"|[Ii]nterrupted\b)",
    (
        "RuntimeError: Worker failed with error, see the traceback above",
        "Exception: rank 3 exited, stopping the others",
        "RuntimeError: Timed out waiting for the other ranks",
        "WorkerError: peer 10.0.0.3 is gone",
        "RuntimeError: failed",
    ),
    (
        "RuntimeError: the schedule has no micro-batches left",
        "WARNING: worker 3 exited",
        "ValueError: 3 ranks failed the check of divisibility",
    ),
    "exceptions that say that something else ended first",
    blame=Blame.NOBODY,
    traits=(Trait.GENERIC,),
)
PYTHON.add(
    "runtime_error",
    ROOT,
    ("runtimeerror: ", "check failed: ", " exception: "),
    rf"{BEFORE}(?:RuntimeError|Exception): (?P<message>\S.{{0,200}})|\bCheck failed: ",
    ("RuntimeError: the schedule has no micro-batches left",),
    ("    raise RuntimeError(message)",),
    BUILTIN,
    category=USER,
    also=(FRAMEWORK,),
    weak=True,
)
# Exceptions of well-known packages that are not called an error.
OTHER_ENDINGS = (
    "OutOfResources", "ArrowInvalid", "TimeoutExpired", "BrokenProcessPool", "BrokenExecutor",
    "BadZipFile", "DoesNotExist",
)  # fmt: skip
PYTHON.add(
    "own_exception",
    ROOT,
    ("error: ", "exception: ", *(f"{name.lower()}: " for name in OTHER_ENDINGS)),
    r"(?:^\s{0,4}|[\])]:? )(?!LustreError|pyo3_runtime)(?-i:(?:[a-z_]\w{0,60}\.){0,8}"
    rf"(?P<type>[A-Z]\w{{0,80}}(?:Error|Exception)|{'|'.join(OTHER_ENDINGS)})"
    r": (?P<message>\S.{0,200}))",
    (
        "mylib.errors.ShardMismatchError: shard 3 has another length than its index says",
        "LedgerError: the sampler came to the end twice",
        "pyarrow.lib.ArrowInvalid: Column data for field 3 with type large_string is inconsistent",
    ),
    (
        "    raise ShardMismatchError(f'shard {x}')",
        "step 12: ShardMismatchError: 3 shards were skipped",
        "Error: see the log of the launcher",
        "[2026-01-01 00:00:00] retries after: SlowDownError: 503",
        "cublasLtError: none",
    ),
    "classes that a package or the training code defines itself",
    category=USER,
    also=(FRAMEWORK, Category.DEPENDENCY),
    weak=True,
)
PYTHON.add(
    "rust_panic",
    ROOT,
    ("panicked at ", "pyo3_runtime.panicexception"),
    r"\bthread '[^'\n]{1,80}' (?:\(\d{1,10}\) )?panicked at |\bpyo3_runtime\.PanicException: ",
    (
        "thread '<unnamed>' panicked at src/models/bpe/model.rs:12:9:",
        "thread '<unnamed>' panicked at 'no entry found for key', src/lib.rs:88:13",
        "thread 'main' (4711) panicked at src/lib.rs:88:13:",
    ),
    ("the operator panicked at the sight of it", "except PanicException as panic:"),
    "Rust: std::panicking, and PyO3: tokenizers, safetensors, polars",
    category=USER,
    also=(FRAMEWORK, Category.DEPENDENCY),
)
PYTHON.add(
    "hydra",
    ROOT,
    ("error executing job with overrides",),
    r"Error executing job with overrides: ",
    ("Error executing job with overrides: ['trainer.num_nodes=4']",),
    ("executing job with overrides: []",),
    "Hydra: what it prints in front of the traceback of the program that it runs",
    category=USER,
    also=(FRAMEWORK, Category.DEPENDENCY),
    weak=True,
)

SIGNATURES = PYTHON.signatures()
