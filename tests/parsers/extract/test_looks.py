"""Looks come back from a stored extract as they were."""

import json

import pytest

from triage.domain.evidence import Stamp
from triage.domain.live.communicator import (
    Communicator,
    CommunicatorRank,
    Presence,
)
from triage.domain.live.look import GpuSample, Look, Tool, WaitCounter
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.parsers.extract.looks import decode_looks, encode_looks

RANK = Process(
    rank=5, node="n1", host="10.0.0.7", pid=412, parent_pid=400, gpu=3, nvml_gpu=5, command="py"
)
FRAMES = (StackFrame("read", "data.py", 18), StackFrame("main", "train.py", 40))
WHOLE = Look(
    artifact="nodes/n1/stacks_20260314_024107.txt",
    tool=Tool.PY_SPY,
    stamp=Stamp(wall_ns=1_773_456_067_000_000_000),
    node="n1",
    stacks=(
        ThreadStack(RANK, FRAMES, "MainThread", 412, True, False, True, "D", "rpc_wait", "lost", 7),
        ThreadStack(Process(), ()),
    ),
    replies=(Reply(RANK, "ping", ReplyKind.SILENT, "408", 3),),
    communicators=(
        Communicator(
            0xC4F19D2A87BE310,
            16,
            (
                CommunicatorRank(
                    5, RANK, Presence.DEAD, {"allreduce": 7}, {"all": 6}, "abort", "lost", True, 9
                ),
            ),
            CommunicatorRank(-1, Process(), launched={"allreduce": 8}),
            "mesh_tp",
            4,
            {5: (1.5, 2.5)},
        ),
    ),
    gpus=(GpuSample("n1", 3, "0000:5d:00", "GPU-1", 100.0, 0.0, 230.5, 700.0, 5, 2),),
    notes=("seen twice",),
    partial="ends in the middle",
    counters=(WaitCounter(RANK, "TCPStore__wait", 1, 2),),
    processes=(RANK, Process(rank=6, host="gpu-n02")),
)


@pytest.mark.parametrize("looks", [(), (WHOLE,), (Look("a", Tool.RAS), WHOLE, WHOLE)])
def test_looks_come_back_as_they_were(looks: tuple[Look, ...]) -> None:
    stored = json.loads(json.dumps(encode_looks(looks)))
    assert decode_looks(stored) == looks


def test_stacks_that_many_ranks_share_are_stored_once() -> None:
    many = Look("a", Tool.PY_SPY, stacks=tuple(ThreadStack(Process(k), FRAMES) for k in range(99)))
    frames, stacks, _ = encode_looks([many])
    assert (len(frames), len(stacks)) == (2, 1)


@pytest.mark.parametrize("place", range(3))
def test_damage_is_one_of_the_errors_that_extracts_expect(place: int) -> None:
    values = encode_looks([WHOLE])
    values[place] = [*values[place][:-1], ["no"] * 20]
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        decode_looks(values)
