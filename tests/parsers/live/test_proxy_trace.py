"""RCCL's proxy trace to what transfers wait for."""

import pytest

from triage.domain.live.communicator import WaitReason
from triage.errors import Corrupt
from triage.parsers.live.comm_state import read_proxy_trace

SPEAKER = "[2026-11-24 03:00:07] gpu-7:812:899 [1] commDump.cc:22 NCCL WARN commDump ProxyTrace:"


def line(status="RECEIVING", ends="3->2(R)", received=0, last=1_790_000_067_113, post="postT"):
    return (
        f"createT:1790000067112, lastT:{last}, {post}:1790000067113, sendT:1790000067114, cntNm:1,"
        f" <81985529216486895:42:7>, [fu,pr,pa,tb,ck]:412,2,0,64,32, {ends}, chan:0,"
        f" status:{status}, ns:16, nb:32, po:8, ke:0, tail/h:8, recvT:{received}, connSz/h:-1,"
        " trans:0, flushed:0, recvd:0, done:0"
    )


def waits(*lines):
    (look,) = read_proxy_trace("\n".join(lines), "job.log")
    return look.waiting


@pytest.mark.parametrize(
    ("printed", "reason", "peer"),
    [
        pytest.param(line(), WaitReason.PEER, 2, id="a silent sender"),
        pytest.param(line(post="pot"), WaitReason.PEER, 2, id="the older variant"),
        pytest.param(line(received=4), WaitReason.WIRE, 2, id="in the middle"),
        pytest.param(line("SENDING", "3->0(S)"), WaitReason.WIRE, 0, id="sending"),
        pytest.param(line("POSTING", "3->0(S)"), WaitReason.PEER, 0, id="no buffer"),
        pytest.param(line("WAITING_GPU", "3->0(S)"), WaitReason.OWN_DEVICE, None, id="own GPU"),
        pytest.param(line("FLUSHING"), WaitReason.OWN_DEVICE, None, id="not taken"),
    ],
)
def test_a_transfer_says_whose_turn_it_is(printed, reason, peer):
    (one,) = waits(SPEAKER, "", printed)
    assert (one.reason, one.peer, one.rank, one.line) == (reason, peer, 3, 3)
    assert one.hash == 81985529216486895
    assert (one.process.host, one.process.pid, one.process.gpu) == ("gpu-7", 812, 1)


def test_transfers_that_are_done_or_cut_wait_for_nothing():
    assert waits(SPEAKER, line("DONE"), line("UNHEARD_OF"), line()[:120]) == ()


@pytest.mark.parametrize("text", ["", "createT:", "createT:1 lastT:2", SPEAKER, "x" * 1_000_000])
def test_what_holds_no_transfer_is_refused(text):
    with pytest.raises(Corrupt):
        read_proxy_trace(text, "job.log")
