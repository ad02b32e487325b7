"""One failure as the service knows it, with its tables fetched when asked for; and one node over
all incidents.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote

from triage.client.transport import Transport
from triage.domain.answer_wire import (
    MEDIA_TYPE,
    NO_ANSWER,
    answer_from_bytes,
    answer_of_report,
    make_reader,
)
from triage.domain.counts import count, format_ordinal
from triage.domain.report import Answer, Verdict
from triage.domain.states import IncidentState
from triage.errors import Conflict, Unavailable
from triage.render.data import frames
from triage.render.data.tables import ARTIFACTS, EVIDENCE, build_table, parse_columns
from triage.render.words.clean import format_one_line

if TYPE_CHECKING:
    from pandas import DataFrame

    from triage.render.pictures.alone import ReportPictures
    from triage.report import Report

T = TypeVar("T")

ENDED = frozenset({IncidentState.READY, IncidentState.FAILED})
"""States in which nothing more happens by itself."""


def build_incident_path(incident_id: str, part: str = "") -> str:
    """``/v1/incidents/ID/PART``, whatever stands in an id."""
    return f"/v1/incidents/{quote(incident_id, safe='')}{f'/{part}' if part else ''}"


class Incident:
    """One incident of a service.

    Its facts are there at once; its tables are fetched when first used and kept, until
    :meth:`refresh`. They are empty before the first verdict. Columns are those
    of :mod:`triage.render.data.frames` and :mod:`triage.render.data.tables`.

    ``sent`` is the table of the files of the upload that this came from, else None.
    """

    def __init__(
        self, transport: Transport, facts: Mapping[str, Any], sent: "DataFrame | None" = None
    ) -> None:
        self._transport = transport
        self._facts = dict(facts)
        self._kept: dict[str, Any] = {}
        self.sent = sent

    @property
    def facts(self) -> dict[str, Any]:
        """Its fields as the service gave them."""
        return dict(self._facts)

    @property
    def id(self) -> str:
        """Its id, opaque text."""
        return str(self._facts["id"])

    @property
    def job_id(self) -> str:
        """The job that failed."""
        return str(self._facts["job_id"])

    @property
    def state(self) -> str:
        """``collecting``, ``analysing``, ``ready``, or ``failed`` by a fault of the service."""
        return str(self._facts["state"])

    @property
    def reason(self) -> str | None:
        """Why it ``failed``."""
        return cast("str | None", self._facts.get("reason"))

    @property
    def provisional(self) -> bool:
        """Whether the answer may still change by itself."""
        return bool(self._facts["provisional"])

    @property
    def revision(self) -> int:
        """Grows when the answer changes; 0 before the first."""
        return int(self._facts["revision"])

    @property
    def created_at(self) -> datetime:
        """When the service opened it, UTC."""
        return datetime.fromisoformat(self._facts["created_at"])

    @property
    def resolution(self) -> dict[str, Any] | None:
        """The label that people gave it afterwards, None before."""
        return cast("dict[str, Any] | None", self._facts.get("resolution"))

    @property
    def url(self) -> str:
        """Its page for people."""
        return f"{self._transport.url}/incidents/{quote(self.id, safe='')}"

    @property
    def verdict(self) -> Verdict | None:
        """The sentence and what follows from it; None before the first."""
        fields = self._facts.get("verdict")
        return None if fields is None else cast("Verdict", make_reader(Verdict)(fields))

    @property
    def report(self) -> "Report":
        """The report, as :func:`triage.analyze` gives it. Raises :class:`Conflict` before one."""
        from triage.report import Report

        return Report(self._answer)

    def to_dict(self) -> dict[str, Any]:
        """The report ``triage.report/1`` as it came. Raises :class:`Conflict` before one."""
        return self._fetched_once(
            "report", lambda: self._transport.get(build_incident_path(self.id, "report"))
        )

    @property
    def suspects(self) -> "DataFrame":
        """Suspects, best first."""
        return frames.build_suspect_frame(self._answer_or_none)

    @property
    def collectives(self) -> "DataFrame":
        """One row per operation at the frontier."""
        return frames.build_collective_frame(self._answer_or_none)

    @property
    def timeline(self) -> "DataFrame":
        """The first error of each node beside the stop."""
        return frames.build_timeline_frame(self._answer_or_none)

    @property
    def coverage(self) -> "DataFrame":
        """The files and lines that were read, and those that were not."""
        return frames.build_coverage_frame(self._answer_or_none)

    @property
    def ranks(self) -> "DataFrame":
        """One row per expected rank: its state, and where it waits."""
        return frames.build_rank_frame(self._answer_or_none)

    @property
    def evidence(self) -> "DataFrame":
        """The evidence read out of each file, in the order read."""
        return self._rows("evidence", EVIDENCE)

    @property
    def artifacts(self) -> "DataFrame":
        """The files that came in, and what became of each."""
        return self._rows("artifacts", ARTIFACTS)

    @property
    def problem(self) -> dict[str, Any] | None:
        """The recurring problem: ``id``, ``nth`` of ``count``, ``first_seen``, ``last_seen``,
        ``resolved_by``; None before the final answer.
        """
        return cast("dict[str, Any] | None", self._facts.get("problem"))

    @property
    def plot(self) -> "ReportPictures":
        """``ranks()``, ``waits()``, ``timeline()`` and ``progress()``, each an SVG document."""
        return self.report.plot

    def refresh(self) -> "Incident":
        """Ask the service again; the same object."""
        self._facts = dict(self._transport.get(build_incident_path(self.id)))
        self._kept.clear()
        return self

    @property
    def _answer_or_none(self) -> Answer:
        try:
            return self._answer
        except Conflict:
            return NO_ANSWER

    @property
    def _answer(self) -> Answer:
        def fetch() -> Answer:
            stored = self._transport.get_bytes(build_incident_path(self.id, "report"), MEDIA_TYPE)
            return answer_from_bytes(stored) if stored is not None else self._answer_of_report()

        return self._fetched_once("answer", fetch)

    def _answer_of_report(self) -> Answer:
        """The answer as far as the report holds it, from a service that gives no more."""
        for _ in range(3):
            report = self.to_dict()
            try:
                timeline = list(self._transport.pages(build_incident_path(self.id, "timeline")))
            except Conflict:  # it was revised between two pages
                self._kept.pop("report", None)
            else:
                return answer_of_report(report, timeline)
        raise Unavailable("the answer is being revised again and again; ask again in a minute")

    def _rows(self, part: str, columns: Mapping[str, str]) -> "DataFrame":
        def fetch() -> "DataFrame":
            rows = list(self._transport.pages(build_incident_path(self.id, part)))
            return build_table(({"count": 1, **row} for row in rows), columns)

        return self._fetched_once(part, fetch).copy()

    def _fetched_once(self, name: str, fetch: Callable[[], T]) -> T:
        if name not in self._kept:
            self._kept[name] = fetch()
        return cast("T", self._kept[name])

    def _repr_html_(self) -> str:
        from triage.render.page.html import render_fragment
        from triage.render.pictures.markup import draw

        where = f"Incident {self.id} of job {self.job_id}, {self.state}"
        where += ", may still change" if self.provisional else ""
        where += f"; turned out to be {self.resolution['category']}" if self.resolution else ""
        if self.verdict is None:
            why = f": {self.reason}" if self.reason else "; no verdict yet"
            return str(draw("paragraphs", [where + why]))
        if self.problem is not None:
            where += f"; the {format_ordinal(self.problem['nth'])} of its kind"
        return render_fragment(self._answer, where)

    def __repr__(self) -> str:
        verdict = self.verdict
        summary = verdict.summary if verdict is not None else self.reason or "no verdict yet"
        return f"<Incident {self.id} of job {self.job_id}, {self.state}: {summary}>"


NODE_INCIDENTS: Final = parse_columns(
    "incident_id string, job_id string, created_at time, position int64, role string, "
    "category string, score float64, gpus object, resolved_as string, resolved_node string"
)
"""One row per incident that suspected the node, newest first."""

NODE_ERRORS: Final = parse_columns(
    "signature string, kind string, code Int64, gpu string, category string, count int64, "
    "incidents int64, first_at time, last_at time"
)
"""One row per distinct error of its logs, the most frequent first."""

NODE_PARTS: Final = parse_columns(
    "kind string, identity string, slot string, first_at time, last_at time, elsewhere object"
)
"""One row per part that was in the node, by kind and slot; ``elsewhere`` lists other nodes."""

PART_STAYS: Final = parse_columns(
    "kind string, identity string, slot string, node string, cluster string, first_at time, "
    "last_at time, source string"
)
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
        from triage.render.pictures.markup import draw

        head = ("when", "incident", "job", "role", "cause", "turned out to be")
        keys = ("created_at", "incident_id", "job_id", "role", "category", "resolved_as")
        rows = [tuple(row[key] for key in keys) for row in self._facts["incidents"][:10]]
        return str(draw("titled_table", self.summary, head, rows))

    def __repr__(self) -> str:
        return f"<NodeHistory {self.summary}>"
