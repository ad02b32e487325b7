"""The one table of formats, and which of them a file is.

Uploads, the process that reads them and the command line all ask :func:`identify` or
:func:`identify_stream`. The first row that claims a file has it: what is surest by its first
bytes stands first.
"""

from typing import Final

from triage.domain.file_kind import LOGS, FileKind
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Format, Head, StreamFormat
from triage.formats.format_table import FormatTable, first_claim
from triage.formats.health.amd.amd_smi import AMD_CPER, AMD_CPER_TABLE, AMD_SMI
from triage.formats.health.amd.amd_text import AMD_SMI_TEXT, ROCM_SMI
from triage.formats.health.amd.rocm_smi_json import ROCM_SMI_JSON
from triage.formats.health.amd.rvs import RVS
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.drain_reasons import NODE_RECORDS, SINFO_REASONS
from triage.formats.health.cluster.gpud import GPUD
from triage.formats.health.cluster.nvsentinel import NVSENTINEL
from triage.formats.health.dcgm.dcgm_diag import DCGM_DIAG
from triage.formats.health.dcgm.dcgm_health import DCGM_HEALTH, DCGM_HEALTH_JSON
from triage.formats.health.dcgm.diag_table import DCGM_DIAG_TABLE
from triage.formats.health.dcgm.dmon import DCGM_DMON
from triage.formats.health.dcgm.multi_node_diag import MULTI_NODE_DIAG
from triage.formats.health.dcgm.nvlink_status import NVLINK_STATUS
from triage.formats.health.fabric.ethtool import (
    ETHTOOL_LINK,
    ETHTOOL_MODULE,
    ETHTOOL_STATISTICS,
)
from triage.formats.health.fabric.ib_counters import IB_COUNTERS
from triage.formats.health.fabric.ib_ports import IB_PORTS, IB_STATUS, IBV_DEVINFO, RDMA_LINK
from triage.formats.health.fabric.ibdiagnet_log import IBDIAGNET_LOG
from triage.formats.health.fabric.ibdiagnet_tables import IBDIAGNET_TABLES, NET_DUMP
from triage.formats.health.fabric.iblinkinfo import IBLINKINFO
from triage.formats.health.fabric.mlxlink import MLXLINK, MLXLINK_JSON
from triage.formats.health.fabric.perftest import PERFTEST
from triage.formats.health.host.dmidecode import DMIDECODE
from triage.formats.health.host.event_log import EVENT_LOG
from triage.formats.health.host.ipmi_sensors import IPMI_CHASSIS, IPMI_SENSORS
from triage.formats.health.host.lspci import LSPCI
from triage.formats.health.host.memory_errors import EDAC_UTIL, MCELOG_CLIENT, RAS_MC_CTL
from triage.formats.health.host.nvme import NVME_ERRORS, NVME_JSON, NVME_LIST, NVME_SMART
from triage.formats.health.host.redfish import REDFISH
from triage.formats.health.host.smartctl import SMARTCTL, SMARTCTL_JSON
from triage.formats.health.host.stress import MEMTESTER, STRESS_NG
from triage.formats.health.host_checks import HOST_JSON, HOST_PLAIN
from triage.formats.health.imbue_checks import IMBUE_CHECKS
from triage.formats.health.nccl_json import NCCL_JSON, RCCL_JSON
from triage.formats.health.nccl_tests import NCCL_TESTS
from triage.formats.health.nvidia.gpu_burn import GPU_BURN
from triage.formats.health.nvidia.nvbandwidth import NVBANDWIDTH, NVBANDWIDTH_JSON
from triage.formats.health.nvidia.smi_nvlink import SMI_NVLINK
from triage.formats.health.nvidia.smi_state import SMI_CSV, SMI_FAILURE, SMI_TABLE_STATE
from triage.formats.health.nvidia.smi_text import SMI_TEXT
from triage.formats.health.nvidia.smi_xml import SMI_XML
from triage.formats.health.suites.gcm import GCM, GCM_RECORDS
from triage.formats.health.suites.gpud_scan import GPUD_SCAN
from triage.formats.health.suites.node_conditions import NODE_CONDITIONS
from triage.formats.health.suites.node_health_check import NODE_HEALTH_CHECK
from triage.formats.health.suites.sichek import SICHEK, SICHEK_JSON
from triage.formats.health.suites.superbench import SUPERBENCH
from triage.formats.live.gpu_states import SMI_TABLE
from triage.formats.live.looks_and_checks import LooksAndChecks
from triage.formats.live.registry import LIVE
from triage.formats.logs.bug_report import BugReport
from triage.formats.logs.controller_lists import BLOCK_LIST, EVENT_TABLE
from triage.formats.logs.host_name import HOST_NAME
from triage.formats.logs.journal import EXPORT_JOURNAL, PRETTY_JOURNAL, VERBOSE_JOURNAL
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.formats.logs.lines import LOG
from triage.formats.logs.sel_list import SEL_LIST, SEL_VERBOSE
from triage.formats.telemetry.exposition import EXPOSITION
from triage.formats.telemetry.parquet import PARQUET
from triage.formats.telemetry.query_result import QUERY_RESULT
from triage.formats.telemetry.table import TABLE
from triage.formats.telemetry.telemetry_format import TelemetryFormat

__all__ = [
    "CHECKS",
    "FORMATS",
    "STREAMS",
    "TELEMETRY",
    "identify",
    "identify_checks",
    "identify_stream",
    "identify_telemetry",
    "kind_of",
]

CHECKS: Final[tuple[CheckFormat, ...]] = (
    SMI_TEXT,
    SMI_XML,
    SMI_NVLINK,
    MULTI_NODE_DIAG,
    DCGM_DIAG,
    DCGM_DIAG_TABLE,
    DCGM_HEALTH,
    DCGM_HEALTH_JSON,
    DCGM_DMON,
    NVLINK_STATUS,
    NVSENTINEL,
    GPUD,
    GPUD_SCAN,
    SICHEK_JSON,
    SICHEK,
    GCM_RECORDS,
    GCM,
    SUPERBENCH,
    NODE_HEALTH_CHECK,
    GPU_BURN,
    NVBANDWIDTH,
    NVBANDWIDTH_JSON,
    AMD_SMI,
    AMD_CPER,
    AMD_CPER_TABLE,
    AMD_SMI_TEXT,
    ROCM_SMI,
    ROCM_SMI_JSON,
    RVS,
    IB_PORTS,
    IB_STATUS,
    IBV_DEVINFO,
    RDMA_LINK,
    IB_COUNTERS,
    MLXLINK,
    MLXLINK_JSON,
    IBDIAGNET_LOG,
    IBDIAGNET_TABLES,
    NET_DUMP,
    IBLINKINFO,
    PERFTEST,
    ETHTOOL_LINK,
    ETHTOOL_STATISTICS,
    ETHTOOL_MODULE,
    NVME_SMART,
    NVME_JSON,
    NVME_ERRORS,
    NVME_LIST,
    SMARTCTL,
    SMARTCTL_JSON,
    IPMI_SENSORS,
    IPMI_CHASSIS,
    REDFISH,
    DMIDECODE,
    LSPCI,
    EDAC_UTIL,
    RAS_MC_CTL,
    MCELOG_CLIENT,
    MEMTESTER,
    STRESS_NG,
    SINFO_REASONS,
    NODE_RECORDS,
    IMBUE_CHECKS,
    HOST_JSON,
    NCCL_JSON,
    RCCL_JSON,
    NCCL_TESTS,
    HOST_PLAIN,
)
CHECK_TABLE: Final = FormatTable(CHECKS)
# What is a log in an incident's folder, and a check where somebody sends it as one.
EVENTS: Final[tuple[CheckFormat, ...]] = (EVENT_LOG,)
# In a folder these are lines of a log, looks at GPUs, telemetry and records of Kubernetes.
OF_NODES: Final[tuple[CheckFormat, ...]] = (
    SMI_FAILURE,
    SMI_TABLE_STATE,
    SMI_CSV,
    NODE_CONDITIONS,
)
ALL_CHECKS: Final = FormatTable((*CHECKS, *EVENTS, *OF_NODES))
TELEMETRY: Final[tuple[TelemetryFormat, ...]] = (PARQUET, QUERY_RESULT, EXPOSITION, TABLE)
STREAMS: Final[tuple[StreamFormat, ...]] = (
    *TELEMETRY,
    *(LooksAndChecks(row, SMI_TABLE_STATE) if row is SMI_TABLE else row for row in LIVE),
    BugReport(CHECK_TABLE),
    *CHECKS,
    HOST_NAME,
    VERBOSE_JOURNAL,
    EXPORT_JOURNAL,
    PRETTY_JOURNAL,
    JSON_DOCUMENT,
    BLOCK_LIST,
    EVENT_TABLE,
    SEL_VERBOSE,
    SEL_LIST,
    LOG,
)
STREAM_TABLE: Final = FormatTable(STREAMS)
FORMATS: Final[tuple[Format, ...]] = (FLIGHT_RECORDER, *STREAMS)


def identify(raw: Head, decoded: Head | None) -> Format | None:
    """The format of a file that begins so; None for what is neither text nor known.

    ``raw`` are its first bytes as they came; ``decoded`` the same in UTF-8 where they are text,
    None where they are not.
    """
    if FLIGHT_RECORDER.claims(raw):
        return FLIGHT_RECORDER
    return identify_stream(raw, decoded)


def identify_stream(
    raw: Head, decoded: Head | None, stored: FileKind | None = None
) -> StreamFormat | None:
    """As :func:`identify`, for a file that is no dump.

    ``stored`` is the kind under which the service keeps it: rows of other kinds are asked where
    none of its own claims it, as after an update that knows more formats.
    """
    rows = STREAM_TABLE.candidates(decoded)
    if stored is not None:
        kind = None if stored in LOGS else stored
        rows = sorted(rows, key=lambda row: row.kind is not kind)
    return first_claim(rows, raw, decoded)


def identify_checks(data: bytes) -> CheckFormat | None:
    """The format of a report of checks that begins with ``data``; None for none of these."""
    head = Head(data)
    return first_claim(ALL_CHECKS.candidates(head), head, head)


def identify_telemetry(data: bytes) -> TelemetryFormat | None:
    """The format of telemetry that begins with ``data``; None for none of these."""
    head = Head(data)
    return next((row for row in TELEMETRY if row.claims(head)), None)


def kind_of(row: Format, head: Head) -> FileKind:
    """What a file of this format is stored as."""
    if row.kind is not None:
        return row.kind
    return FileKind.KERNEL_LOG if head.layout.kernel else FileKind.JOB_LOG
