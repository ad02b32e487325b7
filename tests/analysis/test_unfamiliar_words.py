"""Whole folders in words that no signature knows, and lines that only look like a cause."""

import json
from pathlib import Path

import pytest

import triage
from triage.analysis.explain import explain_evidence
from triage.domain.category import Role
from triage.formats.gather import gather
from triage.reader import read as reading
from triage.render.terminal.explained import render
from triage.report import read_rows

STEPS = "".join(
    f"2026-11-20T09:{minute:02d}:00Z iteration {800 + minute}/ 10000 | loss 2.11\n"
    for minute in range(40, 59)
)
STOPPED = "2026-11-20T09:59:30Z [rank{}]: RuntimeError: NCCL communicator was aborted on rank {}.\n"
# Words of a health checker of our own: no signature may know them.
STRANGE = (
    "hostprobe[871]: HBM of accelerator 0000:1b:00: multi-bit ECC fault in stack 3, no spare rows"
    " are left, swap the board"
)


def answer(folder: Path, *said: str, at: str = "09:59:12") -> triage.Report:
    """Eight ranks on two nodes; ``said`` stands in the log of ``m1``."""
    facts = {"job_id": "5", "nodes": ["m1", "m2"], "world_size": 8, "gpus_per_node": 4,
             "exit_code": 1}  # fmt: skip
    facts["rank_to_node"] = {str(rank): f"m{1 + rank // 4}" for rank in range(8)}
    (folder / "job.json").write_text(json.dumps(facts))
    (folder / "job.log").write_text(STEPS + "".join(STOPPED.format(k, k) for k in range(8)))
    daily = "2026-11-20T09:{}:00+00:00 {} systemd[1]: Started Session {} of User ops.\n"
    for node in ("m1", "m2"):
        lines = [daily.format(minute, node, minute) for minute in range(10, 58, 6)]
        if node == "m1":
            lines += [f"2026-11-20T{at}+00:00 m1 {text}\n" for text in said]
        (folder / node).mkdir()
        (folder / node / "syslog").write_text("".join(lines), encoding="utf-8")
    return triage.analyze(folder)


def test_a_fault_in_unknown_words_makes_its_node_possible(tmp_path: Path) -> None:
    report = answer(tmp_path, STRANGE)
    (suspect, *_) = report.answer.suspects
    assert (suspect.node, suspect.role) == ("m1", Role.POSSIBLE)
    assert report.verdict.category == "gpu_hbm"
    assert suspect.score <= 0.6
    assert not report.verdict.cordon
    assert any("no signature knows" in reason.text for reason in suspect.because)


def test_its_row_says_how_it_was_read(tmp_path: Path) -> None:
    answer(tmp_path, STRANGE)
    (row,) = (row for row in read_rows(tmp_path) if row["signature"] == "learned")
    assert (row["node"], row["category"], row["weak"]) == ("m1", "gpu_hbm", True)
    assert row["gpu"] == "0000:1b:00"
    assert row["like"]
    assert 0.35 <= row["score"] <= 1
    assert all(row["signature"] != "unread" for row in read_rows(tmp_path))


# Words of which the reader cannot say whether they tell a cause.
UNCLEAR = "allocator gave up, exit"


def test_an_explanation_says_what_a_line_that_nobody_can_place_would_change(
    tmp_path: Path,
) -> None:
    answer(tmp_path, STRANGE, UNCLEAR)
    _, dumps, logs, facts, _ = gather([tmp_path], None, None)
    explanation = explain_evidence(dumps, logs, facts)
    (trial,) = explanation.unread
    assert UNCLEAR in trial.line.text
    assert trial.node == "m1"
    (told,) = explanation.to_dict()["unread"]
    assert (told["artifact"], told["told"]) == ("m1/syslog", str(trial.category))
    shown = " ".join(render(explain_evidence(dumps, logs, facts)).split())
    assert f'{UNCLEAR}", if it told {trial.category}:' in shown


def test_what_was_said_days_before_is_nobodys_fault(tmp_path: Path) -> None:
    report = answer(tmp_path, STRANGE, at="00:12:00")
    assert not report.answer.suspects


IMITATIONS = {
    "a commit message": "git[81]: 3fa2c1d Add a test for Xid 79, GPU has fallen off the bus",
    "a config that prints every option": (
        "trainer[9]: config: abort_on_nan=true on_ecc_error=drain oom_policy=retry"
        " xid_is_fatal=[48, 79] nccl_timeout_s=600"
    ),
    "a test that prints errors on purpose": (
        "pytest[9]: PASSED tests/test_health.py::test_row_remap_failure_is_reported"
    ),
    "a chat that quotes a log": (
        "slackbot[3]: @lee: > uncorrectable ECC error on GPU 3 < was that ours? no, an old ticket"
    ),
    "help text": "dcgmi[5]: --fail-on-ecc  exit with an error if uncorrectable ECC errors are seen",
    "another language": "\u76d1\u63a7[7]: \u8282\u70b9\u6ca1\u6709\u9519\u8bef",
    "noise": "x[1]: " + "".join(chr(33 + k * 7 % 90) for k in range(300)),
    "a megabyte": "y[2]: " + "fault " * 170_000,
}


@pytest.mark.parametrize("line", IMITATIONS.values(), ids=IMITATIONS)
def test_what_imitates_a_cause_makes_nothing_more_than_possible(line: str, tmp_path: Path) -> None:
    report = answer(tmp_path, line)
    assert not any(one.role is Role.CULPRIT for one in report.answer.suspects)
    assert not report.verdict.cordon
    assert report.verdict.confidence <= 0.6


def test_a_hundred_strange_lines_are_worth_no_more_than_one(tmp_path: Path) -> None:
    words = ("stack", "bank", "row", "cell", "channel", "plane", "die", "lane", "core", "tile")
    lines = [STRANGE.replace("stack", f"{one} {other}") for one in words for other in words]
    report = answer(tmp_path, *lines)
    assert report.answer.suspects[0].role is Role.POSSIBLE
    assert report.answer.suspects[0].score <= 0.6


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is looked for anew, before and behind a test."""

    def forget() -> None:
        for one in (reading.load_reader, reading.find_reader_fault, reading._load_once):
            one.cache_clear()

    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut"], ids=["missing", "empty", "cut"])
def test_without_a_model_the_patterns_go_on_alone(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgetful: None
) -> None:
    model = tmp_path / "own.npz"
    if content is not None:
        model.write_bytes(content)
    monkeypatch.setenv(reading.MODEL, str(model))
    (tmp_path / "incident").mkdir()
    report = answer(tmp_path / "incident", STRANGE)
    assert not report.answer.suspects
    assert any("own.npz" in note and "not read" in note for note in report.answer.coverage.notes)


@pytest.mark.parametrize(("program", "role"), [("packagekitd", "noise"), ("trainer", "root")])
def test_what_a_service_of_the_node_lacks_the_job_does_not(
    program: str, role: str, tmp_path: Path
) -> None:
    lacks = "cannot resolve host of the package index, gave up: name resolution failed"
    answer(tmp_path, f"{program}[81]: {lacks}")
    rows = [row for row in read_rows(tmp_path) if lacks in row["text"]]
    assert [(row["signature"], row["role"]) for row in rows] == [("learned", role)]
