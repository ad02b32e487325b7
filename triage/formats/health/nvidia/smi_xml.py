"""``nvidia-smi -q -x``: the same report as XML.

::

    <nvidia_smi_log>
      <gpu id="00000000:1B:00.0">
        <persistence_mode>Enabled</persistence_mode>
        <ecc_errors><volatile><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
        <remapped_rows><remapped_row_pending>No</remapped_row_pending></remapped_rows>
      </gpu>
    </nvidia_smi_log>

A document that declares entities is refused before it is parsed: a few lines of them can ask
for any memory. A report declares none.
"""

import re
from collections.abc import Callable
from typing import Final
from xml.etree import ElementTree

from triage.formats.health.check_format import CheckFormat
from triage.formats.health.nvidia.gpu_state import GpuState, judge
from triage.formats.health.nvidia.smi_text import number, yes, yes_or_true
from triage.formats.health.reading import Reading, line_at
from triage.signatures.pci import bus_id

__all__ = ["SMI_XML"]

CLAIM: Final = re.compile(r"<nvidia_smi_log[\s>]")
END: Final = "</nvidia_smi_log>"
ENTITY: Final = re.compile(r"<!ENTITY|<!ATTLIST", re.IGNORECASE)
# Where a value stands below its GPU -> the field that it fills.
NUMBERS: Final = {
    "ecc_errors/volatile/dram_uncorrectable": "dram_uncorrected",
    "ecc_errors/aggregate/dram_uncorrectable": "dram_uncorrected_ever",
    "remapped_rows/remapped_row_unc": "remapped_uncorrected",
    "retired_pages/double_bit_retirement/retired_count": "retired_double",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "link_width",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "link_width_max",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "link_gen",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "link_gen_max",
    "temperature/gpu_temp": "celsius",
    "temperature/gpu_temp_slow_threshold": "slowdown_celsius",
    "temperature/gpu_temp_tlimit": "celsius_left",
}
FLAGS: Final = {
    "remapped_rows/remapped_row_pending": "remap_pending",
    "remapped_rows/remapped_row_failure": "remap_failed",
    "retired_pages/pending_blacklist": "retirement_pending",
    "retired_pages/pending_retirement": "retirement_pending",
    "persistence_mode": "persistence",
}
NAMES: Final = {
    "performance_state": "performance_state",
    "gpu_recovery_action": "recovery_action",
    "fabric/state": "fabric_state",
    "fabric/status": "fabric_status",
    "fabric/health/bandwidth": "fabric_bandwidth",
}
SRAM: Final = ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded")
REASON: Final = re.compile(r"clocks_(?:throttle|event)_reason_(\w+)")


def claimed(head: str) -> bool:
    return CLAIM.search(head[:4000]) is not None


def read(text: str, reading: Reading) -> None:
    found = CLAIM.search(text)
    end = text.find(END)
    if found is None or end < 0:
        reading.skip(None, "the report is cut off: its end is missing")
        return
    if ENTITY.search(text, 0, end):
        reading.skip(None, "declares entities, which a report of nvidia-smi does not: not read")
        return
    reading.first_line = line_at(text, found.start())
    reading.last_line = line_at(text, end)
    try:
        root = ElementTree.fromstring(text[found.start() : end + len(END)])
    except ElementTree.ParseError as error:
        reading.skip(reading.first_line, f"not valid XML: {error}")
        return
    for gpu in root.iter("gpu"):
        address = bus_id(gpu.get("id", ""))
        if address is None:
            reading.skip(reading.first_line, "a GPU without its address")
            continue
        judge(state_of(gpu, GpuState(address, reading.first_line)), reading)


def state_of(gpu: ElementTree.Element, state: GpuState) -> GpuState:
    """The values of one GPU that are known here."""
    fill(gpu, state, NUMBERS, number)
    fill(gpu, state, FLAGS, yes)
    fill(gpu, state, NAMES, str.strip)
    fill(gpu, state, {"fabric/health/route_unhealthy": "fabric_route_unhealthy"}, yes_or_true)
    for section, field in (
        ("volatile", "sram_uncorrected"),
        ("aggregate", "sram_uncorrected_ever"),
    ):
        texts = (gpu.findtext(f"ecc_errors/{section}/{tag}") for tag in SRAM)
        counts = [count for one in texts if one and (count := number(one)) is not None]
        setattr(state, field, sum(counts) if counts else None)
    for tag in ("clocks_throttle_reasons", "clocks_event_reasons"):
        section_of = gpu.find(tag)
        if section_of is not None:
            state.throttled = active_in(section_of)
    return state


def fill(
    gpu: ElementTree.Element,
    state: GpuState,
    fields: dict[str, str],
    read_one: Callable[[str], object],
) -> None:
    for path, field in fields.items():
        text = gpu.findtext(path)
        if text is not None:
            setattr(state, field, read_one(text))


def active_in(section: ElementTree.Element) -> tuple[str, ...]:
    """The reasons that are active, as the text form words them."""
    found = []
    for one in section:
        named = REASON.fullmatch(one.tag)
        if named is not None and yes(one.text or "") and named[1] != "gpu_idle":
            found.append(named[1].replace("_", " "))
    return tuple(found)


SMI_XML: Final = CheckFormat("nvidia_smi_xml", claimed, read, words=("<nvidia_smi_log",))
