"""Report: the notebook's tables over whole incidents."""

import json
from pathlib import Path

import pytest

import triage
from triage.domain.answer_wire import answer_of_report
from triage.errors import Corrupt
from triage.render.data import frames
from triage.render.data.tables import EVIDENCE, LATENESS
from triage.render.terminal import text
from triage.report import Report, read_rows

INCIDENTS = Path(__file__).parent / "incidents"


@pytest.fixture(scope="module")
def report():
    return triage.analyze(INCIDENTS / "logs-gpu-lost-with-dumps-w8")


TABLES = {
    "suspects": frames.SUSPECTS, "evidence": EVIDENCE, "collectives": frames.COLLECTIVES,
    "ranks": frames.RANKS, "timeline": frames.TIMELINE, "coverage": frames.COVERAGE,
    "lateness": LATENESS,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_what_is_written_down(name, report):
    made = getattr(report, name)
    assert {c: str(t) for c, t in made.dtypes.items()} == dict(TABLES[name])
    assert len(made) > 0 or name == "lateness"


def test_evidence_is_what_parse_prints(report):
    rows = list(read_rows(INCIDENTS / "logs-gpu-lost-with-dumps-w8"))
    keys = ["artifact", "line", "signature", "text"]
    shown = report.evidence[keys].astype(object).where(report.evidence[keys].notna(), None)
    wanted = sorted(tuple(str(row[key]) for key in keys) for row in rows)
    assert sorted(tuple(map(str, row)) for row in shown.to_numpy()) == wanted


def test_the_slow_rank_is_the_latest():
    lateness = triage.analyze(INCIDENTS / "nccl-straggler-w8").lateness
    assert lateness.loc[0, "rank"] == 5
    assert lateness.loc[0, "late_ms"] > 20 * lateness.loc[1, "late_ms"]


def test_a_bare_answer_has_no_evidence(report):
    bare = Report(report.answer)
    assert len(bare.evidence) == 0
    assert len(bare.suspects) == len(report.suspects)
    assert len(bare.lateness) == 0


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in INCIDENTS.glob("*/expected.json")),
    ids=lambda path: path.name,
)
def test_a_report_comes_back_from_the_wire(folder):
    answer = triage.analyze(folder).answer
    sent = json.loads(json.dumps(answer.to_dict()))
    timeline = [
        {"at": one.at and one.at.isoformat(), "node": one.node, "rank": one.rank,
         "kind": one.kind, "category": one.category and str(one.category), "text": one.text}
        for one in answer.timeline
    ]  # fmt: skip
    found = answer_of_report(sent, timeline)
    assert found.to_dict() == answer.to_dict()
    # Doubts of clocks and what is missing do not travel; all else is said in the same words.
    assert blocks(found) == blocks(answer)


def blocks(answer):
    every = text.render(answer).split("\n\n")
    return [one for one in every if not one.startswith(("Time line", "Next step"))]


@pytest.mark.parametrize(
    "sent",
    [{}, {"schema": "triage.report/2"}, {"schema": "triage.report/1", "verdict": {"kind": "??"}}],
)
def test_what_is_no_report_is_refused(sent):
    with pytest.raises(Corrupt):
        answer_of_report(sent)
