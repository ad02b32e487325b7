"""What the NVIDIA driver says without an error number.

A GPU that left the bus, an adapter that would not start, a system processor that
stopped answering and the tables that the driver prints then, links that it gave
up, and the banners that only say that a driver was loaded.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import CONSEQUENCE, ERROR, FATAL, NOISE, WARN, HostFamily
from triage.signatures.pci import bus_id
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

DRIVER = "NVIDIA open kernel modules"
TICKETS = "public tickets with kernel logs of NVIDIA GPUs"

ADDRESS = r"(?:PCI:)?(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?"
# NVRM: GPU 0000:3b:00.0: what happened
OWNER = rf"NVRM: (?:nvidia )?(?:GPU (?:at )?(?P<gpu>{ADDRESS}):? )?"
SLOT = (Category.IO_BOARD, Category.POWER, Category.CHASSIS)
QUOTABLE = (Trait.QUOTABLE,)
LOST = (Trait.QUOTABLE, Trait.GPU_LOST)
TEARDOWN = (Trait.QUOTABLE, Trait.TEARDOWN)


def addressed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Only the GPU, in the form in which it is joined."""
    return Reading(gpu=bus_id(match["gpu"]) if match["gpu"] else None)


def probed(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """A record of three lines: the GPU, its PCI ID, and only then what is wrong with it."""
    rest = " ".join((match.string[match.end() :], *after[:3]))
    gone = re.search(r"fallen off the bus", rest[:600], re.IGNORECASE)
    return None if gone is None else Reading(gpu=bus_id(match["gpu"]))


NAMED_GPU = re.compile(rf"\bGPU (?:at )?(?P<gpu>{ADDRESS})")


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Without an address it may be the third line of a record that counted already."""
    gpu = match["gpu"] or match["other"]
    if not gpu:
        named = NAMED_GPU.search(match.string, max(0, match.start() - 100), match.end())
        gpu = named["gpu"] if named is not None else None
    return Reading(
        gpu=bus_id(gpu) if gpu else None, weak=not gpu, signature="nvidia.fallen_off_bus"
    )


def asserted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A failed assertion is noise, unless it failed because the GPU was gone."""
    if "GPU_IS_LOST" in match["why"].upper():
        return Reading(
            role=CONSEQUENCE, category=Category.GPU, also=SLOT, fields={"severity": ERROR}
        )
    return Reading(role=NOISE)


NVIDIA = HostFamily("nvidia", Kind.GPU, source=DRIVER)

NVIDIA.noise(
    "assert",
    r"NVRM: \w{0,40}?Assert(?:Ok)?Failed\w{0,20}: (?P<why>[^\n]{0,200})",
    literals=("assertfailed", "assertokfailed"),
    matches=(
        "NVRM: nvAssertFailedNoLog: Assertion failed: pRef == NULL @ mem.c:88",
        "NVRM: nvAssertOkFailedNoLog: Assertion failed: GPU lost from the bus "
        "[NV_ERR_GPU_IS_LOST] (0x0000000F) returned from rpcCtl(pGpu) @ vaspace.c:1431",
    ),
    near_misses=("AssertionError: NVRM: no such file",),
    read=asserted,
    traits=QUOTABLE,
)
NVIDIA.root(
    "fallen_off_bus",
    rf"NVRM: The NVIDIA GPU (?P<gpu>{ADDRESS})",
    literals=("nvrm: the nvidia gpu",),
    matches=(
        "NVRM: The NVIDIA GPU 0000:1b:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: The NVIDIA GPU 0000:1b:00.0 (PCI ID: 10de:20b2) installed in this system has "
        "fallen off the bus and is not responding to commands.",
    ),
    near_misses=(
        "NVRM: The NVIDIA GPU 0000:1b:00.0 (PCI ID: 10de:0fff)\nNVRM: installed in this system is "
        "not supported by the NVIDIA 550.90.07 driver release.",
    ),
    severity=FATAL,
    category=Category.GPU,
    also=SLOT,
    context=3,
    read=probed,
    traits=LOST,
)
NVIDIA.root(
    "fallen_off_bus_later",
    rf"(?:{OWNER}|\bGPU (?:at )?(?P<other>{ADDRESS}):? )"
    r"(?:[^\n]{0,60}?\b)?(?:fallen off the bus|lost from the bus)",
    literals=("fallen off the bus", "gpu lost from the bus"),
    matches=(
        "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.",
        "NVRM: fallen off the bus and is not responding to commands.",
        "GPU 00000000:1B:00.0 has fallen off the bus",
    ),
    near_misses=(
        "check whether a GPU has fallen off the bus before you file a ticket",
        "the bottle had fallen off the bus",
    ),
    severity=FATAL,
    category=Category.GPU,
    also=SLOT,
    read=lost,
    traits=LOST,
)
NVIDIA.root(
    "init_failed",
    rf"{OWNER}[^\n]{{0,20}}?RmInitAdapter failed!? ?(?:\((?P<status>[0-9a-fx:]{{1,40}})\))?",
    literals=("rminitadapter failed",),
    matches=(
        "NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x23:0x65:1426)",
        "NVRM: RmInitAdapter failed! (0x26:0xffff:1290)",
    ),
    near_misses=("NVRM: GPU 0000:5d:00.0: RmInitAdapter succeeded",),
    severity=FATAL,
    category=Category.GPU,
    also=(Category.IO_BOARD, Category.GPU_GSP),
    read=addressed,
    traits=QUOTABLE,
)
NVIDIA.consequence(
    "init_failed_again",
    rf"{OWNER}(?:rm_init_adapter failed|The NVIDIA probe routine failed for \d{{1,3}} device|"
    r"None of the NVIDIA (?:graphics )?devices were initialized)",
    literals=(
        "rm_init_adapter failed",
        "nvidia probe routine failed",
        "none of the nvidia devices were",
    ),
    matches=(
        "NVRM: GPU 0000:5d:00.0: rm_init_adapter failed, device minor number 6",
        "NVRM: The NVIDIA probe routine failed for 1 device(s).",
        "NVRM: None of the NVIDIA devices were initialized.",
    ),
    near_misses=("NVRM: The NVIDIA probe routine was not called for 8 device(s).",),
    category=Category.GPU,
    also=(Category.IO_BOARD, Category.GPU_GSP),
    read=addressed,
    traits=QUOTABLE,
)
NVIDIA.root(
    "probe_failed",
    rf"(?:nvidia: probe of (?P<gpu>{ADDRESS}) failed with error|"
    rf"nvidia (?P<named>{ADDRESS}): probe with driver nvidia failed with error) "
    r"(?P<error>-?\d{1,5})",
    literals=("nvidia: probe of ", "probe with driver nvidia failed"),
    matches=(
        "nvidia: probe of 0000:5d:00.0 failed with error -1",
        "nvidia 0000:5d:00.0: probe with driver nvidia failed with error -1",
    ),
    near_misses=("nouveau: probe of 0000:5d:00.0 failed with error -12",),
    source="Linux: drivers/base/dd.c",
    category=Category.GPU,
    also=(Category.IO_BOARD, Category.SOFTWARE_FRAMEWORK),
    weak=True,
    read=lambda match, _after: Reading(gpu=bus_id(match["gpu"] or match["named"])),
    traits=QUOTABLE,
)
NVIDIA.root(
    "bar_invalid",
    r"PCI I/O region assigned to your NVIDIA device is invalid",
    literals=("region assigned to your nvidia device is invalid",),
    matches=("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",),
    near_misses=("NVRM: the PCI I/O region of your NVIDIA device is 128M",),
    category=Category.IO_BOARD,
    also=(Category.CHASSIS, Category.GPU),
    traits=QUOTABLE,
)
NVIDIA.root(
    "version_mismatch",
    r"NVRM: API mismatch: [^\n]{0,80}?version (?P<client_version>\d{3}\.[\d.]{1,12}\d)",
    literals=("nvrm: api mismatch",),
    matches=(
        "NVRM: API mismatch: the client has the version 550.90.07, but",
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 711) has the version 570.86.15, but",
    ),
    near_misses=("NVRM: API version 550.90.07 agreed",),
    category=Category.DEPENDENCY,
    also=(Category.HOST_MAINTENANCE,),
    traits=QUOTABLE,
)
NVIDIA.root(
    "gsp_heartbeat",
    rf"{OWNER}(?:[^\n]{{0,40}}?_kgspIsHeartbeatTimedOut|[^\n]{{0,40}}?GSP (?:RM )?heartbeat "
    r"(?:has )?timed? ?out)",
    literals=("heartbeattimedout", "gsp rm heartbeat timed out", "gsp heartbeat"),
    matches=(
        "NVRM: _kgspIsHeartbeatTimedOut: Heartbeat timed out, lastHeartbeat 88213 now 93213",
        "NVRM: GPU 0000:c9:00.0: GSP RM heartbeat timed out",
    ),
    near_misses=(
        "NVRM: GPU 0000:c9:00.0: GSP heartbeat enabled",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: heartbeat timed out",
    ),
    severity=FATAL,
    category=Category.GPU_GSP,
    also=(Category.GPU,),
    read=addressed,
    traits=QUOTABLE,
)
NVIDIA.consequence(
    "gsp_dump",
    r"NVRM: (?:GPU(?P<gsp>\d{1,2}) )?(?:GSP RPC buffer contains|RPC (?:event )?history|"
    r"_kgspLogXid119|_kgspRpcRecvPoll|_kgspLogRpc\w{0,30}|kgspHealthCheck\w{0,20}|"
    r"\w{1,40}: GspRmControl failed|[^\n]{0,60}?GSP-CrashCat|[^\n]{0,60}?RPC response from GPU\d)",
    literals=(
        "gsp rpc buffer contains",
        "rpc history (cpu -> gsp)",
        "rpc event history",
        "rpc history",
        "_kgsplogxid119",
        "_kgsprpcrecvpoll",
        "gsp-crashcat",
        "rpc response from gpu",
        "_kgsplogrpc",
        "gsprmcontrol failed",
        "kgsphealthcheck",
    ),
    matches=(
        "NVRM: GPU3 RPC history (CPU -> GSP):",
        "NVRM: GPU3 RPC event history (CPU <- GSP):",
        "NVRM: GPU3 GSP RPC buffer contains function 103 (GSP_RM_ALLOC) and data 0x1 0x2.",
        "NVRM: _kgspLogXid119: ********************************* GSP Timeout ************",
        "NVRM: rpcRmApiControl_GSP: GspRmControl failed: hClient=0xc1d00001; status=0x65",
    ),
    near_misses=("rpcinfo: RPC history is empty", "NVRM: GPU3 GSP firmware is loaded"),
    category=Category.GPU_GSP,
    also=(Category.GPU,),
    traits=QUOTABLE,
)
# The lines of both tables: an index, a function, two data words, two time stamps.
NVIDIA.consequence(
    "gsp_rpc_table",
    r"NVRM: +-?\d{1,2} +(?P<function>\d{1,5}) +(?P<function_name>[A-Z][A-Z_0-9]{2,40}) +0x",
    literals=(
        "gsp_rm_",
        "ucode_libos_print",
        "post_event",
        "rc_triggered",
        "gsp_run_cpu_sequencer",
    ),
    matches=(
        "NVRM:   0    76  GSP_RM_CONTROL               0x00000000a0840a23 0x0000000000000010 "
        "0x0006213dc0af8a1d 0x0000000000000000          y",
        "NVRM:  -1    4099 POST_EVENT                  0x0000000000000023 0x0000000000000006 "
        "0x0006213dc0aba001 0x0006213dc0aba007      6us",
    ),
    near_misses=("NVRM: GSP_RM_CONTROL is not supported by this firmware",),
    category=Category.GPU_GSP,
    also=(Category.GPU,),
    traits=QUOTABLE,
)
NVIDIA.root(
    "unified_memory_fatal",
    r"uvm encountered global fatal error (?P<status>0x[0-9a-f]{1,8})",
    literals=("uvm encountered global fatal error",),
    matches=(
        "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x62, "
        "requiring os reboot to recover.",
    ),
    near_misses=("uvm encountered no error",),
    severity=FATAL,
    category=Category.GPU,
    also=(Category.GPU_HBM, Category.GPU_SRAM, Category.NVLINK),
    traits=QUOTABLE,
)
NVIDIA.root(
    "watchdog",
    r"RC watchdog: GPU is probably locked",
    literals=("rc watchdog: gpu is probably locked",),
    matches=(
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
    ),
    near_misses=("NVRM: RC watchdog enabled",),
    severity=WARN,
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK, Category.GPU, Category.GPU_GSP),
    weak=True,
    traits=QUOTABLE,
)
NVIDIA.consequence(
    "bad_register_read",
    r"Possible bad register read: addr: (?P<register>0x[0-9a-f]{1,8})",
    literals=("possible bad register read",),
    matches=(
        "NVRM: gpuHandleSanityCheckRegReadError_GM107: Possible bad register read: "
        "addr: 0x110804,  regvalue: 0xbadf5040,  error code: Unknown SYS_PRI_ERROR_CODE",
    ),
    near_misses=("NVRM: register read: addr: 0x110804",),
    category=Category.GPU,
    also=SLOT,
    traits=QUOTABLE,
)
NVIDIA.consequence(
    "companion_function",
    rf"nvidia-gpu (?P<device>{ADDRESS}): i2c timeout error f{{8}}",
    literals=("i2c timeout error ffffffff",),
    matches=("nvidia-gpu 0000:1b:00.3: i2c timeout error ffffffff",),
    near_misses=("nvidia-gpu 0000:1b:00.3: i2c timeout error e0000000",),
    source="Linux: drivers/i2c/busses/i2c-nvidia-gpu.c",
    category=Category.GPU,
    also=SLOT,
    read=lambda match, _after: Reading(gpu=bus_id(match["device"])),
    traits=QUOTABLE,
)
NVIDIA.root(
    "link_disabled",
    rf"{OWNER}[^\n]{{0,80}}?NVLink:? link:? (?P<link>\d{{1,3}}) (?:is |was )?disabled due to error",
    literals=("disabled due to error",),
    matches=(
        "NVRM: GPU 0000:c9:00.0: NVLink link 9 disabled due to error",
        "NVRM: NVLink link 9 disabled due to error",
    ),
    near_misses=("NVRM: NVLink link 9 disabled by the registry",),
    source=TICKETS,
    category=Category.NVLINK,
    also=(Category.GPU,),
    kind=Kind.LINK,
    read=addressed,
    traits=QUOTABLE,
)
NVIDIA.advice(
    "link_start",
    r"NVRM: (?P<function>knvlink\w{1,60})[:,][^\n]{0,80}?"
    r"(?:fail\w{0,3}|Need to shutdown all links|could not)",
    literals=(
        "rxdetlinkmask",
        "rx detect link mask",
        "failed to train links",
        "need to shutdown all links",
    ),
    matches=(
        "NVRM: knvlinkUpdatePostRxDetLinkMask_IMPL: Failed to update Rx Detect Link mask!",
        "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer1's postRxDetLinkMask failed!",
        "NVRM: knvlinkCoreShutdownDeviceLinks_IMPL: Need to shutdown all links unilaterally for "
        "GPU2",
    ),
    near_misses=("NVRM: knvlinkUpdatePostRxDetLinkMask_IMPL: Rx Detect Link mask updated",),
    category=Category.NVLINK,
    also=(Category.GPU,),
    weak=True,
    kind=Kind.LINK,
    traits=TEARDOWN,
)
NVIDIA.consequence(
    "peer_memory",
    r"(?P<function>nv_\w{1,40}):(?P<at>\d{1,5}) (?:ERROR|error)\b",
    literals=("nv_get_p2p_free_callback", "nv_mem_get_pages", "nvidia-peermem", "nvidia_peermem"),
    matches=(
        "nvidia-peermem nv_get_p2p_free_callback:131 ERROR detected invalid context, skipping "
        "further processing",
    ),
    near_misses=("nvidia-peermem nv_mem_client_init: registered with the peer memory core",),
    source="NVIDIA open kernel modules, nvidia-peermem",
    severity=WARN,
    category=Category.SOFTWARE_USER,
    also=(Category.SOFTWARE_FRAMEWORK,),
    traits=TEARDOWN,
)
NVIDIA.noise(
    "handle_context",
    r"NVRM: os_pci_init_handle: invalid context",
    literals=("os_pci_init_handle",),
    matches=("NVRM: os_pci_init_handle: invalid context!",),
    near_misses=("NVRM: os_pci_init_handle: done",),
    traits=QUOTABLE,
)
NVIDIA.noise(
    "crash_dump",
    r"NVRM: [^\n]{0,40}?(?:GPU crash dump has been created|please run nvidia-bug-report\.sh)",
    literals=("a gpu crash dump has been created", "please run nvidia-bug-report.sh"),
    matches=("NVRM: A GPU crash dump has been created. If possible, please run",),
    near_misses=("NVRM: no GPU crash dump",),
    traits=QUOTABLE,
)
NVIDIA.noise(
    "driver_loaded",
    r"loading NVIDIA UNIX [^\n]{0,60}?Kernel Module[^\n]{0,24}?\s"
    r"(?P<driver_version>\d{3}\.\d[\d.]{0,12})",
    literals=("nvrm: loading nvidia unix", "nvidia unix"),
    matches=(
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
    ),
    near_misses=("NVRM: unloading NVIDIA UNIX x86_64 Kernel Module",),
    kind=Kind.BOOT,
    each=True,
    traits=QUOTABLE,
)
NVIDIA.noise(
    "gpu_banner",
    rf"NVRM: GPU at (?P<gpu>{ADDRESS}): (?P<uuid>GPU-[0-9a-f][0-9a-f-]{{7,40}})",
    literals=("nvrm: gpu at pci:", "nvrm: gpu at 0"),
    matches=("NVRM: GPU at PCI:0000:1b:00: GPU-0d1c2b3a-4455-6677-8899-aabbccddeeff",),
    near_misses=("NVRM: GPU at PCI:0000:1b:00 is not there",),
    kind=Kind.BOOT,
    each=True,
    read=addressed,
    traits=QUOTABLE,
)
NVIDIA.noise(
    "board_serial",
    r"NVRM: GPU Board Serial Number:\s{0,4}(?P<serial>\w{4,24})?",
    literals=("gpu board serial number",),
    matches=("NVRM: GPU Board Serial Number: 1650224011973",),
    near_misses=("GPU Board Part Number: 692-2G520-0200-000",),
    kind=Kind.BOOT,
    each=True,
    traits=QUOTABLE,
)
NVIDIA.noise(
    "start_up",
    r"(?:nvidia-nvlink: Nvlink Core is being initialized|nvidia-modeset: Loading NVIDIA Kernel "
    r"Mode Setting|Persistence mode is deprecated|nvidia-uvm: Loaded the UVM driver)",
    literals=(
        "nvlink core is being initialized",
        "loading nvidia kernel mode setting",
        "persistence mode is deprecated",
        "loaded the uvm driver",
    ),
    matches=(
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  550.90.07",
        "NVRM: Persistence mode is deprecated and will be removed in a future release.",
        "nvidia-uvm: Loaded the UVM driver, major device number 508.",
    ),
    near_misses=("nvidia-nvlink: Unregistered Nvlink Core, major device number 234",),
    kind=Kind.BOOT,
    traits=QUOTABLE,
)

SIGNATURES = NVIDIA.signatures()
