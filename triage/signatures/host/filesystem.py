"""Local file systems: what ext4, XFS and btrfs say when their device fails them.

The device names the fault; the file system mostly follows it. A bad checksum without
an I/O error is an origin of its own: the device gave back other bytes than it took.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import FATAL, NOISE, ROOT, WARN, HostFamily
from triage.signatures.host.block_device import place
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

DEVICE = r"(?P<device>[a-z][\w.-]{1,40})"
CHECKSUM = re.compile(
    r"checksum|\bcrc\b|csum|bad extent|corrupt|bad header|bad entry", re.IGNORECASE
)


def on_device(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The category of the device that is named."""
    device = match.groupdict().get("device")
    if device is None:
        return Reading()
    where = place(device)
    if where.harmless:
        return Reading(category=Category.NONE, role=NOISE, fields={"severity": WARN})
    return Reading(category=where.category, also=where.also)


def checked(match: re.Match[str], after: Sequence[str]) -> Reading:
    """As :func:`on_device`; a bad checksum is an origin, though it may also come from memory."""
    reading = on_device(match, after)
    if reading.role is not None or CHECKSUM.search(match.string, match.start()) is None:
        return reading
    also = (*(reading.also or ()), Category.HOST_MEMORY)
    return Reading(category=reading.category, also=also, role=ROOT, weak=True)


FILES = HostFamily("filesystem", Kind.STORAGE, category=Category.SSD, also=(Category.STORAGE,))

FILES.consequence(
    "read_only",
    rf"(?:EXT[234]-fs|BTRFS)[^(\n]{{0,20}}\((?:device )?{DEVICE}[^)\n]{{0,40}}\)[^\n]{{0,80}}?"
    r"(?:Remounting filesystem read-only|forced readonly)",
    literals=("remounting filesystem read-only", "forced readonly"),
    matches=(
        "EXT4-fs (nvme2n1p1): Remounting filesystem read-only",
        "BTRFS info (device nvme2n1p3: state E): forced readonly",
    ),
    near_misses=("EXT4-fs (nvme2n1p1): re-mounted 1b2c r/w. Quota mode: none.",),
    source="Linux: fs/ext4, fs/btrfs",
    severity=FATAL,
    read=on_device,
)
FILES.consequence(
    "beyond_end",
    # "sda: rw=524288, want=..." of older kernels stands on the line behind it.
    rf"(?:{DEVICE}: )?attempt to access beyond end of device",
    literals=("attempt to access beyond end of device",),
    matches=(
        "nvme2n1p1: attempt to access beyond end of device",
        "attempt to access beyond end of device",
    ),
    near_misses=("an attempt to access memory beyond the end",),
    source="Linux: block/blk-core.c; a device that shrank, or a file system that was damaged",
    read=on_device,
)
FILES.advice(
    "file_max",
    r"VFS: file-max limit (?P<limit>\d{1,20}) reached",
    literals=("vfs: file-max limit",),
    matches=("VFS: file-max limit 9223372 reached",),
    near_misses=("VFS: Disk quotas dquot_6.6.0",),
    source="Linux: fs/file_table.c; no process of the node can open one more file",
    category=Category.SOFTWARE_USER,
    also=(Category.DEPENDENCY,),
)
FILES.consequence(
    "ext4_error",
    rf"EXT[234]-fs (?:error )?\((?:device )?{DEVICE}\)(?::| in) "
    r"(?P<what>[^\n]{1,120})",
    literals=(
        "ext4-fs error",
        "error while writing superblock",
        "previous i/o error to superblock",
        "failed to convert unwritten extents",
        "delayed block allocation failed",
    ),
    matches=(
        "EXT4-fs error (device nvme2n1p1): ext4_find_entry:1682: inode #2: comm python:"
        " reading directory lblock 0",
        "EXT4-fs error (device sdd) in ext4_reserve_inode_write:5795: Journal has aborted",
        "EXT4-fs (sdd): I/O error while writing superblock",
        "EXT4-fs error (device nvme2n1p1): ext4_validate_block_bitmap:390: comm kworker:"
        " bg 7: bad block bitmap checksum",
    ),
    near_misses=("EXT4-fs (nvme2n1p1): mounted filesystem with ordered data mode",),
    source="Linux: fs/ext4",
    read=checked,
)
FILES.consequence(
    "journal",
    rf"Aborting journal on device {DEVICE}|JBD2: (?:Detected IO errors|I/O error|Error)"
    rf"(?:[^\n]{{0,80}}? (?:for|on) (?P<journal>(?:nvme|sd|dm-|md|vd|xvd|nbd|rbd)[\w-]{{1,20}}))?"
    r"|Detected aborted journal",
    literals=(
        "aborting journal on device",
        "jbd2: error",
        "jbd2: detected io errors",
        "jbd2: i/o error",
        "detected aborted journal",
    ),
    matches=(
        "Aborting journal on device nvme2n1p1-8.",
        "JBD2: Error -5 detected when updating journal superblock for sdb2-8.",
        "JBD2: Error while async write back metadata bh 19.",
        "JBD2: Detected IO errors while flushing file data on dm-0-8",
    ),
    near_misses=("JBD2: Clearing recovery information on journal",),
    source="Linux: fs/jbd2",
    read=on_device,
)
FILES.root(
    "xfs_checksum",
    rf"XFS \({DEVICE}\): Metadata (?:CRC error|corruption) detected",
    literals=("metadata crc error", "metadata corruption detected"),
    matches=(
        "XFS (nvme3n1): Metadata CRC error detected at xfs_agf_read_verify+0xd0/0x140 [xfs],"
        " xfs_agf block 0x1",
        "XFS (dm-1): Metadata corruption detected at xfs_inode_buf_verify+0x14d",
    ),
    near_misses=("metadata corruption detected: none",),
    source="Linux: fs/xfs",
    weak=True,
    read=checked,
)
FILES.consequence(
    "xfs_error",
    rf"XFS \({DEVICE}\): (?:metadata I/O error|log I/O error|[^\n]{{0,80}}?Shutting down filesystem"
    r"|xfs_do_force_shutdown|Filesystem has been shut down|Please unmount the filesystem"
    r"|writeback error on inode)",
    literals=(
        "metadata i/o error",
        "log i/o error",
        "shutting down filesystem",
        "xfs_do_force_shutdown",
        "filesystem has been shut down",
        "please unmount the filesystem",
        "writeback error on inode",
    ),
    matches=(
        'XFS (nvme3n1): metadata I/O error in "xfs_da_read_buf" at daddr 0x80 len 8 error 5',
        "XFS (nvme3n1): log I/O error -5",
        "XFS (sda3): Corruption of in-memory data detected.  Shutting down filesystem",
        "XFS (sda3): xfs_do_force_shutdown(0x2) called from line 1211",
    ),
    near_misses=("XFS (nvme3n1): Mounting V5 Filesystem", "XFS (nvme3n1): Ending clean mount"),
    source="Linux: fs/xfs",
    read=on_device,
)
FILES.consequence(
    "btrfs_error",
    rf"BTRFS (?P<level>error|critical|warning) \(device {DEVICE}[^)\n]{{0,40}}\):? "
    r"(?P<what>[^\n]{0,40}?(?:errs: |csum|IO failure|corrupt|error writing))",
    literals=("btrfs error (device", "btrfs critical (device", "btrfs warning (device"),
    matches=(
        "BTRFS error (device nvme1n1p3): bdev /dev/nvme1n1p3 errs: wr 4, rd 0, flush 0",
        "BTRFS critical (device sdb): corrupt leaf: root=5 block=30408704",
    ),
    near_misses=(
        "BTRFS warning (device sdb): block group 20971520 has wrong amount of free space",
    ),
    source="Linux: fs/btrfs",
    read=checked,
)
FILES.consequence(
    "squashfs_error",
    r"SQUASHFS error: (?P<what>[^\n]{1,80})",
    literals=("squashfs error",),
    matches=("SQUASHFS error: zstd decompression failed, data probably corrupt",),
    near_misses=("squashfs: version 4.0 (2009/01/31) Phillip Lougher",),
    source="Linux: fs/squashfs",
    category=Category.STORAGE,
    also=(Category.SSD,),
)

SIGNATURES = FILES.signatures()
