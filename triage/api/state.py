"""What one application holds beside its routes."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from triage.api.limits.admission_gate import AdmissionGate
from triage.api.limits.token_lookup import LastUse, TokenLookup
from triage.api.metrics import Metrics
from triage.api.readiness import Readiness
from triage.api.watch import Watch
from triage.services.context import Context
from triage.services.quotas import RateLimiter


@dataclass(frozen=True, slots=True)
class ApiState:
    """Made once by ``create_app``; ``open_access`` gives everybody everything."""

    context: Context
    open_access: bool
    metrics: Metrics
    pace: RateLimiter
    token_lookup: TokenLookup
    last_use: LastUse
    gate: AdmissionGate
    watch: Watch
    readiness: Readiness


def get_state(request: Request) -> ApiState:
    """The state of the application that answers this request."""
    return cast("ApiState", request.app.state.triage)
