"""Labelled lines for the trained reader, out of what people said that incidents were."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any, Final, Protocol

from triage.domain.category import Category
from triage.domain.evidence import LEARNED
from triage.domain.patterns import compile_re
from triage.reader.corpus import CAUSES, HARMLESS, LabelledLine, drop_copies
from triage.reader.features import normalize_line
from triage.render.words.clean import format_one_line

Row = Mapping[str, Any]
# Clocks of nodes differ, and people write of a stop for two days.
_BEFORE: Final = timedelta(hours=1)
_BEHIND: Final = timedelta(days=2)
# smartd[33]: what it says; RuntimeError is no program.
_PROGRAM: Final = compile_re(r"[a-z][\w./-]{0,60}(?=(?:\[\d{1,9}\])?: )")


class EvidenceSource(Protocol):
    """Where rows of incidents come from: a database, or a service."""

    def evidence(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Row]]:
        """(incident, row of ``triage parse``)."""

    def get_report(self, incident_id: str) -> Row | None:
        """The report of the newest answer; None before the first."""


def choose_label(category: str) -> str | None:
    """What lines of an incident tell that was resolved as ``category``; None where no line can."""
    if category == Category.NONE:
        return HARMLESS
    return category if category in CAUSES else None


def list_labels(
    found: Iterable[Row], source: EvidenceSource
) -> Iterator[tuple[Row, list[LabelledLine]]]:
    """Each resolved incident of ``found``, and its lines that were not read as what it was.

    They are about the stop, of the resolved node (of any where none is named) or of no node, by
    file and line; what is the same to the reader comes once. Their author is the incident.
    """
    seen: set[str] = set()
    for facts in (one for one in found if one.get("resolution")):
        label = choose_label(facts["resolution"]["category"])
        lines = [] if label is None else list(_list_lines(facts, label, source))
        fresh = [one for one in drop_copies(lines) if normalize_line(one.text) not in seen]
        seen.update(normalize_line(one.text) for one in fresh)
        yield facts, fresh


def _list_lines(facts: Row, label: str, source: EvidenceSource) -> Iterator[LabelledLine]:
    report, said = source.get_report(facts["id"]), facts["resolution"]
    stopped = report["verdict"]["at"] if report else None
    rows = [*report["coverage"]["unread_examples"]] if report else []
    rows += [
        row
        for _, row in source.evidence([facts["id"]])
        if row["signature"] == LEARNED
        and row["category"] != said["category"]
        and _is_near(row["at"], stopped)
    ]
    for row in sorted(rows, key=lambda row: (row["artifact"], row["line"] or 0, row["text"])):
        if said["node"] is None or row.get("node") in (None, said["node"]):
            text = format_one_line(row["text"])
            tag = _PROGRAM.match(text)
            program = tag[0] if tag else format_one_line(PurePath(row["artifact"]).name)
            yield LabelledLine(label, facts["id"], program, text)


def _is_near(at: str | None, stopped: str | None) -> bool:
    """Whether it may be about the stop: what no clock dates may be."""
    if at is None or stopped is None:
        return True
    return -_BEFORE <= datetime.fromisoformat(at) - datetime.fromisoformat(stopped) <= _BEHIND
