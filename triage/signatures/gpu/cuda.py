"""What the CUDA runtime, cuBLAS and cuDNN say of a GPU, whoever passes their words on.

The words are matched, not the wrapper: PyTorch, NCCL, TensorFlow and the watchdog quote the same
texts. CUDA reports asynchronously: the process is right, the place in the program may be wrong. An
uncorrectable ECC error is said without its memory, so HBM is never told from SRAM here. An illegal
access or a launch failure is most often a program's fault and sometimes a GPU's: weak.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.signatures.load import load
from triage.signatures.signature import Reading


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


_NOT_STARTED = (Category.IO_BOARD, Category.GPU)

# cudaError_t and CUresult, which agree on these since CUDA 10.1:
# number -> category, what else it may be, weak.
_NUMBERED: dict[int, tuple[Category | None, tuple[Category, ...], bool]] = {
    2: (Category.GPU_OOM, (), False),
    3: (Category.DEPENDENCY, _NOT_STARTED, True),
    46: (Category.GPU, (Category.DEPENDENCY,), True),
    100: (Category.DEPENDENCY, _NOT_STARTED, True),
    101: (Category.DEPENDENCY, (*_NOT_STARTED, Category.SOFTWARE_USER), True),
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
    999: (Category.DEPENDENCY, (*_NOT_STARTED, Category.SOFTWARE_FRAMEWORK), True),
}
# CUDA does not start the GPU: a GPU that is gone explains these.
_STARTING = frozenset({3, 46, 100, 101, 999})


def by_number(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """What the number means; None for one that is not an error of a GPU or a driver."""
    known = _NUMBERED.get(int(match["cuda_code"]))
    if known is None:
        return None
    category, also, weak = known
    traits = frozenset({Trait.GPU_NOT_STARTED}) if int(match["cuda_code"]) in _STARTING else None
    return Reading(category=category, also=also, weak=weak, traits=traits)


SIGNATURES = load(__name__)
