"""All sources of a node, those worth most first: what no longer fits is the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.collectors.dumps import Dumps
from triage.collectors.job_logs import JobLogs
from triage.collectors.kernel_log import KernelLog

if TYPE_CHECKING:
    from triage.collectors.artifact import Source

__all__ = ["SOURCES"]

SOURCES: tuple[Source, ...] = (Dumps(), KernelLog(), JobLogs())
