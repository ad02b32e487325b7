"""The shapes of checks of nodes and of telemetry, for the OpenAPI description."""

from typing import Annotated

from pydantic import BaseModel, Field

from triage.api.description.schemas import Open, Page, Time
from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.fleet.services.health.due_list import STATES

__all__ = ["CHECKS", "NodeCheckPage", "TakenChecks", "TakenTelemetry"]

Count = Annotated[int, Field(ge=0)]


class Unread(Open):
    """A place that was not understood; `line` counts from 1, null for the whole."""

    line: int | None
    why: str


class TakenChecks(Open):
    """What was read out of a report, and what of it was news."""

    format: str = Field(description="Known by its content: dcgm_diag, nvidia_smi_q, ibstat, ...")
    results: Count
    outcomes: dict[str, Count]
    nodes: Count
    added: Count
    changed: Count
    unchanged: Count
    skipped: list[Unread]
    num_skipped: Count
    notes: list[str]


class UnreadLines(Open):
    """Lines that were not understood, for one reason."""

    line: int = Field(description="The first of them.")
    lines: Count
    why: str


class TakenTelemetry(Open):
    """What was read of samples, and what of it was news."""

    format: str = Field(description="Known by its content: exposition, query_result, table, ...")
    samples: Count
    kept: Count = Field(description="Those that told something new.")
    repeated: Count = Field(description="Those that were told before.")
    outside: Count = Field(description="Of times, or with values, that are not kept.")
    nameless: Count = Field(description="Of no node.")
    nodes: Count
    series: Count
    node_days: Count
    first_at: Time | None
    last_at: Time | None
    skipped: list[UnreadLines]
    notes: list[str]


class PastCheck(Open):
    """An earlier result."""

    at: Time
    outcome: Outcome
    detail: str


class NodeCheck(Open):
    """One check of one part of a node: its newest result, or that it is due."""

    cluster: str = Field(description="Empty where nobody named one.")
    node: str
    check: str
    part: str | None = Field(description="The GPU, port or device; null for the node as a whole.")
    state: Annotated[str, Field(json_schema_extra={"enum": list(STATES)})]
    outcome: Outcome | None = Field(description="Null for one that is due.")
    at: Time = Field(description="When it ran; of one that is due, since when.")
    detail: str
    category: Category | None
    because: str = Field(description="Why it is due.")
    history: list[PastCheck] = Field(description="The newest first.")


class NodeCheckPage(Page):
    """One page of checks."""

    items: list[NodeCheck]


CHECKS: tuple[type[BaseModel], ...] = (TakenChecks, TakenTelemetry, NodeCheckPage)
