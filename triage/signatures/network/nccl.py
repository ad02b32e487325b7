"""NCCL's own warnings: InfiniBand completions, sockets, bootstrap, plugins, NVLS.

Most of them are the edge of somebody else's failure: a socket that a peer closed,
a queue pair whose other end is gone. A completion error names both ends and
blames neither; a port or an adapter that reports itself is a root.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, NOISE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

IB = "NCCL: transport/net_ib.cc"
VERBS = "NCCL: misc/ibvwrap.cc"
SOCKET = "NCCL: misc/socket.cc"
LINK = (Category.NIC,)

FABRIC = Reading(role=ROOT, category=Category.NETWORK, also=LINK, blame=Blame.PAIR, weak=True)
CONFIGURED = Reading(
    role=CONSEQUENCE,
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_FRAMEWORK, Category.NIC),
    blame=Blame.PAIR,
)


def completion(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """By the status of the completion (IBV_WC_*).

    12 and 13: the other end does not answer, for want of a path or of a process.
    5: flushed, an echo of an earlier error. 1, 2, 4, 6, 7, 8, 9, 10: length,
    protection or access, so set-up or library. 11, 20, 21: an adapter gave up.
    """
    match int(match["status"]):
        case 12 | 13:
            return FABRIC
        case 5:
            return Reading(role=CONSEQUENCE, blame=Blame.PAIR)
        case 1 | 2 | 4 | 6 | 7 | 8 | 9 | 10:
            return CONFIGURED
        case 3 | 11 | 19 | 20 | 21:
            return Reading(
                role=ROOT,
                category=Category.NIC,
                also=(Category.NETWORK,),
                blame=Blame.PAIR,
                weak=True,
            )
        case 0:
            return None
    return Reading(role=CONSEQUENCE, blame=Blame.PAIR)


def async_event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By the event: ports down, adapters broken, and the many that mean nothing."""
    event = (match["event"] or "").strip().lower()
    if event.startswith("local catastrophic") or "device fatal" in event:
        return Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,))
    if re.search(r"port err|(?:link|port) (?:is )?down|active ?-> ?down", event):
        return Reading(role=ROOT, category=Category.NETWORK, also=LINK)
    if "violation" in event or "request error" in event or "invalid request" in event:
        return CONFIGURED
    if "catastrophic" in event or "cq err" in event or "srq err" in event:
        return Reading(role=CONSEQUENCE, category=Category.NIC, also=(Category.NETWORK,))
    return Reading(role=NOISE, blame=Blame.NOBODY)


def verbs_call(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By the error of a verbs call; without one it is an echo."""
    why = (match["why"] or "").lower()
    if "no such device" in why or "input/output error" in why or match["call"] == "ibv_open_device":
        return Reading(role=ROOT, category=Category.NIC, also=(Category.NETWORK,))
    if "connection timed out" in why or "no data available" in why:
        return Reading(
            role=ROOT,
            category=Category.NETWORK,
            also=(Category.NIC, Category.DEPENDENCY),
            blame=Blame.PAIR,
            weak=True,
        )
    if "unreachable" in why or "no route to host" in why:
        return Reading(
            role=ROOT,
            category=Category.DEPENDENCY,
            also=(Category.NETWORK,),
            blame=Blame.PAIR,
        )
    if "allocate memory" in why:
        # Memory that the process may not lock, or queues that the adapter has no room for.
        return Reading(role=ROOT, category=Category.DEPENDENCY)
    if "invalid argument" in why or "not permitted" in why:
        return Reading(role=ROOT, category=Category.DEPENDENCY, also=LINK, weak=True)
    return Reading(role=CONSEQUENCE)


UNREACHABLE = re.compile(
    r"no route to host|network is unreachable|connection timed out|host is down", re.IGNORECASE
)


def connect_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A missing route is a root when nothing ran yet; a refusal or reset is a peer's end."""
    if UNREACHABLE.search(match.string, match.start()) is None:
        return Reading(role=CONSEQUENCE, blame=Blame.PEER)
    return Reading(
        role=ROOT,
        category=Category.NETWORK,
        also=(Category.DEPENDENCY, Category.NIC),
        blame=Blame.PAIR,
        weak=True,
    )


def cuda_failure(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What fits when a communicator is made fits later: a launch that fails is NCCL's own."""
    if "enqueue.cc" not in match.string[: match.start()]:
        return Reading()
    return Reading(category=Category.SOFTWARE_FRAMEWORK, also=(Category.DEPENDENCY, Category.GPU))


def plugin_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """EFA names both ends; one of them, or the path."""
    peer = re.search(r"Peer host id: ?(\S{1,64})", match.string)
    return Reading(peer=None if peer is None else peer[1].rstrip(".,)"))


NCCL = Family("nccl", Kind.NCCL)

NCCL.root(
    "ib_completion",
    r"Got completion (?:from peer (?P<peer>[^\s<]{1,256})\S{0,16} )?with"
    r" (?:status=|error )(?:\w{1,40}\()?(?P<status>\d{1,3})"
    r"(?:.{0,160}?vendor[ _]err[ =](?P<vendor_error>\d{1,6}))?"
    r"(?:.{0,240}? hca (?P<device>[\w:]{1,40}))?",
    literals=("got completion from peer", "got completion with error"),
    matches=(
        "NET/IB : Got completion from peer 10.3.0.7<40112> with status=12 opcode=0 len=0 vendor"
        " err 129 (Recv) localGid ::ffff:10.3.0.8 remoteGids::ffff:10.3.0.7",
        "NET/IB: Got completion from peer 10.3.0.7<40112> with status=IBV_WC_RETRY_EXC_ERR(12)"
        " opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send",
        "NET/IB : Got completion with error 12, opcode 1, len 11155, vendor err 129",
        "NET/IB : Got completion from peer 10.9.1.2<7> with error 4, opcode 1, len 9, vendor err"
        " 81 (Send)",
    ),
    near_misses=("NET/IB : Got completion from peer 10.9.1.2<7> with status=0 opcode=1",),
    source=IB,
    blame=Blame.PAIR,
    read=completion,
)
NCCL.noise(
    "ib_async_event",
    r"async (?:error |fatal )?event(?: on (?:CQ|QP|SRQ)[^:]{0,60})? ?: ?(?P<event>[^(,]{1,80})"
    r"|(?P<event_changed>GID table changed)",
    literals=("async event", "async error event", "async fatal event", "gid table changed"),
    matches=(
        "transport/net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error",
        "NET/IB : mlx5_3:1 Got async event : GID table change",
        "NET/IB : mlx5_0:1 async fatal event: local catastrophic error",
        "NET/IB : mlx5_2:1 async fatal event on QP (0x7f21): local access violation work queue"
        " error",
        "NET/IB : mlx5_7:1 Got non-fatal async event: client reregistration(17)",
    ),
    near_misses=("async event loop started",),
    source=IB,
    read=async_event,
)
NCCL.root(
    "ib_timeout",
    r"Failed to modify QP (?:\w+ )?to RT[RS](?:: (?P<why>Connection timed out))?"
    r"|transport retry count(?:er)? exceeded|RNR retry counter exceeded",
    literals=(
        "failed to modify qp to r",
        "transport retry counter exceeded",
        "rnr retry counter exceeded",
        "transport retry count exceeded",
    ),
    matches=(
        "Failed to modify QP to RTR: Connection timed out",
        "Failed status transport retry counter exceeded (12) for wr_id 3",
    ),
    near_misses=("transport retry counter is 7",),
    source="rdma-core: perftest and UCX",
    category=Category.NETWORK,
    also=(Category.NIC, Category.DEPENDENCY),
    blame=Blame.PAIR,
)
NCCL.consequence(
    "verbs_call",
    r"(?:Call to )?(?P<call>ibv_\w{1,40})(?:\(\))?(?: (?:to )?[A-Z]{3,5})? failed"
    r"(?:(?: with(?: error)?|:) (?:\d{1,4} )?(?P<why>[A-Z][\w/ ]{1,60}))?"
    r"(?:.{0,200}?on dev (?P<device>[\w:]{1,40}))?"
    r"(?:.{0,300}?remote GID (?P<peer>[0-9a-fA-F:.]{2,60}))?",
    literals=("call to ibv_", "ibv_modify_qp ", "ibv_poll_cq() failed", "ibv_reg_mr failed"),
    matches=(
        "misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error No such device",
        "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1,"
        " curr state INIT, next state RTR, local QP number 90, remote QP number 77, local GID"
        " index 3, local GID ::ffff:10.1.2.3, remote GID ::ffff:10.1.2.4",
        "misc/ibvwrap.cc:80 NCCL WARN Call to ibv_get_async_event failed",
        "Call to ibv_create_qp failed with error Cannot allocate memory errno 12",
        "misc/ibvwrap.cc:130 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate"
        " memory",
        "ibv_modify_qp RTR failed: Connection timed out (110) to remote GID ::ffff:10.0.0.7",
    ),
    near_misses=("Call to ibv_open_device succeeded",),
    source=VERBS,
    read=verbs_call,
)
NCCL.root(
    "no_ib_path",
    r"NET/IB : No active port found|NET/IB : Unable to open device (?P<device>\w{1,40})",
    literals=("net/ib : no active port found", "net/ib : unable to open device"),
    matches=("NCCL WARN NET/IB : Unable to open device mlx5_4",),
    near_misses=("NET/IB : No device found.",),
    source=IB,
    category=Category.NIC,
    also=(Category.NETWORK, Category.DEPENDENCY),
    weak=True,
)
NCCL.root(
    "nvls",
    r"nvls\.cc:\d{1,6} NCCL WARN (?:Cuda failure|Failed)"
    r"|Failed to (?:bind|create|allocate|map) NVLink SHARP \(NVLS\)"
    r"|NVLS Multicast.{0,80}?(?:failed|failure)|MNNVL.{0,80}?fabric state not",
    literals=("nvls.cc", "nvlink sharp (nvls)", "fabric state not", "nvls multicast"),
    matches=(
        "transport/nvls.cc:132 NCCL WARN Cuda failure 1 'invalid argument'",
        "NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA"
        " error 801 'operation not supported'",
    ),
    near_misses=(
        "transport/nvls.cc:90 NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)",
    ),
    source="NCCL: transport/nvls.cc",
    category=Category.NVLINK,
    also=(Category.DEPENDENCY,),
)
NCCL.root(
    "shared_memory",
    r"failed to extend /dev/shm/nccl-"
    r"|Error while (?:creating|attaching to) shared memory segment /dev/shm/nccl-"
    r"|Call to posix_fallocate failed|/dev/shm/nccl-\S{1,40}.{0,60}?No space left",
    literals=(
        "/dev/shm/nccl-",
        "call to posix_fallocate failed",
        "while creating shared memory segment",
    ),
    matches=(
        "misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-k2 to 9637892 bytes,"
        " error: No space left on device (28)",
        "misc/shmutils.cc:81 NCCL WARN Error while creating shared memory segment"
        " /dev/shm/nccl-k2 (size 9637888)",
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
    ),
    near_misses=("/dev/shm/nccl-k2 attached",),
    source="NCCL: misc/shmutils.cc",
    category=Category.DEPENDENCY,
    also=(Category.HOST_OOM,),
)
NCCL.root(
    "version_mismatch",
    r"Mismatched NCCL version|NCCL version mismatch|Message truncated : received \d",
    literals=("mismatched nccl version", "nccl version mismatch", "message truncated : received"),
    matches=(
        "bootstrap.cc:501 NCCL WARN Message truncated : received 1024 bytes instead of 256",
        "NCCL WARN Mismatched NCCL version detected : rank 3 version 22005 rank 0 version 21805",
    ),
    near_misses=("NCCL version 2.21.5+cuda12.4",),
    source="NCCL: bootstrap.cc",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_FRAMEWORK, Category.COLLECTIVE_MISMATCH),
)
NCCL.root(
    "socket_handshake",
    r"socketFinalize\w{1,12}: wrong (?:type|magic)",
    literals=("socketfinalizeaccept: wrong", "socketfinalizeconnect: wrong"),
    matches=("misc/socket.cc:690 NCCL WARN socketFinalizeAccept: wrong type 4 != 3",),
    near_misses=("socketFinalizeAccept: type 3",),
    source=SOCKET,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.DEPENDENCY,),
)
NCCL.root(
    "no_interface",
    r"no socket interface found|no usable interface|No interface found in|NET/Socket : no interface"
    r"|connecting to address .{0,200}? is neither AF_INET"
    r"|NET/OFI (?:No eligible providers|Failed to initialize)",
    literals=(
        "no socket interface found",
        "no usable interface",
        "no interface found in",
        "is neither af_inet",
        "no eligible providers",
        "net/socket : no interface",
        "net/ofi failed to initialize",
    ),
    matches=(
        "Bootstrap : no socket interface found",
        "ncclSocketInit: connecting to address  with family 512 is neither AF_INET(2) nor"
        " AF_INET6(10)",
        "NCCL WARN NET/OFI No eligible providers were found",
    ),
    near_misses=("Bootstrap : Using eth0:10.0.0.3<0>",),
    source="NCCL: bootstrap.cc, misc/socket.cc; aws-ofi-nccl",
    category=Category.DEPENDENCY,
)
NCCL.root(
    "duplicate_gpu",
    r"Duplicate GPU detected ?: ?rank (?P<first>\d{1,7}) and rank (?P<second>\d{1,7}) both on",
    literals=("duplicate gpu detected",),
    matches=(
        "init.cc:802 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device"
        " 1b000",
    ),
    near_misses=("no duplicate GPU detected",),
    source="NCCL: init.cc",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER,),
)
NCCL.root(
    "network_plugin",
    r"NET/OFI .{0,160}?completed with error\. RC: ?(?P<result>\d{1,6})"
    r"|efa_rdm_\w{1,60}(?:error|err)\b|My (?:host id|EFA addr): ?(?P<own>\S{1,64})"
    r"|Unresponsive receiver",
    literals=(
        "unresponsive receiver",
        "efa_rdm_",
        "my host id:",
        "my efa addr",
        "completed with error. rc:",
        "libfabric efa provider has encountered",
    ),
    matches=(
        "NCCL WARN NET/OFI Request 0x7f2 completed with error. RC: 107. Error: 4107 (Unresponsive"
        " receiver (reachable by EFA device but handshake failed)). Completed length: 0",
        "efa_rdm_txe_handle_error(): err: 113, message: No route to host My host id: i-0ab1 Peer"
        " host id: i-0cd2",
    ),
    near_misses=("NET/OFI Selected provider is efa, fabric is efa (found 4 nics)",),
    source="aws-ofi-nccl; libfabric: prov/efa",
    category=Category.NETWORK,
    also=(Category.NIC, Category.DEPENDENCY),
    blame=Blame.PAIR,
    weak=True,
    read=plugin_error,
)
NCCL.root(
    "plugin_set_up",
    r"aws-ofi-nccl initialization failed|find any optimal provider|Only EFA provider is supported"
    r"|Failed to initialize (?:sendrecv|rdma|RDMA) protocol|Could not find any usable IB device"
    r"|NCCL WARN Could not find real path of|Could not register memory on rail"
    r"|Unable to register memory \(type|NCCL WARN NET/OFI (?:Couldn't|Could not|Unable to|Failed"
    " to)"
    r" .{1,160}?\bRC: ?-?\d|NCCL WARN NET/OFI [A-Z][a-z]{3,20}ing .{1,120}? failed: \w",
    literals=(
        "aws-ofi-nccl initialization failed",
        "find any optimal provider",
        "only efa provider is supported",
        "failed to initialize sendrecv protocol",
        "failed to initialize rdma protocol",
        "could not find any usable ib device",
        "net/plugin: failed to initialize",
        "could not find real path of",
        "could not register memory on rail",
        "unable to register memory (type",
        "nccl warn net/ofi ",
    ),
    matches=(
        "NCCL WARN NET/OFI aws-ofi-nccl initialization failed",
        "NCCL WARN NET/OFI Couldn't find any optimal provider",
        "NCCL WARN NET/IB : Could not find any usable IB device matching NCCL_IB_HCA=mlx5_9",
        "NCCL WARN NET/OFI Unable to register memory (type = 2) for device 4. RC: -22, Error:"
        " Invalid argument",
        "NCCL WARN NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory",
        "NCCL WARN NET/OFI Creating new endpoint for domain 0x7f9b failed: Invalid argument",
    ),
    near_misses=("NET/OFI Initializing aws-ofi-nccl 1.9.1-aws",),
    source="NCCL: transport/net_ib.cc; aws-ofi-nccl",
    category=Category.DEPENDENCY,
    also=(Category.NIC,),
    weak=True,
)
NCCL.consequence(
    "bootstrap_count",
    r"Bootstrap Root : mismatch in rank count|(?P<twice>Bootstrap Root : rank \d{1,7} of \d{1,7}"
    r" ranks has already checked in)|NCCL WARN .{0,40}?[Aa]ccept timeout|commAlloc: failed"
    r"|NCCL WARN .{0,40}?[Tt]imeout waiting for|peer (?P<peer>[\w.:-]{1,128})<\d{1,5}> message "
    r"truncated : receiving|^.{0,40}?Missing ranks",
    literals=(
        "mismatch in rank count from procs",
        "ranks has already checked in",
        "accept timeout after",
        "commalloc: failed",
        "timeout waiting for",
        "message truncated : receiving",
        "missing ranks",
        "bootstrap : no interface found in same subnet",
    ),
    matches=(
        "bootstrap.cc:240 NCCL WARN Bootstrap Root : mismatch in rank count from procs 15 : 16",
        "bootstrap.cc:245 NCCL WARN Bootstrap Root : rank 3 of 16 ranks has already checked in",
        "NCCL WARN Accept timeout after 300 seconds",
        "transport/net_socket.cc:493 NCCL WARN NET/Socket : peer 10.0.0.7<51200> message truncated"
        " : receiving 1048576 bytes instead of 65536",
    ),
    near_misses=("Bootstrap : Using eth0:10.0.0.3<0>",),
    source="NCCL: bootstrap.cc, init.cc, transport/net_socket.cc; Horovod's list of late ranks",
    blame=Blame.ABSENT,
    read=lambda match, _after: (
        Reading(
            role=ROOT,
            category=Category.DEPENDENCY,
            also=(Category.SOFTWARE_USER,),
            blame=Blame.SELF,
            weak=True,
        )
        if match["twice"]
        else Reading()
    ),
)
NCCL.root(
    "imex",
    r"MNNVL .{0,80}?is available but not (?:working|supported)|IMEX channel .{0,80}?"
    r"(?:fail|not found|denied|error|missing)",
    literals=("check the imex channel", "is available but not", "imex channel"),
    matches=(
        "mnnvl.cc:42 NCCL WARN MNNVL (cliqueSize 4) is available but not working on some systems."
        " Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels).",
    ),
    near_misses=("IMEX channel 0 is ready",),
    source="NCCL: mnnvl.cc",
    category=Category.NVLINK,
    also=(Category.DEPENDENCY,),
    weak=True,
)
NCCL.root(
    "usage",
    r"nccl(?:InvalidUsage|InvalidArgument)|NCCL WARN \w{1,40} : invalid (?:root|count|type"
    r"|reduction operation|rank)|is not a valid pointer",
    literals=("ncclinvalidusage", "ncclinvalidargument", "invalid root ", "is not a valid pointer"),
    matches=(
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
        "misc/argcheck.cc:39 NCCL WARN AllReduce : invalid root 9 (root should be in the 0..8"
        " range)",
    ),
    near_misses=("no invalid root certificates",),
    source="NCCL: ncclGetErrorString, misc/argcheck.cc",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK),
    weak=True,
)
NCCL.consequence(
    "ras_report",
    r"^(?:INCOMPLETE|MISMATCH|TIMEOUT|DEAD|NOCOMM)?:? ?(?:Missing communicator data from|"
    r"Communicator ranks have different (?:collective operation counts|status))"
    r"|\branks? (?:have|has) launched up to operation \d|considered (?:dead|unresponsive)",
    literals=(
        "missing communicator data from",
        "different collective operation counts",
        "ranks have launched up to operation",
        "error   = inconsistent",
        "unresponsive (",
        "dead process",
    ),
    matches=(
        "INCOMPLETE: Missing communicator data from 1 job process",
        "MISMATCH: Communicator ranks have different collective operation counts",
        "  26 ranks have launched up to operation 6650",
    ),
    near_misses=("no missing communicator data",),
    source="NCCL: ras/client_support.cc",
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
)
NCCL.consequence(
    "peer_closed",
    r"Connection closed by remote peer(?: (?P<peer>[^\s<]{1,256}))?",
    literals=("connection closed by remote peer",),
    matches=(
        "misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer"
        " n7.cluster<40112>",
        "NCCL WARN [Service thread] Error encountered progressing operation=Connect, res=3,"
        " Connection closed by remote peer n7<40112>",
    ),
    near_misses=("Connection closed by localRank 3",),
    source=SOCKET,
    blame=Blame.PEER,
)
NCCL.noise(
    "service_closed",
    r"Connection closed by localRank (?P<peer_local_rank>\d{1,4})",
    literals=("connection closed by localrank",),
    matches=("NCCL INFO [Service thread] Connection closed by localRank 0",),
    near_misses=("Connection closed by remote peer n7<40112>",),
    source="NCCL: proxy.cc, also at the end of a healthy job",
    blame=Blame.NOBODY,
    traits=(Trait.TEARDOWN,),
)
NCCL.consequence(
    "socket_error",
    r"(?:Connect(?:ion)? to|recv from|send to|connect to|poll\(\) on|peer)"
    r" (?P<peer>[\w.:-]{1,128}+).{0,48}?(?:failed|returned|closed)"
    r"|Call to (?:connect|accept|recv|send).{0,80}?(?:failed|returned|timeout)"
    r"|socketPollConnect\b.{0,120}?(?:failed|returned|errno|timeout)|connect returned"
    r"|exceeded error retry count",
    literals=(
        "call to connect",
        "socketstartconnect: connect",
        "socketpollconnect",
        "exceeded error retry count",
        "connect returned",
        "net : connect to",
        "net : call to recv",
        "net : call to send",
        "net/socket : peer",
        "call to recv from",
        "call to send to",
        "call to accept failed",
        "socketprogressopt: call to",
        "socketprogress: call to",
    ),
    matches=(
        "misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.1.5<44215> failed :"
        " Software caused connection abort",
        "socketPollConnect: Connect to 10.0.1.5<4421> returned 113(No route to host) errno 115",
        "Call to connect returned Connection refused, retrying (34/34)",
        "misc/socket.cc:520 NCCL WARN Net : Call to recv from 10.0.1.5<44215> failed : Connection"
        " reset by peer",
    ),
    near_misses=("Call to connect is in progress",),
    source=SOCKET,
    blame=Blame.PEER,
    read=connect_error,
)
NCCL.consequence(
    "proxy",
    r"Socket recv failed while polling|Failed to execute operation \w{1,20} from rank"
    r"|Proxy Call to rank (?P<proxy_rank>\d{1,7}) failed|\[Service thread\] Accept failed"
    r"|Could not receive type from localRank|Error encountered progressing operation",
    literals=(
        "socket recv failed while polling",
        "] failed to execute operation",
        "proxy call to rank",
        "[service thread] accept failed",
        "could not receive type from localrank",
        "error encountered progressing operation",
    ),
    matches=(
        "proxy.cc:1147 NCCL WARN Socket recv failed while polling for opId=0x7fb1",
        "proxy.cc:1521 NCCL WARN [Proxy Service 2] Failed to execute operation Connect from rank"
        " 2, retcode 3",
        "proxy.cc:1092 NCCL WARN Proxy Call to rank 3 failed (Setup)",
        "NCCL WARN [Service thread] Could not receive type from localRank 4, res=3, closed=0",
    ),
    near_misses=("[Proxy Service] Device 2 CPU core 14",),
    source="NCCL: proxy.cc",
    blame=Blame.PEER,
)
NCCL.root(
    "result_system",
    r"ncclSystemError: System call|^.{0,80}unhandled system error",
    literals=("ncclsystemerror", "unhandled system error"),
    matches=(
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or ...",
    ),
    near_misses=("ncclSuccess",),
    source="NCCL: ncclGetErrorString",
    blame=Blame.NOBODY,
    weak=True,
    traits=(Trait.GENERIC,),
)
NCCL.root(
    "internal_error",
    r"\bncclInternalError\b",
    literals=("ncclinternalerror",),
    matches=("ncclInternalError: Internal check failed.",),
    near_misses=("ncclInternalErrors: 0",),
    source="NCCL: ncclGetErrorString; what its own checks caught",
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.GPU, Category.NETWORK, Category.DEPENDENCY),
    weak=True,
)
NCCL.consequence(
    "result_remote",
    r"ncclRemoteError",
    literals=("ncclremoteerror",),
    matches=(
        "ncclRemoteError: A call failed possibly due to a network error or a remote process"
        " exiting prematurely.",
    ),
    near_misses=("remote error handler",),
    source="NCCL: ncclGetErrorString",
    blame=Blame.PEER,
)
NCCL.root(
    "result",
    r"ncclUnhandledCudaError",
    literals=("ncclunhandledcudaerror",),
    matches=("ncclUnhandledCudaError: Call to CUDA function failed.",),
    near_misses=("ncclSuccess",),
    source="NCCL: ncclGetErrorString",
    blame=Blame.NOBODY,
    weak=True,
    traits=(Trait.GENERIC,),
)
NCCL.root(
    "cuda_failure",
    r"Cuda failure (?:(?P<cuda_code>\d{1,4})(?: |$))?(?:'(?P<cuda_text>[^']{1,200})')?",
    literals=("cuda failure",),
    matches=(
        "init.cc:51 NCCL WARN Cuda failure 1 'invalid argument'",
        "NCCL WARN Cuda failure 'peer mapping resources exhausted'",
    ),
    near_misses=("no CUDA failures were seen",),
    source="NCCL: checks.h",
    category=Category.DEPENDENCY,
    also=(Category.SOFTWARE_FRAMEWORK, Category.GPU),
    weak=True,
    read=cuda_failure,
)
NCCL.consequence(
    "return_code",
    r"(?:^|NCCL INFO )(?P<file>[\w./]{1,80}\.(?:cc|cu|c|cpp|h|hpp)):\d{1,6} -> (?P<result>[12356])"
    r"(?: |$)",
    # a digit before it: "[send]" lines of channels have an arrow too
    literals=tuple(f"{digit} -> {result}" for digit in range(10) for result in (1, 2, 3, 5, 6)),
    matches=(
        "NCCL INFO transport/net.cc:302 -> 2",
        "bootstrap.cc:77 -> 6",
        "NCCL INFO group.cc:64 -> 3 [Async thread]",
    ),
    near_misses=("NCCL INFO Channel 01 : 2[3b000] -> 1[1b000] via P2P/IPC",),
    source="NCCL: checks.h, NCCLCHECK",
    blame=Blame.NOBODY,
)
NCCL.noise(
    "abort",
    r"- Abort COMPLETE",
    literals=("- abort complete",),
    matches=("comm 0x55d rank 3 nranks 16 cudaDev 3 busId 5d000 - Abort COMPLETE",),
    near_misses=("comm 0x55d rank 3 nranks 16 cudaDev 3 busId 5d000 - Destroy COMPLETE",),
    source="NCCL: init.cc",
    blame=Blame.NOBODY,
)

SIGNATURES = NCCL.signatures()
