"""The list of a node's processes: replies in four states, and what is no such list."""

import json

import pytest

from triage.domain.live.process import Process, ReplyKind
from triage.errors import ArtifactError
from triage.parsers.live.process_list import PRESENCE, process_list_looks


def listed(**more: object) -> str:
    return json.dumps({"schema": "triage.processes/1", "node": "n1", **more})


def test_a_rank_that_has_no_process_is_unreachable() -> None:
    (look,) = process_list_looks(
        listed(
            at="2026-03-14T02:41:07Z", missing=[5], ranks=[{"rank": 4, "pid": 48, "state": "S"}]
        ),
        "p.json",
    )

    assert [(one.process.rank, one.handler, one.kind) for one in look.replies] == [
        (4, PRESENCE, ReplyKind.ANSWERED),
        (5, PRESENCE, ReplyKind.UNREACHABLE),
    ]
    assert look.stamp.wall_ns == 1_773_456_067 * 10**9
    assert look.node == "n1"


def test_a_zombie_is_gone() -> None:
    (look,) = process_list_looks(listed(ranks=[{"rank": 4, "pid": 48, "state": "Z"}]), "p.json")

    assert look.replies[0].kind is ReplyKind.UNREACHABLE


@pytest.mark.parametrize("reply", ["answered", "silent", "unreachable", "tool_failed"])
def test_each_state_of_an_answer_is_kept(reply: str) -> None:
    asked = [{"tool": "pyspy_dump", "rank": 1, "pid": 7, "reply": reply, "why": "w"}]
    (look,) = process_list_looks(listed(asked=asked), "p.json")

    (one,) = look.replies
    assert (one.process, one.handler, str(one.kind), one.detail) == (
        Process(1, "n1", None, 7), "pyspy_dump", reply, "w",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other/1"}',
        '{"schema": "triage.processes/1", "node": ',
        "[" * 99999,
    ],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError):
        process_list_looks(text, "p.json")


@pytest.mark.parametrize(
    "more",
    [
        {"asked": [{"tool": "x", "reply": "dead"}, 7, {"reply": "silent"}, None]},
        {"asked": "all", "ranks": {"rank": 1}, "missing": [True, -1, "5", 1.5, 10**30]},
        {"at": "yesterday", "notes": [1, None, {}]},
    ],
    ids=["asked", "kinds", "notes"],
)
def test_rows_that_make_no_sense_say_nothing(more: dict[str, object]) -> None:
    (look,) = process_list_looks(listed(**more), "p.json")

    assert look.replies == ()
    assert look.notes == ()
    assert look.stamp.wall_ns is None
