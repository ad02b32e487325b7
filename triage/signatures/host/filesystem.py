"""Local file systems: what ext4, XFS and btrfs say when their device fails them.

The device names the fault; the file system mostly follows it. A bad checksum without
an I/O error is an origin of its own: the device gave back other bytes than it took.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.host.block_device import place
from triage.signatures.host_line import ERROR, FATAL, WARN, HostFamily
from triage.signatures.job_line import CONSEQUENCE, NOISE, ROOT
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

FILES = HostFamily("filesystem", Kind.STORAGE)
DEVICE = r"(?P<device>[a-z][\w.-]{1,40})"
CHECKSUM = re.compile(
    r"checksum|\bcrc\b|csum|bad extent|corrupt|bad header|bad entry", re.IGNORECASE
)


def on_device(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """The category of the device that is named."""
    device = found.groupdict().get("device")
    if device is None:
        return Reading()
    where = place(device)
    if where.harmless:
        return Reading(category=Category.NONE, role=NOISE, fields={"severity": WARN})
    return Reading(category=where.category, also=where.also)


def checked(found: re.Match[str], after: Sequence[str]) -> Reading:
    """As :func:`on_device`; a bad checksum is an origin, though it may also come from memory."""
    reading = on_device(found, after)
    if reading.role is not None or CHECKSUM.search(found.string, found.start()) is None:
        return reading
    also = (*(reading.also or ()), Category.HOST_MEMORY)
    return Reading(category=reading.category, also=also, role=ROOT, weak=True)


FILES.line(
    "read_only",
    CONSEQUENCE,
    FATAL,
    ("remounting filesystem read-only", "forced readonly"),
    rf"(?:EXT[234]-fs|BTRFS)[^(\n]{{0,20}}\((?:device )?{DEVICE}[^)\n]{{0,40}}\)[^\n]{{0,80}}?"
    r"(?:Remounting filesystem read-only|forced readonly)",
    (
        "EXT4-fs (nvme2n1p1): Remounting filesystem read-only",
        "BTRFS info (device nvme2n1p3: state E): forced readonly",
    ),
    ("EXT4-fs (nvme2n1p1): re-mounted 1b2c r/w. Quota mode: none.",),
    "Linux: fs/ext4, fs/btrfs",
    category=Category.SSD,
    also=(Category.STORAGE,),
    read=on_device,
)
FILES.line(
    "ext4_error",
    CONSEQUENCE,
    ERROR,
    (
        "ext4-fs error",
        "error while writing superblock",
        "previous i/o error to superblock",
        "failed to convert unwritten extents",
        "delayed block allocation failed",
    ),
    rf"EXT[234]-fs (?:error )?\((?:device )?{DEVICE}\)(?::| in) "
    r"(?P<what>[^\n]{1,120})",
    (
        "EXT4-fs error (device nvme2n1p1): ext4_find_entry:1682: inode #2: comm python:"
        " reading directory lblock 0",
        "EXT4-fs error (device sdd) in ext4_reserve_inode_write:5795: Journal has aborted",
        "EXT4-fs (sdd): I/O error while writing superblock",
        "EXT4-fs error (device nvme2n1p1): ext4_validate_block_bitmap:390: comm kworker:"
        " bg 7: bad block bitmap checksum",
    ),
    ("EXT4-fs (nvme2n1p1): mounted filesystem with ordered data mode",),
    "Linux: fs/ext4",
    category=Category.SSD,
    also=(Category.STORAGE,),
    read=checked,
)
FILES.line(
    "journal",
    CONSEQUENCE,
    ERROR,
    (
        "aborting journal on device",
        "jbd2: error",
        "jbd2: detected io errors",
        "jbd2: i/o error",
        "detected aborted journal",
    ),
    rf"Aborting journal on device {DEVICE}|JBD2: (?:Detected IO errors|I/O error|Error)"
    rf"(?:[^\n]{{0,80}}? (?:for|on) (?P<journal>(?:nvme|sd|dm-|md|vd|xvd|nbd|rbd)[\w-]{{1,20}}))?"
    r"|Detected aborted journal",
    (
        "Aborting journal on device nvme2n1p1-8.",
        "JBD2: Error -5 detected when updating journal superblock for sdb2-8.",
        "JBD2: Error while async write back metadata bh 19.",
        "JBD2: Detected IO errors while flushing file data on dm-0-8",
    ),
    ("JBD2: Clearing recovery information on journal",),
    "Linux: fs/jbd2",
    category=Category.SSD,
    also=(Category.STORAGE,),
    read=on_device,
)
FILES.line(
    "xfs_checksum",
    ROOT,
    ERROR,
    ("metadata crc error", "metadata corruption detected"),
    rf"XFS \({DEVICE}\): Metadata (?:CRC error|corruption) detected",
    (
        "XFS (nvme3n1): Metadata CRC error detected at xfs_agf_read_verify+0xd0/0x140 [xfs],"
        " xfs_agf block 0x1",
        "XFS (dm-1): Metadata corruption detected at xfs_inode_buf_verify+0x14d",
    ),
    ("metadata corruption detected: none",),
    "Linux: fs/xfs",
    category=Category.SSD,
    also=(Category.STORAGE,),
    weak=True,
    read=checked,
)
FILES.line(
    "xfs_error",
    CONSEQUENCE,
    ERROR,
    (
        "metadata i/o error",
        "log i/o error",
        "shutting down filesystem",
        "xfs_do_force_shutdown",
        "filesystem has been shut down",
        "please unmount the filesystem",
        "writeback error on inode",
    ),
    rf"XFS \({DEVICE}\): (?:metadata I/O error|log I/O error|[^\n]{{0,80}}?Shutting down filesystem"
    r"|xfs_do_force_shutdown|Filesystem has been shut down|Please unmount the filesystem"
    r"|writeback error on inode)",
    (
        'XFS (nvme3n1): metadata I/O error in "xfs_da_read_buf" at daddr 0x80 len 8 error 5',
        "XFS (nvme3n1): log I/O error -5",
        "XFS (sda3): Corruption of in-memory data detected.  Shutting down filesystem",
        "XFS (sda3): xfs_do_force_shutdown(0x2) called from line 1211",
    ),
    ("XFS (nvme3n1): Mounting V5 Filesystem", "XFS (nvme3n1): Ending clean mount"),
    "Linux: fs/xfs",
    category=Category.SSD,
    also=(Category.STORAGE,),
    read=on_device,
)
FILES.line(
    "btrfs_error",
    CONSEQUENCE,
    ERROR,
    ("btrfs error (device", "btrfs critical (device", "btrfs warning (device"),
    rf"BTRFS (?P<level>error|critical|warning) \(device {DEVICE}[^)\n]{{0,40}}\):? "
    r"(?P<what>[^\n]{0,40}?(?:errs: |csum|IO failure|corrupt|error writing))",
    (
        "BTRFS error (device nvme1n1p3): bdev /dev/nvme1n1p3 errs: wr 4, rd 0, flush 0",
        "BTRFS critical (device sdb): corrupt leaf: root=5 block=30408704",
    ),
    ("BTRFS warning (device sdb): block group 20971520 has wrong amount of free space",),
    "Linux: fs/btrfs",
    category=Category.SSD,
    also=(Category.STORAGE,),
    read=checked,
)
FILES.line(
    "squashfs_error",
    CONSEQUENCE,
    ERROR,
    ("squashfs error",),
    r"SQUASHFS error: (?P<what>[^\n]{1,80})",
    ("SQUASHFS error: zstd decompression failed, data probably corrupt",),
    ("squashfs: version 4.0 (2009/01/31) Phillip Lougher",),
    "Linux: fs/squashfs",
    category=Category.STORAGE,
    also=(Category.SSD,),
)

SIGNATURES = FILES.signatures()
