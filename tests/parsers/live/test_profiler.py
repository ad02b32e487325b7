"""The trace of NCCL's example profiler to what is in flight."""

import json

import pytest

from triage.domain.live.communicator import WaitReason
from triage.errors import Corrupt
from triage.parsers.live.inspector import read_profiler


def event(name, phase="b", identity=1, cat="NET", **args):
    return json.dumps(
        {"name": name, "cat": cat, "ph": phase, "id": identity, "pid": 812, "tid": 1, "ts": 9.5}
        | ({"args": args} if args else {})
    )


COLL = event("AllReduce", cat="COLL", SeqNum=31, CommHash=4096, Rank=5)
PROXY = event("ProgressSend", identity=2, cat="PROXY", Channel=0, Peer=6)


def waits(*events, end=""):
    (look,) = read_profiler("[\n" + ",\n".join(events) + end, "trace-gpu-7-812.txt")
    return look.waiting


@pytest.mark.parametrize(
    ("name", "reason", "peer"),
    [
        ("SendGpuWait", WaitReason.OWN_DEVICE, None),
        ("SendPeerWait", WaitReason.PEER, 6),
        ("SendWait", WaitReason.WIRE, 6),
        ("RecvWait", WaitReason.WIRE, 6),
        ("RecvFlushWait", WaitReason.OWN_DEVICE, None),
        ("RecvGpuWait", WaitReason.OWN_DEVICE, None),
    ],
)
def test_what_has_not_ended_says_whose_turn_it_is(name, reason, peer):
    (one,) = waits(COLL, PROXY, event(name, identity=3, Step=8), end=",\n")
    assert (one.hash, one.rank, one.reason, one.peer) == (4096, 5, reason, peer)
    assert (one.process.pid, one.operation) == (812, f"{name} of AllReduce 31")


def test_what_has_ended_waits_for_nothing():
    begun = event("SendGpuWait", identity=3, Step=8)
    assert waits(COLL, PROXY, begun, event("SendGpuWait", "e", 3)) == ()
    assert waits(COLL, PROXY) == ()


def test_an_end_of_another_state_of_the_step_ends_nothing():
    events = [COLL, PROXY, event("SendWait", identity=3, Step=8), event("SendGpuWait", "e", 3)]
    assert len(waits(*events)) == 1


def test_a_wait_without_its_operation_is_nobodys():
    assert waits(event("SendGpuWait", identity=3, Step=8)) == ()


def test_a_line_that_is_cut_is_said():
    (look,) = read_profiler("[\n" + COLL + ",\n" + PROXY[:30], "x")
    assert look.partial == "1 lines are no event"


@pytest.mark.parametrize("text", ["", "[", "[]", "[1]", "{", "[" * 100_000])
def test_what_holds_no_event_is_refused(text):
    with pytest.raises(Corrupt):
        read_profiler(text, "x")


def test_events_of_foreign_shapes_are_passed_over():
    odd = ['{"name": [], "ph": "b", "id": {}}', '{"ph": "b", "cat": "COLL", "args": 7}', "{}"]
    assert waits(COLL, PROXY, *odd) == ()
