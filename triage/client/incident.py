"""Incident: one failure as the service knows it, with its tables fetched when asked for."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from triage.client.transport import Transport
from triage.domain.answer_wire import MEDIA_TYPE, answer_from_bytes, make_reader
from triage.domain.report import Answer, Verdict
from triage.domain.report_wire import NO_ANSWER, answer_of_report
from triage.domain.states import IncidentState
from triage.errors import Conflict, Unavailable
from triage.render.data import frames
from triage.render.data.tables import ARTIFACTS, EVIDENCE, REPEATS, build_table

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
    def repeats(self) -> "DataFrame":
        """Earlier incidents that convicted the same node, newest first, and by which part."""
        return build_table(self._facts.get("repeats") or (), REPEATS)

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
        return self._fetched_once("answer", self._fetch_answer)

    def _fetch_answer(self) -> Answer:
        stored = self._transport.get_bytes(build_incident_path(self.id, "report"), MEDIA_TYPE)
        return answer_from_bytes(stored) if stored is not None else self._answer_of_report()

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
        from triage.render.page.notebook import render_fragment
        from triage.render.pictures.markup import make_element

        where = f"Incident {self.id} of job {self.job_id}, {self.state}"
        where += ", may still change" if self.provisional else ""
        where += f"; turned out to be {self.resolution['category']}" if self.resolution else ""
        if self.verdict is None:
            why = f": {self.reason}" if self.reason else "; no verdict yet"
            return str(make_element("p", None, where + why))
        before = self._facts.get("repeats") or []
        again = f"Again: {before[0]['why']}" if before and before[0].get("why") else ""
        return render_fragment(self._answer, *filter(None, (where, again)))

    def __repr__(self) -> str:
        verdict = self.verdict
        summary = verdict.summary if verdict is not None else self.reason or "no verdict yet"
        return f"<Incident {self.id} of job {self.job_id}, {self.state}: {summary}>"
