"""The formats of looks at a running job, the surest first."""

from typing import Final

from triage.formats.live.debug_server import (
    HANDLER_REFUSAL,
    SERVER_FILE,
    SERVER_PAGE,
    STORE_KEYS,
    TRACE_TABLES,
    WAIT_COUNTER_VALUES,
)
from triage.formats.live.gpu_states import AMD_SMI, GPU_DMON, GPU_TABLE, SMI_TABLE
from triage.formats.live.live_format import LiveFormat
from triage.formats.live.native_stacks import CUDA_GDB, GDB, PROC_FILES
from triage.formats.live.nccl_tools import (
    INSPECTOR,
    INSPECTOR_METRICS,
    PROFILER,
    PROXY_TRACE,
    REPLAY,
)
from triage.formats.live.process_list import PROCESS_LIST
from triage.formats.live.ras import RAS_JSON, RAS_MONITOR, RAS_TEXT
from triage.formats.live.stack_dumps import FAULTHANDLER, PY_SPY, PY_SPY_JSON, PYTHON_TRACEBACK

__all__ = ["LIVE"]

LIVE: Final[tuple[LiveFormat, ...]] = (
    PROCESS_LIST,
    RAS_TEXT,
    RAS_JSON,
    RAS_MONITOR,
    SERVER_FILE,
    SERVER_PAGE,
    STORE_KEYS,
    TRACE_TABLES,
    WAIT_COUNTER_VALUES,
    HANDLER_REFUSAL,
    PY_SPY,
    FAULTHANDLER,
    INSPECTOR,
    INSPECTOR_METRICS,
    PROFILER,
    REPLAY,
    PROXY_TRACE,
    GPU_TABLE,
    GPU_DMON,
    AMD_SMI,
    SMI_TABLE,
    PY_SPY_JSON,
    CUDA_GDB,
    GDB,
    PROC_FILES,
    PYTHON_TRACEBACK,
)
