"""The fleet as the service knows it, in a notebook: answers, tables, pictures, plans."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import orjson

from triage.client.transport import Transport
from triage.fleet.render.notebook import FleetView

_PATH: Final = "/v1/fleet"
_NDJSON: Final = "application/x-ndjson"
# A year of a large fleet takes a service that is busy otherwise a while.
_SILENT_S: Final = 60.0
MOST_RUNS: Final = 10_000
PLANS: Final[Mapping[str, tuple[str, ...]]] = {
    "projection": ("gpus", "hours"),
    "checkpoint": ("gpus", "cost_s", "restart_s"),
    "spares": ("nodes", "repair_days", "confidence"),
}
"""The routes of plans, and which parameters each of them takes."""

_Facts = dict[str, Any]


class Fleet(FleetView):
    """One period of one fleet; what is asked of it is fetched when it is first needed."""

    def __init__(
        self, transport: Transport, period: Mapping[str, object], knobs: Mapping[str, object]
    ) -> None:
        self._transport = transport
        self._period = dict(period)
        ask = partial(self._asked, "", knobs)
        super().__init__(ask, self.node_rows, self._run_rows, self.repair_facts)

    def node_rows(self, standing: str | None = None) -> list[_Facts]:
        """How all nodes stand, the worst first; those of one standing where it is named."""
        query = {key: self._period.get(key) for key in ("until", "cluster")}
        found = self._transport.get_whole(
            f"{_PATH}/nodes", {**query, "standing": standing}, _NDJSON, silent_s=_SILENT_S
        )
        return [orjson.loads(line) for line in found.splitlines()]

    def repair_facts(self) -> _Facts:
        """Which repairs hold, and who is on probation, as the service says it."""
        query = {key: self._period.get(key) for key in ("until", "cluster")}
        return dict(self._transport.get(f"{_PATH}/repairs", query, silent_s=_SILENT_S))

    def plan(
        self,
        gpus: int,
        *,
        hours: float | None = None,
        cost_s: float | None = None,
        restart_s: float | None = None,
        nodes: int | None = None,
        repair_days: float | None = None,
        confidence: float | None = None,
    ) -> _Facts:
        """A job of ``gpus``: ``projection``, ``checkpoint`` and ``spares`` as the service says.

        What is not given is as the service takes it: a checkpoint of 10 s, a restart of 300 s,
        spares for the nodes of the record at 99 %.
        """
        given = {
            "gpus": gpus, "hours": hours, "cost_s": cost_s, "restart_s": restart_s,
            "nodes": nodes, "repair_days": repair_days, "confidence": confidence,
        }  # fmt: skip
        return {
            name: self._asked(f"/{name}", {key: given[key] for key in keys})
            for name, keys in PLANS.items()
        }

    def _asked(self, path: str, query: Mapping[str, object]) -> _Facts:
        return dict(
            self._transport.get(f"{_PATH}{path}", {**self._period, **query}, silent_s=_SILENT_S)
        )

    def _run_rows(self) -> list[_Facts]:
        return list(self._transport.pages(f"{_PATH}/runs", self._period, most=MOST_RUNS))
