"""The one table of formats, and which of them a file is.

Uploads, the process that reads them and the command line all ask :func:`identify` or
:func:`identify_stream`. The first row that claims a file has it: what is surest by its first
bytes stands first.
"""

from dataclasses import replace
from typing import Final

from triage.domain.file_kind import LOGS, FileKind
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Format, FormatTable, Head, StreamFormat
from triage.formats.health import (
    agents,
    amd,
    bmc,
    cluster,
    dcgm,
    drives,
    fabric,
    gpu_tests,
    host,
    nccl,
    ports,
    smi,
)
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.table import load
from triage.formats.live import LIVE
from triage.formats.logs.bug_report import BugReport
from triage.formats.logs.controller_lists import EVENT_TABLE
from triage.formats.logs.field_blocks import FIELD_BLOCKS
from triage.formats.logs.host_sections import HostSections
from triage.formats.logs.journal import EXPORT_JOURNAL, PRETTY_JOURNAL, VERBOSE_JOURNAL
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.formats.logs.lines import HOST_NAME, LOG
from triage.formats.logs.name_table import NAME_TABLE
from triage.formats.logs.notes import NOTES
from triage.formats.logs.peer_table import PEER_TABLE
from triage.formats.logs.pod_description import POD_DESCRIPTION
from triage.formats.logs.sel_list import SEL_LIST, SEL_VERBOSE
from triage.formats.logs.yaml_document import YAML_DOCUMENT
from triage.formats.telemetry import EXPOSITION, QUERY_RESULT, TABLE, TelemetryFormat

# Each family: the module beside its table, and others with its readers. A format that is no check
# has a row of code below.
FAMILIES: Final = (
    (smi,),
    (dcgm,),
    (agents,),
    (gpu_tests,),
    (amd,),
    (fabric, ports),
    (drives,),
    (bmc,),
    (host,),
    (cluster, nccl),
)
TABLED: Final = tuple(row for family in FAMILIES for row in load(*family))
# What is "sent" is a log, a look at GPUs, telemetry or a record of Kubernetes in an incident's
# folder, and a check where somebody sends it as one.
CHECKS: Final = tuple(row for row in TABLED if not row.sent)
_CHECK_TABLE: Final = FormatTable(CHECKS)
_SENT: Final = tuple(row for row in TABLED if row.sent)
ALL_CHECKS: Final = FormatTable((*CHECKS, *_SENT))
# A look at GPUs in which a check can be read, too: one file, both readers.
_SMI_TABLE: Final = "nvidia_smi_table"
_STATES: Final = next(row for row in _SENT if row.name == "nvidia_smi_state")
TELEMETRY: Final[tuple[TelemetryFormat, ...]] = (QUERY_RESULT, EXPOSITION, TABLE)
STREAMS: Final[tuple[StreamFormat, ...]] = (
    *TELEMETRY,
    *(replace(row, checks=_STATES) if row.name == _SMI_TABLE else row for row in LIVE),
    HostSections(_CHECK_TABLE),
    BugReport(_CHECK_TABLE),
    *CHECKS,
    HOST_NAME,
    VERBOSE_JOURNAL,
    EXPORT_JOURNAL,
    PRETTY_JOURNAL,
    JSON_DOCUMENT,
    YAML_DOCUMENT,
    EVENT_TABLE,
    PEER_TABLE,
    NAME_TABLE,
    POD_DESCRIPTION,
    SEL_VERBOSE,
    SEL_LIST,
    FIELD_BLOCKS,
    NOTES,
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
    return None if decoded is None else identify_stream(decoded)


def identify_stream(head: Head, stored: FileKind | None = None) -> StreamFormat | None:
    """The format of a text that is no dump.

    ``stored`` is the kind under which the service keeps it: rows of other kinds are asked where
    none of its own claims it, as after an update that knows more formats.
    """
    rows = STREAM_TABLE.candidates(head)
    if stored is not None:
        kind = None if stored in LOGS else stored
        rows = sorted(rows, key=lambda row: row.kind is not kind)
    return next((row for row in rows if row.claims(head)), None)


def identify_checks(data: bytes) -> CheckFormat | None:
    """The format of a report of checks that begins with ``data``; None for none of these."""
    return ALL_CHECKS.find_first(Head(data))


def identify_telemetry(data: bytes) -> TelemetryFormat | None:
    """The format of telemetry that begins with ``data``; None for none of these."""
    head = Head(data)
    return next((row for row in TELEMETRY if row.claims(head)), None)


def get_stored_kind(row: Format, head: Head) -> FileKind:
    """What a file of this format is stored as."""
    if row.kind is not None:
        return row.kind
    return FileKind.KERNEL_LOG if head.layout.kernel else FileKind.JOB_LOG
