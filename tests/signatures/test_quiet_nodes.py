"""Healthy nodes are quiet: their boots, their days and the ends of their jobs give no root.

Own compositions in the words that kernels and drivers print. Next to each harmless
line stands the fault that looks like it.
"""

from pathlib import Path

import pytest

from triage.domain.evidence import Evidence, Trait
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import InputFile
from triage.signatures.registry import match

BOOT = """\
[    0.000000] Linux version 6.8.0-45-generic (buildd@h) (x86_64-linux-gnu-gcc-13 13.2.0) #45 SMP
[    0.000000] x86/split lock detection: #AC: crashing the kernel on kernel split_locks
[    0.000000] [Firmware Bug]: the BIOS has corrupted hw-PMU resources (MSR 38d is 330)
[    0.004100] ACPI: Early table checksum verification disabled
[    0.210000] MDS CPU bug present and SMT on, data leak possible. See https://www.kernel.org/doc
[    0.210100] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks
[    0.300000] MCE: In-kernel MCE decoding enabled.
[    0.410000] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.RP01], AE_NOT_FOUND
[    0.411000] ACPI Error: AE_NOT_FOUND, Evaluating _PRS (20230628/pci_link-178)
[    0.500000] acpi PNP0A08:06: _OSC: platform does not support [SHPCHotplug AER]
[    0.610000] pci 0000:98:05.0: BAR 13: no space for [io  size 0x1000]
[    0.610010] pci 0000:98:05.0: BAR 13: failed to assign [io  size 0x1000]
[    0.610500] pci 0000:1b:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe \
x16 link at 0000:1a:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)
[    0.710000] EDAC MC: Ver: 3.0.0
[    0.910000] pcieport 0000:3a:00.0: pciehp: Slot #2 AttnBtn- PwrCtrl- MRL- HotPlug+ Surprise+
[    0.920000] pcieport 0000:3a:00.0: pciehp: Slot(2): No device found
[    0.921000] pcieport 0000:3b:00.0: Data Link Layer Link Active not set in 1000 msec
[    1.010000] pcieport 0000:16:00.0: AER: enabled with IRQ 34
[    1.020000] pcieport 0000:16:00.0: DPC: error containment capabilities: Int Msg #0, RPExt+
[    1.110000] ERST: Error Record Serialization Table (ERST) support is initialized.
[    1.120000] RAS: Correctable Errors collector initialized.
[    1.210000] nvme nvme0: missing or invalid SUBNQN field.
[    1.220000] nvme nvme0: failed to set APST feature (2)
[    1.230000] nvme nvme0: 63/0/0 default/read/poll queues
[    1.310000] ata5: SATA link down (SStatus 4 SControl 300)
[    1.410000] integrity: Problem loading X.509 certificate -65
[    1.510000] platform regulatory.0: Direct firmware load for regulatory.db failed with error -2
[    2.010000] EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0
[    2.110000] EDAC amd64: ECC disabled in the BIOS or no ECC capability, module will not load.
[    3.010000] md/raid1:md0: active with 2 out of 2 mirrors
[    3.110000] EXT4-fs (md0): recovery complete
[    3.120000] EXT4-fs (md0): mounted filesystem with ordered data mode. Quota mode: none.
[    5.010000] mlx5_core 0000:1a:00.0: firmware version: 28.41.1000
[    5.310000] mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:808:(pid 611): ACCESS_REG(0x805) \
op_mod(0x1) failed, status bad parameter(0x3), syndrome (0x1ab2), err(-22)
[    5.410000] mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged
[    6.010000] tg3 0000:04:00.0 eno1: Link is down
[    6.110000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link DOWN
[    6.910000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link INIT
[    7.910000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link ACTIVE
[    8.010000] ipmi_si IPI0001:00: The BMC does not support clearing the recv irq bit, compensating
[    9.010000] nvidia: loading out-of-tree module taints kernel.
[    9.020000] nvidia: module license 'NVIDIA' taints kernel.
[    9.210000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build
[    9.910000] nvidia-uvm: Loaded the UVM driver, major device number 508.
[   11.010000] IPv6: ADDRCONF(NETDEV_CHANGE): docker0: link becomes ready
[   12.010000] systemd[1]: Startup finished in 9.1s (kernel) + 31.002s (userspace) = 40.102s.
"""

DAY = """\
[ 8101.010000] perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample
[ 8102.010000] hrtimer: interrupt took 40211 ns
[ 8103.010000] clocksource: timekeeping watchdog on CPU12: wd-tsc-wd read-back delay of 98412ns
[ 8104.010000] workqueue: ib_cache_event_task [ib_core] hogged CPU for >10000us 8 times
[ 8105.010000] TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.
[ 8106.010000] IPv4: martian source 10.2.0.7 from 10.4.0.9, on dev eno1
[ 8107.010000] audit: type=1400 audit(1790000000.100:9): apparmor="DENIED" operation="open"
[ 8108.010000] docker0: port 1(veth8215799) entered disabled state
[ 8109.010000] overlayfs: upper fs does not support RENAME_WHITEOUT.
[ 8110.010000] usb 1-14.1: reset high-speed USB device number 4 using xhci_hcd
[ 8111.010000] systemd-journald[812]: Data hash table of /run/log/journal/system.journal has a \
fill level at 75.0, suggesting rotation.
[ 8112.010000] gnome-shell[4410]: segfault at 18 ip 00007f3bc0de1234 sp 00007ffd00c0de00 error 4 \
in libmutter-12.so.0.0.0[7f3bc0000000+1a2b000]
[ 8113.010000] traps: Chrome_IOThread[6646] trap int3 ip:556373547ab4 sp:7f4f33ffb490 error:0 in \
chrome[556370f6f000+5f8d000]
[ 8114.010000] mce: [Hardware Error]: Machine check events logged
[ 8114.010100] EDAC MC2: 1 CE memory read error on CPU_SrcID#0_MC#2_Chan#1_DIMM#0 (channel:1 \
slot:0 page:0x1c0de offset:0x40 grain:32 syndrome:0x0)
[ 8115.010000] pcieport 0000:00:1d.0: AER: Corrected error received: 0000:00:1d.0
[ 8115.010100] nvidia 0000:1b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer
[ 8116.010000] {1}[Hardware Error]: event severity: corrected
[ 8117.010000] NVRM: Xid (PCI:0000:1b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New \
row (0x1c0de) marked for remapping, reset gpu to activate.
"""

END_OF_A_JOB = """\
[ 9101.010000] NVRM: Xid (PCI:0000:1b:00): 45, pid=88123, name=python3, Ch 00000008
[ 9101.020000] NVRM: Xid (PCI:0000:1b:00): 43, pid=88123, name=python3, Ch 00000008
[ 9101.110000] mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:808:(pid 35472): DESTROY_MKEY(0x202) \
op_mod(0x0) failed, status bad resource state(0x9), syndrome (0x0fc0dc), err(-22)
[ 9101.120000] mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:808:(pid 35472): DESTROY_QP(0x501) \
op_mod(0x0) failed, status bad resource state(0x9), syndrome (0x25b161), err(-22)
[ 9101.130000] nvidia-peermem nv_get_p2p_free_callback:131 ERROR detected invalid context, \
skipping further processing
[ 9101.210000] docker0: port 1(veth8215799) entered disabled state
[ 9103.010000] nvidia-uvm: Unloaded the UVM driver.
[ 9103.110000] nvidia-nvlink: Unregistered Nvlink Core, major device number 234
"""


def rows_of(tmp_path: Path, text: str) -> list[Evidence]:
    """What a kernel log of these lines gives."""
    path = tmp_path / "dmesg"
    path.write_text(text)
    return read_logs([InputFile(path, path.name, path.stat().st_size)]).evidence


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BOOT, id="boot"),
        pytest.param(DAY, id="day"),
        pytest.param(END_OF_A_JOB, id="end"),
    ],
)
def test_a_quiet_node_has_no_root(tmp_path: Path, text: str) -> None:
    rows = rows_of(tmp_path, text)
    assert rows
    assert [row.text for row in rows if str(row.role) == "root"] == []


def test_a_fault_among_the_quiet_is_seen(tmp_path: Path) -> None:
    fault = "[ 8999.0] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    rows = rows_of(tmp_path, BOOT + DAY + fault + END_OF_A_JOB)
    assert [row.code for row in rows if str(row.role) == "root"] == [79]


def test_a_flood_of_harmless_lines_is_one_row(tmp_path: Path) -> None:
    flood = "".join(
        f"[ 8{k:04d}.010000] docker0: port {k % 9}(veth{k * 7919:07x}) entered blocking state\n"
        for k in range(3000)
    )
    (row,) = rows_of(tmp_path, flood)
    assert (row.count, str(row.role), str(row.category)) == (3000, "noise", "none")


# The harmless line, and the fault that looks like it.
PAIRS = """
nvme nvme0: failed to set APST feature (2)
nvme nvme0: Identify Controller failed (-4)

ata5: SATA link down (SStatus 4 SControl 300)
ata5.00: exception Emask 0x0 SAct 0x30 SErr 0x0 action 0x6 frozen

EDAC MC0: Giving out device to module skx_edac
EDAC MC0: 1 UE memory read error on DIMM_A1 (channel:0 slot:0)

pcieport 0000:3a:00.0: pciehp: Slot(2): Card present
pcieport 0000:3a:00.0: pciehp: Slot(2): Link Down

pci 0000:98:05.0: BAR 13: failed to assign [io  size 0x1000]
NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:

NMI watchdog: Perf NMI watchdog permanently disabled
NMI watchdog: Watchdog detected hard LOCKUP on cpu 3

md/raid1:md0: active with 2 out of 2 mirrors
md/raid1:md0: Disk failure on sdb1, disabling device.

overlayfs: upper fs does not support RENAME_WHITEOUT.
blk_update_request: I/O error, dev sdb, sector 8 op 0x1:(WRITE)

r8169 0000:08:00.0 enp8s0: Link is Up - 1Gbps/Full - flow control rx/tx
mlx5_core 0000:1a:00.0 enp26s0np0: Link down

rasdaemon[9]: ras:mc_event event enabled
rasdaemon[9]: x mc_event: 2026-03-04 1 Uncorrected error: memory read error on DIMM_A1 (mc: 0)

DMAR: Host address width 46
Kernel panic - not syncing: Fatal machine check

gnome-shell[4]: segfault at 0 ip 0 sp 7ffd error 14
python3[4]: segfault at 0 ip 0 sp 7ffd error 14

habanalabs 0000:33:00.0: Successfully added device 0000:33:00.0
habanalabs 0000:33:00.0: Device heartbeat failed!
"""


@pytest.mark.parametrize("pair", PAIRS.strip().split("\n\n"), ids=lambda one: one[:40])
def test_the_harmless_beside_the_fault(pair: str) -> None:
    harmless, fault = pair.splitlines()
    quiet = match(harmless)
    assert quiet is not None
    assert str(quiet.reading.role or quiet.signature.role) == "noise"
    loud = match(fault)
    assert loud is not None
    assert str(loud.reading.role or loud.signature.role) == "root"


# A process of the node, and the same words about one of the job.
PROCESSES = """
INFO: task updatedb.mlocat:771 blocked for more than 122 seconds.
INFO: task python3:771 blocked for more than 122 seconds.

Out of memory: Killed process 771 (slack) total-vm:1kB, anon-rss:9kB, file-rss:0kB
Out of memory: Killed process 771 (python3) total-vm:1kB, anon-rss:9kB, file-rss:0kB

oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,global_oom,task=sshd,pid=77,uid=0
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,global_oom,task=rank3,pid=77,uid=0

traps: polkitd[4] general protection fault ip:7f3b sp:7ffd error:0 in libpython3.11.so[7f30+18]
traps: rank3[4] general protection fault ip:7f3b sp:7ffd error:0 in libpython3.11.so[7f30+18]
"""


@pytest.mark.parametrize("pair", PROCESSES.strip().split("\n\n"), ids=lambda one: one[:30])
def test_whose_process_it_is(pair: str) -> None:
    of_node, of_job = (match(line) for line in pair.splitlines())
    assert of_node is not None
    assert of_job is not None
    assert Trait.NOT_THE_JOB in (of_node.reading.traits or ())
    assert Trait.NOT_THE_JOB not in (of_job.reading.traits or ())


# What informs, and must not be more than advice.
ONLY_ADVICE = """
r8169 0000:08:00.0 enp8s0: Link is Down
e1000: ens33 NIC Link is Down
[Hardware Error]: CPU:16 (17:31:0) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC]: 0xdc20400000011b
mcelog[1203]: Hardware event. This is not a software error.
rasdaemon[2211]: x mc_event 2026-03-04 11:12:13 +0000 1 Corrected error: memory read error on DIMM
NVRM: Xid (PCI:0000:1b:00): 92, pid=<n/a>, High single-bit ECC error rate
hpasmlited: WARNING: Corrected Memory Error threshold exceeded (Processor 2, Memory Module 9)
habanalabs 0000:33:00.0: HBM2 pc3 interrupts info: WR_PAR=0, RD_PAR=0, CA_PAR=0, SERR=1, DERR=0
"""


@pytest.mark.parametrize("line", ONLY_ADVICE.strip().splitlines())
def test_what_was_corrected_only_informs(line: str) -> None:
    found = match(line)
    assert found is not None
    assert str(found.reading.role or found.signature.role) == "advice"


def test_the_registers_of_a_corrected_error_only_inform() -> None:
    detail = "nvme 0000:04:00.0: AER:   device [8086:f1a6] error status/mask=00001000/0000e000"
    mended = match(detail, ["nvme 0000:04:00.0: AER:    [12] Timeout"])
    broken = match(detail, ["nvme 0000:04:00.0: AER:    [14] CmpltTO                (First)"])
    assert mended is not None
    assert broken is not None
    assert str(mended.reading.role) == "advice"
    assert broken.reading.role is None


# Alarming words that no signature may know: they convict nobody.
UNKNOWN = """
frobnicator 0000:1a:00.0: critical failure in lane 7, giving up
xyzdrv: ERROR: timeout waiting for completion of command 0x17
kernel: WARNING: subsystem qux entered an invalid state (expected 3, got 9)
foo_bar: device offline, resetting controller
acme-npu 0000:65:00.0: fatal internal error 0xdead, recovery failed
mydaemon: panic: assertion failed
"""


@pytest.mark.parametrize("line", UNKNOWN.strip().splitlines())
def test_an_unknown_alarm_is_no_root(line: str) -> None:
    found = match(line)
    assert found is None or str(found.reading.role or found.signature.role) != "root"
