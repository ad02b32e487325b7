"""AMD's GPU driver: rings that hang, resets, the management unit, and reliability reports.

A ring that times out is nearly always a program's doing, and the reset that follows
is its consequence. Reports of the hardware name the block: memory (umc), on-chip
memory of the engines, links (xgmi), or the bus.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import (
    ADVICE,
    BDF,
    CORRECTED,
    FATAL,
    NOISE,
    ROOT,
    WARN,
    HostFamily,
    says,
)
from triage.signatures.pci import bus_id
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

DRIVER = "Linux: drivers/gpu/drm/amd"

# amdgpu 0000:c3:00.0: amdgpu: ...    or    [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ...
SPEAKER = (
    rf"(?:\bamdgpu (?P<bus>{BDF}): (?:amdgpu: )?(?:\[drm\] )?(?:\*ERROR\* )?|"
    r"\[drm:amdgpu_\w{1,60}(?: \[amdgpu\])?\] (?:\*ERROR\* )?|\[drm\] (?:\*ERROR\* )?)"
)
PROGRAM = (Category.SOFTWARE_FRAMEWORK, Category.GPU)
BLOCKS = {
    "umc": (Category.GPU_HBM, ()),
    "hbm": (Category.GPU_HBM, ()),
    "xgmi": (Category.NVLINK, (Category.GPU,)),
    "pcie": (Category.GPU, (Category.IO_BOARD,)),
}


def place(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The GPU in front of the words."""
    bus = says(match, "bus")
    return Reading(gpu=bus_id(bus) if bus else None)


def block(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Counted errors by the block that met them; none at zero."""
    if says(match, "errors") == "0":
        return None
    # Deferred errors were found in memory that nobody has read since.
    corrected = says(match, "said") in ("correctable", "deferred")
    bus = says(match, "bus")
    category, also = BLOCKS.get(
        says(match, "block").split("_")[0], (Category.GPU_SRAM, (Category.GPU,))
    )
    return Reading(
        category=category,
        also=also,
        gpu=bus_id(bus) if bus else None,
        role=ADVICE if corrected else None,
        weak=corrected,
        fields={"severity": CORRECTED if corrected else FATAL},
    )


def reset(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A reset that worked is over; one that did not is the GPU's fault."""
    bus = place(match, after).gpu
    word = says(match, "how")
    if word.startswith("succe"):
        return Reading(role=NOISE, category=Category.NONE, gpu=bus, fields={"severity": "info"})
    if word.startswith(("begin", "start")):
        return Reading(gpu=bus, fields={"severity": WARN})
    return Reading(
        role=ROOT,
        category=Category.GPU,
        also=(Category.SOFTWARE_FRAMEWORK,),
        gpu=bus,
        fields={"severity": FATAL},
    )


AMD = HostFamily("amdgpu", Kind.GPU, source=DRIVER, read=place)

AMD.consequence(
    "ring_recovered",
    rf"{SPEAKER}ring (?P<ring>[\w.]{{2,24}}) timeout, but soft recovered",
    literals=("but soft recovered",),
    matches=(
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, but soft recovered",
    ),
    near_misses=("the ring was but soft recovered",),
    severity=WARN,
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
)
AMD.root(
    "ring_timeout",
    rf"{SPEAKER}ring (?P<ring>[\w.]{{2,24}}) timeout, signaled seq=\d{{1,20}}, emitted seq=\d",
    literals=("timeout, signaled seq=",),
    matches=(
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma1 timeout, signaled seq=901, "
        "emitted seq=903",
        "amdgpu 0000:c3:00.0: amdgpu: ring comp_1.0.1 timeout, signaled seq=12, emitted seq=14",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: ring comp_1.0.1 uses VM inv eng 0 on hub 0",),
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
)
AMD.root(
    "page_fault",
    rf"{SPEAKER}\[?(?:gfxhub|mmhub|vmhub)\w{{0,8}}\]? (?:(?:no-)?retry )?page fault \(src_id",
    literals=("retry page fault", "] page fault (src_id", "protection_fault_status"),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 "
        "pasid:32772, for process python3 pid 4410 thread python3 pid 4410)",
        "amdgpu 0000:c6:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32770)",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: [gfxhub0] page table ready",),
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
)
AMD.consequence(
    "reset",
    rf"{SPEAKER}(?:GPU reset ?(?:\(\d{{1,6}}\))? ?(?P<how>begin|started|success|succeeded|"
    r"failed|end with ret = -?[1-9]\d{0,5})|GPU Recovery (?P<recovery>Failed))",
    literals=("gpu reset", "gpu recovery failed"),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: GPU reset begin!",
        "amdgpu 0000:c3:00.0: GPU reset(4) succeeded!",
        "amdgpu 0000:c3:00.0: amdgpu: GPU reset(4) failed",
        "amdgpu 0000:c3:00.0: amdgpu: GPU reset end with ret = -62",
        "amdgpu 0000:c3:00.0: amdgpu: GPU Recovery Failed: -62",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: GPU reset method is MODE1",),
    severity=WARN,
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
    read=reset,
)
AMD.root(
    "device_lost",
    rf"{SPEAKER}device lost from bus",
    literals=("device lost from bus",),
    matches=("amdgpu 0000:46:00.0: amdgpu: device lost from bus!",),
    near_misses=("nvme 0000:46:00.0: device lost from bus",),
    severity=FATAL,
    category=Category.GPU,
    also=(Category.IO_BOARD, Category.CHASSIS, Category.POWER),
    traits=(Trait.GPU_LOST,),
)
AMD.consequence(
    "memory_lost",
    rf"{SPEAKER}VRAM is lost",
    literals=("vram is lost",),
    matches=(
        "[drm:amdgpu_device_gpu_recover [amdgpu]] *ERROR* VRAM is lost!",
        "[drm] VRAM is lost due to GPU reset!",
    ),
    near_misses=("VRAM is lost on us",),
    category=Category.SOFTWARE_USER,
    also=PROGRAM,
)
AMD.root(
    "scheduler_dead",
    rf"{SPEAKER}(?:MES(?:\(\d\))? (?:failed to respon[ds]e?|ring buffer is full|might be in "
    r"unrecoverable)|Failed to evict queue|qcm fence wait loop timeout"
    r"|The cp might be in an unrecoverable state)|amdgpu: (?:[^\n]{0,60}Queue preemption time out"
    r"|qcm fence wait loop timeout|The cp might be in an unrecoverable state)",
    literals=(
        "qcm fence wait loop timeout",
        "cp might be in an unrecoverable state",
        "mes failed to respon",
        "mes ring buffer is full",
        "mes might be in unrecoverable",
        "queue preemption time out",
        "failed to evict queue",
    ),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
        "[drm:amdgpu_mes_reg_write_reg_wait [amdgpu]] *ERROR* MES failed to response msg=3",
        "amdgpu: HIQ MQD's queue_doorbell_id0 is not 0, Queue preemption time out",
        "amdgpu: qcm fence wait loop timeout expired",
        "amdgpu 0000:c3:00.0: amdgpu: qcm fence wait loop timeout expired",
        "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues"
        " preemption",
    ),
    near_misses=(
        "amdgpu 0000:c3:00.0: amdgpu: qcm fence initialised",
        "amdgpu 0000:c3:00.0: amdgpu: MES: vmid_mask_mmhub 0x0000ff00",
    ),
    category=Category.GPU,
    also=(Category.SOFTWARE_FRAMEWORK, Category.SOFTWARE_USER),
)
AMD.root(
    "management_unit",
    rf"{SPEAKER}SMU(?:: I'm not done with your| is in hanged state)",
    literals=("i'm not done with your", "smu is in hanged state"),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: SMU: I'm not done with your previous command: "
        "SMN_C2PMSG_66:0x0000000F SMN_C2PMSG_82:0x00000000",
        "amdgpu 0000:c3:00.0: amdgpu: SMU is in hanged state, failed to send smu message!",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: SMU is initialized successfully!",),
    category=Category.GPU,
    also=(Category.POWER,),
)
AMD.root(
    "counted_errors",
    rf"{SPEAKER}(?:\{{\d{{1,9}}\}} ?)?(?:socket: (?P<socket>\d{{1,3}}),? )?"
    r"(?:die: (?P<die>\d{1,3}),? )?"
    r"(?P<errors>\d{1,12}) (?:new )?(?P<said>(?:un)?correctable|deferred) hardware errors"
    r" detected in (?:total in )?(?P<block>\w{2,20}) block",
    literals=("correctable hardware errors detected", "deferred hardware errors detected"),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: socket: 1, die: 0, 2 uncorrectable hardware errors detected "
        "in umc block",
        "amdgpu 0000:c3:00.0: amdgpu: {5}socket: 0, die: 0, 1 new uncorrectable hardware errors"
        " detected in xgmi_wafl block",
        "amdgpu 0000:c3:00.0: amdgpu: 8 correctable hardware errors detected in gfx block",
        "amdgpu 0000:c3:00.0: amdgpu: {3}socket: 0, die: 1, 2 new deferred hardware errors"
        " detected in umc block",
        "amdgpu 0000:c3:00.0: amdgpu: socket: 0, die: 1 1 new uncorrectable hardware errors "
        "detected in xgmi block",
    ),
    near_misses=(
        "amdgpu 0000:c3:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "amdgpu 0000:c3:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:c3:00.0: amdgpu: {7}socket: 0, die: 0, no uncorrectable hardware errors"
        " detected in umc block",
    ),
    severity=FATAL,
    category=Category.GPU_SRAM,
    read=block,
    kind=Kind.ECC,
)
AMD.root(
    "fatal_error",
    rf"{SPEAKER}(?:uncorrectable hardware error ?\(|[^\n]{{0,40}}?ERREVENT_ATHUB_INTERRUPT|"
    r"[^\n]{0,20}?fatal error event)",
    literals=("errevent_athub_interrupt", "uncorrectable hardware error(", "fatal error event"),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
        "detected!",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: hardware error reporting is enabled",),
    severity=FATAL,
    category=Category.GPU,  # the hub that tells it is none of the memories
    also=(Category.GPU_SRAM, Category.GPU_HBM),
    kind=Kind.ECC,
)
AMD.root(
    "poison",
    rf"{SPEAKER}[^\n]{{0,60}}?poison (?:is )?(?P<what>consum|creat)\w{{1,6}}",
    literals=("poison consumption", "poison is consumed", "poison creation", "poison is created"),
    matches=("amdgpu 0000:c3:00.0: amdgpu: RAS poison consumption interrupt in gfx, client id 10",),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: RAS poison mode is supported",),
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    kind=Kind.ECC,
)
AMD.root(
    "bad_pages",
    rf"{SPEAKER}[^\n]{{0,80}}?(?:exceed\w{{0,3}}[^\n]{{0,30}}?bad[ _]page[ _]threshold|bad[ _]page"
    r"[ _]threshold (?:is )?(?:reached|exceeded)|Saved bad pages \d{1,7} reaches threshold)",
    literals=(
        "bad page threshold",
        "bad_page_threshold",
        "bad pages exceed",
        "reaches threshold value",
    ),
    matches=(
        "amdgpu 0000:c3:00.0: amdgpu: RAS records:271 exceed bad page threshold: 256",
        "amdgpu 0000:c3:00.0: amdgpu: bad page threshold reached",
        "amdgpu 0000:c3:00.0: amdgpu: Saved bad pages 256 reaches threshold value 256",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: bad page threshold is 256",),
    category=Category.GPU_HBM,
    kind=Kind.ECC,
)
AMD.advice(
    "bad_pages_near",
    rf"{SPEAKER}RAS records: ?\d{{1,7}} exceeds (?P<percent>\d{{1,3}})% of threshold",
    literals=("% of threshold",),
    matches=("amdgpu 0000:c3:00.0: amdgpu: RAS records:118 exceeds 90% of threshold:128",),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: fan speed is at 90% of threshold",),
    severity=WARN,
    category=Category.GPU_HBM,
    kind=Kind.ECC,
)

SIGNATURES = AMD.signatures()
