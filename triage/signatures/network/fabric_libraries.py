"""UCX, libfabric and verbs tools: transports below NCCL and MPI, in a job's log.

A retry count that ran out names both ends and blames neither; a refused or reset
connection is the other end's; what cannot be reached from the start is set-up.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

VERBS = "rdma-core: ibv_wc_status_str; UCX: uct/ib; perftest"

# Names of ibv_wc_status: no answer; flushed behind another error; protection, length
# or access, which are set-up or a bug; an adapter that gave up.
SILENT = ("RETRY_EXC", "RNR_RETRY", "RESP_TIMEOUT")
FLUSHED = ("WR_FLUSH",)
BROKEN = ("FATAL", "GENERAL", "LOC_QP_OP", "TM_ERR")


def by_status(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """By the name or the number of the status of a completion."""
    name = (match["status_name"] or "").upper()
    number = match["status"]
    if name.startswith(SILENT) or number in ("12", "13"):
        return Reading()
    if name.startswith(FLUSHED) or number == "5":
        return Reading(
            role=CONSEQUENCE, category=None, blame=Blame.PAIR, signature="fabric.flushed"
        )
    if name.startswith(BROKEN) or number in ("3", "11", "19", "20", "21"):
        return Reading(category=Category.NIC, also=(Category.NETWORK,))
    if name.startswith("SUCCESS") or number == "0":
        return None
    return Reading(
        role=CONSEQUENCE,
        category=Category.DEPENDENCY,
        also=(Category.SOFTWARE_FRAMEWORK, Category.NIC),
    )


FABRIC = Family("fabric", Kind.NCCL)

FABRIC.consequence(
    "flushed",
    r"IBV_WC_WR_FLUSH_ERR|Work Request Flushed Error",
    literals=("ibv_wc_wr_flush_err", "work request flushed error"),
    matches=(
        "completion on qp 0x1a2b: IBV_WC_WR_FLUSH_ERR",
        "status: Work Request Flushed Error (5)",
    ),
    near_misses=("no work requests were flushed",),
    source=VERBS,
    blame=Blame.PAIR,
    traits=(Trait.TEARDOWN,),
)
FABRIC.root(
    "completion",
    r"IBV_WC_(?P<status_name>[A-Z_]{4,24}?)_?(?:ERR\b|\b)|\b[Ff]ailed status (?P<status>\d{1,3})\b",
    literals=("ibv_wc_", "failed status "),
    matches=(
        "poll: IBV_WC_RETRY_EXC_ERR on qp 0x1a2b",
        "Completion with error at client: Failed status 12: wr_id 0 syndrom 0x81",
        "wc.status = IBV_WC_LOC_PROT_ERR",
    ),
    near_misses=("wc.status = IBV_WC_SUCCESS",),
    source=VERBS,
    category=Category.NETWORK,
    also=(Category.NIC,),
    blame=Blame.PAIR,
    weak=True,
    read=by_status,
)
FABRIC.root(
    "queue_pair_error",
    r"ib_mlx5_log\.c:\d{1,6}.{0,80}?(?:Transport retry|RNR|Local|Remote|wqe\[|qp 0x)"
    r"|Local QP (?:operation error|in bad state)",
    literals=("ib_mlx5_log.c", "ib_mlx5.c", "local qp operation error", "local qp in bad state"),
    matches=(
        "ib_mlx5_log.c:170  UCX  ERROR RC QP 0x4a2 wqe[12]: SEND --e [inl len 26]",
        "ib_mlx5_log.c:177 Local QP operation error on mlx5_0:1/IB (synd 0x2 vend 0x68)",
    ),
    near_misses=("ib_mlx5_log.c is compiled",),
    source="UCX: uct/ib/mlx5",
    category=Category.NETWORK,
    also=(Category.NIC, Category.SOFTWARE_FRAMEWORK),
    blame=Blame.PAIR,
    weak=True,
)
FABRIC.consequence(
    "ucx",
    r"UCX +(?:ERROR|WARN|DIAG)\b.{0,200}?(?:(?P<route>no route to host|unreachable|[Tt]imed out"
    r"|address resolve failed)|(?P<peer_end>refused|reset by|[Ee]ndpoint timeout|closed|aborted"
    r"|failed))",
    literals=("ucx  error", "ucx  warn", "ucx  diag", "ucx error", "ucx_perf", "ucp_ep"),
    matches=(
        "[n3:4411 :0] sock.c:331  UCX  ERROR   connect(fd=77, dest_addr=10.0.0.7:41000) failed:"
        " Connection refused",
        "ucp_worker.c:1520 UCX  ERROR   address resolve failed: No route to host",
        "UCX  WARN  ucp_ep 0x7f failed: Connection reset by remote peer",
        "UCX  ERROR no active messages transport to n7: self/memory - Destination is unreachable",
    ),
    near_misses=("UCX  WARN  unused environment variable: UCX_X",),
    source="UCX: ucs, ucp",
    blame=Blame.PEER,
    read=lambda match, _after: (
        Reading(
            role=ROOT,
            category=Category.DEPENDENCY
            if "active messages transport" in match.string
            else Category.NETWORK,
            also=(Category.NETWORK, Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
        if match["route"] or "unreachable" in match.string
        else Reading()
    ),
)
FABRIC.consequence(
    "connection_event",
    r"RDMA_CM_EVENT_(?:(?P<route>UNREACHABLE|(?:ADDR|ROUTE|CONNECT)_ERROR)|(?P<removed>DEVICE_REMOVAL)"
    r"|REJECTED|DISCONNECTED|TIMEWAIT_EXIT)\b(?:.{0,40}?\b(?:from|to"
    r"|with) (?P<peer>[\w.:-]{3,128}))?",
    literals=("rdma_cm_event_",),
    matches=(
        "rdma_cm: RDMA_CM_EVENT_UNREACHABLE from 10.0.0.7, status -110",
        "got RDMA_CM_EVENT_REJECTED",
        "event RDMA_CM_EVENT_DEVICE_REMOVAL on mlx5_3",
    ),
    near_misses=("got RDMA_CM_EVENT_ESTABLISHED",),
    source="rdma-core: rdma_event_str",
    blame=Blame.PEER,
    read=lambda match, _after: (
        Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,), blame=Blame.SELF)
        if match["removed"]
        else Reading(
            role=ROOT,
            category=Category.NETWORK,
            also=(Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
        if match["route"]
        else Reading()
    ),
)
FABRIC.root(
    "set_up",
    r"Open MPI failed an OFI Libfabric library call \(\w{2,40}\)|Failed to create UCP (?:worker"
    r"|context)"
    r"|No components were able to be opened in the pml|PML add procs failed"
    r"|unable to reach each other for MPI communications|ucp_init\(\) failed|no usable transports",
    literals=(
        "ofi libfabric library call",
        "failed to create ucp worker",
        "failed to create ucp context",
        "failed to create ucp",
        "no components were able to be opened in the pml",
        "pml add procs failed",
        "unable to reach each other for mpi communications",
        "ucp_init() failed",
        "no usable transports",
    ),
    matches=(
        "Open MPI failed an OFI Libfabric library call (fi_domain).  This is highly unusual;",
        "[n1:1] pml_ucx.c:291  Error: Failed to create UCP worker",
        "At least one pair of MPI processes are unable to reach each other for MPI communications.",
    ),
    near_misses=(
        "UCP worker was created",
        "There was an error initializing an OpenFabrics device.",
    ),
    source="Open MPI: mtl/ofi, pml/ucx",
    category=Category.DEPENDENCY,
    also=(Category.NIC, Category.NETWORK),
    weak=True,
)
FABRIC.root(
    "hccl",
    r"hccl(?P<what>Internal|System|Remote|InvalidUsage)\w{0,8}",
    literals=(
        "hcclinternalerror",
        "hcclsystemerror",
        "hcclremoteerror",
        "hcclinvalidusage",
        "rcclerror",
    ),
    matches=("hcclCommInitRank failed: hcclInternalError", "hcclRemoteError: a peer has gone"),
    near_misses=("hcclSuccess",),
    source="Gaudi: HCCL",
    blame=Blame.NOBODY,
    weak=True,
    read=lambda match, _after: (
        Reading(role=CONSEQUENCE)
        if match["what"].lower() == "remote"
        else Reading(category=Category.SOFTWARE_FRAMEWORK, also=(Category.NIC, Category.NETWORK))
    ),
)

SIGNATURES = FABRIC.signatures()
