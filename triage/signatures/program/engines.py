"""Ray's core and the engines that serve models: what they say when a worker is gone.

A dead actor, a lost object and a dead engine follow from a process that ended; the
memory monitor and a full disk name their cause themselves.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

RAY = "Ray: python/ray/exceptions.py, raylet"
SERVING = "vLLM, SGLang, TensorRT-LLM: engines"


def over_threshold(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The node that the memory monitor names."""
    return Reading(fields={} if match["address"] is None else {"address": match["address"]})


# Who gives back what stood idle takes nothing from a job.
UNUSED = re.compile(r"\b(?:idle|unused|max_workers|outdated)", re.IGNORECASE)


def taken_away(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Which node of a cluster of Ray goes away; not one that nobody used."""
    if UNUSED.search(match["reason"]):
        return None
    node = match["address"] or match["instance"]
    return Reading(fields={"node": node})


ENGINE = Family("engine", Kind.SCHEDULER, traits=(Trait.ENDS_JOB,), source=RAY)

ENGINE.root(
    "ray_memory_threshold",
    r"(?:Memory on the node \(IP: (?P<address>[\d.]{7,15}).{0,400}?)?"
    r"exceeds the memory usage threshold of",
    literals=("exceeds the memory usage threshold", "memory usage threshold of"),
    matches=(
        "(raylet) Memory on the node (IP: 10.0.0.5, ID: 1a) where the task (actor ID: 2b, pid=9001,"
        " memory used=61.33GB) was running was 503.91GB / 503.98GB (0.999), which exceeds the"
        " memory usage threshold of 0.95.",
    ),
    near_misses=("the memory usage threshold is 0.95",),
    category=Category.HOST_OOM,
    read=over_threshold,
)
ENGINE.root(
    "ray_disk",
    r"OutOfDiskError: |Object creation will fail if spilling|(?P<memory>ObjectStoreFullError): ",
    literals=("outofdiskerror", "object creation will fail if spilling", "objectstorefullerror"),
    matches=(
        "ray.exceptions.OutOfDiskError: Local disk is full",
        "file_system_monitor.cc:111: /tmp/ray/session_1 is over 95% full, available space: 12345;"
        " capacity: 9999. Object creation will fail if spilling is required.",
        "ray.exceptions.ObjectStoreFullError: Failed to put object 00ff in object store because it"
        " is full.",
    ),
    near_misses=("the object store is 3% full",),
    category=Category.STORAGE,
    also=(Category.SSD,),
    read=lambda match, _after: (
        Reading(category=Category.HOST_OOM, also=(Category.STORAGE,))
        if match["memory"]
        else Reading()
    ),
)
ENGINE.root(
    "ray_node_taken",
    r"(?:Instance|Node|Pod) (?P<instance>\S{1,128})"
    r"(?: \((?:node )?(?:IP|ip)[:=] ?(?P<address>[\da-fA-F.:]{3,45})[^)]{0,80}\))?"
    r" (?:will be|is (?:going|about) to be) terminated(?: soon)?"
    r"[.,]? ?\(?(?:reason|because)[:=]? ?(?P<reason>[^\n)]{1,80})",
    literals=("will be terminated", "is going to be terminated", "is about to be terminated"),
    matches=(
        "(autoscaler +44m27s) Instance k-77aa (node IP: 10.52.1.19) will be terminated soon"
        " (reason: kubernetes-pod-termination).",
        "(autoscaler +2h3m) Instance ray-gpu-b2 (node IP: 10.0.4.7) is going to be terminated,"
        " reason: node pool rollout",
    ),
    near_misses=(
        "(autoscaler +9m2s) Instance k-77aa (node IP: 10.52.1.19) will be terminated soon"
        " (reason: idle for 300 s).",
        "(autoscaler +9m2s) Removing 2 nodes of type worker (max number of worker nodes reached).",
    ),
    source="Ray: autoscaler and raylet",
    kind=Kind.SCHEDULER,
    category=Category.HOST_MAINTENANCE,
    read=taken_away,
)
ENGINE.consequence(
    "ray_lost",
    r"Object(?:Lost|FetchTimedOut|ReconstructionFailed\w{0,40})Error: |RaySystemError: "
    r"|[Rr]aylet is marked dead|[Rr]aylet exited unexpectedly|Could not find any running Ray"
    r"|GCS server (?:may be|is) (?:unavailable|dead|down)|GCS: RpcError|LocalRayletDiedError"
    r"|RayChannel(?:Timeout)?Error|TaskCancelledError|TrainingFailedError: |WorkerGroupError: "
    r"|WorkerHealthCheck\w{0,40}Error|missing too many heartbeats|exceptions\.GetTimeoutError: "
    r"|[Rr]aylet is terminated: (?:ip=(?P<address>[\d.]{7,15}))?|(?:RayActor|ActorUnavailable"
    r"|OwnerDied|NodeDied)Error: ",
    literals=(
        "objectlosterror",
        "raysystemerror",
        "the raylet is marked dead",
        "raylet exited unexpectedly",
        "could not find any running ray instance",
        "gcs server may be",
        "gcs server is dead",
        "gcs: rpcerror",
        "objectfetchtimedouterror",
        "referencecountingassertionerror",
        "localrayleteddiederror",
        "localrayletdiederror",
        "raychannelerror",
        "raychanneltimeouterror",
        "raytaskcancelled",
        "taskcancellederror",
        "objectreconstructionfailederror",
        "trainingfailederror",
        "workergroupresizeerror",
        "workergrouperror",
        "workerhealthcheck",
        "health check failed due to missing too many heartbeats",
        "missing too many heartbeats",
        "all workers (tasks / actors) were killed",
        "ray.exceptions.gettimeouterror",
        "raylet is terminated: ",
        "rayactorerror",
        "actorunavailableerror",
        "ownerdiederror",
        "nodediederror",
    ),
    matches=(
        "ray.exceptions.ObjectLostError: Failed to retrieve object 00ff",
        "ray.exceptions.RaySystemError: System error: Broken pipe",
        "node_manager.cc:902: The Raylet is marked dead; exiting.",
        "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the"
        " previous error messages for a cause.",
        "ConnectionError: Could not find any running Ray instance. Please specify the one to"
        " connect to",
        "ray.exceptions.GetTimeoutError: Get timed out: some object(s) not ready.",
        "Raylet is terminated: ip=192.168.207.6, id=0973. Termination is unexpected.",
    ),
    near_misses=("GCS server started", "no ObjectLostError handlers"),
    blame=Blame.PEER,
)
ENGINE.root(
    "ray_environment",
    r"RuntimeEnvSetupError: |Failed to set up runtime environment",
    literals=("runtimeenvsetuperror", "failed to set up runtime environment", "crosslanguageerror"),
    matches=(
        "ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.",
        "(raylet) [ERROR] Failed to set up runtime environment for job 01000000",
    ),
    near_misses=("runtime environment was set up",),
    category=Category.DEPENDENCY,
    also=(Category.STORAGE, Category.SOFTWARE_USER),
)
ENGINE.consequence(
    "engine_gone",
    r"Engine core initialization failed|EngineCore (?:failed to start|encountered an issue)"
    r"|No available block found in \d|AsyncEngineDeadError|[Ee]ngine process failed to start"
    r"|Rank 0 scheduler died|[Ee]ngine loop is not running|RPC call to \w{1,40} timed out"
    r"|Executor failed\.",
    literals=(
        "engine core initialization failed",
        "enginecore failed to start",
        "enginecore encountered an issue",
        "no available block found in",
        "asyncenginedeaderror",
        "engine process failed to start",
        "scheduler or detokenizer process",
        "rank 0 scheduler died",
        "shutting down fastapi http server",
        "mpi worker process",
        "executor failed.",
        "engine loop is not running",
        "rpc call to execute_model timed out",
        "rpc call to sample_tokens timed out",
    ),
    matches=(
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core"
        " proc(s): {}",
        "shm_broadcast.py:466] No available block found in 60 second.",
        "TimeoutError: RPC call to execute_model timed out.",
    ),
    near_misses=("Engine core initialization took 12 s",),
    source=SERVING,
    blame=Blame.NOBODY,
)
ENGINE.root(
    "cache_too_small",
    r"stored in KV cache|KV cache is needed, which is larger|less than desired GPU memory"
    r" utilization|Not enough memory\. Please try to increase --mem-fraction",
    literals=(
        "stored in kv cache",
        "needed for kv cache",
        "is less than desired gpu memory utilization",
        "gpu memory is not enough",
        "not enough memory. please try to increase --mem-fraction",
        "kv cache is needed, which is larger than",
    ),
    matches=(
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens"
        " that can be stored in KV cache (8192).",
        "ValueError: Free memory on device (2.1/79.1 GiB) on startup is less than desired GPU"
        " memory utilization (0.9, 71.2 GiB).",
    ),
    near_misses=("tokens are stored in the KV cache",),
    source=SERVING,
    category=Category.GPU_OOM,
    also=(Category.SOFTWARE_USER,),
)

SIGNATURES = ENGINE.signatures()
