"""What the CUDA runtime, cuBLAS and cuDNN say of a GPU, whoever passes their words on.

The words are matched, not the wrapper: PyTorch, NCCL, TensorFlow and the
watchdog quote the same texts. CUDA reports asynchronously: the process is right,
the place in the program may be wrong. An uncorrectable ECC error is said without
its memory, so HBM is never told from SRAM here. An illegal access or a launch
failure is most often a program's fault and sometimes a GPU's: weak.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

RUNTIME = "CUDA Runtime API: cudaError_t"
NVIDIA_LIBRARIES = "cuBLAS and cuDNN: status codes"


def out_of_memory(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The size that was asked for; what no machine has is a broken number and no need."""
    if "more than 1EB" in match.string:
        return Reading(
            category=Category.SOFTWARE_FRAMEWORK, also=(Category.SOFTWARE_USER,), weak=True
        )
    size = re.search(r"Tried to allocate ([\d.]+ [KMGT]iB)", match.string)
    fields = {} if size is None else {"tried": size[1]}
    # GPU 0 may be any: of a process that sees one GPU alone it is the first.
    gpu = re.search(r"\bGPU ([1-9]\d?) has a total capacity", match.string)
    return Reading(fields=fields if gpu is None else {**fields, "cuda_device": gpu[1]})


NOT_STARTED = (Category.IO_BOARD, Category.GPU)

# cudaError_t and CUresult, which agree on these since CUDA 10.1:
# number -> category, what else it may be, weak.
NUMBERED: dict[int, tuple[Category | None, tuple[Category, ...], bool]] = {
    2: (Category.GPU_OOM, (), False),
    3: (Category.DEPENDENCY, NOT_STARTED, True),
    46: (Category.GPU, (Category.DEPENDENCY,), True),
    100: (Category.DEPENDENCY, NOT_STARTED, True),
    101: (Category.DEPENDENCY, (*NOT_STARTED, Category.SOFTWARE_USER), True),
    209: (Category.DEPENDENCY, (), False),
    214: (Category.GPU_HBM, (Category.GPU_SRAM,), False),
    220: (Category.NVLINK, (), False),
    222: (Category.DEPENDENCY, (), False),
    700: (Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER, Category.GPU), True),
    702: (Category.SOFTWARE_FRAMEWORK, (Category.GPU,), True),
    710: (Category.SOFTWARE_USER, (), False),
    714: (Category.GPU, (Category.SOFTWARE_FRAMEWORK,), True),
    715: (Category.GPU, (Category.SOFTWARE_FRAMEWORK,), True),
    716: (Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER, Category.GPU), True),
    718: (Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER, Category.GPU), True),
    719: (None, (), True),
    721: (Category.NVLINK, (Category.GPU, Category.GPU_HBM), True),
    802: (Category.NVLINK, (Category.DEPENDENCY,), True),
    803: (Category.DEPENDENCY, (), False),
    804: (Category.DEPENDENCY, (), False),
    999: (Category.DEPENDENCY, (*NOT_STARTED, Category.SOFTWARE_FRAMEWORK), True),
}
# CUDA does not start the GPU: a GPU that is gone explains these.
STARTING = frozenset({3, 46, 100, 101, 999})


def by_number(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """What the number means; None for one that is not an error of a GPU or a driver."""
    known = NUMBERED.get(int(match["cuda_code"]))
    if known is None:
        return None
    category, also, weak = known
    traits = frozenset({Trait.GPU_NOT_STARTED}) if int(match["cuda_code"]) in STARTING else None
    return Reading(category=category, also=also, weak=weak, traits=traits)


CUDA = Family("cuda", Kind.CUDA, source=RUNTIME)

CUDA.root(
    "ecc_uncorrectable",
    r"uncorrectable ECC(?: error)? (?:encountered|detected)|CUDA_ERROR_ECC_UNCORRECTABLE"
    r"|cudaErrorECCUncorrectable|double[- ]bit ECC error"
    r"|hipErrorECCNotCorrectable",
    literals=(
        "uncorrectable ecc",
        "ecc_uncorrectable",
        "cudaerroreccuncorrectable",
        "hiperroreccnotcorrectable",
        "double bit ecc",
        "double-bit ecc",
    ),
    matches=(
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "cuda runtime error (39) : uncorrectable ECC error encountered at X.cpp:31",
        "enc.cc:88 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'",
        "Internal: failed call to cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE: see log",
    ),
    near_misses=(
        "Volatile Uncorr. ECC counters were reset",
        "uncorrectable NVLink error detected",
    ),
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
)
CUDA.root(
    "nvlink_uncorrectable",
    r"uncorrectable NVLink error|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable",
    literals=("uncorrectable nvlink", "nvlink_uncorrectable", "cudaerrornvlinkuncorrectable"),
    matches=(
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
        "proxy.cc:90 NCCL WARN Cuda failure 220 'uncorrectable NVLink error detected during"
        " the execution'",
    ),
    near_misses=("nvlink_uncorrected counter: 0",),
    category=Category.NVLINK,
)
CUDA.root(
    "peer_access_error",
    r"Invalid access of peer GPU memory over nvlink|cudaErrorContained",
    literals=("peer gpu memory over nvlink", "cudaerrorcontained", "cudaerrormpsrpcfailure"),
    matches=(
        "CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error",
        "CUDA failure 721: cudaErrorContained",
    ),
    near_misses=("peer GPU memory over nvlink is enabled",),
    category=Category.NVLINK,
    also=(Category.GPU, Category.GPU_HBM, Category.SOFTWARE_FRAMEWORK),
    weak=True,
)
CUDA.root(
    "fabric_not_ready",
    r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady"
    r"|runtime error \(802\)",
    literals=(
        "system not yet initialized",
        "cuda_error_system_not_ready",
        "cudaerrorsystemnotready",
        "runtime error (802)",
    ),
    matches=(
        "RuntimeError: cuda runtime error (802) : system not yet initialized at THC.cpp:50",
        "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 802: system"
        " not yet initialized (Triggered internally at CUDAFunctions.cpp:108.)",
    ),
    near_misses=("runtime error (803) : another text",),
    category=Category.NVLINK,
    # The fabric manager does not run, or is of another version: of the part it says nothing.
    also=(Category.DEPENDENCY,),
    weak=True,
)
CUDA.root(
    "device_assert",
    r"device-side assert(?:ion)? (?:triggered|trapped)|cudaErrorAssert\b|CUDA_ERROR_ASSERT\b"
    r"|Assertion `?srcIndex < srcSelectDimSize",
    literals=(
        "device-side assert",
        "cudaerrorassert",
        "cuda_error_assert",
        "srcindex < srcselectdimsize",
    ),
    matches=(
        "RuntimeError: CUDA error: device-side assert triggered",
        "../aten/src/ATen/native/cuda/Indexing.cu:99: indexSelectLargeIndex: block: [7,0,0],"
        " thread: [3,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
    ),
    near_misses=("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",),
    category=Category.SOFTWARE_USER,
)
CUDA.root(
    "kernel_assert",
    r"block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] Assertion",
    literals=("] assertion `", "t >= 0 && t < n_classes"),
    matches=(
        "Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread:"
        " [5,0,0] Assertion `t >= 0 && t < n_classes` failed.",
    ),
    near_misses=("[step 4] assertion `loss is finite` holds",),
    source="PyTorch: CUDA_KERNEL_ASSERT",
    category=Category.SOFTWARE_USER,
)
CUDA.root(
    "out_of_memory",
    r"(?:Error: |\] |^\s{0,40})(?:CUDA|HIP) out of memory"
    r"|(?:CUDA|HIP) out of memory[.:] Tried"
    r"|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
    r"|cudaErrorMemoryAllocation|Cuda failure (?:2 )?'out of memory'"
    r"|Failed to CUDA (?:host )?(?:calloc|malloc)|runtime error \(2\) : out of memory"
    r"|CU(?:BLAS|DNN|SOLVER)_STATUS_ALLOC_FAILED|CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"
    r"|hipErrorOutOfMemory|HIP error: out of memory|CUDA driver error: out of memory"
    r"|No available memory for the cache blocks"
    r"|RESOURCE_EXHAUSTED: (?:Out of memory|OOM)"
    r"|would exceed allowed memory\. \(out of memory\)|\bOOM when allocating tensor with"
    " shape"
    r"|Failed to allocate request for .{1,60}? on device ordinal|(?:NPU|XPU) out of"
    r" memory\."
    r"|MPS backend out of memory|PT_DEVMEM .{0,20}?Allocation failed"
    r"|\(GPU_\d{1,3}_bfc\) ran out of memory trying to allocate"
    r"|Out of memory while trying to allocate \d|HSA_STATUS_ERROR_OUT_OF_RESOURCES: ",
    literals=(
        "cuda out of memory",
        "cuda error: out of memory",
        "cuda_error_out_of_memory",
        "cudaerrormemoryallocation",
        "'out of memory'",
        "failed to cuda calloc",
        "hip out of memory",
        "runtime error (2) : out of memory",
        "cublas_status_alloc_failed",
        "cudnn_status_alloc_failed",
        "cusolver_status_alloc_failed",
        "cusparse_status_insufficient_resources",
        "hiperroroutofmemory",
        "hip error: out of memory",
        "cuda driver error: out of memory",
        "no available memory for the cache blocks",
        "failed to cuda malloc",
        "resource_exhausted: out of memory",
        "resource_exhausted: oom",
        "would exceed allowed memory. (out of memory)",
        "oom when allocating tensor",
        "failed to allocate request for",
        "npu out of memory",
        "xpu out of memory",
        "mps backend out of memory",
        "module:pt_devmem",
        "ran out of memory trying to allocate",
        "hsa_status_error_out_of_resources",
        "'cudamalloc' failed",
        "out of memory while trying to allocate",
    ),
    matches=(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a"
        " total capacity of 79.10 GiB of which 1.06 GiB is free.",
        "include/alloc.h:41 NCCL WARN Cuda failure 2 'out of memory'",
        "include/alloc.h:64 NCCL WARN Failed to CUDA calloc 4194304 bytes",
        "ValueError: No available memory for the cache blocks. Try a larger utilization.",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(h)",
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of"
        " memory)",
        "ResourceExhaustedError: OOM when allocating tensor with shape[8,16]",
        "Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0",
        "HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary"
        " resources. Code: 0x1008 Available Free mem : 0 MB",
        "RuntimeError: FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1073741824",
    ),
    near_misses=(
        "out of memory handler was installed",
        "how do I fix CUDA out of memory",
        "max_split_size_mb helps when CUDA memory is fragmented",
    ),
    source="PyTorch: CUDACachingAllocator; NCCL: alloc.h; vLLM: cache planning",
    category=Category.GPU_OOM,
    read=out_of_memory,
)
CUDA.root(
    "illegal_address",
    r"illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|cudaErrorIllegalAddress"
    r"|CUDA error: misaligned address|Cuda failure (?:\d+ )?'misaligned address"
    r"|cudaErrorMisalignedAddress|invalid program counter"
    r"|operation not supported on global/shared address space|hipErrorIllegalAddress"
    r"|Memory access fault by GPU node-(?P<agent>\d{1,4})"
    r"|HSA_STATUS_ERROR_(?:MEMORY_(?:APERTURE_VIOLATION|FAULT)|ILLEGAL_INSTRUCTION|INVALID_\w{3,40})",
    literals=(
        "illegal memory access",
        "cuda_error_illegal_address",
        "cudaerrorillegaladdress",
        "misaligned address",
        "cudaerrormisalignedaddress",
        "invalid program counter",
        "operation not supported on global/shared address space",
        "hiperrorillegaladdress",
        "memory access fault by gpu",
        "hsa_status_error_memory_",
        "hsa_status_error_illegal_instruction",
        "hsa_status_error_invalid_",
    ),
    matches=(
        "NCCL watchdog thread terminated with exception: CUDA error: an illegal memory access"
        " was encountered",
        "RuntimeError: CUDA error: misaligned address",
        "Cuda failure 700 'an illegal memory access was encountered'",
        "Memory access fault by GPU node-4 (Agent handle: 0x5601) on address 0x7f11. Reason:"
        " Unknown.",
        "Device::callbackQueue aborting with error :"
        " HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION:"
        " The agent attempted to access memory beyond the largest legal address. code: 0x29",
    ),
    near_misses=("compute-sanitizer finds an illegal memory access when one happens",),
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.SOFTWARE_USER, Category.GPU),
    weak=True,
)
CUDA.root(
    "illegal_instruction",
    r"an illegal instruction was encountered|cudaErrorIllegalInstruction"
    r"|CUDA_ERROR_ILLEGAL_INSTRUCTION|hardware stack error|cudaErrorHardwareStackError",
    literals=(
        "illegal instruction was encountered",
        "cudaerrorillegalinstruction",
        "cuda_error_illegal_instruction",
        "hardware stack error",
        "cudaerrorhardwarestackerror",
    ),
    matches=(
        "CUDA error: an illegal instruction was encountered",
        "CUDA error: hardware stack error",
    ),
    near_misses=("bash: line 3: 812 Illegal instruction (core dumped) python train.py",),
    category=Category.GPU,
    also=(Category.SOFTWARE_FRAMEWORK,),
    weak=True,
)
CUDA.root(
    "launch_failure",
    r"unspecified launch failure|hipErrorLaunchFailure|CUDA_ERROR_LAUNCH_FAILED"
    r"|cudaErrorLaunchFailure",
    literals=(
        "unspecified launch failure",
        "cuda_error_launch_failed",
        "cudaerrorlaunchfailure",
        "hiperrorlaunchfailure",
    ),
    matches=(
        "RuntimeError: CUDA error: unspecified launch failure",
        "OSError: (External) CUDA error(719), unspecified launch failure.",
        "failed to enqueue async memcpy: CUDA_ERROR_LAUNCH_FAILED: see the driver's log",
    ),
    near_misses=("launch failure policy: restart",),
    weak=True,
)
CUDA.root(
    "launch_timeout",
    r"the launch timed out and was terminated|cudaErrorLaunchTimeout|CUDA_ERROR_LAUNCH_TIMEOUT",
    literals=(
        "the launch timed out",
        "cudaerrorlaunchtimeout",
        "cuda_error_launch_timeout",
    ),
    matches=("RuntimeError: CUDA error: the launch timed out and was terminated",),
    near_misses=("the launch timed out waiting for nodes",),
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.GPU,),
    weak=True,
)
CUDA.root(
    "device_unavailable",
    r"(?:CUDA-capable devices are|CUDA-capable device\(s\) is/are) busy or unavailable"
    r"|cudaErrorDevices?Unavailable",
    literals=(
        "devices are busy or unavailable",
        "device(s) is/are busy or unavailable",
        "cudaerrordevicesunavailable",
        "cudaerrordeviceunavailable",
    ),
    matches=(
        "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
        "Cuda failure 46 'CUDA-capable device(s) is/are busy or unavailable'",
    ),
    near_misses=("all login nodes are busy or unavailable",),
    category=Category.GPU,
    also=(Category.DEPENDENCY,),
    weak=True,
    traits=(Trait.GPU_NOT_STARTED,),
)
CUDA.root(
    "no_device",
    r"hipErrorNoDevice|No HIP GPUs are available|no CUDA-capable (?:device|GPU)|No CUDA GPUs"
    r" are available|cudaErrorNoDevice"
    r"|CUDA_ERROR_NO_DEVICE",
    literals=(
        "no cuda-capable device",
        "no cuda gpus are available",
        "cudaerrornodevice",
        "cuda_error_no_device",
        "no cuda-capable gpu",
        "hiperrornodevice",
        "no hip gpus are available",
    ),
    matches=(
        "RuntimeError: No CUDA GPUs are available",
        "CUDA Error: no CUDA-capable device is detected",
    ),
    near_misses=("no CUDA graphs are captured",),
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
    traits=(Trait.GPU_NOT_STARTED,),
)
CUDA.root(
    "invalid_device",
    r"invalid device ordinal|cudaErrorInvalidDevice\b|CUDA_ERROR_INVALID_DEVICE\b",
    literals=("invalid device ordinal", "cudaerrorinvaliddevice", "cuda_error_invalid_device"),
    matches=(
        "RuntimeError: CUDA error: invalid device ordinal",
        "init.cc:77 NCCL WARN Cuda failure 101 'invalid device ordinal'",
    ),
    near_misses=("device ordinal 3 is valid",),
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER, Category.IO_BOARD, Category.GPU),
    traits=(Trait.GPU_NOT_STARTED,),
)
CUDA.root(
    "driver_mismatch",
    r"driver version is insufficient|Driver/library version mismatch"
    r"|NVIDIA driver on your system is too old|unsupported display driver"
    r"|forward compatibility was attempted|unsupported toolchain"
    r"|no kernel image is available for execution"
    r"|not supported in the installed CUDA driver|Found no NVIDIA driver on your system"
    r"|cudaErrorInsufficientDriver|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
    r"|Torch not compiled with CUDA enabled|device kernel image is invalid"
    r"|cudaErrorStubLibrary|CUDA_ERROR_STUB_LIBRARY|CUDA driver is a stub library"
    r"|cudaErrorCompatNotSupported|CUDA_ERROR_COMPAT_NOT_SUPPORTED|CUDA_ERROR_INVALID_IMAGE"
    r"|CUDA_ERROR_NO_BINARY_FOR_GPU|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|hipErrorNoBinaryForGpu",
    literals=(
        "driver version is insufficient",
        "driver/library version mismatch",
        "driver on your system is too old",
        "unsupported display driver",
        "forward compatibility was attempted",
        "unsupported toolchain",
        "no kernel image is available",
        "not supported in the installed cuda driver",
        "found no nvidia driver",
        "driver does not support",
        "cudaerrorinsufficientdriver",
        "cuda_error_system_driver_mismatch",
        "not compiled with cuda enabled",
        "api call is not supported in the installed",
        "device kernel image is invalid",
        "cudaerrorstublibrary",
        "cuda_error_stub_library",
        "cudaerrorcompatnotsupported",
        "cuda_error_compat_not_supported",
        "cuda_error_no_binary_for_gpu",
        "cuda_error_invalid_image",
        "cuda_error_unsupported_ptx_version",
        "hiperrornobinaryforgpu",
        "cuda driver is a stub library",
    ),
    matches=(
        "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
        "Failed to initialize NVML: Driver/library version mismatch",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "AssertionError: Torch not compiled with CUDA enabled",
    ),
    near_misses=("CUDA driver version 12040 is sufficient for runtime 12010",),
    category=Category.DEPENDENCY,
)
CUDA.root(
    "init_error",
    r"Cuda failure (?:3 )?'initialization error'|CUDA error: initialization error"
    r"|CUDA driver initialization failed|CUDA_ERROR_NOT_INITIALIZED"
    r"|cudaErrorInitializationError|CUDA unknown error - this may be due to"
    r"|OS call failed or operation not supported"
    r"|connection to the MPS server failed|exceed the limits? of the MPS server",
    literals=(
        "'initialization error'",
        "cuda error: initialization error",
        "cuda driver initialization failed",
        "cuda_error_not_initialized",
        "cudaerrorinitializationerror",
        "cuda unknown error",
        "os call failed or operation not supported",
        "the mps server",
    ),
    matches=(
        "init.cc:44 NCCL WARN Cuda failure 'initialization error'",
        "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.",
        "CUDA unknown error - this may be due to an incorrectly set up environment",
    ),
    near_misses=("weight initialization error bound 1e-3",),
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    traits=(Trait.GPU_NOT_STARTED,),
)
CUDA.root(
    "fork",
    r"Cannot re-initialize CUDA in forked subprocess",
    literals=("re-initialize cuda in forked",),
    matches=(
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with"
        " multiprocessing, you must use the 'spawn' start method",
    ),
    near_misses=("re-initialize CUDA in the parent",),
    source="PyTorch: torch.cuda",
    category=Category.SOFTWARE_USER,
)
CUDA.root(
    "library_not_initialized",
    r"CU(?:BLAS|DNN|SOLVER)_STATUS_NOT_INITIALIZED|Unable to find a valid cuDNN algorithm"
    r"|Unable to find an engine to execute this computation",
    literals=(
        "cublas_status_not_initialized",
        "cudnn_status_not_initialized",
        "cusolver_status_not_initialized",
        "unable to find a valid cudnn algorithm",
        "unable to find an engine to execute",
    ),
    matches=(
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling"
        " `cublasCreate(handle)`",
    ),
    near_misses=("CUBLAS_STATUS_SUCCESS",),
    source=NVIDIA_LIBRARIES,
    category=Category.GPU_OOM,
    also=(Category.DEPENDENCY, Category.SOFTWARE_USER),
    weak=True,
)
CUDA.root(
    "library_failure",
    r"CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_SUPPORTED|INVALID_VALUE)"
    r"|CUDNN_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)"
    r"|CUFFT_(?:EXEC_FAILED|INTERNAL_ERROR)",
    literals=(
        "cublas_status_execution_failed",
        "cublas_status_internal_error",
        "cublas_status_not_supported",
        "cublas_status_invalid_value",
        "cudnn_status_execution_failed",
        "cudnn_status_internal_error",
        "cudnn_status_mapping_error",
        "cufft_exec_failed",
        "cufft_internal_error",
    ),
    matches=(
        "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(`",
    ),
    near_misses=("CUDNN_STATUS_SUCCESS",),
    source=NVIDIA_LIBRARIES,
    weak=True,
)
CUDA.root(
    "library_version",
    r"cuDNN version incompatibility|CUDNN_STATUS_\w*VERSION_MISMATCH",
    literals=("cudnn version incompatibility", "cudnn_status_version_mismatch"),
    matches=(
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0)"
        " but found runtime version (8, 9, 2).",
    ),
    near_misses=("cudnn version 90100",),
    source=NVIDIA_LIBRARIES,
    category=Category.DEPENDENCY,
)
CUDA.consequence(
    "unloading",
    r"CUDA error: driver shutting down|cudaErrorCudartUnloading|context is destroyed",
    literals=("driver shutting down", "cudaerrorcudartunloading", "context is destroyed"),
    matches=("CUDA error: driver shutting down", "CUDA error: context is destroyed"),
    near_misses=("lustre driver shutting down",),
)
CUDA.root(
    "unknown",
    r"Cuda failure (?:999 )?'unknown error'|CUDA error: unknown error|CUDA error ?\(999\)"
    r"|CUDA_ERROR_UNKNOWN",
    literals=(
        "'unknown error'",
        "cuda error: unknown error",
        "cuda error (999)",
        "cuda_error_unknown",
    ),
    matches=("Cuda failure 999 'unknown error'", "RuntimeError: CUDA error: unknown error"),
    near_misses=("unknown error policy",),
    category=Category.DEPENDENCY,
    also=(*NOT_STARTED, Category.SOFTWARE_FRAMEWORK),
    weak=True,
    traits=(Trait.GPU_NOT_STARTED,),
)
CUDA.root(
    "invalid_argument",
    r"(?:CUDA|HIP) error: invalid (?:argument|resource handle|configuration argument"
    r"|device function|device context|pitch|symbol|texture|channel|value)"
    r"|too many resources requested for launch|not permitted when stream is capturing"
    r"|previous error during capture|CUDA_ERROR_INVALID_(?:VALUE|CONTEXT|HANDLE)"
    r"|cudaErrorInvalid(?:Value|Configuration)\b",
    literals=(
        "cuda error: invalid ",
        "hip error: invalid ",
        "too many resources requested for launch",
        "when stream is capturing",
        "previous error during capture",
        "cuda_error_invalid_value",
        "cuda_error_invalid_context",
        "cuda_error_invalid_handle",
        "cudaerrorinvalidvalue",
        "cudaerrorinvalidconfiguration",
        "peer mapping resources exhausted",
        "peer access is not supported between",
    ),
    matches=("RuntimeError: CUDA error: invalid argument",),
    near_misses=("error: invalid argument --lr",),
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.SOFTWARE_USER, Category.DEPENDENCY),
    weak=True,
)
CUDA.root(
    "hung",
    r"HW Exception by GPU node-(?P<agent>\d{1,4})|Device critical error|Device acquire failed"
    r"|synapse: Device (?:is )?lost"
    r"|HSA_STATUS_ERROR_EXCEPTION",
    literals=(
        "hw exception by gpu",
        "device critical error",
        "device acquire failed",
        "synapse: device ",
        "hsa_status_error_exception",
    ),
    matches=(
        "HW Exception by GPU node-3 (Agent handle: 0x55) reason :GPU Hang",
        "RuntimeError: synStatus=26 [Generic failure] Device critical error.",
        "synapse: Device acquire failed. No devices found.",
        "synStatus 8 [Device not found]. Device acquire failed.",
        "synapse: Device is lost (PCI 0000:1b:00.0)",
        "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code:"
        " 0x1016",
    ),
    near_misses=("the device was acquired",),
    source="ROCm: ROCr runtime; Gaudi: SynapseAI",
    category=Category.GPU,
    also=(Category.SOFTWARE_FRAMEWORK, Category.IO_BOARD),
    weak=True,
)
CUDA.root(
    "synapse_status",
    r"synStatus ?=? ?(?:synStatus )?[1-9]\d{0,3} \[(?P<status_text>[^\]]{1,80})\]",
    literals=("synstatus",),
    matches=(
        "RuntimeError: Graph compile failed. synStatus=synStatus 26 [Generic failure].",
        "RuntimeError: synNodeCreateWithId failed for node: batch_gemm with synStatus 26"
        " [Generic"
        " failure]. .",
    ),
    near_misses=("synStatus=0 [Success]",),
    source="Gaudi: SynapseAI",
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.SOFTWARE_USER, Category.GPU),
    weak=True,
)
CUDA.root(
    "numbered",
    r"\b(?:CUDA (?:runtime |driver |API )?(?:error|failure)(?: code)?|cudaError(?:_t)?"
    r"|CUresult) ?[:=(]? ?\(?(?P<cuda_code>\d{1,4})\b",
    literals=(
        "cuda error ",
        "cuda error: ",
        "cuda error(",
        "cuda error=",
        "cuda error code",
        "cuda runtime error ",
        "cuda driver error",
        "cudaerror_t",
        "cudaerror: ",
        "cuda failure ",
        "curesult",
    ),
    matches=(
        "ERROR: kernel launch failed with CUDA error 719",
        "cuda driver error: 700 in stream synchronize",
        "RuntimeError: CUDA error code=214",
    ),
    near_misses=("CUDA error 0 is success", "CUDA error: driver shutting down"),
    source=RUNTIME + ", by number",
    weak=True,
    read=by_number,
)

SIGNATURES = CUDA.signatures()
