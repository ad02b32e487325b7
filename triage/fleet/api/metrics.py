"""The fleet's gauges on ``/metrics``: worked out beside the scrapes, never during one.

A scrape is answered with what is there, and has it worked out anew when that has become old.
Where nobody scrapes, nothing is worked out.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

log = structlog.get_logger(__name__)
# A year of a large fleet is worked out in two seconds: so it takes less than one in a hundred.
_KEEP_S: Final = 300.0
AGE: Final = "triage_fleet_age_seconds"
_AGE_HELP: Final = "How long ago the gauges of the fleet were worked out."


class FleetGauges(Collector):
    """``read`` asks the database; it is called in a thread of its own, one at a time."""

    def __init__(self, read: Callable[[], Sequence[Metric]], *, keep_s: float = _KEEP_S) -> None:
        self.read = read
        self.keep_s = keep_s
        self.lock = threading.Lock()
        self.figures: Sequence[Metric] = ()
        self.read_at: float | None = None
        self.tried_at: float | None = None
        self.thread: threading.Thread | None = None

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """What is there; the first scrape finds nothing yet."""
        self.refresh()
        with self.lock:
            figures, read_at = self.figures, self.read_at
        if read_at is not None:
            yield GaugeMetricFamily(AGE, _AGE_HELP, value=max(0.0, time.monotonic() - read_at))
        yield from figures

    def refresh(self) -> None:
        """Have it worked out anew where it is old, and nobody is at it."""
        now = time.monotonic()
        with self.lock:
            busy = self.thread is not None and self.thread.is_alive()
            fresh = self.tried_at is not None and now - self.tried_at < self.keep_s
            if busy or fresh:
                return
            self.tried_at = now
            self.thread = threading.Thread(target=self.work_out, name="fleet-gauges", daemon=True)
            self.thread.start()

    def work_out(self) -> None:
        """Read once; what fails leaves the figures as they are, and their age tells."""
        began = time.monotonic()
        try:
            figures = self.read()
        except Exception:  # the edge: figures of the fleet stop no scrape
            log.exception("the gauges of the fleet were not worked out")
            return
        with self.lock:
            self.figures, self.read_at = figures, time.monotonic()
        log.debug("gauges of the fleet worked out", seconds=round(time.monotonic() - began, 3))
