"""Whose turn it is, by what single transfers wait for."""

import json

import pytest

from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.transfers import find_silent_senders
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.live.communicator import Communicator, CommunicatorRank, Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.report import analyze

COMM = 0x1F
PEER, WIRE, DEVICE = WaitReason.PEER, WaitReason.WIRE, WaitReason.OWN_DEVICE


def waits(rank, *ends, operation="RECV of AllReduce 42"):
    """(reason, peer) of each transfer of a rank."""
    process = Process(rank=rank, host=f"n{rank // 2}")
    return [Waiting(COMM, rank, process, why, peer, operation) for why, peer in ends]


def state(rank, *ends, name="a", tool=Tool.COMM_STATE, **more):
    member = CommunicatorRank(rank, Process(rank=rank, host=f"n{rank // 2}"))
    communicator = Communicator(COMM, 4, (member,))
    return Look(
        f"{name}/r{rank}.json", tool, communicators=(communicator,),
        waiting=tuple(waits(rank, *ends, **more)),
    )  # fmt: skip


def ring(silent=2, name="a"):
    """Each rank waits for the one before it, but for ``silent``."""
    return [
        state(
            rank, *([] if rank == silent else [(PEER, (rank - 1) % 4), (DEVICE, None)]), name=name
        )
        for rank in range(4)
    ]


def found(*looks, fleet=None):
    return list(find_silent_senders(LiveCase(looks, fleet or JobPlacement())))


def test_names_the_end_of_the_ring():
    (one,) = found(*ring(), *ring(name="b"))
    assert (one.ranks, one.role, one.strength) == ((2,), Role.CULPRIT, 0.75)
    assert "rank 3 of communicator 1f waits for rank 2" in one.because[0].text


def test_one_look_convicts_nobody():
    (one,) = found(*ring())
    assert (one.ranks, one.role) == ((2,), Role.POSSIBLE)
    assert "second one" in one.advice


def test_who_was_not_looked_at_is_named_with_less():
    (one,) = found(state(3, (PEER, 2)))
    assert one.strength == 0.4
    assert (one.ranks, one.nodes) == ((), ())
    assert "rank 2 of communicator 1f" in one.summary


def test_a_rank_whose_own_gpu_gives_nothing():
    looks = [state(3, (PEER, 2)), state(2, (DEVICE, None))]
    (one,) = found(*looks)
    assert (one.ranks, one.category) == ((2,), Category.NCCL_TIMEOUT)
    assert "its own GPU" in one.summary


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([], id="no look"),
        pytest.param([state(rank) for rank in range(4)], id="nothing is in flight"),
        pytest.param([state(rank, (PEER, (rank - 1) % 4)) for rank in range(4)], id="a circle"),
        pytest.param(
            [*ring(), state(3, (PEER, 2), name="b", operation="RECV of AllReduce 43")],
            id="the next operation",
        ),
        pytest.param([*ring(), *ring(silent=1, name="b")], id="another one in the second look"),
        pytest.param([state(0, (PEER, 1), (PEER, 2), (PEER, 3))], id="many ends"),
        pytest.param([state(3, (PEER, 2), tool=Tool.RAS)], id="of no such tool"),
    ],
)
def test_is_silent(looks):
    assert found(*looks) == []


@pytest.mark.parametrize(
    ("ends", "word"), [([(WIRE, 2)], "the wire to rank 2"), ([(DEVICE, None)], "its own GPU")]
)
def test_a_direction_alone_accuses_nobody(ends, word):
    (one,) = found(state(3, *ends))
    assert (one.ranks, one.nodes, one.kind) == ((), (), VerdictKind.INCONCLUSIVE)
    assert word in one.summary
    assert "rank 3" in one.summary


def test_the_order_of_files_does_not_matter():
    looks = [*ring(), *ring(name="b")]
    assert found(*looks) == found(*reversed(looks))


def test_two_tools_that_word_it_differently_are_one_look():
    trace = state(3, (PEER, 2), tool=Tool.PROXY_TRACE, operation="RECV of operation 42")
    (one,) = found(*ring(), trace)
    assert one.ranks == (2,)


def dump(rank, receives_from=None):
    transfer = {
        "opCount": 42, "coll": "AllReduce", "rank": rank, "remoteRank": receives_from, "nSteps": 16,
        "opType": "RECV", "POSTED": {"step": 8, "ts": 1}, "RECEIVED": {"step": 0, "ts": 0},
    }  # fmt: skip
    own = {
        "commHash": "1f", "rank": str(rank), "nRanks": "4", "commDesc": '"default_pg"',
        "CT_pastColls": "[]", "CT_currentColls": "[]",
        "PT_activeOps": json.dumps([] if receives_from is None else [transfer]),
    }  # fmt: skip
    return json.dumps({"nccl_comm_state": {"0x1f": own}, "entries": [], "pg_status": {}})


def test_the_whole_answer_names_the_silent_sender(tmp_path):
    for poll in ("poll-1", "poll-2"):
        folder = tmp_path / poll
        folder.mkdir()
        for rank in range(4):
            text = dump(rank, None if rank == 2 else (rank - 1) % 4)
            (folder / f"state_rank_{rank}.json").write_text(text)
    answer = analyze(tmp_path).answer
    assert answer.verdict.kind == "hang"
    assert [one.ranks for one in answer.suspects] == [(2,)]


def test_the_whole_answer_calls_an_idle_job_no_hang(tmp_path):
    for rank in range(4):
        (tmp_path / f"state_rank_{rank}.json").write_text(dump(rank))
    answer = analyze(tmp_path).answer
    assert answer.suspects == ()
    assert answer.verdict.kind == "inconclusive"
