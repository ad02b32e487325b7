"""What lines about a node's own hardware and system mean: category, role, kind, severity."""

# ruff: noqa: E501  (a log line is as long as it is)

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.signatures import registry
from triage.signatures.host.readers import classify_status, rate_severity
from triage.signatures.load import load

FILES = (
    "host/disks",
    "host/network_storage",
    "host/memory_cpu",
    "network/nic",
    "host/oom",
    "host/lockup",
    "host/ipmi_sel",
    "host/power",
    "host/boot",
    "host/segfault",
    "host/node_lifecycle",
)
SIGNATURES = tuple(one for file in FILES for one in load(file))
GRADES = {"corrected", "warn", "error", "fatal"}


@dataclass(frozen=True)
class Seen:
    """What became of a line."""

    id: str
    category: Category | None
    also: tuple[Category, ...]
    role: EvidenceRole
    kind: Kind
    blame: Blame
    weak: bool
    fields: dict[str, str]


def see(line: str, after: Sequence[str] = ()) -> Seen | None:
    match = registry.match(line, after)
    if match is None:
        return None
    one, reading = match.signature, match.reading
    groups = {key: value for key, value in match.found.groupdict().items() if value}
    return Seen(
        id=one.id,
        category=one.category if reading.category is None else reading.category,
        also=one.also if reading.also is None else reading.also,
        role=one.role if reading.role is None else reading.role,
        kind=one.kind,
        blame=one.blame if reading.blame is None else reading.blame,
        weak=one.weak if reading.weak is None else reading.weak,
        fields={**groups, **reading.fields},
    )


# line | category | role | kind | severity | weak; "-" for none.
TABLE = """
nvme nvme7: I/O 33 QID 60 timeout, aborting | ssd | root | storage | error | no
nvme nvme7: I/O tag 577 (1241) opcode 0x1 (I/O Cmd) QID 8 timeout, aborting req_op:WRITE(1) size:4096 | ssd | root | storage | error | no
nvme nvme7: I/O 33 QID 60 timeout, reset controller | ssd | root | storage | error | no
nvme nvme7: I/O 4 QID 0 timeout, disable controller | ssd | root | storage | error | no
nvme nvme7: I/O 4 QID 3 timeout, completion polled | ssd | advice | storage | warn | yes
nvme nvme7: Abort status: 0x371 | ssd | consequence | storage | error | no
nvme nvme7: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10 | ssd | root | storage | error | no
nvme nvme7: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff | ssd | root | storage | fatal | no
nvme nvme7: Device not ready; aborting reset, CSTS=0x1 | ssd | root | storage | fatal | no
nvme nvme7: Removing after probe failure status: -19 | ssd | root | storage | fatal | no
nvme nvme7: Disabling device after reset failure: -19 | ssd | root | storage | fatal | no
nvme7n1: I/O Cmd(0x2) @ LBA 771, 64 blocks, I/O Error (sct 0x2 / sc 0x81) MORE | ssd | root | storage | error | no
nvme7n1: I/O Cmd(0x2) @ LBA 771, 64 blocks, I/O Error (sct 0x3 / sc 0x71) | ssd | consequence | storage | error | no
nvme nvme7: Set Features(0x9), Invalid Field in Command (sct 0x0 / sc 0x2) | none | noise | storage | warn | no
nvme nvme9: Failed reconnect attempt 12 | storage | root | storage | error | no
I/O error, dev nvme7n1, sector 881 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0 | ssd | root | storage | error | no
blk_update_request: I/O error, dev sdf, sector 881 op 0x0:(READ) flags 0x0 | ssd | root | storage | error | no
blk_update_request: critical medium error, dev nvme7n1, sector 881 op 0x0:(READ) | ssd | root | storage | error | no
blk_update_request: critical target error, dev sdf, sector 881 op 0x3:(DISCARD) | ssd | advice | storage | warn | yes
Buffer I/O error on dev sdf1, logical block 12, lost async page write | ssd | consequence | storage | error | no
I/O error, dev nbd2, sector 0 op 0x0:(READ) | storage | root | storage | error | no
I/O error, dev rbd5, sector 16 op 0x1:(WRITE) | storage | root | storage | error | no
Buffer I/O error on dev dm-7, logical block 3 | storage | consequence | storage | error | no
blk_update_request: I/O error, dev loop11, sector 2 | none | noise | storage | warn | no
blk_update_request: I/O error, dev sr0, sector 2 | none | noise | storage | warn | no
sd 2:0:1:0: [sdf] tag#9 Sense Key : Hardware Error [current] | ssd | root | storage | error | no
ata9.00: failed command: WRITE FPDMA QUEUED | ssd | root | storage | error | no
md/raid10:md127: Disk failure on nvme7n1p2, disabling device. | ssd | root | storage | error | no
md/raid10:md127: Cannot continue operation (1/2 failed). | ssd | consequence | storage | fatal | no
EXT4-fs error (device nvme7n1p2): ext4_journal_check_start:83: Detected aborted journal | ssd | consequence | storage | error | no
EXT4-fs (nvme7n1p2): Remounting filesystem read-only | ssd | consequence | storage | fatal | no
EXT4-fs error (device nvme7n1p2): ext4_lookup:1785: inode #9: comm ls: iget: checksum invalid | ssd | root | storage | error | yes
EXT4-fs error (device rbd5): ext4_find_entry:1463: inode #2: comm x: reading directory lblock 0 | storage | consequence | storage | error | no
Aborting journal on device dm-7-8. | storage | consequence | storage | error | no
JBD2: Error while async write back metadata bh 77. | ssd | consequence | storage | error | no
XFS (nvme7n1): Metadata CRC error detected at xfs_dir3_block_read_verify+0x9c | ssd | root | storage | error | yes
XFS (nvme7n1): log I/O error -5 | ssd | consequence | storage | error | no
XFS (nvme7n1): Filesystem has been shut down due to log error (0x2). | ssd | consequence | storage | error | no
BTRFS error (device sdf): bdev /dev/sdf errs: wr 1, rd 0, flush 0, corrupt 0, gen 0 | ssd | root | storage | error | yes
nfs: server vast-3.example.org not responding, timed out | storage | root | storage | error | no
nfs: server vast-3.example.org OK | none | noise | storage | error | no
Lustre: work-OST0007-osc-ffff9: Connection to work-OST0007 (at 10.9.9.7@o2ib1) was lost; in progress operations using this service will wait for recovery to complete | storage | root | storage | error | yes
Lustre: work-OST0007-osc-ffff9: Connection restored to work-OST0007 (at 10.9.9.7@o2ib1) | none | noise | storage | - | no
LNet: 5:0:(o2iblnd_cb.c:3174:kiblnd_check_conns()) Timed out tx for 10.9.9.7@o2ib1: 9 seconds | storage | root | storage | error | no
LustreError: 5:0:(client.c:1:ptlrpc_y()) Skipped 11 previous similar messages | storage | consequence | storage | warn | no
LustreError: 166-1: MGC10.9.9.1@o2ib: operation mgs_target_reg to node 10.9.9.1@o2ib failed: rc = -107 | storage | root | storage | error | no
libceph: osd3 (1)10.8.8.8:6800 socket closed (con state CONNECTING) | storage | root | storage | error | no
connection9:0: detected conn error (1020) | storage | root | storage | error | no
device-mapper: multipath: 253:9: Failing path 65:16. | storage | root | storage | error | no
device-mapper: multipath: 253:9: Reinstating path 65:16. | none | noise | storage | - | no
mce: [Hardware Error]: CPU 71: Machine Check Exception: 5 Bank 3: be00000000800400 | cpu | root | cpu | fatal | no
mce: [Hardware Error]: CPU 71: Machine Check Exception: 7 Bank 17: bd000000001000c1 | host_memory | root | cpu | error | no
EDAC i10nm MC4: CPU 24: Machine Check Event: 0x0 Bank 19: 0x9c0000010001009f | host_memory | advice | cpu | corrected | yes
mce: [Hardware Error]: Machine check: Processor context corrupt | cpu | root | cpu | fatal | no
mce: [Hardware Error]: Machine check events logged | host_memory | advice | memory | corrected | yes
EDAC MC4: 3 CE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#1 (channel:0 slot:1 page:0x1 offset:0x0 grain:32 syndrome:0x0) | host_memory | advice | memory | corrected | yes
EDAC MC4: 1 UE memory read error on P1_DIMM_E1 (channel:0 slot:1 page:0x1) | host_memory | root | memory | fatal | no
EDAC i10nm MC4: PROCESSOR 0:0x806f8 TIME 1790000001 SOCKET 1 APIC 0x80 | none | noise | memory | - | no
[Hardware Error]: Corrected error, no action required. | host_memory | advice | memory | corrected | yes
[Hardware Error]: Uncorrected, software restartable error. | cpu | root | cpu | fatal | no
{9}[Hardware Error]:   section_type: PCIe error | io_board | consequence | memory | warn | no
Memory failure: 0x8f00d: Killing rank5:5123 due to hardware memory corruption | host_memory | consequence | memory | fatal | no
Memory failure: 0x8f00d: recovery action for clean LRU page: Recovered | host_memory | consequence | memory | corrected | no
MCE: Killing rank5:5123 due to hardware memory corruption fault at 7f1 | host_memory | consequence | memory | error | no
mce: Uncorrected hardware memory error in user-access at 8f00d40 | host_memory | root | memory | fatal | no
CPU9: Package temperature above threshold, cpu clock throttled (total events = 31) | cpu | root | thermal | warn | yes
mce: CPU9: Core temperature/speed normal | none | noise | thermal | - | no
thermal thermal_zone4: critical temperature reached (110 C), shutting down | cpu | root | thermal | fatal | no
Uhhuh. NMI received for unknown reason 2c on CPU 5. | io_board | advice | cpu | warn | yes
mlx5_core 0000:c1:00.0: poll_health:949:(pid 0): device's health compromised - reached miss count | nic | root | nic | fatal | no
mlx5_core 0000:c1:00.0: print_health_info:513:(pid 0): synd 0x10: Invalid EQ referenced | nic | root | nic | fatal | no
mlx5_core 0000:c1:00.0: print_health_info:496:(pid 0): assert_exit_ptr 0x20a1c2f8 | nic | consequence | nic | error | no
mlx5_core 0000:c1:00.0: wait_func:1197:(pid 8): QUERY_ADAPTER(0x101) timeout. Will cause a leak of a command resource | nic | root | nic | error | no
mlx5_core 0000:c1:00.0: mlx5_cmd_out_err:808:(pid 2): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x1), err(-22) | none | noise | nic | warn | no
mlx5_core 0000:c1:00.0: mlx5_cmd_out_err:808:(pid 2): CREATE_MKEY(0x200) op_mod(0x0) failed, status limits exceeded(0x8), syndrome (0x59c8a4), err(-12) | nic | advice | nic | warn | yes
mlx5_core 0000:c1:00.0: cmd_work_handler:1013:(pid 2): cmd[3]: MODIFY_SQ(0x905) Async, recovered after timeout | none | noise | nic | warn | no
mlx5_core rdma6: Link down | network | root | link | error | yes
mlx5_core: Port module event[error]: module 0, Cable error, High Temperature | network | root | link | error | no
mlx5_core 0000:c1:00.0: health revovery succeded | none | noise | nic | warn | no
general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] PREEMPT SMP PTI | software_framework | root | kernel | fatal | yes
Memory failure: 0x8f00d: Sending SIGBUS to rank5:5123 due to hardware memory corruption | host_memory | consequence | memory | fatal | no
mlx5_core 0000:c1:00.0: mlx5_load_one:1371:(pid 2): mlx5_load_one failed with error code -110 | nic | root | nic | fatal | no
mlx5_core: probe of 0000:c1:00.0 failed with error -5 | nic | root | nic | fatal | no
mlx5_core 0000:c1:00.0: mlx5_health_try_recover:363:(pid 4): health recovery succeeded | none | noise | nic | warn | no
mlx5_core 0000:c1:00.0: temp_warn:137:(pid 0): High temperature on sensors with bit set 0 2 | nic | root | thermal | warn | yes
mlx5_core 0000:c1:00.0: Port module event: module 2, Cable unplugged | network | root | link | error | yes
mlx5_core 0000:c1:00.0: Port module event[error]: module 2, Cable error, Power budget exceeded | network | root | link | error | no
mlx5_core 0000:c1:00.0: Port module event[error]: module 2, Cable error, High Temperature | network | root | link | error | no
mlx5_core 0000:c1:00.0: Port module event: module 2, Cable plugged | none | noise | link | error | no
mlx5_core 0000:c1:00.0: mlx5_pcie_event:299:(pid 9): Detected insufficient power on the PCIe slot (26W). | power | advice | power | warn | yes
mlx5_core 0000:c1:00.0: mlx5_pcie_event:304:(pid 9): PCIe slot advertised sufficient power (75W). | none | noise | nic | warn | no
mlx5_core 0000:c1:00.0 rdma6: Link down | network | root | link | error | yes
mlx5_core 0000:c1:00.0 rdma6: Link up | none | noise | link | warn | no
mlx5_core 0000:c1:00.0 mlx5_9: Port: 1 Link DOWN | network | root | link | error | yes
mlx5_core 0000:c1:00.0 mlx5_9: Port: 1 Link INIT | none | noise | link | warn | no
mlx5_core 0000:c1:00.0 mlx5_9: Port: 1 Link ACTIVE | none | noise | link | warn | no
i40e 0000:61:00.1 eno2: NIC Link is Down | network | root | link | error | yes
bond0: (slave rdma6): link status definitely down, disabling slave | network | consequence | link | error | no
NETDEV WATCHDOG: rdma6 (mlx5_core): transmit queue 9 timed out | nic | root | nic | error | no
mlx5_core 0000:c1:00.0 rdma6: NETDEV WATCHDOG: CPU: 5: transmit queue 9 timed out 6001 ms | nic | root | nic | error | no
ena 0000:00:07.0 ens7: Keep alive watchdog timeout. | nic | root | nic | error | no
bnxt_en 0000:61:00.0 ens3: Firmware not responding, status: 0x8000 | nic | root | nic | fatal | no
infiniband mlx5_9: dump_cqe:272:(pid 0): dump error cqe | nic | consequence | nic | error | no
rank5 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0 | host_oom | root | oom | fatal | no
Out of memory: Killed process 5123 (rank5) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB | host_oom | root | oom | fatal | no
oom_reaper: reaped process 5123 (rank5), now anon-rss:0kB, file-rss:0kB, shmem-rss:9kB | host_oom | consequence | oom | warn | no
Tasks state (memory values in pages): | none | noise | oom | - | no
INFO: task rank5:5123 blocked for more than 241 seconds. | - | consequence | lockup | warn | yes
watchdog: BUG: soft lockup - CPU#11 stuck for 45s! [rank5:5123] | host_stall | root | lockup | error | yes
watchdog: Watchdog detected hard LOCKUP on cpu 11 | cpu | root | lockup | fatal | yes
rcu: INFO: rcu_preempt self-detected stall on CPU | software_framework | consequence | lockup | error | yes
Kernel panic - not syncing: Fatal machine check | cpu | root | kernel | fatal | no
Kernel panic - not syncing: Fatal hardware error! | cpu | root | kernel | fatal | no
Kernel panic - not syncing: EDAC MC4: UE page 0x1, offset 0x0 | host_memory | root | kernel | fatal | no
Kernel panic - not syncing: hung_task: blocked tasks | - | consequence | kernel | fatal | yes
Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled | host_oom | root | kernel | fatal | no
Kernel panic - not syncing: sysrq triggered crash | host_maintenance | root | kernel | fatal | no
Kernel panic - not syncing: softlockup: hung tasks | - | consequence | kernel | fatal | yes
Kernel panic - not syncing: Fatal exception in interrupt | software_framework | consequence | kernel | fatal | yes
BUG: kernel NULL pointer dereference, address: 0000000000000010 | software_framework | root | kernel | fatal | yes
31 | 10/02/2026 | 01:02:03 | Power Supply PS4 Status | Failure detected | Asserted | power | root | power | error | no
32 | 10/02/2026 | 01:02:03 | Power Unit #0x01 | Redundancy Lost | Asserted | power | root | power | warn | yes
33 | 10/02/2026 | 01:09:03 | Power Supply PS4 Status | Failure detected | Deasserted | none | noise | power | warn | no
34 | 10/02/2026 | 01:02:03 | Fan SYS_FAN9 | Lower Critical going low | Asserted | chassis | root | thermal | error | no
35 | 10/02/2026 | 01:02:03 | Temperature Inlet | Upper Non-recoverable going high | Asserted | chassis | root | thermal | error | no
36 | 10/02/2026 | 01:02:03 | Temperature GPU7 | Upper Critical going high | Asserted | gpu_thermal | root | thermal | error | no
37 | 10/02/2026 | 01:02:03 | Memory P0_DIMM_A1 | Uncorrectable ECC | Asserted | host_memory | root | memory | fatal | no
38 | 10/02/2026 | 01:02:03 | Memory P0_DIMM_A1 | Correctable ECC logging limit reached | Asserted | host_memory | advice | memory | corrected | yes
39 | 10/02/2026 | 01:02:03 | Processor CPU2 | IERR | Asserted | cpu | root | cpu | fatal | no
3a | 10/02/2026 | 01:02:03 | Drive Slot / Bay Disk7 | Drive Fault | Asserted | ssd | root | storage | error | no
3b | 10/02/2026 | 01:02:03 | Critical Interrupt PCIe_S3 | Bus Uncorrectable error | Asserted | io_board | root | pcie | fatal | no
PSU2 input lost | power | root | power | error | no
Power supply redundancy is lost. | power | root | power | warn | yes
Power supply 2 failure detected, later restored | none | noise | power | warn | no
bmcd: GPU power brake asserted by rack controller | power | root | power | warn | yes
bmcd: unexpected power loss on tray 4 | power | root | power | fatal | no
System Board Fan 1B RPM is less than the lower critical threshold. | chassis | root | thermal | error | no
Backplane 0 communication is lost. | chassis | root | power | error | no
Linux version 5.15.0-91-x (b@h) (gcc 11.4.0) #101-Ubuntu SMP | host_maintenance | consequence | boot | - | yes
systemd[1]: Reached target System Power Off. | host_maintenance | root | boot | warn | yes
reboot: Restarting system | host_maintenance | root | boot | warn | yes
** 512 printk messages dropped ** | none | noise | kernel | - | no
mlx5_core 0000:c1:00.0: firmware version: 28.39.2048 | none | noise | boot | - | no
rank5[5123]: segfault at 8 ip 00007fd100000a10 sp 00007ffe0 error 6 in libc.so.6[7fd100000000+195000] | software_framework | root | kernel | error | yes
traps: rank5[5123] trap invalid opcode ip:7fd1000 sp:7ffe0 error:0 in libx.so[7fd0000+9000] | software_framework | root | kernel | error | yes
Node h100-044 status is now: NodeNotReady | host_maintenance | consequence | scheduler | fatal | yes
Node h100-044 status is now: NodeReady | none | noise | scheduler | fatal | no
node/h100-044 drained | host_maintenance | root | scheduler | warn | yes
slurmctld: Node h100-044 now responding | none | noise | scheduler | warn | no
slurmctld: error: Nodes h100-044 not responding, setting DOWN | host_maintenance | consequence | scheduler | fatal | yes
slurmctld: update_node: node h100-044 reason set to: firmware upgrade | host_maintenance | root | scheduler | warn | yes
slurmctld: update_node: node h100-044 reason set to: gpu_check: xid | gpu | consequence | scheduler | warn | yes
slurmctld: update_node: node h100-044 state set to DRAINED | host_maintenance | root | scheduler | warn | yes
slurmctld: update_node: node h100-044 state set to RESUME | none | noise | scheduler | warn | no
imds: {"Code": "instance-retirement", "State": "active"} | host_maintenance | root | scheduler | error | no
"""

ROWS = [tuple(part.strip() for part in row.rsplit(" | ", 5)) for row in TABLE.strip().splitlines()]


@pytest.mark.parametrize(
    ("line", "category", "role", "kind", "severity", "weak"),
    ROWS,
    ids=[row[0][:60] for row in ROWS],
)
def test_what_a_line_means(
    line: str, category: str, role: str, kind: str, severity: str, weak: str
) -> None:
    for prefix in ("", "[83111.004521] ", "Oct  2 01:02:03 h100-044 kernel: [83111.004521] "):
        seen = see(prefix + line)
        assert seen is not None, prefix
        said = (
            "-" if seen.category is None else str(seen.category),
            str(seen.role),
            str(seen.kind),
            seen.fields.get("severity", "-"),
        )
        assert said == (category, role, kind, severity), seen.id
        if role != "noise":
            assert seen.weak is (weak == "yes"), seen.id


def test_every_family_has_a_row() -> None:
    seen = {found.id for row in ROWS if (found := see(row[0])) is not None}
    for file in FILES:
        assert {one.id for one in load(file)} & seen, file


# signature | line: wordings beside those of the table.
WORDINGS = """
nic.driver_chatter | mlx5_core 0000:c1:00.0: mlx5_tracer_read_string: handle is wrong
nic.driver_chatter | mlx5_core 0000:c1:00.0: mlx5_crdump_collect: crdump was skipped
nic.health_recovered | mlx5_core 0000:c1:00.0: mlx5_recover_device: device recovered
nic.health | mlx5_core 0000:c1:00.0: mlx5_health_try_recover:345:(pid 4): health recovery flow aborted, PCI reads still not working
nic.health | mlx5_core 0000:c1:00.0: mlx5_enter: device is in error state
nic.health | mlx5_core 0000:c1:00.0: mlx5_health_try_recover:361:(pid 4): health recovery failed
nic.health | mlx5_core 0000:c1:00.0: firmware fatal error reported
nic.health | mlx4_core 0000:c1:00.0: device is going to be reset
nic.health | mlx4_core 0000:c1:00.0: command 0x54 timed out (go bit not cleared)
nic.load_failed | mlx5_core 0000:c1:00.0: mlx5_function_setup:1112: Failed initializing command interface, aborting
nic.load_failed | mlx5_core 0000:c1:00.0: wait_fw_init:199: Waiting for FW initialization, timeout abort in 100s (0x1)
nic.load_failed | mlx5_core 0000:c1:00.0: probe_one:9: probe_one failed with error code -12
nic.bond | bond1: link status up for interface ens5, enabling it in 0 ms
nic.bond | bond1: (slave ens5): link status up again after 100 ms
nic.pci_error | mlx5_core 0000:c1:00.0: mlx5_pci_slot_reset Device state = 2 pci_status: 0. Enter
nic.pci_error | mlx5_core 0000:c1:00.0: mlx5_enter_error_state:209:(pid 1): start
nic.aws_reset | ena 0000:00:07.0 ens7: Trigger reset is on
nic.aws_reset | ena 0000:00:07.0 ens7: The number of lost tx completions is above the threshold (130 > 128). Reset the device
nic.aws_reset | ena 0000:00:07.0: Wait for completion (polling) timeout
nic.firmware | bnxt_en 0000:61:00.0 ens3: Firmware non-responding, status 0x8000
nic.firmware | ionic 0000:61:00.0: FW is not responding
nic.firmware | ice 0000:61:00.0: PF reset failed, -5
nic.firmware | i40e 0000:61:00.0: EMP reset detected
nic.firmware | ice 0000:61:00.0: entered firmware recovery mode
nic.firmware | i40e 0000:61:00.0: ASQ Send Queue critical
nic.firmware | irdma 0000:61:00.0: abnormal ae_id = 0x505 bool qp=1
nic.firmware | ice 0000:61:00.0: Malicious Driver Detection event 1 on TX queue 5
disk.nvme_gone | nvme nvme7: Device shutdown incomplete; abort shutdown
disk.nvme_gone | nvme nvme7: Identify Controller failed (-4)
disk.nvme_fabric | nvme nvme7: queue 3: timeout request 0x5 type 4
disk.scsi_error | sd 2:0:1:0: rejecting I/O to dead device
disk.scsi_error | sd 2:0:1:0: [sdf] tag#0 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK
disk.ata_error | ata9.00: disable device
disk.storage_adapter | aacraid 0000:18:00.0: Adapter is OFFLINE
filesystem.ext4_error | EXT4-fs (sdf): previous I/O error to superblock detected
filesystem.ext4_error | EXT4-fs (sdf): failed to convert unwritten extents to written extents -- potential data loss!
filesystem.ext4_error | EXT4-fs (sdf): Delayed block allocation failed for inode 9 at logical offset 0 with max blocks 8 with error 5
filesystem.journal | JBD2: I/O error reading journal superblock
filesystem.xfs_error | XFS (sdf): Please unmount the filesystem and rectify the problem(s)
filesystem.xfs_error | XFS (sdf): writeback error on inode 67, offset 0, sector 64
filesystem.btrfs_error | BTRFS warning (device sdf): csum failed root 5 ino 9 off 0
network_storage.gpfs | mmfsd: [E] Disk failure. Volume scratch. rc = 5.
network_storage.gpfs | GPFS: 6027-777 the daemon lost its lease
lockup.rcu | rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 4-... }
lockup.oops | BUG: Bad page map in process rank5  pte:8f00d
lockup.oops | general protection fault: 0000 [#1] SMP NOPTI
oom.allocation | rank5: page allocation stalls for 10040ms, order:0
oom.daemon | systemd-oomd[7]: Killed /user.slice/x.scope due to memory used (1) / total (2) and swap used
power.lost | psmd: power loss detected on PDU 3
power.lost | bmcd: power failure detected
power.lost | bmcd: loss of AC power on input A
power.lost | Last Power Event: ac-failed
power.lost | bmcd: sudden power loss
power.management | ipmi_si IPI0001:00: BMC returned incorrect response, expected netfn 7 cmd 2
power.fan | bmcd: fan failed in slot 3
power.fan | chassis: fan fault on tray 1
power.inlet | Ambient temperature exceeds the limit
power.supply | PSU0 failed
power.supply | psu4: fault
boot.shutdown | systemd[1]: Reached target Reboot.
boot.shutdown | systemd-logind[911]: System is powering down.
boot.shutdown | The system will reboot now!
boot.shutdown | shutdown[9]: shutting down for system reboot
boot.shutdown | reboot: Power down
boot.shutdown | reboot: System halted
boot.shutdown | systemd-logind[911]: Power key pressed short.
boot.dropped | printk: 31 messages suppressed.
boot.dropped | rsyslogd: imjournal: begin to drop messages due to rate-limiting
boot.dropped | rsyslogd: imjournal: 4021 messages lost due to rate-limiting
boot.dropped | systemd-journald[612]: Suppressed 88 messages from kernel.service
boot.module_taint | efa: module verification failed: signature and/or required key missing - tainting kernel
process.trap | traps: rank5[51] general protection ip:7fd sp:7ffe error:0 in libx.so[7f0+90]
process.trap | traps: rank5[51] trap divide error ip:7fd sp:7ffe error:0
process.trap | traps: rank5[51] trap stack segment ip:7fd sp:7ffe error:0
process.trap | traps: rank5[51] trap int3 ip:7fd sp:7ffe error:0
cpu.power_limited | CPU9: Package power limit notification (total events = 4)
"""


@pytest.mark.parametrize("row", WORDINGS.strip().splitlines(), ids=lambda row: row[:60])
def test_other_wordings(row: str) -> None:
    name, line = row.split(" | ", 1)
    seen = see(line)
    assert seen is not None
    assert seen.id == name


QUIET = (
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0",
    "MCE: In-kernel MCE decoding enabled.",
    "RAS: Correctable Errors collector initialized.",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
    "EXT4-fs (nvme0n1p2): re-mounted 5f0c1de0 r/w. Quota mode: none.",
    "XFS (nvme1n1): Mounting V5 Filesystem",
    "nvme nvme0: pci function 0000:01:00.0",
    "nvme nvme0: 128/0/0 default/read/poll queues",
    "nvme nvme0: Shutdown timeout set to 10 seconds",
    "mlx5_core 0000:c1:00.0: 252.048 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x8 link)",
    "IPv6: ADDRCONF(NETDEV_CHANGE): rdma6: link becomes ready",
    "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
    "ata2: SATA link down (SStatus 0 SControl 300)",
    "pcieport 0000:c0:01.1: pciehp: Slot(4): Link Up",
    "LNet: Added LNI 10.9.9.44@o2ib1 [8/256/0/180]",
    "Lustre: Lustre: Build Version: 2.15.4",
    "libceph: mon1 (1)10.8.8.2:6789 session established",
    "power_meter ACPI000D:00: Found ACPI power meter.",
    "ipmi_si IPI0001:00: IPMI kcs interface initialized",
    "ACPI: PM: Power Resource [PWRB]",
    "systemd[1]: Reached target Basic System.",
    "watchdog: Delayed init of the lockup detector failed: -19",
    "rcu: Hierarchical SRCU implementation.",
    "perf: interrupt took too long (2510 > 2500), lowering kernel.perf_event_max_sample_rate",
    "rpc: xid (0x9b00): 13 retransmitted",
    "loss fell at step 100, blocked for more than one epoch",
    "INFO: gradient link is down to 3 layers",
    "node/h100-044 uncordoned",
    "thermal thermal_zone0: temperature reached 50 C",
    "1 | 10/02/2026 | 01:02:03 | Power Supply PS4 Status | Presence detected | Asserted",
    "| Processor | 8480C |",
)


@pytest.mark.parametrize("line", QUIET)
def test_a_healthy_node_says_nothing(line: str) -> None:
    seen = see(line)
    assert seen is None or seen.role is EvidenceRole.NOISE, seen


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("nvme nvme7: I/O 33 QID 60 timeout, aborting", {"device": "nvme7", "queue": "60"}),
        ("I/O error, dev nvme7n1, sector 881 op 0x0:(READ)", {"device": "nvme7n1"}),
        (
            "EDAC MC4: 3 CE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#1 (channel:0)",
            {"part": "CPU_SrcID#1_MC#0_Chan#0_DIMM#1", "errors": "3"},
        ),
        (
            "mlx5_core 0000:C1:00.0 rdma6: Link down",
            {"device": "0000:c1:00.0", "first": "rdma6", "state": "down"},
        ),
        (
            "mlx5_core 0000:c1:00.0 mlx5_9: Port: 1 Link ACTIVE",
            {"interface": "mlx5_9", "recovered": "yes"},
        ),
        (
            "Memory cgroup out of memory: Killed process 5123 (rank5) total-vm:1kB, anon-rss:7kB",
            {"constraint": "CONSTRAINT_MEMCG", "pid": "5123", "task": "rank5", "anon_kb": "7"},
        ),
        (
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,"
            "oom_memcg=/a,task_memcg=/a/b,task=rank5,pid=5123,uid=0",
            {"constraint": "CONSTRAINT_MEMCG", "pid": "5123", "task": "rank5"},
        ),
        ("** 512 printk messages dropped **", {"dropped": "512"}),
        ("net_ratelimit: 31 callbacks suppressed", {"dropped": "31"}),
        ("nfs: server vast-3 OK", {"peer": "vast-3", "cleared": "yes"}),
        ("mlx5_core 0000:c1:00.0: firmware version: 28.39.2048", {"firmware": "28.39.2048"}),
        ("Node h100-044 status is now: NodeNotReady", {"node": "h100-044"}),
        (
            "rank5[5123]: segfault at 8 ip 00007fd100000a10 sp 00007ffe0 error 6 in"
            " libc.so.6[7fd100000000+195000]",
            {"library": "libc.so.6", "offset": "0xa10", "pid": "5123"},
        ),
    ],
)
def test_what_else_a_line_says(line: str, fields: dict[str, str]) -> None:
    seen = see(line)
    assert seen is not None
    assert {key: seen.fields.get(key) for key in fields} == fields


@pytest.mark.parametrize(
    ("frames", "category", "role"),
    [
        ((" nfs4_do_close+0x1/0x2 [nfsv4]",), Category.STORAGE, EvidenceRole.ROOT),
        (
            (" schedule+0x1/0x2", " ptlrpc_queue_wait+0x1/0x2 [ptlrpc]"),
            Category.STORAGE,
            EvidenceRole.ROOT,
        ),
        ((" mlx5_cmd_exec+0x1/0x2 [mlx5_core]",), Category.NIC, EvidenceRole.ROOT),
        ((" os_acquire_rwlock_write+0x1/0x2 [nvidia]",), Category.GPU, EvidenceRole.CONSEQUENCE),
        ((" jbd2_log_wait_commit+0x1/0x2",), Category.SSD, EvidenceRole.CONSEQUENCE),
        ((" futex_wait+0x1/0x2",), None, EvidenceRole.CONSEQUENCE),
        (
            ("INFO: task b:2 blocked for more than 120 seconds.", " nfs_x [nfs]"),
            None,
            EvidenceRole.CONSEQUENCE,
        ),
    ],
)
def test_a_hung_task_waits_for_what_its_frames_say(
    frames: tuple[str, ...], category: Category | None, role: EvidenceRole
) -> None:
    seen = see("INFO: task rank5:5123 blocked for more than 120 seconds.", frames)
    assert seen is not None
    assert (seen.category, seen.role, seen.weak) == (category, role, True)


@pytest.mark.parametrize(
    ("status", "harms"),
    [
        ("nvme nvme7: Abort status: 0x0", False),
        ("nvme nvme7: Abort status: 0x0\r", False),
        ("nvme nvme7: Abort status: 0x371", True),
        ("nvme nvme6: Abort status: 0x0", True),
        ("nvme nvme17: Abort status: 0x0", True),
    ],
)
def test_a_command_that_the_disk_aborts_when_told_harms_nobody(status: str, *, harms: bool) -> None:
    line = "nvme nvme7: I/O 33 QID 60 timeout, aborting"
    between = "nvme nvme7: I/O 34 QID 61 timeout, aborting"
    seen = see(line, (between, f"[ 12.3] {status}"))
    assert seen is not None
    assert (seen.role is EvidenceRole.ROOT) == harms


@pytest.mark.parametrize(
    ("severity", "lines", "category", "grade", "weak"),
    [
        ("corrected", (" section_type: memory error",), Category.HOST_MEMORY, "corrected", True),
        ("recoverable", (" section_type: PCIe error",), Category.IO_BOARD, "error", False),
        (
            "fatal",
            (" Error 0, type: fatal", " section_type: general processor error"),
            Category.CPU,
            "fatal",
            False,
        ),
        ("fatal", (), Category.HOST_MEMORY, "fatal", True),
        (
            "fatal",
            ("{2}[Hardware Error]: event severity: corrected", " section_type: PCIe error"),
            Category.HOST_MEMORY,
            "fatal",
            True,
        ),
    ],
)
def test_a_firmware_report_counts_as_its_section(
    severity: str, lines: tuple[str, ...], category: Category, grade: str, weak: bool
) -> None:
    seen = see(f"{{1}}[Hardware Error]: event severity: {severity}", lines)
    assert seen is not None
    assert (seen.category, seen.fields["severity"], seen.weak) == (category, grade, weak)


def test_a_firmware_report_names_the_part() -> None:
    after = ("{1}[Hardware Error]:   section_type: memory error", "  DIMM location: NODE 1 DIMM_C2")
    seen = see("{1}[Hardware Error]: event severity: recoverable", after)
    assert seen is not None
    assert seen.fields["part"] == "NODE 1 DIMM_C2"


def test_a_firmware_report_names_the_device() -> None:
    after = (
        "{7}[Hardware Error]:   section_type: PCIe error",
        "{7}[Hardware Error]:   device_id: 0000:CF:00.0",
    )
    seen = see("{7}[Hardware Error]: event severity: fatal", after)
    assert seen is not None
    assert seen.fields["device"] == "0000:cf:00.0"


@pytest.mark.parametrize(
    ("status", "category", "severity"),
    [
        (0x8C00004000010091, Category.HOST_MEMORY, "corrected"),
        (0xBE00000000800400, Category.CPU, "fatal"),
        (0xB400000000000135, Category.CPU, "error"),
        (0x9C000000001010C2, Category.HOST_MEMORY, "corrected"),  # bit 12: reports are filtered
    ],
)
def test_the_status_word_of_a_machine_check(status: int, category: Category, severity: str) -> None:
    assert (classify_status(status), rate_severity(status)) == (category, severity)


@pytest.mark.parametrize(
    ("device", "category", "also"),
    [
        ("nvme3n1p2", Category.SSD, ()),
        ("sdb", Category.SSD, (Category.STORAGE,)),
        ("nbd12", Category.STORAGE, ()),
        ("dm-2", Category.STORAGE, (Category.SSD,)),
        ("vda1", Category.STORAGE, (Category.SSD,)),
        ("loop7", Category.NONE, None),
    ],
)
def test_where_a_block_device_is(
    device: str, category: Category, also: tuple[Category, ...] | None
) -> None:
    seen = see(f"I/O error, dev {device}, sector 16 op 0x1:(WRITE)")
    assert seen is not None
    assert seen.category is category
    assert also is None or seen.also == also


def test_shared_storage_blames_no_node() -> None:
    for line in (
        "nfs: server vast-3 not responding, still trying",
        "LNet: 5:0:(o2iblnd_cb.c:3174:kiblnd_check_conns()) Timed out tx for 10.9.9.7@o2ib1: 9 s",
        "I/O error, dev rbd5, sector 16 op 0x1:(WRITE)",
    ):
        seen = see(line)
        assert seen is not None
        assert seen.blame is Blame.SHARED, line
    local = see("nvme nvme7: I/O 33 QID 60 timeout, aborting")
    assert local is not None
    assert local.blame is Blame.SELF


def test_every_fault_is_graded() -> None:
    """Whatever is not noise says how bad it is, but for the marks of a boot."""
    for one in SIGNATURES:
        for line in one.matches:
            seen = see(line)
            assert seen is not None
            if seen.id in ("boot.kernel_version", "boot.boot_mark"):
                continue
            if seen.role is not EvidenceRole.NOISE:
                assert seen.fields["severity"] in GRADES, line
            if seen.role is EvidenceRole.ROOT and seen.fields["severity"] == "corrected":
                assert seen.weak, line


COMMON = {"error", "failed", "timeout", "link", "memory", "fatal", "warning", "down", "up"}


def test_literals_are_rare_words() -> None:
    for one in SIGNATURES:
        for text in one.literals:
            assert text == text.lower()
            assert text.strip(" :") not in COMMON, one.id
            assert len(text.strip()) >= 3, one.id
