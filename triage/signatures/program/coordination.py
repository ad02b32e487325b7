"""JAX, XLA and TensorFlow: the coordination service, its barriers and rendezvous.

A barrier that timed out and a task without heartbeats are what the others see of a
task that is gone. The task that the words name is the one that did not come, by its
number, which is that of its process.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

SERVICE = "XLA: xla/tsl/distributed_runtime/coordination"
TASK = re.compile(r"/job:\w{1,40}(?:/replica:\d{1,6})?/task:(\d{1,7})")


def late_tasks(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The task that is named behind the words, where it is the only one."""
    named = list(dict.fromkeys(TASK.findall(" ".join((match.string[match.start() :], *after)))))
    if len(named) != 1:
        return Reading()
    return Reading(peer=f"rank {named[0]}", blame=Blame.PEER)


XLA = Family("xla", Kind.NCCL)

XLA.consequence(
    "barrier",
    r"Barrier timed out|DEADLINE_EXCEEDED: .{0,80}?(?:[Bb]arrier|RPC|heartbeat|connect|wait)"
    r"|Barrier failed because|GetKeyValue\(\) timed out",
    literals=(
        "barrier timed out",
        "deadline_exceeded: ",
        "barrier failed",
        "failed to pass the barrier",
    ),
    matches=(
        "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id:"
        " PjRT_Client_Connect::0. Some timed out task names:\n/job:jax_worker/replica:0/task:3",
        "INTERNAL: Barrier failed because some task(s) are in error",
    ),
    near_misses=("the barrier timed out option is 300 s",),
    source=SERVICE,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    context=6,
    traits=(Trait.TIMEOUT,),
    read=lambda match, after: None if "option" in match.string else late_tasks(match, after),
)
XLA.consequence(
    "task_lost",
    r"tasks? (?:are|is) unhealthy|stopped sending heartbeats"
    r"|distributed service detected fatal errors"
    r"|[Cc]oordination (?:service )?agent (?:is set to|in) (?:ERROR|error)|error from coordination"
    r" service|heartbeat timeout\. This indicates"
    r"|unexpectedly tried to connect while it is already|has been set to ERROR in coordination"
    r"|leader task was preempted/died/restarted|heartbeat to coordination"
    r"|[Ss]hutdown barrier in coordination service has",
    literals=(
        "stopped sending heartbeats",
        "distributed service detected fatal errors",
        "coordination agent is set to error",
        "coordination service agent in error",
        "error from coordination service",
        "heartbeat timeout. this indicates",
        "unexpectedly tried to connect while it is already",
        "has been set to error in coordination",
        "coordination service has stopped",
        "the leader task was preempted/died/restarted",
        "agent heartbeat failed",
        "failed to send heartbeat to coordination",
        "shutdown barrier in coordination service has",
    ),
    matches=(
        "Terminating process because the JAX distributed service detected fatal errors. This most"
        " likely indicates that another task died; see the other task logs for more details.",
        "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
        "/job:jax_worker/replica:0/task:3",
        "/job:jax_worker/task:3 has been set to ERROR in coordination service: UNAVAILABLE: Task"
        " /job:jax_worker/task:3 heartbeat timeout. This indicates that the remote task has"
        " failed, got preempted, or crashed unexpectedly.",
    ),
    near_misses=("the coordination service agent is connected",),
    source=SERVICE,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    context=6,
    read=late_tasks,
)
XLA.consequence(
    "rendezvous_stuck",
    r"Expected (?P<expected>\d{1,7}) threads to join the rendezvous, but "
    r"(?:only (?P<joined>\d{1,7}) of them|not all of them) arrived"
    r"|Termination timeout for .{0,300}? of \d{1,9} seconds exceeded",
    literals=("threads to join the rendezvous", "exiting to ensure a consistent program state"),
    matches=(
        "rendezvous.cc:90] [id=3] This thread has been waiting for `first call` for 20 seconds and"
        " may be stuck. Expected 8 threads to join the rendezvous, but not all of them arrived on"
        " time.",
        "Termination timeout for `AllReduce` of 40 seconds exceeded. Exiting to ensure a consistent"
        " program state. Expected 8 threads to join the rendezvous, but only 7 of them arrived on"
        " time.",
    ),
    near_misses=("all threads came to join the rendezvous",),
    source="XLA: xla/service/rendezvous.cc",
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    traits=(Trait.TIMEOUT,),
)
XLA.root(
    "backend",
    r"Unable to initialize backend '(?:cuda|gpu|rocm|tpu)'|No visible GPU devices",
    literals=(
        "unable to initialize backend",
        "no visible gpu devices",
        "no tpu devices were found",
    ),
    matches=(
        "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU"
        " devices.",
    ),
    near_misses=(
        "Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute",
    ),
    source="JAX: xla_bridge.py",
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
    traits=(Trait.GPU_NOT_STARTED,),
    read=lambda match, _after: (
        None if "has no attribute" in match.string or "libtpu" in match.string else Reading()
    ),
)
XLA.root(
    "algorithms_disagree",
    r"[Rr]esults mismatch between different (?:convolution|GEMM) algorithms"
    r"|[Rr]esults do not match the reference",
    literals=("results mismatch between different", "results do not match the reference"),
    matches=(
        "gemm_algorithm_picker.cc] Results mismatch between different GEMM algorithms. This is"
        " likely a bug/unexpected loss of precision.",
    ),
    near_misses=("results match between different algorithms",),
    source="XLA: autotuning",
    category=Category.NUMERICAL,
    also=(Category.SDC, Category.SOFTWARE_FRAMEWORK),
    weak=True,
)
XLA.consequence(
    "service_unreachable",
    r"failed to connect to all addresses|UNAVAILABLE: (?:Connection reset|Socket closed|recvmsg)",
    literals=(
        "failed to connect to all addresses",
        "unavailable: connection reset",
        "unavailable: socket",
    ),
    matches=(
        "ray.exceptions.RpcError: failed to connect to all addresses; last error: UNKNOWN:"
        " ipv4:10.0.0.2:6379: Failed to connect to remote host: Connection refused",
        "XlaRuntimeError: UNAVAILABLE: Connection reset by peer",
    ),
    near_misses=("connected to all addresses",),
    source="gRPC, as JAX, TensorFlow and Ray quote it",
    blame=Blame.STORE,
    traits=(Trait.RENDEZVOUS,),
)

# What XLA's status says, by its code; the messages behind it are those of many parts.
STATUS = {
    "UNAVAILABLE": (CONSEQUENCE, None, ()),
    "CANCELLED": (CONSEQUENCE, None, ()),
    "ABORTED": (CONSEQUENCE, None, ()),
    "DEADLINE_EXCEEDED": (CONSEQUENCE, Category.NCCL_TIMEOUT, ()),
    "RESOURCE_EXHAUSTED": (ROOT, Category.GPU_OOM, (Category.HOST_OOM,)),
    "DATA_LOSS": (ROOT, Category.STORAGE, (Category.SSD, Category.SOFTWARE_USER)),
    "INVALID_ARGUMENT": (ROOT, Category.SOFTWARE_USER, (Category.SOFTWARE_FRAMEWORK,)),
    "FAILED_PRECONDITION": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_USER,)),
    "UNIMPLEMENTED": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_FRAMEWORK,)),
    "NOT_FOUND": (ROOT, Category.SOFTWARE_USER, (Category.STORAGE, Category.DEPENDENCY)),
    "INTERNAL": (ROOT, Category.SOFTWARE_FRAMEWORK, (Category.GPU, Category.DEPENDENCY)),
}


def by_code(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A status by its code. An end that only another task caused names that task, if any."""
    role, category, also = STATUS[(match["code_name"] or match["code_alone"]).upper()]
    named = list(dict.fromkeys(TASK.findall(match.string[match.start() :])))
    lost = role is CONSEQUENCE
    return Reading(
        role=role,
        category=category,
        also=also,
        weak=role is ROOT,
        blame=Blame.PEER if lost else None,
        peer=f"rank {named[0]}" if lost and len(named) == 1 else None,
    )


XLA.consequence(
    "status",
    rf"(?:XlaRuntimeError|JaxRuntimeError): (?P<code_name>{'|'.join(STATUS)}): "
    r"|(?:^|[\s\])]{1,4})(?P<code_alone>(?-i:DATA_LOSS)): ",
    literals=("xlaruntimeerror: ", "jaxruntimeerror: ", "data_loss: "),
    matches=(
        "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: /job:jax_worker/replica:0/task:3 has"
        " been unhealthy",
        "XlaRuntimeError: INTERNAL: Failed to execute XLA Runtime executable",
        "jax.errors.JaxRuntimeError: INVALID_ARGUMENT: Mismatched shapes",
        "DATA_LOSS: truncated record at 1234",
    ),
    near_misses=("raise XlaRuntimeError: see the docs", "data_loss: 0.31"),
    source="XLA and JAX: a status with its code",
    read=by_code,
)
SIGNATURES = XLA.signatures()
