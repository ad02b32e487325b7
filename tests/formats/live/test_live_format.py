"""Files of looks on their way through the readers: bounds, nodes, and what was cut."""

import io
from collections.abc import Sequence

import pytest

from triage.domain.live.look import Look, Tool
from triage.domain.report import Refused
from triage.errors import Corrupt
from triage.formats import live
from triage.formats.live import LiveFormat
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream


def one_look(text: str, artifact: str) -> Sequence[Look]:
    if not text.startswith("ok"):
        raise Corrupt("no look in it")
    return [Look(artifact, Tool.PY_SPY, partial="ends early" if "cut" in text else None)]


FORMAT = LiveFormat("example", lambda head: head.text.startswith("ok"), one_look)


def stream(text: bytes, artifact: str = "nodes/n7/rank_3.txt") -> LogStream:
    return LogStream(artifact, text[:4], io.BytesIO(text[4:]).read, [])


def as_log(stream: LogStream) -> Outcome:
    rest = bytearray(100)
    got = stream.fill(memoryview(rest))
    return Outcome(LogFile(stream.artifact, LogKind.JOB, lines=rest[:got].count(b"\n")))


def read(text: bytes, format_: LiveFormat = FORMAT) -> Outcome:
    outcome = format_.read(stream(text), as_log)
    assert isinstance(outcome, Outcome)
    return outcome


def test_looks_get_the_node_of_their_folder() -> None:
    outcome = read(b"ok\nmore\n")
    assert [look.node for look in outcome.looks] == ["n7"]
    assert (outcome.file.kind, outcome.file.node, outcome.file.lines) == (LogKind.LIVE, "n7", 2)


def test_nothing_to_use_is_refused_with_the_reason() -> None:
    refused = FORMAT.read(stream(b"no look"), as_log)
    assert refused == Refused("nodes/n7/rank_3.txt", "no look in it")


def test_a_file_beyond_the_bound_is_read_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "MAX_BYTES", 1 << 20)
    whole = read(b"ok" + b"x" * ((1 << 20) - 2))
    longer = read(b"ok" + b"x" * (1 << 20))
    assert whole.looks[0].partial is None
    assert longer.looks[0].partial == "more than 1 MiB: the rest was not read"


def test_the_own_reason_of_a_cut_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_BYTES", 1 << 20)
    assert read(b"ok cut" + b"x" * (1 << 20)).looks[0].partial == "ends early"


def test_what_stands_inside_a_log_is_read_as_a_log_as_well() -> None:
    inside = LiveFormat("example", FORMAT.begins, one_look, also_log=True)
    outcome = read(b"ok\none\ntwo\n", inside)
    assert (outcome.file.kind, outcome.file.lines) == (LogKind.JOB, 3)
    assert [look.tool for look in outcome.looks] == [Tool.PY_SPY]
