"""The gauges of acts on ``/metrics``."""

from collections.abc import Iterable, Mapping
from threading import Lock
from time import monotonic
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from triage.actions.store import actions
from triage.domain.acting import ActMode
from triage.errors import TriageError
from triage.services.context import Context

__all__ = ["ActGauges"]

KEEP_S: Final = 5.0


class ActGauges(Collector):
    """Acts by verb and state, and whether the actuator is halted; asked every few seconds."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.lock = Lock()
        self.until = 0.0
        self.halted = False
        self.acts: Mapping[tuple[str, str], int] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Nothing where acting is off; what was last read where the database is away."""
        if self.ctx.settings.act_mode is ActMode.OFF:
            return
        with self.lock:
            if monotonic() >= self.until:
                self.until = monotonic() + KEEP_S
                self.read()
            halted, acts = self.halted, dict(self.acts)
        yield GaugeMetricFamily(
            "triage_actuator_halted", "Whether acts on nodes are halted.", value=float(halted)
        )
        family = GaugeMetricFamily(
            "triage_acts", "Acts on nodes by verb and state.", labels=["verb", "state"]
        )
        for labels, number in acts.items():
            family.add_metric(list(labels), number)
        yield family

    def read(self) -> None:
        """Ask the database."""
        try:
            with self.ctx.database.reading() as session:
                self.acts = actions.num_by_state(session)
                self.halted = self.ctx.acting.halted(session, self.ctx.settings) is not None
        except TriageError:
            return
