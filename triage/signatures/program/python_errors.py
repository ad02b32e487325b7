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
from triage.signatures.family import CONSEQUENCE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

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
    "segmentation fault": (ROOT, Category.SOFTWARE_FRAMEWORK),
}


def worker_end(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A worker that vanished, by its signal; without one, most often memory."""
    fields = {"worker_pid": match["worker_pid"]}
    if match["signal_name"] is None:
        return Reading(category=Category.HOST_OOM, weak=True, fields=fields)
    name = match["signal_name"].strip().lower()
    role, category = WORKER_ENDS.get(name, (CONSEQUENCE, None))
    return Reading(role=role, category=category, fields=fields)


FATAL = {
    "segmentation fault": (ROOT, Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER,)),
    "bus error": (ROOT, Category.HOST_OOM, (Category.SOFTWARE_FRAMEWORK,)),
    "illegal instruction": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_FRAMEWORK, Category.CPU)),
}


def fatal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The report of faulthandler, by its signal; an abort has its reason in other lines."""
    role, category, also = FATAL.get(match["why"].lower(), (CONSEQUENCE, None, ()))
    return Reading(role=role, category=category, also=also)


PYTHON = Family("python", Kind.PYTHON)

PYTHON.noise(
    "ignored",
    r"^Exception ignored (?:in|on|while)\b",
    literals=("exception ignored ",),
    matches=(
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1a2b3c4d50>",
        "Exception ignored in atexit callback: <function dump_compile_times at 0x7f0a>",
    ),
    near_misses=("the exception ignored the message",),
    source=BUILTIN,
    each=True,
)
PYTHON.root(
    "data_worker",
    r"DataLoader worker \(pid(?:\(s\))? (?P<worker_pid>[\d, ]{1,200})\)"
    r" (?:is killed by signal: (?P<signal_name>[A-Z][a-z]+(?: [a-z]+)?)|exited unexpectedly)",
    literals=("dataloader worker (pid",),
    matches=(
        "RuntimeError: DataLoader worker (pid 69228) is killed by signal: Killed. ",
        "RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is possible"
        " that dataloader's workers are out of shared memory.",
        "RuntimeError: DataLoader worker (pid(s) 812, 813) exited unexpectedly",
    ),
    near_misses=("DataLoader worker (pid 8) started",),
    source="PyTorch: utils/data/dataloader.py",
    category=Category.HOST_OOM,
    read=worker_end,
)
PYTHON.root(
    "shared_memory",
    r"Unexpected bus error encountered in worker|unable to open shared memory object"
    r"|unable to (?:mmap|write|resize|open)\b.{0,80}? file </torch_|[Ii]nsufficient shared memory"
    r" \(shm\)|are out of shared memory",
    literals=(
        "unexpected bus error encountered in worker",
        "unable to open shared memory object",
        "from file </torch_",
        "to file </torch_",
        "out of shared memory",
        "insufficient shared memory (shm)",
    ),
    matches=(
        "RuntimeError: unable to mmap 2147483648 bytes from file </torch_44_12>: Cannot allocate"
        " memory (12)",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by shm.",
    ),
    near_misses=("shared memory object opened",),
    source="PyTorch: utils/data",
    category=Category.HOST_OOM,
)
PYTHON.root(
    "host_memory",
    r"can't allocate memory: you tried to allocate|not enough memory: you tried to allocate"
    r"|\[Errno 12\] Cannot allocate memory|std::bad_alloc|ArrayMemoryError"
    rf"|{BEFORE}MemoryError: |{ALONE}MemoryError\s*$"
    r"|\b(?:rank|worker|process|task|pid|container|trainer|pod)\b.{0,40}?\b(?:was |were |is "
    r"|been |got )"
    r"(?P<killed>OOM[- ]killed|killed by (?:the )?OOM)",
    literals=(
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
    matches=(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't"
        " allocate memory: you tried to allocate 4096 bytes. Error code 12",
        "OSError: [Errno 12] Cannot allocate memory",
        "MemoryError: Unable to allocate 3.2 GiB for an array",
        "MemoryError",
        "ERROR worker 3 was OOM-killed by the kernel",
    ),
    near_misses=(
        "except MemoryError as error:",
        "if a worker was OOM-killed, look at the node's memory",
    ),
    source=BUILTIN,
    category=Category.HOST_OOM,
    read=lambda match, _after: (
        None
        if match["killed"]
        and re.search(r"\b(?:may|might|possibl\w+|potential\w*|could|if|likely)\b", match.string)
        else Reading()
    ),
)
PYTHON.consequence(
    "fatal",
    r"Fatal Python error: (?P<why>Segmentation fault|Aborted|Bus error|Illegal instruction"
    r"|Floating point exception)",
    literals=("fatal python error: ",),
    matches=("Fatal Python error: Segmentation fault", "Fatal Python error: Aborted"),
    near_misses=("Fatal Python error: none",),
    source="Python: faulthandler",
    read=fatal,
)
PYTHON.root(
    "resource_limit",
    r"\[Errno 24\] Too many open files|received 0 items of ancdata|can't start new thread"
    r"|[Tt]hread creation failed|pthread_create failed",
    literals=(
        "[errno 24] too many open files",
        "received 0 items of ancdata",
        "can't start new thread",
        "pthread_create failed",
        "thread creation failed",
    ),
    matches=("OSError: [Errno 24] Too many open files", "RuntimeError: can't start new thread"),
    near_misses=("limit of open files: 1048576",),
    source=BUILTIN,
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
)
PYTHON.root(
    "ddp_reduction",
    r"Expected to have finished reduction in the prior iteration"
    r"|Expected to mark a variable ready only once"
    r"|did not receive grad for rank (?P<rank>\d{1,7})",
    literals=(
        "expected to have finished reduction",
        "mark a variable ready only once",
        "did not receive grad for rank",
    ),
    matches=(
        "RuntimeError: Expected to have finished reduction in the prior iteration before starting"
        " a new one.",
        "Parameter indices which did not receive grad for rank 3: 7 8",
    ),
    near_misses=("finished reduction in 3 ms",),
    source="PyTorch: reducer.cpp",
    category=Category.SOFTWARE_USER,
)
PYTHON.root(
    "missing_library",
    r"undefined symbol: ?\S|cannot open shared object file|ModuleNotFoundError: |ImportError: "
    r"|version `[A-Z]{4,8}_[\d.]{1,12}' not found|PackageNotFoundError|VersionConflict"
    r"|operator torchvision::nms does not exist|only supports Ampere GPUs or newer"
    r"|DistributionNotFound",
    literals=(
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
    matches=(
        "ImportError: /opt/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        "ModuleNotFoundError: No module named 'apex'",
        "/lib/libc.so.6: version `GLIBC_2.34' not found (required by python)",
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ),
    near_misses=("raise ImportError(msg)",),
    source="Python: imports; the dynamic linker",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
    # NCCL and aws-ofi-nccl look for plugins that need not be there.
    read=lambda match, _after: (
        None
        if re.search(r"NCCL INFO|dlerror[=:]|NET/Plugin|Could not load dynamic", match.string)
        else Reading()
    ),
)
PYTHON.root(
    "nvml",
    r"Can't initialize NVML|NVMLError_?(?P<error>\w{0,40})",
    literals=("can't initialize nvml", "nvmlerror"),
    matches=(
        "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded",
        "UserWarning: Can't initialize NVML",
    ),
    near_misses=("import NVML error types",),
    source="pynvml",
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
    read=lambda match, _after: (
        Reading(category=Category.IO_BOARD, also=(Category.GPU,), weak=False)
        if (match["error"] or "").lower() == "gpuislost"
        else Reading()
    ),
)
PYTHON.root(
    "checkpoint_shape",
    r"Global shape mismatch for loaded|in loading state_dict for|size mismatch for \S"
    r"|Missing key in checkpoint|(?:Unexpected|Missing) key\(s\) in state_dict",
    literals=(
        "global shape mismatch for loaded",
        "loading state_dict for",
        "size mismatch for ",
        "missing key in checkpoint",
        "unexpected key(s) in state_dict",
        "missing key(s) in state_dict",
    ),
    matches=(
        "Global shape mismatch for loaded ((8, 4)) and expected ((16, 4)) tensor for key w",
        "RuntimeError: Error(s) in loading state_dict for GPT:",
    ),
    near_misses=("shapes match for loaded tensors",),
    source="PyTorch and Megatron-LM: checkpoint loading",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
)
PYTHON.root(
    "tensor_shape",
    r"shapes cannot be multiplied|The size of tensor a|[Ss]izes of tensors must match"
    r"|Expected all tensors to be on the same device|does not require grad and does not have"
    r"|is invalid for input of size|expected scalar type \w|backward through the graph a second"
    r"|modified by an inplace operation|index out of range in self"
    r"|each tensor to be equal size|to have scalar type \w",
    literals=(
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
    matches=(
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x8)",
        "RuntimeError: The size of tensor a (8) must match the size of tensor b (9)",
        "IndexError: index out of range in self",
    ),
    near_misses=("sizes of tensors are logged",),
    source=TORCH,
    category=Category.SOFTWARE_USER,
)
PYTHON.root(
    "compiler",
    r"INTERNAL ASSERT FAILED|torch\._(?:dynamo|inductor)\.exc\.\w+(?:Error|Failed|Exception)"
    r"|BackendCompilerFailed|triton\.compiler\.errors\.\w+Error|ptxas (?:error|fatal)"
    r"|triton\.runtime\.errors\.(?:OutOfResources|PTXASError|InterpreterError): ",
    literals=(
        "internal assert failed",
        "torch._dynamo.exc",
        "torch._inductor.exc",
        "backendcompilerfailed",
        "triton.compiler",
        "triton.runtime.errors",
        "ptxas error",
        "ptxas fatal",
    ),
    matches=(
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 232448",
        "RuntimeError: r INTERNAL ASSERT FAILED at alloc.cpp:812, please report a bug to PyTorch.",
        "torch._inductor.exc.InductorError: CompilationError: at 3:1",
    ),
    near_misses=("from torch._dynamo.exc import Unsupported",),
    source=TORCH,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.SOFTWARE_USER,),
)
PYTHON.root(
    "heap",
    r"double free or corruption|free\(\): invalid|malloc\(\): (?:corrupted|invalid|unsorted)"
    r"|munmap_chunk\(\): invalid|corrupted size vs\. prev_size|corrupted double-linked list"
    r"|stack smashing detected"
    r"|pure virtual method called",
    literals=(
        "double free or corruption",
        "free(): invalid",
        "malloc(): ",
        "munmap_chunk(): invalid",
        "corrupted size vs. prev_size",
        "corrupted double-linked list",
        "stack smashing detected",
        "pure virtual method called",
    ),
    matches=("double free or corruption (!prev)", "malloc(): corrupted top size"),
    near_misses=("malloc(): hook installed",),
    source="glibc: malloc",
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.SOFTWARE_USER, Category.HOST_MEMORY, Category.CPU),
)
PYTHON.root(
    "service",
    r"(?:requests|urllib3|mlflow)\.exceptions\.\w{3,40}(?:Error|Timeout|Exception)\b"
    r"|wandb\.(?:errors|sdk\.lib)\.[\w.]{1,60}Error|huggingface_hub\.[\w.]{1,60}Error"
    r"|aiohttp\.client_exceptions\.\w{3,40}|HfHubHTTPError|LocalEntryNotFoundError",
    literals=(
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
    matches=(
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub', port=443): Max"
        " retries exceeded",
        "wandb.errors.CommError: Run initialization has timed out after 90.0 sec.",
    ),
    near_misses=("import requests.exceptions.",),
    source="services outside the job",
    category=Category.DEPENDENCY,
    also=(Category.STORAGE, Category.SOFTWARE_USER),
    weak=True,
)
PYTHON.consequence(
    "connection",
    rf"{BEFORE}{CLOSED}: |{ALONE}{CLOSED}\s*$"
    r"|(?:RuntimeError: |what\(\): {1,4})(?:Transport endpoint is not connected"
    r"|Connection timed out|Connection reset by peer|Broken pipe|Socket Timeout"
    r"|Connection closed by)",
    literals=(
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
    matches=(
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "torch.distributed.DistNetworkError: failed to recv",
        "RuntimeError: Socket Timeout",
        "  what():  Transport endpoint is not connected",
        "EOFError",
    ),
    near_misses=("    except EOFError:", "raise ConnectionResetError"),
    source=BUILTIN,
    blame=Blame.PEER,
)
PYTHON.consequence(
    "connection_told",
    r"\b(?P<word>rank|peer) (?P<end>\d{1,7}|[\w.:-]{4,128}?)(?:<\d{1,5}>| \([^()]{1,80}\))?:? {0,2}"
    r"(?:connection (?:was )?(?:closed|reset|lost)|closed the connection)"
    r"|\b[Ll]ost connection to (?:rank|peer)|\bconnection (?:closed|reset) by remote (?:host|end"
    r"|process)"
    r"|StatusCode\.UNAVAILABLE",
    literals=(
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
    matches=(
        "requests to rank 7 (10.0.0.7:5555): connection closed by remote host",
        "NCCL WARN bootstrapRecv: peer 10.0.0.7<41000> closed the connection",
        "grpc._channel._MultiThreadedRendezvous: StatusCode.UNAVAILABLE Socket closed",
    ),
    near_misses=(
        "sshd[12]: Connection closed by remote host [preauth]",
        "peer 10.0.0.7 closed the connection, retrying",
        "client closed the connection",
    ),
    source="programs that speak of the other end of a connection",
    blame=Blame.PEER,
    read=lambda match, _after: (
        None
        if re.search(r"retry|retries|reconnect|preauth|\bsshd\b", match.string, re.IGNORECASE)
        else Reading(
            peer=None
            if match["end"] is None
            else f"rank {match['end']}"
            if match["word"].lower() == "rank"
            else match["end"]
        )
    ),
)
PYTHON.root(
    "missing_file",
    rf"{BEFORE}(?:FileNotFound|Permission|IsADirectory|NotADirectory)Error: ",
    literals=(
        "filenotfounderror: ",
        "permissionerror: ",
        "isadirectoryerror: ",
        "notadirectoryerror: ",
    ),
    matches=(
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/part-7.bin'",
        "PermissionError: [Errno 13] Permission denied: '/ckpt/last'",
    ),
    near_misses=("except FileNotFoundError:",),
    source=BUILTIN,
    category=Category.SOFTWARE_USER,
    also=(Category.STORAGE, Category.DEPENDENCY),
)
PYTHON.root(
    "does_not_fit",
    rf"{BEFORE}(?:Runtime|Value|OS|Environment|Import|Assertion|NotImplemented|Attribute|Type)?"
    r"(?:Error|Exception): .{0,240}?(?:[Ff]ailed to import [\w.]{2,120}|mismatches the version"
    " that was"
    r"|[Pp]lease (?:install|upgrade|update|reinstall)\b|pip install |\bis not installed\b"
    r"|\b[Ii]ncompatible version|\bversion mismatch\b|version is not compatible|[Nn]o valid"
    " installation"
    r" of|(?:[Ff]ailed|[Uu]nable) to load plugin|[Cc]ould not load (?:dynamic )?library)",
    literals=(
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
    matches=(
        "RuntimeError: Failed to import transformers.models.llama.modeling_llama because of the"
        " following error (look up to see its traceback):",
        "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to"
        " compile PyTorch (12.1). Please make sure to use the same CUDA versions.",
        "ValueError: FlashAttention2 cannot be used: the package flash_attn is not installed",
        "RuntimeError: Failed to load plugin 'libfoo_tuner.so'",
    ),
    near_misses=(
        "WARNING: triton is not installed, please install it to be faster",
        "pip install torch",
    ),
    source="packages that do not fit each other, in the words of an exception",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
)
PYTHON.root(
    "attribute",
    rf"{BEFORE}AttributeError: (?P<module>(?:partially initialized )?module )?",
    literals=("attributeerror: ",),
    matches=(
        "AttributeError: module 'torch.distributed' has no attribute 'tensor'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
    ),
    near_misses=("except AttributeError as e: pass",),
    source=BUILTIN,
    category=Category.SOFTWARE_USER,
    also=(Category.DEPENDENCY,),
    read=lambda match, _after: (
        Reading(category=Category.DEPENDENCY, also=(Category.SOFTWARE_USER,))
        if match["module"]
        else Reading()
    ),
)
PYTHON.root(
    "user_code",
    rf"{BEFORE}(?P<type>(?:Value|Key|Index|Type|Name|ZeroDivision|UnboundLocal|Syntax|Indentation"
    r"|Recursion|FileExists|UnicodeDecode|JSONDecode|Overflow|FloatingPoint|Validation"
    r"|ConfigAttribute|ConfigKey|YAML)Error|HydraException|MisconfigurationException): "
    rf"|{BEFORE}(?:AssertionError|NotImplementedError|StopIteration): "
    rf"|{ALONE}(?P<bare>AssertionError|NotImplementedError|StopIteration)\s*$"
    r"|error: unrecognized arguments|\.py: error: (?:the following arguments|argument )",
    literals=(
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
    matches=(
        "ValueError: too many values to unpack (expected 2)",
        "KeyError: 'input_ids'",
        r'{"message": "Traceback (most recent):\n  File \\"t.py\\", line 3\nKeyError: 7"}',
        "AssertionError",
        "AssertionError: hidden size 12 is not divisible by 8",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for Config",
        "train.py: error: unrecognized arguments: --lrr",
    ),
    near_misses=("    raise ValueError(f'bad {x}')", "    except KeyError as error:"),
    source=BUILTIN,
    category=Category.SOFTWARE_USER,
)
PYTHON.consequence(
    "others_ended",
    rf"{BEFORE}(?:Runtime|Worker\w{{0,20}}|Engine\w{{0,20}}|Actor\w{{0,20}}|Executor\w{{0,20}})?"
    r"(?:Error|Exception): (?:.{0,60}?\b(?:[Ww]orkers?|[Rr]anks?|[Pp]rocess(?:es)?|[Pp]eers?"
    r"|[Aa]ctors?"
    r"|[Tt]asks?|[Ee]ngine|[Cc]hild(?:ren)?|[Ss]ubprocess(?:es)?|[Jj]ob|[Rr]emote)\b.{0,60}?\b(?:died|"
    r"is dead|are dead|exited|failed|terminated|killed|lost|is gone|crashed|aborted|disconnected|"
    r"unreachable|not responding|did not respond|stopped responding)\b"
    r"|(?:[Uu]nknown )?(?:[Ff]ailed|[Ff]ailure|[Ee]rror|[Uu]nknown|None)\.?\s*$"
    r"|(?:Operation )?(?:[Tt]imed? ?out|[Tt]imeout)\b|[Cc]ancell?ed\b|[Aa]borted\b"
    r"|[Ii]nterrupted\b)",
    literals=("runtimeerror: ", "exception: ", "error: "),
    matches=(
        "RuntimeError: Worker failed with error, see the traceback above",
        "Exception: rank 3 exited, stopping the others",
        "RuntimeError: Timed out waiting for the other ranks",
        "WorkerError: peer 10.0.0.3 is gone",
        "RuntimeError: failed",
    ),
    near_misses=(
        "RuntimeError: the schedule has no micro-batches left",
        "WARNING: worker 3 exited",
        "ValueError: 3 ranks failed the check of divisibility",
    ),
    source="exceptions that say that something else ended first",
    blame=Blame.NOBODY,
    traits=(Trait.GENERIC,),
)
PYTHON.root(
    "runtime_error",
    rf"{BEFORE}(?:RuntimeError|Exception): (?P<message>\S.{{0,200}})|\bCheck failed: ",
    literals=("runtimeerror: ", "check failed: ", " exception: "),
    matches=("RuntimeError: the schedule has no micro-batches left",),
    near_misses=("    raise RuntimeError(message)",),
    source=BUILTIN,
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK,),
    weak=True,
)
# Exceptions of well-known packages that are not called an error.
OTHER_ENDINGS = (
    "OutOfResources",
    "ArrowInvalid",
    "TimeoutExpired",
    "BrokenProcessPool",
    "BrokenExecutor",
    "BadZipFile",
    "DoesNotExist",
)
PYTHON.root(
    "own_exception",
    r"(?:^\s{0,4}|[\])]:? )(?!LustreError|pyo3_runtime)(?-i:(?:[a-z_]\w{0,60}\.){0,8}"
    rf"(?P<type>[A-Z]\w{{0,80}}(?:Error|Exception)|{'|'.join(OTHER_ENDINGS)})"
    r": (?P<message>\S.{0,200}))",
    literals=("error: ", "exception: ", *(f"{name.lower()}: " for name in OTHER_ENDINGS)),
    matches=(
        "mylib.errors.ShardMismatchError: shard 3 has another length than its index says",
        "LedgerError: the sampler came to the end twice",
        "pyarrow.lib.ArrowInvalid: Column data for field 3 with type large_string is inconsistent",
    ),
    near_misses=(
        "    raise ShardMismatchError(f'shard {x}')",
        "step 12: ShardMismatchError: 3 shards were skipped",
        "Error: see the log of the launcher",
        "[2026-01-01 00:00:00] retries after: SlowDownError: 503",
        "cublasLtError: none",
    ),
    source="classes that a package or the training code defines itself",
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
    weak=True,
)
PYTHON.root(
    "rust_panic",
    r"\bthread '[^'\n]{1,80}' (?:\(\d{1,10}\) )?panicked at |\bpyo3_runtime\.PanicException: ",
    literals=("panicked at ", "pyo3_runtime.panicexception"),
    matches=(
        "thread '<unnamed>' panicked at src/models/bpe/model.rs:12:9:",
        "thread '<unnamed>' panicked at 'no entry found for key', src/lib.rs:88:13",
        "thread 'main' (4711) panicked at src/lib.rs:88:13:",
    ),
    near_misses=("the operator panicked at the sight of it", "except PanicException as panic:"),
    source="Rust: std::panicking, and PyO3: tokenizers, safetensors, polars",
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
)
PYTHON.root(
    "hydra",
    r"Error executing job with overrides: ",
    literals=("error executing job with overrides",),
    matches=("Error executing job with overrides: ['trainer.num_nodes=4']",),
    near_misses=("executing job with overrides: []",),
    source="Hydra: what it prints in front of the traceback of the program that it runs",
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
    weak=True,
)

SIGNATURES = PYTHON.signatures()
