"""RCCL's replay log to how far a rank's host came."""

import pytest

from triage.errors import Corrupt
from triage.parsers.live.comm_state import read_replay

BEGIN = (
    "{\n  version : 1,\n  CommInitRank : [size : 4, uniqueID : 99, rank : 2, context : [time : 1.5,"
    " thread : 7, device : 0, captured : -1, graphID : 0 ]],\n  CommInitDev : [comm : 0x7f20,"
    " size : 4, uniqueID : 99, rank : 2, dev : 0, context : [time : 1.5, thread : 7, device : 0 ]],"
)


def call(count, name="AllReduce", comm="0x7f20"):
    return (
        f"  {name} : [opCount : {count}, sendbuff : [addr : 0x7f, base : 0x7f, size : 64], acc :"
        f" (nil), count : 16, datatype : 7, op : 0, root : 0, comm : {comm}, nranks : 4, stream :"
        " 0x5571, task : 0, globalrank : 6, context : [time : 1790000042000.0, thread : 7, device :"
        " 3, captured : 0, graphID : 0 ]],"
    )


def read(*lines, artifact="replay/run.812.gpu-7.json"):
    (look,) = read_replay("\n".join([BEGIN, *lines]), artifact)
    return look


def test_the_last_call_is_how_far_the_host_came():
    look = read(call("29"), call("2a"))
    (one,) = look.communicators
    (member,) = one.ranks
    assert (one.hash, one.size, member.rank, member.launched) == (99, 4, 2, {"all": 0x2B})
    assert member.completed is None
    process = member.process
    assert (process.rank, process.host, process.pid, process.gpu) == (6, "gpu-7", 812, 3)


def test_the_name_may_say_no_process():
    process = read(call("1"), artifact="replay.json").communicators[0].ranks[0].process
    assert (process.host, process.pid) == (None, None)


def test_calls_of_other_communicators_and_transfers_do_not_count():
    look = read(call("1"), call("50", comm="0x9999"), call("60", "Send"), "  {" + call("2").strip())
    assert [one.ranks[0].launched for one in look.communicators] == [{"all": 3}]


def test_a_line_that_is_cut_does_not_count():
    assert read(call("1"), call("5")[:30]).communicators[0].ranks[0].launched == {"all": 2}


@pytest.mark.parametrize("text", ["", "{\n  version : 1,\n", "{}", "AllReduce", "\x00" * 1000])
def test_what_holds_no_call_is_refused(text):
    with pytest.raises(Corrupt):
        read_replay(text, "x.json")


def test_numbers_beyond_64_bits_are_none():
    assert read(call("f" * 17)).communicators[0].ranks[0].launched == {"all": 0}
