"""What surrounds the program: images, containers, extensions, hubs, licences, commands.

A library that does not fit, a build that fails, a service that refuses: the job's
image or configuration, and no part of the node.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]


# The part that the container asks for is not there, or says nothing.
NO_DEVICE = re.compile(r"device error: |unknown device|no such device|nvml error: ", re.IGNORECASE)
MISFIT = re.compile(r"version mismatch|driver not loaded|unsatisfied condition", re.IGNORECASE)
NODE = re.compile(r"\bnode[= ]\"?([A-Za-z][\w.-]{0,250}\w)\b(?=[\",; ]|$)")


def container(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An image that does not fit, or a GPU that the node does not show."""
    text = match.string
    named = NODE.search(text)
    fields = {} if named is None else {"node": named[1]}
    if NO_DEVICE.search(text) is None or MISFIT.search(text) is not None:
        return Reading(fields=fields)
    return Reading(
        also=(Category.GPU, Category.IO_BOARD),
        traits=frozenset({Trait.GPU_NOT_STARTED}),
        fields=fields,
    )


ENVIRONMENT = Family("environment", Kind.DEPENDENCY, category=Category.DEPENDENCY)

ENVIRONMENT.root(
    "container",
    r"nvidia-container-cli: \w[\w ]{0,40}(?:error|failed)|OCI runtime create failed"
    r"|failed to create (?:shim|containerd) task|pyxis: (?:couldn't|could not|failed|error|child)"
    r"|enroot-\w{1,20}: (?:failed|command not found|error)|unsatisfied condition: \w"
    r"|\bexec format error|while running nvccli"
    r"|\bmanifest unknown\b|\bmanifest for \S{1,200} not found|pull access denied for",
    literals=(
        "nvidia-container-cli:",
        "oci runtime create failed",
        "failed to create shim task",
        "failed to create containerd task",
        "pyxis: ",
        "enroot-",
        "unsatisfied condition:",
        "exec format error",
        "apptainer: ",
        "while running nvccli",
        "manifest unknown",
        "manifest for ",
        "pull access denied",
    ),
    matches=(
        "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
        "container launch failed: nvidia-container-cli: device error: unknown device id: GPU-7d3f",
        "docker: Error response from daemon: failed to create shim task: OCI runtime create failed:"
        " unable to start container process",
        "slurmstepd: error: pyxis: couldn't start container",
        "enroot-mount: failed to mount: /x at /enroot",
        "exec /usr/bin/python: exec format error",
        "Error response from daemon: manifest for nvcr.io/x:24.01 not found: manifest unknown",
    ),
    near_misses=("pyxis: imported docker image", "nvidia-container-cli: version 1.14"),
    source="NVIDIA container toolkit, runc, pyxis, enroot",
    also=(Category.GPU, Category.STORAGE),
    read=container,
)
ENVIRONMENT.root(
    "command",
    r"(?:bash|sh|line \d{1,6}|zsh|execve\(\)|srun): (?:line \d{1,6}: )?[\w./-]{1,120}: command not"
    r" found|python[\d.]{0,6}: can't open file '|cannot execute: required file|bad interpreter: ",
    literals=(
        ": command not found",
        "can't open file '",
        "cannot execute: required file",
        "bad interpreter",
    ),
    matches=(
        "/bin/bash: line 1: torchrun: command not found",
        "/bin/bash: torchrun: command not found",
        "python: can't open file '/workspace/train.py': [Errno 2] No such file or directory",
    ),
    near_misses=("grep finds no ': command not found' in it",),
    source="shells and interpreters",
    also=(Category.SOFTWARE_USER,),
)
ENVIRONMENT.root(
    "extension_build",
    r"Error building extension '|'ninja', '-v'|CUDAMismatchException"
    r"|CUDA_HOME (?:environment variable is not set|does not exist)"
    r"|compiled with different CUDA major versions|RuntimeError: Numpy is not available"
    r"|compiled using NumPy 1\.x cannot be run|numpy\.dtype size changed|[Nn]inja is required to"
    r" load"
    r"|Distributed package doesn't have NCCL|is not compatible with the current PyTorch"
    r" installation"
    r"|Unable to JIT load the \w{1,40} op|was built with a different version of",
    literals=(
        "error building extension",
        "'ninja', '-v'",
        "cudamismatchexception",
        "cuda_home environment variable is not set",
        "cuda_home does not exist",
        "compiled with different cuda major versions",
        "numpy is not available",
        "compiled using numpy 1.x cannot be run",
        "numpy.dtype size changed",
        "ninja is required to load",
        "built for another python version",
        "distributed package doesn't have nccl",
        "rebuild pytorch with",
        "only supports sm_",
        "is not compatible with the current pytorch installation",
        "sm_120 is not compatible",
        "requires at least cuda",
        "failed to load library libonnx",
        "flash_attn is not installed",
        "unable to jit load the",
        "operator torch",
        "was built with a different version of",
    ),
    matches=(
        "RuntimeError: Error building extension 'fused_adam'",
        "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
        "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed"
        " CUDA version 12.4 does not match the version torch was compiled with 11.8",
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install"
        " root.",
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA"
        " major"
        " versions.",
        "RuntimeError: Distributed package doesn't have NCCL built in",
        "RuntimeError: Numpy is not available",
    ),
    near_misses=("ninja -v builds it", "rebuild pytorch with sm_90 next week"),
    source="PyTorch, DeepSpeed, NumPy: binaries that do not fit each other",
    also=(Category.SOFTWARE_USER,),
)
ENVIRONMENT.root(
    "hub",
    r"We couldn't connect to 'http|is not a valid model identifier listed|GatedRepoError: "
    r"|(?:Repository|Revision|(?<!Local)Entry)NotFoundError: |OfflineModeIsEnabled"
    r"|outgoing traffic has been disabled|Client Error: Too Many Requests for url"
    r"|Cannot access gated repo",
    literals=(
        "we couldn't connect to 'http",
        "is not a valid model identifier listed",
        "gatedrepoerror",
        "repositorynotfounderror",
        "revisionnotfounderror",
        "entrynotfounderror",
        "outgoing traffic has been disabled",
        "offlinemodeisenabled",
        "client error: too many requests for url",
        "cannot access gated repo",
    ),
    matches=(
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't"
        " find them in the cached files.",
        "OSError: org/model is not a local folder and is not a valid model identifier listed on"
        " 'https://huggingface.co/models'",
        "huggingface_hub.errors.GatedRepoError: 401 Client Error.",
    ),
    near_misses=("connected to 'https://huggingface.co'",),
    source="huggingface_hub, transformers",
    also=(Category.SOFTWARE_USER, Category.STORAGE),
)
ENVIRONMENT.root(
    "licence",
    r"[Ll]icen[cs]e checkout failed|[Nn]o licenses available|Licensed number of users already"
    r"|[Ll]icen[cs]e server .{0,60}?(?:down|unreach|not respond|fail|cannot)|[Ll]icen[cs]e has"
    r" expired|(?:[Ff]ailed|[Uu]nable) to acquire (?:a )?licen[cs]e",
    literals=(
        "license checkout failed",
        "no licenses available",
        "licensed number of users already",
        "license server",
        "license has expired",
        "failed to acquire license",
        "unable to acquire license",
        "failed to acquire a license",
        "unlicensed (unrestricted)",
    ),
    matches=(
        "flexlm: License checkout failed: no licenses available",
        "vGPU: Failed to acquire license",
    ),
    near_misses=("the license server is up", "License: MIT"),
    source="licence managers",
    blame=Blame.SHARED,
)
ENVIRONMENT.root(
    "process_group_set_up",
    r"(?P<part>is only supported with GPUs, no GPUs found)"
    r"|(?P<variable>environment variable (?:MASTER_ADDR|MASTER_PORT|RANK|WORLD_SIZE) expected)"
    r"|(?P<order>Default process group has not been initialized|initialize the default process"
    r" group twice)|ncclCommInitRank ?: invalid rank requested|Invalid config \w{1,40} attribute",
    literals=(
        "is only supported with gpus, no gpus found",
        "environment variable master_addr expected",
        "environment variable rank expected",
        "environment variable world_size expected",
        "environment variable master_port expected",
        "default process group has not been initialized",
        "initialize the default process group twice",
        "invalid rank requested",
        "invalid config ",
        "invalid backend: '",
    ),
    matches=(
        "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
        "ValueError: Error initializing torch.distributed using env:// rendezvous: environment"
        " variable MASTER_ADDR expected, but not set",
        "ValueError: Default process group has not been initialized, please make sure to call"
        " init_process_group.",
        "init.cc:1740 NCCL WARN Invalid config blocking attribute value -2147483648",
    ),
    near_misses=("the default process group has been initialized",),
    source="PyTorch: distributed_c10d.py, rendezvous.py; NCCL: init.cc",
    also=(Category.SOFTWARE_USER,),
    read=lambda match, _after: (
        Reading(also=(Category.IO_BOARD, Category.GPU), weak=True)
        if match["part"]
        else Reading(category=Category.SOFTWARE_USER, also=(Category.DEPENDENCY,))
        if match["order"]
        else Reading()
    ),
)

SIGNATURES = ENVIRONMENT.signatures()
