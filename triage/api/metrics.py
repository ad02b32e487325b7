"""What Prometheus is told: counters of this process, and the rows of the database by state.

Labels are few on purpose: no job, node, rank or token ever becomes one.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from triage.errors import TriageError

# Counting a million rows costs; scrapes come every 15 s or so.
_KEEP_S: Final = 5.0
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0)
_Counts = Mapping[str, Any]
# What the values of a gauge are told apart by, where that is no state, or no kind and state.
_LABELS: Final = {"work_waiting": ["for"], "acts": ["verb", "state"]}


class Metrics:
    """The registry of one application; ``read_counts`` asks the database."""

    def __init__(
        self, read_counts: Callable[[], _Counts], gauges: Sequence[Collector] = ()
    ) -> None:
        self.registry = CollectorRegistry()
        make = partial(Counter, registry=self.registry)
        labels = ("route", "method", "status")
        self.requests = make("triage_http_requests", "Requests answered.", labels)
        self.seconds = Histogram(
            "triage_http_request_seconds", "Time until a request was answered.", ("route",),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.upload_bytes = make(
            "triage_upload_bytes", "Bytes of uploads as they came in.", ["result"]
        )
        self.artifacts = make(
            "triage_artifacts_taken", "Files taken in, by kind.", ["kind", "result"]
        )
        what = "Secrets that were cut out of logs before they were kept."
        self.redactions = make("triage_redactions", what, ["kind"])
        self.refusals = make("triage_refusals", "Requests that were answered with no.", ["status"])
        self.registry.register(Rows(read_counts))
        for one in gauges:
            self.registry.register(one)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        if status >= 400:
            self.refusals.labels(str(status)).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text form."""
        return generate_latest(self.registry)


class Rows(Collector):
    """Gauges out of the database, asked at most every few seconds."""

    def __init__(self, read_counts: Callable[[], _Counts]) -> None:
        self.read_counts = read_counts
        self.lock = threading.Lock()
        self.kept: _Counts = {}
        self.answers = False
        self.until = 0.0

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """One gauge a table, labelled by state (and kind), and the ages."""
        with self.lock:
            if time.monotonic() >= self.until:
                try:
                    self.kept, self.answers = self.read_counts(), True
                except TriageError:
                    self.kept, self.answers = {}, False
                self.until = time.monotonic() + _KEEP_S
            counts, answers = self.kept, self.answers
        yield GaugeMetricFamily(
            "triage_database_up", "Whether the database answers.", value=float(answers)
        )
        for name, value in counts.items():
            yield _make_gauge(name, value)


def _make_gauge(name: str, value: object) -> GaugeMetricFamily:
    """``{"ready": 3}`` by state; ``{("parse", "waiting"): 2}`` by kind and state; or one number."""
    label = f"triage_{name}"
    said = name.replace("_", " ")
    if not isinstance(value, Mapping):
        number = float(value) if isinstance(value, int | float) else 0.0
        return GaugeMetricFamily(label, f"{said}.", value=number)
    pairs = any(isinstance(key, tuple) for key in value)
    names = _LABELS.get(name) or (["kind", "state"] if pairs else ["state"])
    family = GaugeMetricFamily(label, f"{said} by {' and '.join(names)}.", labels=names)
    for key, number in value.items():
        family.add_metric([str(part) for part in key] if pairs else [str(key)], float(number))
    return family
