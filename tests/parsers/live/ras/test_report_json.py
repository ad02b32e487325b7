"""The JSON of RAS: whole, broken as two releases print it, cut, and lying."""

import json

import pytest

from tests.parsers.live.ras.reports import json_rank, json_report, missing_rank
from tests.support.spent import spent_s
from triage.domain.live.communicator import Presence
from triage.domain.live.process import ReplyKind
from triage.errors import ArtifactError
from triage.parsers.live.ras.report_json import is_ras_json, parse_json

COUNTS = {"AllGather": 88, "AllReduce": 12}


def report(**changes: object) -> str:
    ranks = [json_rank(rank, COUNTS) for rank in range(7)]
    return json_report([("0xc4f1", ranks, [missing_rank(7, dead=bool(changes.get("dead")))])])


def test_reads_every_rank() -> None:
    (look,) = parse_json(report(), "ras.json")

    (communicator,) = look.communicators
    assert (communicator.hash, communicator.size) == (0xC4F1, 8)
    first = communicator.ranks[0]
    assert first.launched == {"allgather": 88, "allreduce": 12}
    assert (first.process.host, first.process.pid, first.process.gpu) == ("10.1.0.1", 7000, 0)
    assert first.status == "running"
    assert communicator.ranks[7].presence is Presence.UNRESPONSIVE
    assert look.stamp.wall_ns == 1_773_456_067 * 10**9
    assert look.stamp.zone_s is None
    assert [(one.process.pid, one.kind) for one in look.replies] == [(7007, ReplyKind.SILENT)]


def test_dead_is_more_than_silent() -> None:
    (look,) = parse_json(report(dead=True), "ras.json")

    assert look.communicators[0].ranks[7].presence is Presence.DEAD
    assert look.replies[0].kind is ReplyKind.UNREACHABLE


def test_the_missing_comma_of_two_releases_is_put_in() -> None:
    behind = '\n          "status": {\n            "unresponsive"'
    broken = report().replace(f'"nvml_dev": 3,{behind}', f'"nvml_dev": 3{behind}')
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)

    assert parse_json(broken, "x")[0] == parse_json(report(), "x")[0]


def test_errors_and_states_of_ranks() -> None:
    ranks = [
        json_rank(0, COUNTS, async_error=6),
        json_rank(1, COUNTS, async_error=1),
        json_rank(2, COUNTS, init_state=7),
        json_rank(3, COUNTS, async_error=8),
    ]
    (look,) = parse_json(json_report([("0x1", ranks, [])]), "x")

    members = look.communicators[0].ranks
    assert [(one.error, one.remote_error) for one in members] == [
        ("Remote process error", True),
        ("Unhandled CUDA error", False),
        (None, False),
        ("Timeout", False),
    ]
    assert members[2].status == "init"


def test_of_cut_json_the_ranks_before_the_cut_are_read() -> None:
    whole = json_report(
        [
            ("0x1", [json_rank(rank, COUNTS) for rank in range(4)], []),
            ("0x2", [json_rank(rank, COUNTS) for rank in range(4)], []),
        ]
    )
    (look,) = parse_json(whole[: whole.rindex('"rank": 2') + 40], "x")

    assert look.partial is not None
    assert [(one.hash, one.size, len(one.ranks)) for one in look.communicators] == [
        (1, 4, 4),
        (2, 4, 2),
    ]


def test_reports_behind_one_another_are_several_looks() -> None:
    looks = parse_json(f"OK\n{report()}\nOK\n{report()}", "x")

    assert len(looks) == 2


@pytest.mark.parametrize("text", ["{}", "{", "[]", '{"communicators": 3}', "", "[" * 100_000])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError):
        parse_json(text, "x")


def test_values_that_cannot_be_are_left_out() -> None:
    good = json_rank(0, COUNTS)
    ranks = [
        good,
        {**good, "pid": 1},  # the same rank again
        {**good, "rank": 17},  # behind the size
        {**good, "rank": -1},
        {**good, "rank": True},
        {
            **json_rank(1, {"AllReduce": -5, "Broadcast": 10**30, "Reduce": 4}),
            "host": 4,
            "pid": "x",
        },
        "rank",
        None,
    ]
    (look,) = parse_json(json_report([("0x1", ranks[:2] + ranks[2:6], [])]), "x")  # type: ignore[arg-type]

    members = look.communicators[0].ranks
    assert [one.rank for one in members] == [0, 1]
    assert members[0].process.pid == 7000
    assert members[1].launched == {"reduce": 4}
    assert members[1].process.host is None
    assert look.notes == ("4 ranks of NCCL RAS contradict the report and were left out",)


def test_json_nested_deeply_is_refused_quickly() -> None:
    text = '{"nccl_version": "2.29.7", "communicators": ' + "[" * 2_000_000

    def read() -> None:
        with pytest.raises(ArtifactError):
            parse_json(text, "x")

    assert spent_s(read, 5.0) < 5


def test_is_known_by_its_keys() -> None:
    assert is_ras_json(report())
    assert is_ras_json("OK\nSERVER PROTOCOL 2\n" + report())
    assert is_ras_json(json.dumps(json.loads(report()), sort_keys=True))
    assert not is_ras_json('{"nccl_version": "2.29.7", "entries": []}')
    assert not is_ras_json('{"communicators": []}')
