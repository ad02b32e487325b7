"""The failure of a job, as a hook, an alert or a person reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from triage.domain.caller import Caller
from triage.domain.facts import FactsSource
from triage.domain.wire import WireForm


@dataclass(frozen=True, slots=True)
class IgnoredField(WireForm):
    """A field of a hook's body that is left out; ``why`` is a clause."""

    field: str
    why: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What a job-failed hook says. ``facts`` is the job.json object as it came.

    ``attempt`` tells the starts of a requeued job apart; empty where nobody named it.
    ``ignored`` names what was left out. ``callback_url`` is one that may be called: who takes one
    from outside asks :func:`triage.services.notifications.callbacks.with_allowed_callback`.
    """

    job_id: str
    cluster: str | None = None
    failed_at: datetime | None = None
    facts: Mapping[str, Any] | None = None
    expected_artifacts: int | None = None
    collect_within_s: float | None = None
    callback_url: str | None = None
    attempt: str = ""
    ignored: tuple[IgnoredField, ...] = ()
    source: FactsSource = FactsSource.HOOK
    caller: Caller = field(default_factory=Caller)
