"""Storage behind a network: NFS, Lustre, GPFS, BeeGFS, Ceph, iSCSI, multipath, nbd.

A server that does not answer is nobody's fault among the nodes unless one node alone
says it: the server is the peer, the blame is shared. What comes back is said too.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import ADVICE, FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

NFS = "Linux: fs/nfs, fs/lockd, net/sunrpc"
LUSTRE = "Lustre and LNet clients"
WAY = (Category.NETWORK, Category.NIC)
PEER = r"(?P<peer>[\w.:@\[\]-]{1,120})"


def cleared(_match: re.Match[str], _after: Sequence[str]) -> Reading:
    """It answers again: nothing to blame, and the end of what was said before."""
    return Reading(fields={"cleared": "yes"})


def answers(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """``OK`` ends an outage, ``timed out`` gives up on a soft mount; else it is tried again."""
    state = says(match, "state")
    if state == "ok":
        return Reading(role=NOISE, category=Category.NONE, fields={"cleared": "yes"})
    if state.endswith("timed out"):
        return Reading()
    return Reading(weak=True, traits=frozenset({Trait.GENERIC}))


IDLE = -103  # ECONNABORTED: what nobody used was closed


def state_or_connection(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A connection that was closed because it was idle comes back when it is used."""
    if match["why"] is not None and int(match["why"]) == IDLE:
        return Reading(role=ADVICE, weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


def ceph_session(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Daemons close idle connections by the thousand; a session that is lost is a fault."""
    if "socket closed (con state open)" in match.string.lower():
        return Reading(role=ADVICE, weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A connection that is gone; a slow answer alone is every busy file system's."""
    if "slow reply" in (match["why"] or ""):
        return Reading(weak=True, traits=frozenset({Trait.GENERIC}))
    return Reading()


REMOTE = HostFamily("network_storage", Kind.STORAGE, category=Category.STORAGE)

REMOTE.root(
    "nfs_server",
    rf"\b(?:nfs|lockd): server {PEER},? "
    r"(?P<state>not responding, (?:still trying|timed out)|OK|is not responding)",
    literals=("nfs: server ", "lockd: server "),
    matches=(
        "nfs: server filer7.example.org not responding, still trying",
        "nfs: server 10.2.0.9 not responding, timed out",
        "lockd: server filer7 not responding, still trying",
        "nfs: server filer7.example.org OK",
    ),
    near_misses=("nfs: server name resolution is enabled",),
    source=NFS,
    blame=Blame.SHARED,
    read=answers,
)
REMOTE.root(
    "nfs_state",
    rf"NFS: state manager:? [^\n]{{1,60}}?failed on NFSv4 server {PEER}"
    r"(?: with error (?P<error>\d{1,4}))?"
    r"|nfs4_reclaim\w*: [^\n]{0,40}failed"
    r"|rpcrdma: connection to (?P<rdma_peer>\S{1,80}) on (?P<device>\w{1,20}) closed \("
    r"(?P<why>-\d{1,4})",
    literals=("nfs: state manager", "nfs4_reclaim", "rpcrdma: connection to"),
    matches=(
        "NFS: state manager: check lease failed on NFSv4 server 10.2.0.9 with error 5",
        "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
        "rpcrdma: connection to 10.2.0.9:20049 on mlx5_2 closed (-103)",
    ),
    near_misses=("NFS: Registering the id_resolver key type",),
    source=NFS,
    also=WAY,
    blame=Blame.SHARED,
    read=state_or_connection,
)
REMOTE.root(
    "smb_server",
    r"CIFS: (?:VFS: )?\\\\(?P<peer>[\w.-]{1,120})\S{0,40} has not responded in \d{1,6} seconds",
    literals=("has not responded in ",),
    matches=(r"CIFS: VFS: \\filer9 has not responded in 180 seconds. Reconnecting...",),
    near_misses=("the peer has not responded in 10 seconds",),
    source="Linux: fs/smb",
    blame=Blame.SHARED,
    weak=True,
    traits=(Trait.GENERIC,),
)
REMOTE.noise(
    "lustre_restored",
    rf"Lustre: [^\n]{{0,200}}?Connection restored to (?P<target>\S{{1,80}})(?: \(at {PEER}\))?",
    literals=("connection restored to ",),
    matches=(
        "Lustre: scratch-OST001c-osc-ffff9a1: Connection restored to scratch-OST001c"
        " (at 10.20.1.4@o2ib)",
    ),
    near_misses=("redis: connection restored to master",),
    source=LUSTRE,
    category=Category.NONE,
    read=cleared,
)
REMOTE.root(
    "lustre_evicted",
    r"Lustre(?:Error)?: [^\n]{0,200}?(?:This client was evicted by (?P<target>[\w-]{1,80})"
    rf"|Evicted from MGS \(at {PEER}\))",
    literals=("client was evicted by", "evicted from mgs"),
    matches=(
        "LustreError: 167-0: scratch-OST001c-osc-ffff9a1: This client was evicted by"
        " scratch-OST001c; in progress operations using this service will fail.",
        "Lustre: Evicted from MGS (at 10.20.1.2@o2ib) after server handle changed from 0x1 to 0x2",
    ),
    near_misses=("the client was evicted by the cache",),
    source=LUSTRE,
    severity=FATAL,
    also=WAY,
    blame=Blame.SHARED,
)
REMOTE.root(
    "lustre_lost",
    rf"Connection to (?P<target>\S{{1,80}}) \(at {PEER}\) was lost; in progress operations"
    r"|ptlrpc_expire_one_request\(\)\)? @@@ (?P<why>[^\n\[]{1,80})",
    literals=("was lost; in progress operations", "ptlrpc_expire_one_request"),
    matches=(
        "Lustre: scratch-MDT0000-mdc-ffff9a1: Connection to scratch-MDT0000 (at 10.20.1.2@o2ib)"
        " was lost; in progress operations using this service will wait for recovery to complete",
        "Lustre: 3118:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed"
        " out for slow reply: [sent 1790000000/real 1790000000]",
    ),
    near_misses=("connection to db was lost",),
    source=LUSTRE,
    also=WAY,
    blame=Blame.SHARED,
    read=lost,
)
REMOTE.root(
    "lnet_timeout",
    r"LNet(?:Error)?: [^\n]{0,160}?(?:(?:Timed out tx for|Timed out RDMA with|to|with|from|peer) "
    rf"{PEER}@(?P<network>\w{{2,12}})|kiblnd_|ksocknal_|lnet_)",
    literals=("timed out tx for ", "timed out rdma with", "lneterror:"),
    matches=(
        "LNet: 911:0:(o2iblnd_cb.c:3400:kiblnd_check_conns()) Timed out tx for 10.20.1.4@o2ib:"
        " 12 seconds",
        "LNetError: 911:0:(o2iblnd_cb.c:3419:kiblnd_check_conns()) Timed out RDMA with"
        " 10.20.1.4@o2ib (57): c: 32, oc: 0, rc: 32",
    ),
    near_misses=("LNet: Added LNI 10.20.9.9@o2ib [8/256/0/180]",),
    source=LUSTRE,
    also=WAY,
    blame=Blame.SHARED,
)
REMOTE.consequence(
    "lustre_repeated",
    r"(?:Lustre|LustreError|LNet|LNetError): [^\n]{0,200}?Skipped (?P<skipped>\d{1,9}) previous"
    r" similar messages?",
    literals=("previous similar message",),
    matches=("LustreError: 3118:0:(client.c:2289:ptlrpc_x()) Skipped 9 previous similar messages",),
    near_misses=("httpd: Skipped 4 previous similar messages",),
    source=LUSTRE,
    severity=WARN,
    blame=Blame.SHARED,
)
REMOTE.root(
    "lustre_error",
    r"LustreError: [^\n]{0,200}?(?:(?:to node|to|at) (?P<peer>[\w.:]{1,80}@\w{2,12}) failed: "
    r"rc = (?P<error>-\d{1,4})|rc[ =]{1,3}(?P<code_text>-\d{1,4})|LBUG|ASSERTION)",
    literals=("lustreerror:",),
    matches=(
        "LustreError: 11-0: home-OST0003-osc-ffff8: operation ost_write to node 10.20.1.7@o2ib"
        " failed: rc = -110",
        "LustreError: 88:0:(file.c:4400:ll_inode_revalidate_fini()) home: revalidate FID"
        " [0x200:0x1:0x0] error: rc = -4",
    ),
    near_misses=("no LustreError: lines were seen",),
    source=LUSTRE,
    also=WAY,
    blame=Blame.SHARED,
)
REMOTE.root(
    "gpfs",
    r"\b(?:mmfsd?|GPFS): (?:\[[EX]\]|6027-\d{3,4})[^\n]{0,160}?"
    r"(?:expelled|unmount|Lost membership|Stale|Disk failure|lease|Close connection|timed out)",
    literals=("mmfs: [e]", "mmfs: [x]", "mmfsd: [e]", "gpfs: 6027-"),
    matches=(
        "mmfs: [E] This node is being expelled from the cluster because of missed disk lease",
        "mmfs: [X] File system scratch forced unmount: Stale file handle",
    ),
    near_misses=("mmfs: [I] Node 10.1.1.1 is now expelled", "he was expelled from school"),
    source="IBM Storage Scale log",
    also=WAY,
    blame=Blame.SHARED,
    weak=True,
    scope=Scope.ANY,
)
REMOTE.root(
    "beegfs",
    r"\bbeegfs\b[^\n]{0,120}?(?:Retrying communication|Communication (?:error|timeout)"
    r"|Connect(?:ion)? failed|Receive timed out|Unable to connect)",
    literals=("beegfs",),
    matches=(
        "beegfs: python(4410) [Remoting (stat file)] >> Retrying communication with node: st02",
    ),
    near_misses=("beegfs: enabling unsafe global rkey",),
    source="BeeGFS client module",
    also=WAY,
    blame=Blame.SHARED,
    weak=True,
)
REMOTE.root(
    "ceph",
    r"libceph: (?P<peer>(?:osd|mon|mds)\d{1,5}) [^\n]{0,100}?(?:socket closed|session lost"
    r"|socket error|connect error|wrong peer|missed keepalive|down\b)"
    r"|\bceph: (?P<mds>mds\d{1,5}) (?:hung|caps stale|reconnect denied|rejected session)",
    literals=("libceph: ", "ceph: mds"),
    matches=(
        "libceph: osd14 (1)10.3.0.4:6813 socket closed (con state OPEN)",
        "libceph: mon2 (1)10.3.0.2:6789 session lost, hunting for new mon",
        "ceph: mds0 hung",
    ),
    near_misses=("libceph: mon0 (1)10.3.0.2:6789 session established", "libceph: osd14 up"),
    source="Linux: net/ceph, fs/ceph",
    also=WAY,
    blame=Blame.SHARED,
    read=ceph_session,
)
REMOTE.root(
    "iscsi",
    r"\b(?P<device>(?:connection|session)\d{1,4}(?::\d{1,4})?): (?:detected conn error"
    r"|session recovery timed out|ping timeout of \d{1,5} secs expired)",
    literals=("detected conn error", "session recovery timed out", "secs expired, recv timeout"),
    matches=(
        "connection3:0: detected conn error (1022)",
        "session3: session recovery timed out after 120 secs",
        "connection3:0: ping timeout of 5 secs expired, recv timeout 5, last rx 4295",
    ),
    near_misses=("pool: session recovery timed out",),
    source="Linux: drivers/scsi, iSCSI transport",
    also=WAY,
    blame=Blame.SHARED,
)
REMOTE.noise(
    "path_restored",
    r"multipath: (?P<device>\d{1,4}:\d{1,6}): Reinstating path",
    literals=("reinstating path",),
    matches=("device-mapper: multipath: 253:4: Reinstating path 8:32.",),
    near_misses=("Reinstating path variables",),
    source="Linux: dm-multipath",
    category=Category.NONE,
    read=cleared,
)
REMOTE.root(
    "path_failed",
    r"multipath: (?P<device>\d{1,4}:\d{1,6}): Failing path"
    r"|(?P<map>[\w-]{1,60}): remaining active paths: 0\b",
    literals=("failing path", "remaining active paths: 0"),
    matches=(
        "device-mapper: multipath: 253:4: Failing path 8:32.",
        "multipathd: mpatha: remaining active paths: 0",
    ),
    near_misses=("test: failing path of the parser",),
    source="Linux: dm-multipath",
    also=(Category.SSD, *WAY),
    blame=Blame.SHARED,
)
REMOTE.root(
    "nbd",
    r"\bblock (?P<device>nbd\d{1,4}): (?:Connection timed out|Receive control failed"
    r"|Possible stuck request|Other side returned error|shutting down sockets|Send data failed)",
    literals=("block nbd",),
    matches=(
        "block nbd3: Connection timed out, retrying (0/1 alive)",
        "block nbd3: Receive control failed (result -104)",
    ),
    near_misses=("block nbd3: NBD_DISCONNECT",),
    source="Linux: drivers/block/nbd",
    also=WAY,
    blame=Blame.SHARED,
)

SIGNATURES = REMOTE.signatures()
