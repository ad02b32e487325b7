"""Whose process a name is: a job's, a service of the node, or nobody knows.

The names are data: ``process_names.toml``.
"""

import re
from enum import StrEnum
from typing import Final

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml


class Whose(StrEnum):
    """What a process is to a job."""

    JOB = "job"
    SERVICE = "service"
    UNKNOWN = "unknown"


_NAMES: Final = read_toml("triage.signatures.program", "process_names")
_JOB: Final = compile_re(f"(?:{''.join(_NAMES['job'])})", re.IGNORECASE)
_SERVICE: Final = compile_re(f"(?:{''.join(_NAMES['service'])})")
_SERVES_JOBS: Final = compile_re(f"(?:{''.join(_NAMES['serves_jobs'])})", re.IGNORECASE)


def is_job_service(name: str) -> bool:
    """Whether a service of this name writes about jobs and the parts they run on.

    >>> serves_jobs("slurmstepd"), serves_jobs("snapd")
    (True, False)
    """
    return _SERVES_JOBS.match(name.strip()) is not None


def classify_owner(name: str) -> Whose:
    """The job's where the name looks like a program that trains, a service's where it is known."""
    plain = name.strip()
    if _JOB.match(plain):
        return Whose.JOB
    if _SERVICE.match(plain):
        return Whose.SERVICE
    return Whose.UNKNOWN
