"""ProcessGroupNCCL, the store and the rendezvous: what PyTorch says when ranks stop together.

A watchdog speaks for a rank that waits, so its lines are consequences and blame
whoever did not print them. ``Rank N`` inside the brackets counts within that
process group; only the prefix of the line is a global rank. The rank named in a
dump signal is the first reporter: the shortest timer, not the cause.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import ADVICE, CONSEQUENCE, ROOT, Family
from triage.signatures.numbers import small
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

PG = "PyTorch: ProcessGroupNCCL.cpp"
STORE = "PyTorch: TCPStore.cpp, socket.cpp"

# [PG ID 5 PG GUID 55(mesh_replicate) Rank 1], [PG 0 (default_pg) Rank 3], [PG 1 Rank 0], [Rank 2]
GROUP = re.compile(
    r"\[(?:PG (?:ID )?(?P<pg>\w{1,64})[ ,]{0,2}(?:PG GUID )?(?P<guid>\w{0,128})\s?"
    r"(?:\((?P<pg_desc>[^()]{0,128})\))? )?Rank (?P<group_rank>\d{1,7})\]"
)
WORK = re.compile(r"(SeqNum|OpType|NumelIn|NumelOut|Timeout\(ms\)|TensorShape)=(\[[^\]]*\]|[\w.]+)")
WORK_FIELD = {
    "SeqNum": "seq_id",
    "OpType": "op",
    "NumelIn": "numel_in",
    "NumelOut": "numel_out",
    "Timeout(ms)": "timeout_ms",
    "TensorShape": "shape",
}
RAN_FOR = re.compile(r"ran for (\d{1,18}) milliseconds")
AT_WORK = re.compile(r"(?:at NCCL work:?|at work:?|work sequence id:?) ?(\d{1,18})", re.IGNORECASE)
LAST_ENQUEUED = re.compile(r"last enqueued\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)
LAST_COMPLETED = re.compile(r"last completed\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)
LAST_STARTED = re.compile(r"last started\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)

# A bar of rank 0's preprocessing, glued to the line: tqdm leaves no line end behind.
BAR_BESIDE = re.compile(
    r"(?:tokeniz|grouping texts|preprocess|map(?: \(num_proc=\d+\))?:|filter:|generating \w+ split)"
    r"[^\[\]|]{0,80}\d{1,3}%\|",
    re.IGNORECASE,
)


def joined(match: re.Match[str], after: Sequence[str]) -> str:
    """The text from the match's line on; terminals wrap these lines in the middle."""
    text = match.string
    if after and "Timeout(ms)=" not in text:
        text = f"{text.rstrip()} {after[0].lstrip()}"
    return text


def group_fields(text: str, at: int) -> dict[str, str]:
    """The process group and group rank printed last before ``at``."""
    groups = list(GROUP.finditer(text, 0, at))
    return (
        {name: value for name, value in groups[-1].groupdict().items() if value} if groups else {}
    )


def work_fields(text: str) -> dict[str, str]:
    """What a line says of the work and of the queue."""
    fields = {WORK_FIELD[name]: value for name, value in WORK.findall(text)}
    for name, pattern in (
        ("ran_ms", RAN_FOR),
        ("at_work", AT_WORK),
        ("last_enqueued", LAST_ENQUEUED),
        ("last_started", LAST_STARTED),
        ("last_completed", LAST_COMPLETED),
    ):
        match = pattern.search(text)
        if match is not None:
            fields[name] = match[1]
    return fields


def watchdog(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A collective that did not end in time, and the queue of the rank that waits."""
    text = joined(match, after)
    fields = group_fields(match.string, match.start()) | work_fields(text)
    turn = small(fields.get("seq_id", "0"))
    # Later on in a job such a bar is a data set of its own, not what the others wait for.
    if BAR_BESIDE.search(match.string) and turn is not None and turn <= 16:
        return Reading(
            category=Category.HOST_STALL,
            also=(Category.NCCL_TIMEOUT,),
            peer="rank 0",
            fields=fields,
        )
    # The barrier at the start of a job, where the others wait for rank 0's preparations.
    if turn is not None and turn <= 3 and fields.get("numel_out") == "1":
        return Reading(also=(Category.HOST_STALL,), fields=fields)
    return Reading(fields=fields)


def queue(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The counters of one rank's queue."""
    text = match.string
    if after and LAST_COMPLETED.search(text) is None:
        text = f"{text.rstrip()} {after[0].lstrip()}"
    return Reading(fields=group_fields(match.string, match.start()) | work_fields(text))


def dump_signal(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Who asked for the dumps, with the counters of the one who tells."""
    reading = queue(match, after)
    fields = dict(reading.fields)
    if match["reporter"]:
        fields["reporter"] = match["reporter"]
    return Reading(fields=fields)


FINGERPRINT = re.compile(
    r"Rank (?P<rank>\d{1,7})\s+(?:is running collective|is running):? ?"
    r"CollectiveFingerPrint\((?P<print>[^()]{1,400})"
)
FINGERPRINT_PART = re.compile(r"(SequenceNumber|OpType|TensorShape)=(\[[^\]]*\]|[\w]+)")
PART_FIELD = {"SequenceNumber": "seq_id", "OpType": "op", "TensorShape": "shape"}


def mismatch(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Both fingerprints as ``rank_a`` ... and ``rank_b`` ...; group ranks."""
    text = match.string
    fields: dict[str, str] = group_fields(text, match.start())
    for side, one in zip("ab", FINGERPRINT.finditer(" ".join((text, *after))), strict=False):
        fields[f"rank_{side}"] = one["rank"]
        for name, value in FINGERPRINT_PART.findall(one["print"]):
            fields[f"{PART_FIELD[name]}_{side}"] = value
    peer = f"rank {fields['rank_b']}" if "rank_b" in fields else None
    return Reading(peer=peer, fields=fields)


RUNNING = re.compile(
    r"\[Rank (?P<rank>\d{1,7})\] Running collective: "
    r"CollectiveFingerPrint\((?P<print>[^()]{1,400})"
)


def running(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Noise while ranks agree; two ranks side by side that do not are a suspicion."""
    mine = RUNNING.search(match.string)
    if mine is None:
        return Reading()
    parts = dict(FINGERPRINT_PART.findall(mine["print"]))
    fields = {"group_rank": mine["rank"]} | {PART_FIELD[n]: v for n, v in parts.items()}
    for line in after[:1]:
        other = RUNNING.search(line)
        if other is None or other["rank"] == mine["rank"]:
            continue
        theirs = dict(FINGERPRINT_PART.findall(other["print"]))
        same_turn = parts.get("SequenceNumber") == theirs.get("SequenceNumber")
        same_call = parts.get("OpType") == theirs.get("OpType")
        # Ranks log one or two collectives apart in any healthy job.
        mine_at, theirs_at = (small(one.get("SequenceNumber", "0")) for one in (parts, theirs))
        apart = 0 if mine_at is None or theirs_at is None else abs(mine_at - theirs_at)
        if (same_turn and not same_call) or (same_call and apart > 1):
            return Reading(
                role=ROOT,
                weak=True,
                category=Category.COLLECTIVE_MISMATCH,
                peer=f"rank {other['rank']}",
                fields=fields,
            )
    return Reading(fields=fields)


CONNECT_ERRNO = {
    "110": (Category.NETWORK, (Category.NIC, Category.DEPENDENCY)),
    "113": (Category.NETWORK, (Category.DEPENDENCY,)),
    "101": (Category.NETWORK, (Category.DEPENDENCY,)),
}


def store_connect(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By errno: a refused connection is a store that is not there, no fault of a network."""
    category, also = CONNECT_ERRNO.get(match["errno"], (None, ()))
    return Reading(category=category, also=also)


RESULTS = {
    "unhandled cuda error": (ROOT, None),
    "unhandled system error": (ROOT, None),
    "invalid usage": (ROOT, Category.DEPENDENCY),
    "invalid argument": (ROOT, Category.DEPENDENCY),
    "remote process exited": (CONSEQUENCE, None),
}


RESULT = re.compile("|".join(RESULTS), re.IGNORECASE)


def nccl_result(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The result that c10d quotes; its detail stands in lines of its own behind it."""
    result = RESULT.search(match.string, match.end())
    if result is None:
        return None
    role, category = RESULTS[result[0].lower()]
    return Reading(role=role, category=category, weak=role is ROOT, fields={"result": result[0]})


C10D = Family("c10d", Kind.NCCL)

C10D.root(
    "fingerprint_mismatch",
    r"Detected mismatch between collectives on ranks",
    literals=("detected mismatch between collectives",),
    matches=(
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 4 is running"
        " collective: CollectiveFingerPrint(SequenceNumber=31, OpType=ALLREDUCE,"
        " TensorShape=[8], TensorDtypes=Float), but Rank 0 is running collective:"
        " CollectiveFingerPrint(SequenceNumber=31, OpType=BROADCAST, TensorShape=[1],"
        " TensorDtypes=Long).",
    ),
    near_misses=("No mismatch between collectives on ranks 0 and 1.",),
    source="PyTorch: ProcessGroupWrapper.cpp",
    category=Category.COLLECTIVE_MISMATCH,
    blame=Blame.PAIR,
    context=1,
    each=True,
    read=mismatch,
)
C10D.noise(
    "running_collective",
    r"Running collective: CollectiveFingerPrint\(",
    literals=("running collective: collectivefingerprint",),
    matches=(
        "[I ProcessGroupWrapper.cpp:587] [Rank 1] Running collective:"
        " CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4])",
    ),
    near_misses=("running collective: none",),
    source="PyTorch: ProcessGroupWrapper.cpp, TORCH_DISTRIBUTED_DEBUG=DETAIL",
    blame=Blame.PAIR,
    context=1,
    read=running,
)
C10D.consequence(
    "watchdog_timeout",
    r"Watchdog caught|collective operation timeout: |timed out in blocking wait",
    literals=(
        "watchdog caught",
        "collective operation timeout: worknccl",
        "timed out in blocking wait",
        "collective operation timeout: opertype",
    ),
    matches=(
        "[PG ID 0 PG GUID 0(default_pg) Rank 5] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=77, OpType=ALLGATHER, NumelIn=10, NumelOut=80, Timeout(ms)=600000) ran"
        " for 600012 milliseconds before timing out.",
        "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST,"
        " Timeout(ms)=1800000) ran for 1802710 milliseconds before timing out.",
        "[Rank 1] Work WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
        " Timeout(ms)=1000) timed out in blocking wait.",
    ),
    near_misses=("NCCL watchdog thread started", "timed out while waiting in line"),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    context=1,
    each=True,
    read=watchdog,
    traits=(Trait.TIMEOUT,),
)
C10D.consequence(
    "dump_signal",
    r"Received a dump signal(?: due to a collective timeout)?"
    r"(?:(?: +from)? {1,3}(?:rank (?P<reporter>\d{1,7})|this local rank))?",
    literals=("received a dump signal",),
    matches=(
        "[PG ID 0 PG GUID 0(default_pg) Rank 6] Received a dump signal due to a collective"
        " timeout from  rank 12 and we will try our best to dump the debug info. Last enqueued"
        " NCCL work: 88, last completed NCCL work: 87.",
        "[PG 0 (default_pg) Rank 1] Received a dump signal due to a collective timeout from this"
        " local rank and we will try our best to dump the debug info.",
    ),
    near_misses=("dump signal handler installed",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.NOBODY,
    context=1,
    each=True,
    read=dump_signal,
)
C10D.consequence(
    "dump_observed",
    r"Observed flight recorder dump signal from another rank|First PG on this rank to signal dump",
    literals=("observed flight recorder dump signal", "on this rank to signal dumping"),
    matches=(
        "[PG ID 0 PG GUID 0(default_pg) Rank 1] Observed flight recorder dump signal from"
        " another rank via TCPStore.",
    ),
    near_misses=("flight recorder dump signal path: /tmp",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.NOBODY,
)
C10D.consequence(
    "queue",
    r"last enqueued\s{1,4}(?:NCCL )?work|Timeout at NCCL work|detected by watchdog at work"
    r"|last enqueued\s*$",
    literals=("last enqueued", "timeout at nccl work", "detected by watchdog"),
    matches=(
        "[PG 1 Rank 0] Timeout at NCCL work: 58, last enqueued NCCL work: 60, last completed NCCL"
        " work: 57.",
        "[PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence"
        " id: 20 PG status: last enqueued work: 22, last completed work: 19",
        "[Rank 3] Exception (either an error or timeout) detected by watchdog at work: 4, last"
        " enqueued NCCL work: 4, last completed NCCL work: 3.",
    ),
    near_misses=("the last enqueued request was served",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    context=1,
    each=True,
    read=queue,
)
C10D.consequence(
    "desync_report",
    r"\[(?P<absent>\d{1,7}(?:, ?\d{1,7}){0,400})\] (?:finished collective #(?P<done>\d{1,18}), but"
    r" didn't join collective #(?P<missed>\d{1,18})|joined but didn't finish collective"
    r" #(?P<stuck>\d{1,18}))|ranks \[(?P<lagging>\d{1,7}(?:, ?\d{1,7}){0,400})\] are the lagging",
    literals=("didn't join collective #", "didn't finish collective #", "are the lagging ranks"),
    matches=(
        "   - [3] finished collective #11, but didn't join collective #12 (count from 1)",
        "   - [0, 2] joined but didn't finish collective #12, because all other members vanished",
        " - To our best knowledge, ranks [5] are the lagging ranks that caused this timeout.",
    ),
    near_misses=("rank 3 didn't join collective wisdom",),
    source="PyTorch: TraceUtils.h, TORCH_NCCL_DESYNC_DEBUG",
    category=Category.NCCL_TIMEOUT,
    blame=Blame.PEER,
    each=True,
    read=lambda match, _after: Reading(peer=f"rank {match['absent'] or match['lagging']}"),
)
C10D.consequence(
    "desync_states",
    r"lagging/dead/mismatched ranks|Snapshot of ranks' latest states",
    literals=(
        "lagging/dead/mismatched ranks",
        "snapshot of ranks' latest states",
        "did not join the coll",
    ),
    matches=(
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
        "   - Snapshot of ranks' latest states:",
    ),
    near_misses=("no snapshot of ranks",),
    source="PyTorch: TraceUtils.h, TORCH_NCCL_DESYNC_DEBUG",
    category=Category.NCCL_TIMEOUT,
    blame=Blame.NOBODY,
)
C10D.root(
    "shapes_differ",
    r"Error when verifying shape tensors for collective|Forward order differs across ranks"
    r"|DDP expects same model across all ranks|appears not to match (?:sizes|strides)"
    r"|in process 0 with sizes",
    literals=(
        "error when verifying shape tensors for collective",
        "forward order differs across ranks",
        "ranks have different numbers of",
        "params appears not to match",
        "ddp expects same model across all ranks",
        "appears not to match sizes",
        "inconsistent number of parameters across",
        "has different number of parameters",
    ),
    matches=(
        "RuntimeError: Error when verifying shape tensors for collective ALLGATHER on rank 2. This"
        " likely indicates that input shapes into the collective are mismatched across ranks.",
        "RuntimeError: Forward order differs across ranks: rank 0 is all-gathering 3 parameters",
        "RuntimeError: DDP expects same model across all ranks, but Rank 3 has 12 params, while"
        " rank 0 has inconsistent 11 params.",
    ),
    near_misses=("shape tensors are verified for collective ALLGATHER",),
    source="PyTorch: ProcessGroupWrapper.cpp, reducer, FSDP",
    category=Category.COLLECTIVE_MISMATCH,
    also=(Category.SOFTWARE_USER,),
    blame=Blame.PAIR,
)
C10D.consequence(
    "heartbeat_monitor",
    r"Heartbeat monitor timed out(?:.{0,120}?workMetaList_?\.size\(\)=(?P<queue_size>\d{1,9}))?"
    r"|watchdog got stuck for (?P<stuck_s>\d{1,9}) seconds"
    r"|due to ProcessGroupNCCL watchdog (?:hang|collective timeout)",
    literals=(
        "heartbeat monitor timed out",
        "watchdog got stuck for",
        "due to processgroupnccl watchdog",
    ),
    matches=(
        "[PG ID 0 PG GUID 0 Rank 4] Heartbeat monitor timed out! Process will be terminated after"
        " dumping debug info. workMetaList_.size()=12",
        "[PG ID 0 PG GUID 0(default_pg) Rank 2] ProcessGroupNCCL's watchdog got stuck for 480"
        " seconds without making progress in monitoring enqueued collectives.",
    ),
    near_misses=("Heartbeat monitor started with 480 s",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
    each=True,
)
C10D.root(
    "gil_held",
    r"Could not acquire GIL within (?P<waited_ms>\d{1,9}) ?ms",
    literals=("could not acquire gil within",),
    matches=("[Rank 5] Could not acquire GIL within 300 ms on exit, possible GIL induced hang",),
    near_misses=("This typically indicates another thread holding the GIL",),
    source=PG,
    category=Category.HOST_STALL,
    also=(Category.NCCL_TIMEOUT,),
    weak=True,
    each=True,
)
C10D.consequence(
    "failed_barrier",
    r"(?P<absent>Ranks? [\d, ]{1,2000})\s?failed to pass monitoredBarrier"
    r"|successfully reached monitoredBarrier, but received errors .{0,80}? from "
    r"(?P<named>rank \d{1,7})",
    literals=("failed to pass monitoredbarrier", "successfully reached monitoredbarrier"),
    matches=(
        "[Rank 0]: Rank 3, 7 failed to pass monitoredBarrier in 60000 ms",
        "RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors while"
        " waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
    ),
    near_misses=("all ranks passed monitoredBarrier",),
    source="PyTorch: ProcessGroupGloo.cpp",
    category=Category.NCCL_TIMEOUT,
    also=(Category.HOST_STALL,),
    blame=Blame.ABSENT,
    each=True,
    read=lambda match, _after: Reading(peer=(match["absent"] or match["named"]).strip().lower()),
)
C10D.consequence(
    "aborted_elsewhere",
    r"NCCL communicator was aborted on rank \d{1,7}"
    r"|Found key in store: NCCLABORTEDCOMM.{0,200}?from rank: (?P<reporter>\d{1,7})",
    literals=("nccl communicator was aborted on rank", "found key in store: ncclabortedcomm"),
    matches=(
        "RuntimeError: NCCL communicator was aborted on rank 2.  Original reason for failure was"
        " not kept",
        "[Rank 1] Found key in store: NCCLABORTEDCOMM:ab12, from rank: 6. This means that rank"
        " has aborted its NCCL communicators previously and is not in a healthy state.",
    ),
    near_misses=("NCCL communicator was created on rank 2",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    blame=Blame.NOBODY,
)
C10D.consequence(
    "process_taken_down",
    r"Some NCCL operations have failed or timed out|we are taking the entire process down"
    r"|Terminating the process after attempting to dump debug info"
    r"|preparing to dump debug info|[Cc]ould not dump debug info"
    r"|abort timed out after|Failed to set dump signal|[Dd]umping traces to \S"
    r"|First PG on this rank detecting|watchdog detected a (?:collective timeout|dump signal)"
    r"|ncclCommAbort\S{0,20} (?:failed|called)|(?:Error while|[Ff]ailed to) abort\w{0,3} (?:the )?"
    r"(?:NCCL )?communicator",
    literals=(
        "some nccl operations have failed",
        "taking the entire process down",
        "attempting to dump debug info",
        "preparing to dump debug info",
        "could not dump debug info",
        "abort timed out after",
        "failed to set dump signal",
        "dumping traces to",
        "detecting the watchdog timeout",
        "detected a collective timeout",
        "detected a dump signal from",
        "failure detected by watchdog",
        "processgroupnccl is being aborted",
        "aborting nccl communicator",
        "nccl work was aborted",
        "error while aborting",
        "failed to abort",
    ),
    matches=(
        "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA"
        " kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        "To avoid data inconsistency, we are taking the entire process down.",
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] Terminating the process after attempting to dump"
        " debug info, due to collective timeout or exception.",
        "[PG 0 Rank 4] ProcessGroupNCCL preparing to dump debug info.",
        "[PG 1 Rank 0] ProcessGroupNCCL's watchdog detected a collective timeout and notified"
        " current rank.",
        "Future for ProcessGroup abort timed out after 600000 ms",
    ),
    near_misses=("taking the entire process downstairs",),
    source=PG,
    blame=Blame.NOBODY,
)
C10D.consequence(
    "nccl_id_wait",
    r"\[(?P<group_rank>\d{1,7})\] is setting up NCCL communicator"
    r".{0,80}?from \[(?P<source>\d{1,7})\]",
    literals=("is setting up nccl communicator",),
    matches=(
        "RuntimeError: [6] is setting up NCCL communicator and retrieving ncclUniqueId from [0]"
        " via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout",
    ),
    near_misses=("rank 0 is setting up NCCL communicator number 3",),
    source=PG,
    category=Category.NCCL_TIMEOUT,
    also=(Category.DEPENDENCY, Category.HOST_STALL),
    blame=Blame.STORE,
    read=lambda match, _after: Reading(peer=f"rank {match['source']}"),
)
C10D.root(
    "nccl_result",
    r"NCCL error(?: in| \d)?: |NCCL_ERROR_[A-Z_]{5,40}: |Test NCCL failure ",
    literals=(
        "nccl error in:",
        "nccl error:",
        "nccl error 1",
        "nccl error 2",
        "nccl error 3",
        "nccl error 4",
        "nccl error 5",
        "nccl error 6",
        "nccl_error_",
        "test nccl failure",
    ),
    matches=(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/NCCLUtils.hpp:268,"
        " unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
        "RuntimeError: NCCL error: remote process exited or there was a network error, NCCL"
        " version 2.19.3",
        "RuntimeError: NCCL Error 6: remote process exited or there was a network error",
        "Test NCCL failure common.cu:961 'invalid usage / '",
        "cupy_backends.cuda.libs.nccl.NcclError: NCCL_ERROR_SYSTEM_ERROR: unhandled system error",
    ),
    near_misses=("NCCL error handling is asynchronous",),
    source=PG,
    blame=Blame.NOBODY,
    weak=True,
    read=nccl_result,
    traits=(Trait.GENERIC,),
)
C10D.root(
    "nccl_internal_error",
    r"internal error - please report this issue to the NCCL",
    literals=("internal error - please report this issue to the nccl",),
    matches=(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/NCCLUtils.hpp:328,"
        " internal error - please report this issue to the NCCL developers, NCCL version 2.21.5",
        "Test NCCL failure common.cu:961 'internal error - please report this issue to the NCCL"
        " developers / '",
    ),
    near_misses=("NCCL error: invalid usage, please report it",),
    source=PG,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.GPU, Category.NETWORK, Category.DEPENDENCY),
    weak=True,
)
C10D.consequence(
    "store_connect_failed",
    r"client socket has failed to connect to \[?(?P<peer>[^\s\]]{1,256})\]?:(?P<port>\d{1,5})"
    r".{0,20}?\(errno: (?P<errno>\d{1,4})",
    literals=("client socket has failed to connect",),
    matches=(
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to"
        " [::ffff:10.1.4.9]:29500 (errno: 110 - Connection timed out).",
        "[c10d] The client socket has failed to connect to [node3]:29500 (errno: 111 -"
        " Connection refused).",
    ),
    near_misses=("The client socket has connected to [node3]:29500",),
    source=STORE,
    blame=Blame.STORE,
    read=store_connect,
    traits=(Trait.RENDEZVOUS,),
)
C10D.root(
    "store_address_in_use",
    r"server socket has failed to (?:listen on any local|bind to .{0,120}?errno: 98)|EADDRINUSE"
    r"|\[Errno 98\] Address already in use",
    literals=(
        "server socket has failed to listen",
        "server socket has failed to bind",
        "eaddrinuse",
        "address already in use",
    ),
    matches=(
        "[c10d] The server socket has failed to listen on any local network address. The server"
        " socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    ),
    near_misses=("The server socket is listening on [::]:29500",),
    source=STORE,
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
    traits=(Trait.RENDEZVOUS,),
)
C10D.consequence(
    "store_timeout",
    r"client socket has timed out after (?P<waited>\d{1,12}m?s?)"
    r"(?:.{0,60}?connect to \((?P<peer>[^,()]{1,256}), ?(?P<port>\d{1,5})\))?"
    r"|Timeout waiting for key: ?(?P<key>[^\s,]{1,200})"
    r"|wait timeout after \d{1,12} ?ms, keys: ?(?P<keys>\S{1,200})"
    r"|seconds waiting for clients\. (?P<joined>\d{1,7})/(?P<expected>\d{1,7}) clients joined"
    r"|Rendezvous(?:Timeout|Closed)Error",
    literals=(
        "client socket has timed out",
        "timeout waiting for key",
        "wait timeout after",
        "waiting for clients.",
        "rendezvoustimeouterror",
        "rendezvousclosederror",
        "got error: socket timeout",
    ),
    matches=(
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while"
        " trying to connect to (10.1.0.4, 29500).",
        "RuntimeError: Timeout waiting for key: default_pg/0/0 after 1800000 ms",
        "DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//timeout",
        "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 15/16"
        " clients joined.",
    ),
    near_misses=("client socket timeout is 600 s",),
    source=STORE,
    category=Category.DEPENDENCY,
    also=(Category.NCCL_TIMEOUT, Category.NETWORK),
    blame=Blame.STORE,
    traits=(Trait.RENDEZVOUS,),
)
C10D.consequence(
    "store_barrier",
    r"Timed out initializing process group in store based barrier on rank: (?P<rank>\d{1,7})"
    r".{0,120}?\(world_size=(?P<world_size>\d{1,7}), worker_count=(?P<joined>\d{1,7})",
    literals=("in store based barrier on rank",),
    matches=(
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 5, for"
        " key: store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
    ),
    near_misses=("Waiting in store based barrier on rank: 5",),
    source=STORE,
    category=Category.NCCL_TIMEOUT,
    also=(Category.DEPENDENCY,),
    blame=Blame.ABSENT,
    traits=(Trait.RENDEZVOUS,),
)
C10D.root(
    "rendezvous_connection",
    r"(?<!due to an error of type )RendezvousConnectionError"
    r"|connection to the C10d store has failed",
    literals=("rendezvousconnectionerror", "connection to the c10d store has failed"),
    matches=(
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to"
        " the C10d store has failed. See inner exception for details.",
    ),
    near_misses=("the connection to the C10d store is up",),
    source="PyTorch: c10d_rendezvous_backend.py",
    category=Category.DEPENDENCY,
    also=(Category.NETWORK,),
    blame=Blame.STORE,
    weak=True,
    traits=(Trait.RENDEZVOUS,),
)
C10D.consequence(
    "rendezvous_frame",
    r"rdzv_handler\.(?:next_rendezvous|num_nodes_waiting)\(|self\._call_store\(\"",
    literals=(
        "rdzv_handler.next_rendezvous",
        'self._call_store("',
        "rdzv_handler.num_nodes_waiting",
    ),
    matches=("    num_nodes_waiting = rdzv_handler.num_nodes_waiting()",),
    near_misses=("rdzv_handler.shutdown()",),
    source="PyTorch: a frame of the elastic agent in a traceback",
    category=Category.DEPENDENCY,
    also=(Category.NCCL_TIMEOUT, Category.NETWORK),
    blame=Blame.STORE,
    traits=(Trait.RENDEZVOUS,),
)
C10D.consequence(
    "store_lost",
    r"(?:sendBytes|recvValue\w*|recvVector|sendValue) failed on SocketImpl"
    r"(?:.{0,200}?remote=\[?(?P<peer>[^\s\]]{1,256})\]?:\d{1,5})?"
    r"|Failed to check the \"should dump\" flag|remote server shutdown or crash"
    r"|failed to recv, got 0 bytes|failed to send a keep-alive heartbeat"
    r"|has failed to shutdown the rendezvous|failed to connect/validate to host"
    r"|RendezvousGracefulExitError",
    literals=(
        "failed on socketimpl",
        'failed to check the "should dump" flag',
        "did the remote server shutdown or crash",
        "remote server shutdown or crash",
        "failed to recv, got 0 bytes",
        "failed to send a keep-alive heartbeat",
        "tcpstore server has shut down",
        "has failed to shutdown the rendezvous",
        "failed to connect/validate to host",
        "rendezvousgracefulexiterror",
    ),
    matches=(
        "[c10d] recvValueWithTimeout failed on SocketImpl(fd=4, addr=[n2]:35012,"
        " remote=[n0]:29500): Connection was likely closed. Did the remote server shutdown or"
        " crash?",
        'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down'
        " too early), with error: Broken pipe",
    ),
    near_misses=("SocketImpl opened",),
    source=STORE,
    blame=Blame.STORE,
    traits=(Trait.RENDEZVOUS,),
)
C10D.root(
    "name_resolution",
    r"gai error: -\d|Name or service not known|Temporary failure in name resolution",
    literals=("gai error:", "name or service not known", "temporary failure in name resolution"),
    matches=(
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (node9, 29500) cannot be"
        " retrieved (gai error: -2 - Name or service not known).",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    ),
    near_misses=("gai errors seen so far: none",),
    source=STORE,
    category=Category.DEPENDENCY,
    also=(Category.NETWORK,),
    weak=True,
    # A network without IPv6 says so at the start of every job.
    read=lambda match, _after: (
        Reading(role=ADVICE) if "IPv6 network addresses" in match.string else Reading()
    ),
)
C10D.consequence(
    "watchdog_terminated",
    r"watchdog thread terminated with exception|terminate called (?:after throwing|without)"
    r"|^Exception raised from",
    literals=("watchdog thread terminated", "terminate called", "exception raised from"),
    matches=(
        "[PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with"
        " exception: [Rank 2] something went wrong",
        "terminate called without an active exception",
        "Exception raised from recvBytes at ../torch/csrc/distributed/c10d/Utils.hpp:667",
    ),
    near_misses=("NCCL watchdog thread started!",),
    source=PG,
    blame=Blame.NOBODY,
)

SIGNATURES = C10D.signatures()
