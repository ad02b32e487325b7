"""The one table of formats, and which of them a file is.

Uploads, the process that reads them and the command line all ask :func:`identify` or
:func:`identify_stream`. The first row that claims a file has it: what is surest by its first
bytes stands first.
"""

from collections.abc import Iterable
from typing import Final, TypeVar

from triage.domain.file_kind import LOGS, FileKind
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Format, Head, StreamFormat
from triage.formats.health.amd.amd_smi import AMD_CPER, AMD_CPER_TABLE, AMD_SMI
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.drain_reasons import NODE_RECORDS, SINFO_REASONS
from triage.formats.health.cluster.gpud import GPUD
from triage.formats.health.cluster.nvsentinel import NVSENTINEL
from triage.formats.health.dcgm.dcgm_diag import DCGM_DIAG
from triage.formats.health.dcgm.dcgm_health import DCGM_HEALTH, DCGM_HEALTH_JSON
from triage.formats.health.dcgm.multi_node_diag import MULTI_NODE_DIAG
from triage.formats.health.dcgm.nvlink_status import NVLINK_STATUS
from triage.formats.health.fabric.ib_counters import IB_COUNTERS
from triage.formats.health.fabric.ib_ports import IB_PORTS
from triage.formats.health.fabric.ibdiagnet_log import IBDIAGNET_LOG
from triage.formats.health.fabric.ibdiagnet_tables import IBDIAGNET_TABLES, NET_DUMP
from triage.formats.health.fabric.iblinkinfo import IBLINKINFO
from triage.formats.health.fabric.mlxlink import MLXLINK, MLXLINK_JSON
from triage.formats.health.host_checks import HOST_JSON, HOST_PLAIN
from triage.formats.health.imbue_checks import IMBUE_CHECKS
from triage.formats.health.nccl_tests import NCCL_TESTS
from triage.formats.health.nvidia.smi_nvlink import SMI_NVLINK
from triage.formats.health.nvidia.smi_text import SMI_TEXT
from triage.formats.health.nvidia.smi_xml import SMI_XML
from triage.formats.live.registry import LIVE
from triage.formats.logs.bug_report import BugReport
from triage.formats.logs.controller_lists import BLOCK_LIST, EVENT_TABLE
from triage.formats.logs.host_name import HOST_NAME
from triage.formats.logs.journal import EXPORT_JOURNAL, PRETTY_JOURNAL, VERBOSE_JOURNAL
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.formats.logs.lines import LOG
from triage.formats.logs.sel_list import SEL_LIST
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
    DCGM_HEALTH,
    DCGM_HEALTH_JSON,
    NVLINK_STATUS,
    NVSENTINEL,
    GPUD,
    AMD_SMI,
    AMD_CPER,
    AMD_CPER_TABLE,
    IB_PORTS,
    IB_COUNTERS,
    MLXLINK,
    MLXLINK_JSON,
    IBDIAGNET_LOG,
    IBDIAGNET_TABLES,
    NET_DUMP,
    IBLINKINFO,
    SINFO_REASONS,
    NODE_RECORDS,
    IMBUE_CHECKS,
    HOST_JSON,
    NCCL_TESTS,
    HOST_PLAIN,
)
TELEMETRY: Final[tuple[TelemetryFormat, ...]] = (PARQUET, QUERY_RESULT, EXPOSITION, TABLE)
STREAMS: Final[tuple[StreamFormat, ...]] = (
    *TELEMETRY,
    *LIVE,
    BugReport(CHECKS),
    *CHECKS,
    HOST_NAME,
    VERBOSE_JOURNAL,
    EXPORT_JOURNAL,
    PRETTY_JOURNAL,
    JSON_DOCUMENT,
    BLOCK_LIST,
    EVENT_TABLE,
    SEL_LIST,
    LOG,
)
FORMATS: Final[tuple[Format, ...]] = (FLIGHT_RECORDER, *STREAMS)
# Of a stored file the kind is known, so that only its own rows are asked.
OF_KIND: Final[dict[FileKind, tuple[StreamFormat, ...]]] = {
    FileKind.TELEMETRY: TELEMETRY,
    **{kind: tuple(row for row in STREAMS if row.kind is None) for kind in LOGS},
}


AnyFormat = TypeVar("AnyFormat", bound=Format)


def identify(raw: Head, decoded: Head | None) -> Format | None:
    """The format of a file that begins so; None for what is neither text nor known.

    ``raw`` are its first bytes as they came; ``decoded`` the same in UTF-8 where they are text,
    None where they are not.
    """
    return first_claim(FORMATS, raw, decoded)


def identify_stream(
    raw: Head, decoded: Head | None, stored: FileKind | None = None
) -> StreamFormat | None:
    """As :func:`identify`, for a file that is no dump.

    ``stored`` is the kind under which the service keeps it: rows of other kinds are asked where
    none of its own claims it, as after an update that knows more formats.
    """
    own = () if stored is None else OF_KIND.get(stored, ())
    return first_claim((*own, *STREAMS), raw, decoded)


def first_claim(rows: Iterable[AnyFormat], raw: Head, decoded: Head | None) -> AnyFormat | None:
    for row in rows:
        head = raw if row.binary else decoded
        if head is not None and row.claims(head):
            return row
    return None


def identify_checks(data: bytes) -> CheckFormat | None:
    """The format of a report of checks that begins with ``data``; None for none of these."""
    head = Head(data)
    return next((row for row in CHECKS if row.claims(head)), None)


def identify_telemetry(data: bytes) -> TelemetryFormat | None:
    """The format of telemetry that begins with ``data``; None for none of these."""
    head = Head(data)
    return next((row for row in TELEMETRY if row.claims(head)), None)


def kind_of(row: Format, head: Head) -> FileKind:
    """What a file of this format is stored as."""
    if row.kind is not None:
        return row.kind
    return FileKind.KERNEL_LOG if head.layout.kernel else FileKind.JOB_LOG
