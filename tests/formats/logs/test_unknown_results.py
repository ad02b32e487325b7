"""JSON of a tool that is not known quotes lines of logs, and is none."""

import json

import pytest

from triage.formats.logs.documents import NO_RECORD
from triage.report import analyze, read_rows

XID = "NVRM: Xid (PCI:0000:4c:00): 79, pid=1, GPU has fallen off the bus."
NCCL = "NCCL WARN Cuda failure 'unspecified launch failure'"
RESULT = {"tool": "clustercheck", "hosts": [{"name": "n7", "tests": [{"fail": XID, "log": NCCL}]}]}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(RESULT), id="one line"),
        pytest.param(json.dumps(RESULT) + "\n", id="one line with its end"),
        pytest.param(json.dumps(RESULT, indent=2), id="a document"),
        pytest.param(json.dumps([RESULT["hosts"][0]], indent=2), id="a list"),
        pytest.param(json.dumps({"results": [{"doc": XID}]}, indent=1), id="results"),
        pytest.param(json.dumps({"79": {"text": XID}, "48": {"text": NCCL}}), id="a catalogue"),
        pytest.param(json.dumps({"known": [XID, NCCL], "timeout": 600}), id="words in a list"),
    ],
)
def test_it_accuses_nobody(tmp_path, text):
    (tmp_path / "check.json").write_text(text)
    (tmp_path / "job.log").write_text("step 1 loss 2.0\n")
    assert [row for row in read_rows(tmp_path) if row["artifact"] == "check.json"] == []
    answer = analyze(tmp_path).answer
    assert answer.suspects == ()
    assert any(NO_RECORD in note for note in answer.coverage.notes)


RECORD = {"time": "2026-11-24T03:04:05Z", "message": XID}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(RECORD), id="one record alone"),
        pytest.param(json.dumps({"level": "error", "msg": XID}), id="a level and no time"),
        pytest.param(json.dumps({"host": "n7", "message": XID}), id="a host and no time"),
        pytest.param(json.dumps({"date": 1795492800.25, "log": XID}), id="seconds since 1970"),
        pytest.param(json.dumps({"hits": [{"_source": RECORD}]}, indent=1), id="a time inside"),
        pytest.param(json.dumps({"results": [RECORD]}, indent=1), id="records of a store"),
        pytest.param(json.dumps({"say": XID}) + "\n" + json.dumps({"say": "ok"}), id="two lines"),
    ],
)
def test_a_record_is_a_line(tmp_path, text):
    (tmp_path / "log.json").write_text(text)
    assert [row["code"] for row in read_rows(tmp_path)] == [79]


@pytest.mark.parametrize("text", ['{"a": ' * 5000, '{"a": [' + "[" * 3000, "{}", '{"": ""}'])
def test_no_shape_of_json_breaks_the_reader(tmp_path, text):
    (tmp_path / "odd.json").write_text(text)
    assert list(read_rows(tmp_path)) == []
