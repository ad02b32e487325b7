"""A file to the results of checks in it: which format it is, and what it says.

The format is told by content. A document is held whole while it is read, so its size is
bounded; nodes' reports are some kilobytes each.
"""

from typing import Final

from triage.parsers.health.dcgm_diag import DCGM_DIAG
from triage.parsers.health.drain_reasons import NODE_RECORDS, SINFO_REASONS
from triage.parsers.health.host_checks import HOST_JSON, HOST_PLAIN
from triage.parsers.health.ib_counters import IB_COUNTERS
from triage.parsers.health.ib_ports import IB_PORTS
from triage.parsers.health.imbue_checks import IMBUE_CHECKS
from triage.parsers.health.nccl_tests import NCCL_TESTS
from triage.parsers.health.reading import Checks, Format, Reading
from triage.parsers.health.smi_text import SMI_TEXT
from triage.parsers.health.smi_xml import SMI_XML

__all__ = ["FORMATS", "MAX_BYTES", "format_of", "read_checks"]

# In this order: what is surest by its first words comes first.
FORMATS: Final = (
    SMI_TEXT, SMI_XML, DCGM_DIAG, IB_PORTS, IB_COUNTERS, SINFO_REASONS, NODE_RECORDS,
    IMBUE_CHECKS, HOST_JSON, NCCL_TESTS, HOST_PLAIN,
)  # fmt: skip
# `nvidia-smi -q` of 2,048 nodes in one file has 200 MB, but a check's result is of one node;
# a fabric's counters have some MB.
MAX_BYTES: Final = 16 << 20
# Each log of a job of 16,384 ranks is asked whether it is one.
HEAD_BYTES: Final = 8 << 10


def format_of(head: bytes) -> Format | None:
    """The format of a file that begins with ``head``; None for none of these."""
    text = head[:HEAD_BYTES].decode("utf-8", "replace")
    return next((one for one in FORMATS if one.claimed(text)), None)


def read_checks(
    data: bytes,
    artifact: str,
    *,
    node: str | None = None,
    busbw_gbps: float | None = None,
) -> Checks | None:
    """The results in ``data``; None where no format claims it.

    ``node`` is whose they are where the text does not say; ``busbw_gbps`` is the bus
    bandwidth in GB/s that NCCL tests are held against. Never raises for what the bytes hold.
    """
    found = format_of(data)
    if found is None:
        return None
    text = data.decode("utf-8", "replace")
    reading = Reading(artifact, node, busbw_gbps)
    found.read(text, reading)
    num_lines = text.count("\n") + (not text.endswith("\n"))
    return reading.finished(found.name, num_lines)
