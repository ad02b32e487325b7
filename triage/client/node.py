"""Node history: what the service knows of one node over all incidents."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from triage.domain.counts import count
from triage.render.data.tables import TIME, build_table
from triage.render.words.clean import format_one_line

if TYPE_CHECKING:
    from pandas import DataFrame

NODE_INCIDENTS: Mapping[str, str] = {
    "incident_id": "string",
    "job_id": "string",
    "created_at": TIME,
    "position": "int64",
    "role": "string",
    "category": "string",
    "score": "float64",
    "gpus": "object",
    "resolved_as": "string",
    "resolved_node": "string",
}
"""One row per incident that suspected the node, newest first."""

NODE_ERRORS: Mapping[str, str] = {
    "signature": "string",
    "kind": "string",
    "code": "Int64",
    "gpu": "string",
    "category": "string",
    "count": "int64",
    "incidents": "int64",
    "first_at": TIME,
    "last_at": TIME,
}
"""One row per distinct error of its logs, the most frequent first."""

NODE_PARTS: Mapping[str, str] = {
    "kind": "string",
    "identity": "string",
    "slot": "string",
    "first_at": TIME,
    "last_at": TIME,
    "elsewhere": "object",
}
"""One row per part that was in the node, by kind and slot; ``elsewhere`` lists other nodes."""

PART_STAYS: Mapping[str, str] = {
    "kind": "string",
    "identity": "string",
    "slot": "string",
    "node": "string",
    "cluster": "string",
    "first_at": TIME,
    "last_at": TIME,
    "source": "string",
}
"""One row per stay of a part in a node, the newest first."""


class NodeHistory:
    """A node's incidents and errors, and how often it is a culprit beside the fleet."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    @property
    def node(self) -> str:
        """Its name."""
        return str(self._facts["node"])

    @property
    def first_seen_at(self) -> datetime:
        """When a file or a verdict first named it, UTC."""
        return datetime.fromisoformat(self._facts["first_seen_at"])

    @property
    def last_seen_at(self) -> datetime:
        """When it was last named, UTC."""
        return datetime.fromisoformat(self._facts["last_seen_at"])

    @property
    def rate(self) -> dict[str, Any]:
        """``window_days``, ``incidents`` as culprit in it, ``fleet_mean``, ``ratio`` to it."""
        return dict(self._facts["rate"])

    @property
    def incidents(self) -> "DataFrame":
        """The incidents that suspected it, with the columns of ``NODE_INCIDENTS``."""
        return build_table(self._facts["incidents"], NODE_INCIDENTS)

    @property
    def errors(self) -> "DataFrame":
        """The errors of its logs, with the columns of ``NODE_ERRORS``."""
        return build_table(self._facts["errors"], NODE_ERRORS)

    @property
    def parts(self) -> "DataFrame":
        """Its parts, with the columns of ``NODE_PARTS``; of an older service there are none."""
        return build_table(self._facts.get("parts") or (), NODE_PARTS)

    def to_dict(self) -> dict[str, Any]:
        """The history as the service gives it."""
        return dict(self._facts)

    @property
    def summary(self) -> str:
        """One sentence: how often it was the culprit, and whether that is much."""
        rate = self.rate
        incidents = count(rate["incidents"], "incident")
        text = f"culprit in {incidents} of the last {rate['window_days']} days"
        if rate.get("ratio") is not None:
            text += f", {rate['ratio']:,.1f} times the mean of {rate['fleet_nodes']:,} nodes"
        return f"{format_one_line(self.node)}: {text}"

    def _repr_html_(self) -> str:
        from triage.render.page.notebook import render_plain_table
        from triage.render.pictures.markup import make_element

        head = ("when", "incident", "job", "role", "cause", "turned out to be")
        keys = ("created_at", "incident_id", "job_id", "role", "category", "resolved_as")
        rows = [tuple(row[key] for key in keys) for row in self._facts["incidents"][:10]]
        summary = make_element("p", None, make_element("b", None, self.summary))
        return str(make_element("div", None, summary, render_plain_table(head, rows)))

    def __repr__(self) -> str:
        return f"<NodeHistory {self.summary}>"
