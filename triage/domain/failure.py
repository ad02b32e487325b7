"""The failure of a job, as a hook, an alert or a person reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from triage.domain.caller import Caller
from triage.domain.facts import FactsSource

__all__ = ["Failure"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What a job-failed hook says. ``facts`` is the job.json object as it came."""

    job_id: str
    cluster: str | None = None
    failed_at: datetime | None = None
    facts: Mapping[str, Any] | None = None
    expected_artifacts: int | None = None
    collect_within_s: float | None = None
    callback_url: str | None = None
    source: FactsSource = FactsSource.HOOK
    caller: Caller = field(default_factory=Caller)
