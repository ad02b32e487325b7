"""Kernel lines about GPUs, switches and their slots, and what each may say."""

import pytest

from triage.domain.evidence import EvidenceRole
from triage.parsers.logs.envelope import read_envelope
from triage.signatures import registry
from triage.signatures.pci import normalize_bus_id
from triage.signatures.registry import Match


def read(text: str) -> Match:
    """The match of the first line of ``text``, envelopes off."""
    first, *after = (read_envelope(line).text for line in text.split("\n"))
    found = registry.match(first, after)
    assert found is not None, text
    return found


def role(found: Match) -> str:
    return str(found.reading.role or found.signature.role)


def category(found: Match) -> str:
    return str(found.reading.category or found.signature.category)


def also(found: Match) -> set[str]:
    own = found.reading.also
    return {str(one) for one in (found.signature.also if own is None else own)}


XID = "[ 8123.004711] NVRM: Xid (PCI:0000:9d:00): "

# text behind the address, code, category, role
XIDS = [
    ("13, pid=1201, name=python3, Graphics SM Warp Exception on (GPC 2, TPC 5, SM 1): "
     "Out Of Range Address", 13, "software_user", "root"),
    ("13, pid=1201, name=python3, Graphics SM Global Exception on (GPC 2, TPC 5, SM 1): Multiple "
     "Warp Errors", 13, "software_user", "consequence"),
    ("13, pid=1201, name=python3, Graphics Exception: ESR 0x516730=0x1c 0x516734=0x20 "
     "0x516728=0x4c 0x51672c=0x174", 13, "software_user", "root"),
    ("13, Graphics Exception: ESR 0x404490=0x80000002", 13, "software_user", "consequence"),
    ("13, pid=1201, name=python3, Graphics Exception: ChID 0011, Class 0000cbc0, Offset 00000000, "
     "Data 00000000", 13, "software_user", "consequence"),
    ("31, pid=1201, name=python3, Ch 00000012, intr 00000000. MMU Fault: ENGINE GRAPHICS "
     "GPCCLIENT_T1_7 faulted @ 0x7e11_40000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
     31, "software_user", "root"),
    ("31, pid=1201, name=python3, Ch 00000012, intr 00000000. MMU Fault: ENGINE HOST0 "
     "UNRECOGNIZED_CLIENT faulted @ 0x0_00000000", 31, "gpu", "root"),
    ("32, pid=1201, name=python3, Channel ID 00000012 intr0 00040000", 32, "software_user",
     "consequence"),
    ("43, pid=1201, name=python3, Ch 00000012, engmask 00000111", 43, "software_user",
     "consequence"),
    ("45, pid=1201, name=python3, Ch 00000012", 45, "software_user", "consequence"),
    ("45, pid=1201, name=python3, Ch 00000012 caused by previous Xid 145", 45, "nvlink",
     "consequence"),
    ("48, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
     "physAddr 0x3f00a000 partition 4, subpartition 1.", 48, "gpu_hbm", "root"),
    ("48, An uncorrectable double bit error (DBE) has been detected on GPU in L2 cache partition "
     "3", 48, "gpu_sram", "root"),
    ("48, pid=1201, name=python3, Ch 00000012", 48, "gpu_hbm", "consequence"),
    ("62, 2231a 00007d10 00000000 20371f2e", 62, "gpu", "root"),
    ("63, Row Remapper: New row (0x0000000000abc001) marked for remapping, reset gpu to activate.",
     63, "gpu_hbm", "advice"),
    ("64, Row Remapper Error: (0x0000000000abc001) - All reserved rows for bank are remapped", 64,
     "gpu_hbm", "root"),
    ("74, NVLink: fatal error detected on link 5(0x0, 0x10000, 0x0, 0x0, 0x0, 0x0, 0x0)", 74,
     "nvlink", "root"),
    ("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 79, "gpu", "root"),
    ("92, pid=<n/a>, High single-bit ECC error rate", 92, "gpu_hbm", "advice"),
    ("94, Contained: SM (0x3). RST: No, D-RST: No", 94, "gpu_sram", "root"),
    ("95, Uncontained: FBHUB. RST: Yes, D-RST: No", 95, "gpu_hbm", "root"),
    ("95, Uncontained: LTC TAG (0x3,0x0). RST: Yes, D-RST: No", 95, "gpu_sram", "root"),
    ("109, pid=1201, name=python3, Ch 00000012, errorString CTX SWITCH TIMEOUT, Info 0x8c012", 109,
     "gpu", "root"),
    ("110, pid=1201, SEC_FAULT: PKEY", 110, "gpu", "root"),
    ("119, pid=1201, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU5 GSP! "
     "Expected function 76 (GSP_RM_CONTROL) (0x20801702 0x4).", 119, "gpu_gsp", "root"),
    ("120, GSP task exception: Load access fault (cause:0x5) @ pc:0x5b1e8, partition:4#0, task:1",
     120, "gpu_gsp", "root"),
    ("137, NVLTLC interrupt hit on link 3 on GPU2: PRIV Error", 137, "software_user",
     "consequence"),
    ("140, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:2, "
     "MMU:0, PCIE:0", 140, "gpu_sram", "root"),
    ("140, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:0, "
     "MMU:0, PCIE:-1", 140, "io_board", "root"),
    ("145, RLW_REMAP Nonfatal XC0 i0 Link 04 (0x00000022 0x80000000 0x0 0x0 0x0 0x0)", 145,
     "nvlink", "root"),
    ("149, NETIR_LINK_EVT Fatal XC1 i0 Link -1 (0x000004a2 0x0 0x0 0x0 0x0 0x0", 149, "nvlink",
     "root"),
    ("154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", 154, "None",
     "advice"),
    ("38, pid=1201, name=python3, Ch 00000012", 38, "software_user", "root"),
    ("61, 0d01(2f50) 00000000 00000000", 61, "gpu", "root"),
    ("121, C2C Link 3 corrected error count exceeded", 121, "gpu", "advice"),
    ("136, link training failed for links 0x3f", 136, "nvlink", "root"),
    ("143, GPU init failure", 143, "gpu", "root"),
    ("144, SAW_MVB Nonfatal XC0 i0 Link 2 (0x1 0x2 0x3 0x4 0x5 0x6)", 144, "nvlink", "root"),
    ("150, MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x1 0x2 0x3 0x4 0x5 0x6)", 150, "nvlink", "root"),
    ("156, unit retired", 156, "gpu", "advice"),
    ("162, power smoothing on again", 162, "power", "noise"),
    ("168, less memory usable", 168, "gpu_hbm", "root"),
    ("173, C2C fatal link failure", 173, "gpu", "root"),
    ("176, PCIe corrected errors over the threshold", 176, "io_board", "advice"),
    ("155, NVLink: link 4 is down by software", 155, "host_maintenance", "consequence"),
    ("160, channel retirement", 160, "gpu_hbm", "advice"),
    ("163, power smoothing off", 163, "power", "advice"),
    ("167, PCIe fatal timeout", 167, "io_board", "root"),
    ("171, DRAM uncorrectable", 171, "gpu_hbm", "root"),
    ("172, SRAM uncorrectable", 172, "gpu_sram", "root"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "leaf", "as_role"), XIDS)
def test_xids(text: str, code: int, leaf: str, as_role: str) -> None:
    found = read(XID + text)
    assert found.signature.id == "nvidia.xid"
    assert found.reading.code == code
    assert found.reading.gpu == "0000:9d:00"
    assert category(found) == leaf
    assert role(found) == as_role
    assert found.reading.fields["severity"] in {"info", "warn", "error", "fatal"}


@pytest.mark.parametrize(
    ("address", "gpu"),
    [
        ("(PCI:0000:9d:00): 79, x", "0000:9d:00"),
        ("(PCI:0000:9D:00.0): 79, x", "0000:9d:00"),
        ("(0000:9d:00): 79, x", "0000:9d:00"),
        ("(PCI:0018:01:00): 79 x", "0018:01:00"),
        ("(PCI:00000000:9d:00): 79, x", "0000:9d:00"),
        ("(PCI:0000:9d:00 GPU-I:05): 79, x", "0000:9d:00"),
        ("(PCI:0000:9d:00 GPU-I:05 GPU-CI:00): 79, x", "0000:9d:00"),
        ("(PCI:0000:9d:00): 79.", "0000:9d:00"),
        ("(PCI:0000:9d:00):79", "0000:9d:00"),
    ],
)
def test_forms_of_the_address(address: str, gpu: str) -> None:
    found = read(f"NVRM: Xid {address}")
    assert (found.reading.code, found.reading.gpu) == (79, gpu)


def test_instances_of_a_divided_gpu_are_kept() -> None:
    found = read("NVRM: Xid (PCI:0000:9d:00 GPU-I:05 GPU-CI:02): 43, pid=8, name=a, Ch 00000008")
    assert found.found["gpu_instance"] == "05"
    assert found.found["compute_instance"] == "02"


@pytest.mark.parametrize(
    ("printed", "pid"),
    [("4711", "4711"), ("'<unknown>'", None), ("<n/a>", None), ("'<n/a>'", None)],
)
def test_forms_of_the_process(printed: str, pid: str | None) -> None:
    found = read(f"{XID}43, pid={printed}, name=a::b[c], Ch 00000008")
    assert found.found["pid"] == pid
    assert found.reading.fields["name"] == "a::b[c]"


def test_the_named_parent_is_kept() -> None:
    found = read(XID + "45, pid=1, name=a, Ch 00000008 caused by previous Xid 79")
    assert found.reading.parent_code == 79
    assert category(found) == "gpu"


def test_an_unknown_number_is_weak() -> None:
    found = read(XID + "4999, something new")
    assert found.reading.weak is True
    assert found.reading.category is None
    assert role(found) == "root"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("0x0 (None) to 0x1 (GPU Reset Required)", "GPU Reset Required"),
        ("0x1 (GPU Reset Required) to 0x2 (Node Reboot Required)", "Node Reboot Required"),
        ("0x2 (Node Reboot Required) to 0x0 (None)", ""),
    ],
)
def test_advice_of_the_driver(text: str, action: str) -> None:
    found = read(f"{XID}154, GPU recovery action changed from {text}")
    assert found.reading.fields["action"] == action


def test_the_far_end_of_a_link_is_the_peer() -> None:
    found = read(XID + "74, NVLink: failed to train link 11 to remote PCI:0000:4c:00")
    assert found.reading.peer == "0000:4c:00"
    assert str(found.reading.blame) == "pair"
    assert found.reading.fields["link"] == "11"


@pytest.mark.parametrize(
    ("said", "severity", "weak"), [("Fatal", "fatal", False), ("Nonfatal", "warn", True)]
)
def test_severity_of_the_text_on_fifth_generation_links(
    said: str, severity: str, weak: bool
) -> None:
    found = read(f"{XID}149, NETIR_LINK_EVT {said} XC0 i0 Link 07 (0x004505c6 0x0 0x0 0x0 0x0 0x0)")
    fields = found.reading.fields
    assert (fields["severity"], found.reading.weak) == (severity, weak)
    assert (fields["unit"], fields["link"]) == ("NETIR_LINK_EVT", "07")
    assert fields["unit_before_r575"] == str(0x004505C6 >> 5 & 0x1F)
    assert fields["unit_from_r575"] == str(0x004505C6 & 0x7F)


SXID = "nvidia-nvswitch2: SXid (PCI:0000:a4:00.0): "

# text, code, category, role, severity
SXIDS = [
    ("20034, Fatal, Link 17 LTSSM Fault Up", 20034, "nvlink", "root", "fatal"),
    ("20034, Severity 1 Engine instance 17 Sub-engine instance 00", 20034, "nvlink",
     "consequence", "error"),
    ("20034, Data {0x00000003, 0x00000003}", 20034, "nvlink", "consequence", "error"),
    ("22013, Non-fatal, Link 17 Minion Link DLREQ interrupt", 22013, "nvlink", "noise", "info"),
    ("22013, Data {0x00000003, 0x00000003}", 22013, "nvlink", "noise", "info"),
    ("12028, Non-fatal, Link 40 egress non-posted PRIV error (First)", 12028, "gpu",
     "consequence", "warn"),
    ("24007, Fatal, Link 40 sourcetrack timeout error (First)", 24007, "gpu", "consequence",
     "fatal"),
    ("23001, Fatal, Link 00 NXBAR_TILE ingress buffer overflow", 23001, "nvlink", "root", "fatal"),
    ("28006, Non-fatal, Link 40 multicast entry timed out", 28006, "nvlink", "root", "warn"),
    ("28002, Non-fatal, Link 40 tagpool overflow", 28002, "nvlink", "root", "warn"),
    ("28003, Module 4 temperature over limit", 28003, "gpu_thermal", "root", "error"),
    ("26006, SOE HALTED", 26006, "nvlink", "root", "fatal"),
    ("26002, Failed to boot SOE", 26002, "nvlink", "root", "fatal"),
    ("28004, Module 4 temperature event cleared", 28004, "gpu_thermal", "noise", "info"),
    ("27005, Module 4 faulty", 27005, "nvlink", "root", "error"),
    ("52001, Fatal, Link 02 something new", 52001, "nvlink", "root", "fatal"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "leaf", "as_role", "severity"), SXIDS)
def test_sxids(text: str, code: int, leaf: str, as_role: str, severity: str) -> None:
    found = read(SXID + text)
    assert found.signature.id == "nvswitch.sxid"
    assert found.reading.code == code
    assert found.reading.gpu is None
    assert found.reading.fields["switch"] == "0000:a4:00"
    assert (category(found), role(found)) == (leaf, as_role)
    assert found.reading.fields["severity"] == severity


def test_the_text_beats_the_table_for_severity() -> None:
    fatal = read(SXID + "12030, Fatal, Link 40 egress x")
    mild = read(SXID + "23001, Non-fatal, Link 00 NXBAR x")
    assert fatal.reading.fields["severity"] == "fatal"
    assert mild.reading.fields["severity"] == "warn"
    assert mild.reading.weak is True


# line, signature, category, role, severity, gpu, device
OTHERS = [
    ("NVRM: The NVIDIA GPU 0000:9d:00.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\n"
     "NVRM: fallen off the bus and is not responding to commands.", "nvidia.fallen_off_bus", "gpu",
     "root", "fatal", "0000:9d:00", None),
    ("NVRM: GPU 0000:9d:00.0: GPU has fallen off the bus.", "nvidia.fallen_off_bus", "gpu", "root",
     "fatal", "0000:9d:00", None),
    ("NVRM: GPU 0000:9d:00.0: RmInitAdapter failed! (0x62:0x40:1844)", "nvidia.init_failed", "gpu",
     "root", "fatal", "0000:9d:00", None),
    ("NVRM: _kgspIsHeartbeatTimedOut: Heartbeat timed out", "nvidia.gsp_heartbeat", "gpu_gsp",
     "root", "fatal", None, None),
    ("NVRM: GPU5 RPC history (CPU -> GSP):", "nvidia.gsp_dump", "gpu_gsp", "consequence", "error",
     None, None),
    ("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping",
     "nvidia.peer_memory", "software_user", "consequence", "warn", None, None),
    ("pcieport 0000:97:01.0: AER: Uncorrected (Fatal) error received: 0000:98:00.0",
     "pcie.aer_error", "io_board", "root", "fatal", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0: AER: Correctable error message received from 0000:98:00.0",
     "pcie.aer_error", "io_board", "advice", "corrected", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction "
     "Layer, (Completer ID)", "pcie.aer_error", "io_board", "root", "error", None, "0000:97:01.0"),
    ("nvidia 0000:9d:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
     "(Transmitter ID)", "pcie.aer_error", "io_board", "advice", "corrected", "0000:9d:00",
     "0000:9d:00.0"),
    ("pcieport 0000:97:01.0:    [ 5] SDES                   (First)", "pcie.aer_uncorrectable",
     "io_board", "root", "fatal", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0:    [18] MalfTLP", "pcie.aer_uncorrectable", "io_board", "root",
     "error", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0:    [20] UnsupReq               (First)", "pcie.aer_uncorrectable",
     "io_board", "advice", "warn", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0:    [ 6] BadTLP", "pcie.aer_correctable", "io_board", "advice",
     "corrected", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0:   device [8086:352a] error status/mask=00000020/00000000",
     "pcie.aer_detail", "io_board", "consequence", "warn", None, "0000:97:01.0"),
    ("nvidia 0000:9d:00.0: AER: can't recover (no error_detected callback)",
     "pcie.aer_recovery_failed", "io_board", "consequence", "error", "0000:9d:00",
     "0000:9d:00.0"),
    ("pcieport 0000:97:01.0: DPC: containment event, status:0x1f01 source:0x0000",
     "pcie.containment", "io_board", "root", "fatal", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0: pciehp: Slot(6): Card not present", "pcie.hot_plug", "io_board",
     "root", "fatal", None, "0000:97:01.0"),
    ("pcieport 0000:97:01.0: pciehp: Slot(6): Link Up", "pcie.hot_plug", "none", "noise",
     "info", None, "0000:97:01.0"),
    ("nvidia 0000:9d:00.0: Unable to change power state from D3cold to D0, device inaccessible",
     "pcie.power_state", "io_board", "consequence", "error", "0000:9d:00", "0000:9d:00.0"),
    ("pci 0000:9d:00.0: 63.012 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at "
     "0000:97:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)", "pcie.width",
     "io_board", "advice", "warn", None, "0000:9d:00.0"),
    ("amdgpu 0000:e3:00.0: amdgpu: ring comp_1.1.0 timeout, signaled seq=7, emitted seq=9",
     "amdgpu.ring_timeout", "software_user", "root", "error", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: GPU reset begin!", "amdgpu.reset", "software_user",
     "consequence", "warn", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: GPU reset(2) succeeded!", "amdgpu.reset", "none",
     "noise", "info", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: GPU reset(2) failed", "amdgpu.reset", "gpu", "root", "fatal",
     "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: 3 uncorrectable hardware errors detected in umc block",
     "amdgpu.counted_errors", "gpu_hbm", "root", "fatal", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: 3 correctable hardware errors detected in sdma block",
     "amdgpu.counted_errors", "gpu_sram", "advice", "corrected", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: 1 uncorrectable hardware errors detected in xgmi_wafl block",
     "amdgpu.counted_errors", "nvlink", "root", "fatal", "0000:e3:00", None),
    ("amdgpu 0000:e3:00.0: amdgpu: SMU: I'm not done with your previous command: x",
     "amdgpu.management_unit", "gpu", "root", "error", "0000:e3:00", None),
    ("GPU 00000000:9D:00.0 HW Thermal Slowdown is engaged", "gpu_thermal.slowdown", "gpu_thermal",
     "root", "warn", "0000:9d:00", None),
    ("hw_power_brake_slowdown is active", "gpu_thermal.slowdown", "power", "root", "warn", None,
     None),
    ("GPU 4 thermal shutdown at 104 C", "gpu_thermal.shutdown", "gpu_thermal", "root", "fatal",
     None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "signature", "leaf", "as_role", "severity", "gpu", "device"), OTHERS
)
def test_lines_without_a_number(
    line: str,
    signature: str,
    leaf: str,
    as_role: str,
    severity: str,
    gpu: str | None,
    device: str | None,
) -> None:
    found = read("[  712.000113] " + line)
    assert (found.reading.signature or found.signature.id) == signature
    assert (category(found), role(found)) == (leaf, as_role)
    assert found.reading.fields["severity"] == severity
    printed = found.reading.gpu or found.found.groupdict().get("gpu")
    assert (printed and normalize_bus_id(printed)) == gpu
    assert found.reading.fields.get("device") == device


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31",
         "driver_version", "550.90.07"),
        ("NVRM: GPU at PCI:0000:9d:00: GPU-0a1b2c3d-0000-1111-2222-333344445555", "uuid",
         "GPU-0a1b2c3d-0000-1111-2222-333344445555"),
        ("NVRM: GPU Board Serial Number: 1654923001100", "serial", "1654923001100"),
    ],
)  # fmt: skip
def test_banners_are_kept_and_mean_no_fault(line: str, field: str, value: str) -> None:
    found = read(line)
    assert role(found) == "noise"
    assert str(found.signature.kind) == "boot"
    assert found.found[field] == value


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:e3:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "pcieport 0000:97:01.0: AER: enabled with IRQ 34",
        "pcieport 0000:97:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+",
        "mlx5_core 0000:9d:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
        "RPC: xid (0x9d00): 13 was seen twice",
        "HW Slowdown : Not Active",
        "clocks_event_reasons.hw_slowdown: Not Active",
        "NVRM: GPU 0000:9d:00.0: RmInitAdapter done",
        "nvidia-nvswitch2: open (major=510)",
    ],
)
def test_look_alikes_are_no_fault(line: str) -> None:
    found = registry.match(read_envelope(line).text)
    assert found is None or (found.reading.role or found.signature.role) is EvidenceRole.NOISE


def test_the_switch_may_also_be_the_network() -> None:
    assert "network" in also(read(SXID + "23001, Fatal, Link 00 NXBAR_TILE ingress overflow"))
