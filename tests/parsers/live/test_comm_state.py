"""``nccl_comm_state`` of one process to a look."""

import json

import pytest

from triage.errors import Corrupt
from triage.parsers.live.comm_state import read_comm_state


def state(rank=3, past=(40, 41), current=(42,), name="default_pg", **more):
    calls = {
        key: json.dumps([{"opCount": number, "coll": "AllReduce"} for number in numbers])
        for key, numbers in (("CT_pastColls", past), ("CT_currentColls", current))
    }
    return {
        "commHash": "1f00000000000abc", "rank": str(rank), "nRanks": "4",
        "commDesc": json.dumps(name), "CT_pendingColls": "[]",
        **calls, **more,
    }  # fmt: skip


def dump(*states):
    return json.dumps({"nccl_comm_state": {hex(k): one for k, one in enumerate(states)}})


def only_look(*states, artifact="state.json"):
    (look,) = read_comm_state(dump(*states), artifact)
    return look


def test_a_rank_has_launched_what_is_current():
    (one,) = only_look(state()).communicators
    (member,) = one.ranks
    assert (one.hash, one.size, one.name) == (0x1F00000000000ABC, 4, "default_pg")
    assert (member.rank, member.launched, member.completed) == (3, {"all": 43}, {"all": 42})
    assert member.process.rank == 3


def test_nothing_is_launched_where_nothing_is_listed():
    (one,) = only_look(state(past=(), current=())).communicators
    assert one.ranks[0].launched == {"all": 0}


def test_what_is_not_recorded_is_unknown_and_not_zero():
    bare = state()
    del bare["CT_pastColls"]
    assert only_look(bare).communicators[0].ranks[0].launched is None


def test_sends_and_receives_do_not_count():
    calls = [{"opCount": 41, "coll": "AllReduce"}, {"opCount": 99, "coll": "Send"}]
    found = only_look(state(current=(), CT_pastColls=json.dumps(calls)))
    assert found.communicators[0].ranks[0].launched == {"all": 42}


def test_the_rank_is_that_of_the_communicator_of_all():
    look = only_look(state(rank=1, name="tp"), state(rank=3), artifact="x_rank_2.json")
    assert {one.ranks[0].process.rank for one in look.communicators} == {3}


@pytest.mark.parametrize(
    ("artifact", "rank"),
    [("a/ncclx_rank_7.json", 7), ("rank-7.json.gz", 7), ("state.51301.json", None)],
)
def test_else_the_rank_is_what_the_name_says(artifact, rank):
    look = only_look(state(name="tp"), artifact=artifact)
    assert look.communicators[0].ranks[0].process.rank == rank


def test_a_text_that_is_cut_is_said_and_the_others_are_read():
    look = only_look(state(CT_pastColls='[{"opCount": 4'), state(rank=1))
    assert [one.ranks[0].rank for one in look.communicators] == [1]
    assert "not valid JSON" in (look.partial or "")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "null", '{"nccl_comm_state": []}', '{"nccl_comm_state": {}}',
        '{"nccl_comm_state": {"a": {"commHash": "zz", "rank": "1", "nRanks": "2"}}}',
        '{"nccl_comm_state": {"1": {"rank": "9", "nRanks": "2"}}}',
        '{"nccl_comm_state": {"1": {"rank": {}, "nRanks": []}}}', "[" * 100_000,
    ],
)  # fmt: skip
def test_what_tells_of_no_communicator_is_refused(text):
    with pytest.raises(Corrupt):
        read_comm_state(text, "x")


@pytest.mark.parametrize(
    "operation",
    [
        {"CT_pastColls": '{"opCount": 1}'},
        {"CT_pastColls": '[{"opCount": 1e999}, {"opCount": -4}, {"opCount": true}, 3]'},
        {"commDesc": 5},
    ],
)
def test_foreign_values_are_passed_over(operation):
    look = only_look(state(**operation))
    assert bool(look.communicators) != bool(look.partial)
