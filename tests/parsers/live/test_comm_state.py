"""``nccl_comm_state`` of one process to a look."""

import json

import pytest

from triage.domain.live.communicator import WaitReason
from triage.errors import Corrupt
from triage.parsers.live.comm_state import read_comm_state


def transfer(direction="RECV", steps=16, **stages):
    operation = {name: {"step": step, "ts": 1_790_000_000_000_000} for name, step in stages.items()}
    return {
        "opCount": 42, "coll": "AllReduce", "rank": 3, "remoteRank": 2, "nSteps": steps,
        "opType": direction, "status": "IN_PROGRESS", "startTs": 1_790_000_000_000_000, **operation,
    }  # fmt: skip


def state(rank=3, past=(40, 41), current=(42,), transfers=(), name="default_pg", **more):
    calls = {
        key: json.dumps([{"opCount": number, "coll": "AllReduce"} for number in numbers])
        for key, numbers in (("CT_pastColls", past), ("CT_currentColls", current))
    }
    return {
        "commHash": "1f00000000000abc", "rank": str(rank), "nRanks": "4",
        "commDesc": json.dumps(name), "CT_pendingColls": "[]",
        "PT_activeOps": json.dumps(list(transfers)), **calls, **more,
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


@pytest.mark.parametrize(
    ("operation", "reason", "peer"),
    [
        pytest.param(transfer(POSTED=8), WaitReason.PEER, 2, id="got nothing"),
        pytest.param(transfer(POSTED=8, RECEIVED=5), WaitReason.WIRE, 2, id="got a part"),
        pytest.param(
            transfer(POSTED=8, RECEIVED=8, DONE=4), WaitReason.OWN_DEVICE, None, id="not taken"
        ),
        pytest.param(
            transfer("SEND", POSTED=8), WaitReason.OWN_DEVICE, None, id="its GPU gives nothing"
        ),
        pytest.param(
            transfer("SEND", POSTED=8, REM_FIFO_WAIT=8), WaitReason.PEER, 2, id="no buffer"
        ),
        pytest.param(
            transfer("SEND", POSTED=8, TRANSMITTED=8, DONE=4), WaitReason.WIRE, 2, id="sent"
        ),
    ],
)
def test_a_transfer_says_whose_turn_it_is(operation, reason, peer):
    (one,) = only_look(state(transfers=[operation])).waiting
    assert (one.reason, one.peer, one.rank) == (reason, peer, 3)
    assert one.since_ns == 1_790_000_000_000_000_000


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(transfer(POSTED=16, RECEIVED=16, DONE=16), id="all steps done"),
        pytest.param({**transfer(POSTED=8), "status": "DONE"}, id="done"),
        pytest.param(transfer("COPY", POSTED=8), id="of no known direction"),
        pytest.param({**transfer(POSTED=8), "remoteRank": None}, id="without a peer"),
    ],
)
def test_other_transfers_say_nothing(operation):
    assert only_look(state(transfers=[operation])).waiting == ()


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
        {"PT_activeOps": '[{"POSTED": 1, "opType": [], "remoteRank": "3", "nSteps": "x"}]'},
        {"CT_pastColls": '{"opCount": 1}', "PT_activeOps": "7"},
        {"CT_pastColls": '[{"opCount": 1e999}, {"opCount": -4}, {"opCount": true}, 3]'},
        {"commDesc": 5},
    ],
)
def test_foreign_values_are_passed_over(operation):
    look = only_look(state(**operation))
    assert look.waiting == ()
