"""How busy the GPUs of a node are at one moment, by how the tables begin.

::

    index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W]
    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
    [{"gpu": 0, "usage": {"gfx_activity": {"value": 100, "unit": "%"}, ...
    | NVIDIA-SMI 550.90.07       Driver Version: 550.90.07    CUDA Version: 12.4 |
"""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.gpu_tables import read_amd_smi, read_dmon, read_gpu_table
from triage.parsers.live.smi_table import read_smi_tables
from triage.parsers.telemetry.columns import parse_header
from triage.parsers.telemetry.gpu_columns import is_gpu_table

_DMON_BEGINS: Final = compile_re(r"\s{0,20}# gpu\s[^\n]{0,200}\bsm\s[^\n]{0,200}\n# Idx\s")
_AMD_BEGINS: Final = compile_re(
    r'\s{0,20}(?:\{\s{0,20}"gpu_data"\s{0,4}:\s{0,4})?\[\s{0,20}\{\s{0,20}"gpu"\s{0,4}:'
)


# A job's log may hold such a table too, behind other lines.
_SMI_BEGINS: Final = compile_re(
    r"\s{0,20}(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\s{1,4})?"
    r"\+-{20,120}\+\s{1,4}\| NVIDIA-SMI \d"
)


def _is_table_of_gpus(head: Head) -> bool:
    first = head.data.partition(b"\n")[0][:4096]
    if b"utilization.gpu" not in first:
        return False
    columns = parse_header(first)
    return columns is not None and is_gpu_table(columns)


def _is_amd_usage(head: Head) -> bool:
    return _AMD_BEGINS.match(head.text) is not None and b'"gfx_activity"' in head.data


GPU_TABLE: Final = LiveFormat(
    "gpu_table", _is_table_of_gpus, read_gpu_table, words=("utilization.gpu",)
)
GPU_DMON: Final = LiveFormat(
    "gpu_dmon",
    lambda head: _DMON_BEGINS.match(head.text) is not None,
    read_dmon,
    words=("# Idx",),
)
AMD_SMI: Final = LiveFormat("amd_smi_usage", _is_amd_usage, read_amd_smi)
SMI_TABLE: Final = LiveFormat(
    "nvidia_smi_table",
    lambda head: _SMI_BEGINS.match(head.plain_text) is not None,
    read_smi_tables,
    also_log=True,
    words=("| NVIDIA-SMI ",),
)
