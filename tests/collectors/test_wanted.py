"""What the service wants whole is sent in the same run, and nothing else is."""

import json
import time

import pytest

from tests.collectors.scripted import (
    TOKEN,
    accepted,
    dump,
    refused,
    run,
    service,
    waiting,
)
from triage.collectors import digest as digester
from triage.collectors.send import Wanted

# A maker of digests that any dump is good for: these tests are not about what they hold.
MAKER = """
import sys
while line := sys.stdin.buffer.readline():
    sys.stdin.buffer.read(int(line.split()[0]))
    made = b"triage-digest 1 1\\n" + line.split()[1]
    sys.stdout.buffer.write(b"%d\\n" % len(made) + made)
    sys.stdout.flush()
"""
RANK_1 = {"kind": "flight_recorder", "rank": 1, "filename": "fr/trace_rank_1"}


def wants(*files, again_s=None):
    return (200, {}, {"incident_id": "inc_7", "wanted": list(files), "again_s": again_s})


@pytest.fixture
def reduced(node, tmp_path, monkeypatch):
    """Options of a node that sends digests."""
    (tmp_path / "maker_of_this_test.py").write_text(MAKER)
    monkeypatch.setattr(digester, "ROOT", str(tmp_path))
    monkeypatch.setattr(digester, "MAKER", "maker_of_this_test")
    return lambda url, **more: node(url, digest=True, **more)


def test_a_dump_that_is_wanted_is_sent_once_to_the_same_incident(reduced, tmp_path) -> None:
    with service(accepted()) as there:
        there.wanted = [
            wants(again_s=1),
            wants(RANK_1, again_s=1),
            wants(RANK_1, again_s=1),
            wants(),
        ]
        outcome = run(reduced(there.url), tmp_path, TRIAGE_TOKEN=TOKEN)

    first, second = there.requests
    assert first.members["fr/trace_rank_1"].startswith(b"triage-digest")
    assert second.members == {"fr/trace_rank_1": (tmp_path / "fr" / "trace_rank_1").read_bytes()}
    assert "incident=inc_7" in second.path
    assert [one.path for one in there.questions] == [
        "/v1/jobs/a%2F7%20%C3%A9/wanted?incident=inc_7&node=n%203%2Fx"
    ] * 4
    assert {one.headers["authorization"] for one in there.questions} == {f"Bearer {TOKEN}"}
    assert outcome.complete
    assert [one.packed.counts for one in outcome.bundles][1:] == [{"dump": 1}]


def test_a_dump_of_a_rank_that_sent_nothing_is_looked_for_again(reduced, tmp_path) -> None:
    class Late(list):
        def pop(self, index):
            dump(tmp_path / "fr", 9)
            return super().pop(index)

    row = {"kind": "flight_recorder", "rank": 9, "filename": None}
    with service(accepted()) as there:
        there.wanted = Late([wants(row), wants()])
        run(reduced(there.url), tmp_path)

    assert list(there.requests[1].members) == ["fr/trace_rank_9"]


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "flight_recorder", "rank": None, "filename": "../../../etc/passwd"},
        {"kind": "flight_recorder", "rank": 1, "filename": "/etc/passwd"},
        {"kind": "flight_recorder", "rank": 1, "filename": "job.out"},
        {"kind": "flight_recorder", "rank": 7, "filename": None},
        {"kind": "flight_recorder", "rank": True, "filename": None},
        {"kind": "flight_recorder", "rank": "1", "filename": None},
        {"kind": "/etc/passwd", "rank": 1, "filename": "fr/trace_rank_1"},
        {"kind": ["flight_recorder"], "rank": 1, "filename": "fr/trace_rank_1"},
        {"kind": "job_log", "rank": None, "filename": "/etc/passwd"},
        {"kind": "kernel_log", "rank": None, "filename": None},
        "fr/trace_rank_1", 1, None, [],
    ],
)  # fmt: skip
def test_no_answer_makes_another_file_go(reduced, tmp_path, row) -> None:
    with service(accepted()) as there:
        there.wanted = [wants(row)]
        outcome = run(reduced(there.url), tmp_path)

    assert len(there.requests) == 1
    assert outcome.complete


@pytest.mark.parametrize(
    "answer",
    [
        refused(404), refused(405), refused(501), refused(401), refused(403), refused(422),
        (302, {"Location": "http://127.0.0.1:1/"}, {}),
        (200, {}, b"<html>login</html>"), (200, {}, b"[]"), (200, {}, b"null"),
        (200, {}, b"[" * 9999),
        (200, {}, {"wanted": {"a": 1}, "again_s": "soon"}),
        (200, {}, {"wanted": None, "again_s": True}), (200, {}, {"again_s": -1}),
        (200, {}, b'{"wanted": [], "again_s": NaN}'),
    ],
)  # fmt: skip
def test_a_service_that_asks_for_nothing_ends_the_run(reduced, tmp_path, answer) -> None:
    """A service of 0.1 says 404."""
    began = time.monotonic()
    with service(accepted()) as there:
        there.wanted = [answer]
        outcome = run(reduced(there.url), tmp_path)

    assert (len(there.requests), len(there.questions)) == (1, 1)
    assert outcome.complete
    assert time.monotonic() - began < 20


def test_the_wait_is_bounded_and_asks_in_peace(reduced, tmp_path) -> None:
    began = time.monotonic()
    with service(accepted()) as there:
        there.wanted = [wants(again_s=0.0), refused(503, Retry_After="2"), wants(again_s=1)]
        run(reduced(there.url, wait_for_wanted_s=6.0), tmp_path)

    assert 5.5 <= time.monotonic() - began < 25
    assert 3 <= len(there.questions) <= 6


def test_nobody_asks_where_everything_was_sent_whole(node, tmp_path) -> None:
    with service(accepted()) as there:
        run(node(there.url), tmp_path)
        assert there.questions == []
        there.wanted = [wants()]
        run(node(there.url, wait_for_wanted_s=5.0), tmp_path)
        assert len(there.questions) == 1


def test_what_could_not_be_sent_waits_in_the_spool_for_its_incident(reduced, tmp_path) -> None:
    with service(accepted(), refused(503)) as there:
        there.wanted = [wants(RANK_1)]
        outcome = run(reduced(there.url, deadline_s=12.0, compress=False), tmp_path)

    assert not outcome.complete
    (bundle,) = waiting(tmp_path)
    label = json.loads(bundle.read_bytes().partition(b"\n")[0])
    assert (label["incident"], label["node"]) == ("inc_7", "n 3/x")
    assert (tmp_path / "fr" / "trace_rank_1").read_bytes() in bundle.read_bytes()


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("fr/trace_rank_3", 3), ("fr/trace_rank_3.json.gz", 3), ("fr/_dump_0012.pkl", 12),
        ("fr/nccl_trace_rank_gpu07_5", 5), ("fr/trace", None), ("fr/trace_3x", None),
    ],
)  # fmt: skip
def test_a_dump_is_of_the_rank_that_ends_its_name(node, tmp_path, name, rank) -> None:
    from triage.collectors.artifact import DUMP, Artifact

    artifact = Artifact(DUMP, name, "/x", 1, False, None, False, False)
    fits = [one for one in range(20) if Wanted(DUMP, one, "").fits(artifact)]
    assert fits == ([] if rank is None else [rank])
