"""Disks of the node: NVMe controllers, the block layer, SATA and SAS, software RAID.

A controller that stops answering is the event; errors of its block device follow it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import ADVICE, CONSEQUENCE, FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.host.block_device import place
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

NVME = "Linux: drivers/nvme/host"
BLOCK = "Linux: block layer"
SCSI = "Linux: drivers/scsi, drivers/ata"
ALONE = frozenset({Trait.ROOT_WHEN_ALONE})


# How many lines behind an abort its own status stands, between those of other queues.
ABORT_LINES = 3


def timeout(match: re.Match[str], after: Sequence[str]) -> Reading:
    """What the driver does about a command without an answer, and whether the device obeys."""
    aborted = f"{match['device']}: Abort status: 0x0"
    polled = says(match, "step") == "completion polled"  # its interrupt was lost, not the answer
    if polled or any(line.rstrip().endswith(f" {aborted}") for line in after):
        return Reading(role=ADVICE, weak=True, fields={"severity": WARN})
    return Reading()


def controller(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """All ones in the status register: the device no longer answers on PCIe at all."""
    if says(match, "status").startswith("0xffffffff"):
        return Reading(category=Category.SSD, also=(Category.IO_BOARD,), fields={"severity": FATAL})
    return Reading()


MEDIA, PATH = 2, 3


def command(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The status code type says whether the medium failed or the host gave up."""
    kind = int(match["type"], 16)
    if kind == MEDIA:
        return Reading()
    if kind == PATH:
        return Reading(role=CONSEQUENCE, traits=ALONE)
    # The host asked for what the device does not know: every boot has some of these.
    if kind == 0 and int(match["status"], 16) in (0x01, 0x02):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": WARN})
    return Reading(weak=True)


def block(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An error of a block device: an origin, unless its driver has said more before.

    What a buffer or a stack of devices says comes behind the device's own error.
    """
    where = place(match["device"])
    if where.harmless:
        return Reading(category=Category.NONE, role=NOISE, fields={"severity": WARN})
    error = says(match, "error")
    if "DISCARD" in match.string or "WRITE_ZEROES" in match.string:
        return Reading(
            category=where.category,
            also=where.also,
            role=ADVICE,  # the device does not know how; nothing was lost
            weak=True,
            fields={"severity": WARN},
        )
    follows = error.startswith(("buffer", "lost"))
    blame = Blame.SHARED if where.category is Category.STORAGE and not where.also else None
    return Reading(
        category=where.category,
        also=where.also,
        role=CONSEQUENCE if follows else None,
        blame=blame,
        traits=ALONE if follows else None,
    )


# Asked of a device when it is found, and of drives without a disc in them.
QUESTIONS = ("identify", "packet", "read log", "set features", "check power", "standby", "smart")


def ata(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A question that a device does not answer harms nobody; a reset follows an error."""
    if says(match, "command").startswith(QUESTIONS):
        return Reading(role=ADVICE, weak=True, fields={"severity": WARN})
    return Reading(role=CONSEQUENCE if match["step"] else None)


DISKS = HostFamily("disk", Kind.STORAGE, category=Category.SSD)

DISKS.root(
    "nvme_timeout",
    r"\b(?P<device>nvme\d{1,4}): I/O [^,]{1,80}?QID (?P<queue>\d{1,5}) timeout, "
    r"(?P<step>aborting|reset controller|disable controller|completion polled)",
    literals=(
        "timeout, aborting",
        "timeout, reset controller",
        "timeout, disable controller",
        "timeout, completion polled",
    ),
    matches=(
        "nvme nvme3: I/O 211 QID 17 timeout, aborting",
        "nvme nvme3: I/O 18 (I/O Cmd) QID 4 timeout, reset controller",
        "nvme nvme3: I/O tag 100 (a064) opcode 0x2 (I/O Cmd) QID 9 timeout, aborting"
        " req_op:READ(0) size:131072",
        "nvme nvme3: I/O 12 QID 0 timeout, disable controller",
        "nvme nvme3: I/O 77 QID 31 timeout, completion polled",
    ),
    near_misses=(
        "nvme nvme3: Shutdown timeout set to 8 seconds",
        "watchdog: request timeout, aborting",
    ),
    source=NVME,
    read=timeout,
    context=ABORT_LINES,
)
DISKS.root(
    "nvme_down",
    r"\b(?P<device>nvme\d{1,4}): controller is down; will reset"
    r"(?:: CSTS=(?P<status>0x[0-9a-f]{1,8}))?",
    literals=("controller is down; will reset",),
    matches=(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
        "nvme nvme1: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x18",
    ),
    near_misses=("the controller is down; will reset the board",),
    source=NVME,
    read=controller,
)
DISKS.root(
    "nvme_gone",
    r"\b(?P<device>nvme\d{1,4}): (?:Device not ready; aborting \w{1,20}(?:, CSTS=0x[0-9a-f]{1,8})?"
    r"|Removing after probe failure|Disabling device after reset failure"
    r"|Device shutdown incomplete|Identify Controller failed)",
    literals=(
        "device not ready; aborting",
        "removing after probe failure",
        "disabling device after reset failure",
        "device shutdown incomplete",
        "identify controller failed",
    ),
    matches=(
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme1: Removing after probe failure status: -19",
        "nvme nvme1: Disabling device after reset failure: -19",
    ),
    near_misses=("sound hda: Device not ready; aborting scan",),
    source=NVME,
    severity=FATAL,
)
DISKS.consequence(
    "nvme_abort_status",
    r"\b(?P<device>nvme\d{1,4}): (?:Abort status: (?P<status>0x[0-9a-f]{1,4})"
    r"|frozen state error detected, reset controller)",
    literals=("abort status: 0x", "frozen state error detected, reset controller"),
    matches=(
        "nvme nvme0: Abort status: 0x0",
        "nvme nvme0: frozen state error detected, reset controller",
    ),
    near_misses=("Abort status: 0x1 of the request",),
    source=NVME,
    also=(Category.IO_BOARD,),
)
DISKS.root(
    "nvme_command",
    r"\b(?P<device>nvme\d{1,4}(?:c\d{1,4})?(?:n\d{1,4})?)\b[^(]{0,8} ?"
    r"(?P<command>[\w/ ]{1,40})\(0x[0-9a-f]{1,2}\)[^(]{1,120}"
    r"\(sct (?P<type>0x[0-9a-f]) / sc (?P<status>0x[0-9a-f]{1,2})\)",
    literals=("(sct 0x",),
    matches=(
        "nvme0n1: I/O Cmd(0x2) @ LBA 91234, 256 blocks, I/O Error (sct 0x2 / sc 0x81) DNR",
        "nvme0n1: Read(0x2) @ LBA 512, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) MORE",
        "nvme2n1: I/O Cmd(0x1) @ LBA 7, 8 blocks, I/O Error (sct 0x3 / sc 0x71)",
        "nvme nvme0: Identify(0x6), Invalid Field in Command (sct 0x0 / sc 0x2) MORE",
    ),
    near_misses=("controller table: error log (sct 0x2 / sc 0x81)",),
    source=NVME,
    read=command,
)
DISKS.root(
    "nvme_fabric",
    r"\bnvme (?P<device>nvme\d{1,4}): (?:failed nvme_keep_alive_end_io|Failed reconnect attempt"
    r"|Reconnecting in \d{1,5} seconds|starting error recovery"
    r"|queue \d{1,5}: timeout request)",
    literals=(
        "nvme_keep_alive_end_io",
        "failed reconnect attempt",
        ": reconnecting in ",
        "starting error recovery",
        "timeout request 0x",
    ),
    matches=(
        "nvme nvme6: failed nvme_keep_alive_end_io error=10",
        "nvme nvme6: Reconnecting in 10 seconds...",
        "nvme nvme6: Failed reconnect attempt 3",
        "nvme nvme6: starting error recovery",
    ),
    near_misses=("redis: connection lost: reconnecting in 5 seconds",),
    source="Linux: NVMe over RDMA and TCP",
    category=Category.STORAGE,
    also=(Category.NETWORK, Category.NIC),
    blame=Blame.SHARED,
)
DISKS.root(
    "block_error",
    r"(?P<error>I/O error|critical \w{1,12}(?: allocation)? error|timeout error|protection error"
    r"|recoverable transport error|Buffer I/O error)(?:,| on) dev(?:ice)? "
    r"(?P<device>[a-z][\w-]{1,30}(?:/\S{1,64})?),(?: sector (?P<sector>\d{1,20}))?"
    r"(?: logical block (?P<block>\d{1,20}))?",
    literals=(
        "i/o error, dev ",
        "i/o error on dev ",
        "i/o error on device ",
        " error, dev ",
        "lost async page write",
    ),
    matches=(
        "blk_update_request: I/O error, dev sdb, sector 81920 op 0x1:(WRITE) flags 0x4800",
        "I/O error, dev nvme1n1, sector 4096 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
        "blk_update_request: critical medium error, dev nvme1n1, sector 4096",
        "Buffer I/O error on dev dm-3, logical block 1056, lost async page write",
        "Buffer I/O error on device sdc1, logical block 7",
        "blk_update_request: I/O error, dev loop4, sector 0",
        "blk_update_request: critical target error, dev nvme0n1, sector 0 op 0x3:(DISCARD)",
    ),
    near_misses=("OSError: [Errno 5] Input/output error, dev mode is on",),
    source=BLOCK,
    read=block,
)
DISKS.root(
    "scsi_error",
    r"\bsd \d{1,4}:\d{1,4}:\d{1,4}:\d{1,6}: (?:\[(?P<device>sd[a-z]{1,3})\] )?"
    r"[^\[]{0,80}(?:Sense Key : (?:Medium|Hardware) Error|rejecting I/O to (?:offline|dead) device"
    r"|hostbyte=DID_(?:BAD_TARGET|NO_CONNECT))",
    literals=(
        "sense key : medium error",
        "sense key : hardware error",
        "rejecting i/o to offline device",
        "rejecting i/o to dead device",
        "hostbyte=did_bad_target",
        "hostbyte=did_no_connect",
    ),
    matches=(
        "sd 4:0:2:0: [sdc] tag#18 Sense Key : Medium Error [current]",
        "sd 4:0:2:0: rejecting I/O to offline device",
        "sd 4:0:2:0: [sdc] tag#3 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK",
    ),
    near_misses=("sd 4:0:2:0: [sdc] tag#18 Sense Key : Illegal Request [current]",),
    source=SCSI,
    also=(Category.STORAGE,),
)
DISKS.root(
    "ata_error",
    r"\b(?P<device>ata\d{1,3}(?:\.\d\d)?): (?:failed command: (?P<command>[A-Z ]{1,40})"
    r"|exception Emask 0x[0-9a-f]{1,4}|disable device|(?P<step>hard resetting link))",
    literals=("failed command: ", "exception emask", ": disable device", ": hard resetting link"),
    matches=(
        "ata5.00: exception Emask 0x0 SAct 0x4000 SErr 0x0 action 0x6 frozen",
        "ata5.00: failed command: READ FPDMA QUEUED",
        "ata5: hard resetting link",
    ),
    near_misses=("ata5: SATA link down (SStatus 0 SControl 300)", "make: failed command: gcc"),
    source=SCSI,
    read=ata,
)
DISKS.root(
    "storage_adapter",
    r"\b(?P<driver>megaraid_sas|mpt[23]sas\w{0,6}|mpi3mr\w{0,6}|smartpqi|hpsa|aacraid)\b[^\n]{0,60}?"
    r"(?:FW in FAULT state|fault_state\(0x[0-9a-f]{1,8}\)|Adapter is OFFLINE"
    r"|FATAL\) - VD [\w/]{1,12} is now OFFLINE|is non-operational)",
    literals=(
        "fw in fault state",
        "fault_state(0x",
        "adapter is offline",
        "is now offline",
        "is non-operational",
    ),
    matches=(
        "megaraid_sas 0000:18:00.0: FW in FAULT state!!",
        "mpt3sas_cm0: fault_state(0x5862)!",
        "mpt3sas_cm0: SAS host is non-operational !!!!",
        "megaraid_sas 0000:01:00.0: 3412 (721s/0x0002/FATAL) - VD 00/0 is now OFFLINE",
    ),
    near_misses=("mpt3sas_cm0: _base_make_ioc_operational",),
    source=SCSI,
    severity=FATAL,
    also=(Category.CHASSIS,),
)
DISKS.root(
    "md_failure",
    r"\bmd(?:/raid\d{1,2})?:(?P<array>md\w{1,20}): Disk failure on (?P<device>[\w/-]{2,40})",
    literals=("disk failure on ",),
    matches=("md/raid1:md0: Disk failure on nvme4n1, disabling device.",),
    near_misses=("Drill: disk failure on purpose",),
    source="Linux: drivers/md",
)
DISKS.consequence(
    "md_stopped",
    r"\bmd/raid\d{1,2}:(?P<device>md\w{1,20}): Cannot continue operation",
    literals=("cannot continue operation",),
    matches=("md/raid5:md1: Cannot continue operation (2/4 failed).",),
    near_misses=("cannot continue operation without a token",),
    source="Linux: drivers/md",
    severity=FATAL,
)

SIGNATURES = DISKS.signatures()
