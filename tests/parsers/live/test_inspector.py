"""NCCL Inspector's log to completed operations and kernel times."""

import json

import pytest

from triage.errors import Corrupt
from triage.parsers.live.inspector import read_inspector


def record(number, took=1500, source="kernel_gpu", coll="AllReduce", **header):
    return {
        "header": {"id": "0x1f", "comm_name": "default_pg", "rank": 2, "n_ranks": 4, **header},
        "metadata": {
            "inspector_output_format_version": "v4.0", "hostname": "gpu-7", "pid": 812,
            "dump_timestamp_us": 1_790_000_000_000_000 + number,
        },
        "coll_perf": {
            "coll": coll, "coll_sn": number, "coll_exec_time_us": took, "coll_busbw_gbs": "nan",
            "coll_timing_source": source,
        },
    }  # fmt: skip


def read(*records):
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records)
    (look,) = read_inspector(text, "gpu-7-pid812.log")
    return look


def test_times_stand_beside_their_numbers():
    look = read(record(36, 1500), record(38, 1600))
    (one,) = look.communicators
    assert (one.hash, one.size, one.function, one.name) == (0x1F, 4, "allreduce", "default_pg")
    assert one.durations_us == {2: (1500.0, 1600.0)}
    assert one.numbers == {2: (36, 38)}
    assert one.ranks[0].completed == {"allreduce": 39}
    process = one.ranks[0].process
    assert (process.rank, process.host, process.pid) == (2, "gpu-7", 812)
    assert look.stamp.wall_ns == 1_790_000_000_000_038_000


def test_a_rank_of_a_smaller_communicator_is_no_global_rank():
    assert read(record(1, comm_name="tp")).communicators[0].ranks[0].process.rank is None


def test_functions_and_communicators_are_apart():
    look = read(record(1), record(1, coll="AllGather"), record(1, id="0x2f"))
    assert {(one.hash, one.function) for one in look.communicators} == {
        (0x1F, "allreduce"), (0x1F, "allgather"), (0x2F, "allreduce"),
    }  # fmt: skip


def test_times_of_the_host_are_no_kernel_times():
    (one,) = read(record(7, source="collective_cpu")).communicators
    assert one.durations_us == {2: ()}
    assert one.ranks[0].completed == {"allreduce": 8}


def test_a_header_may_stand_once_before_its_records():
    head = {"dump_stats": {key: record(0)[key] for key in ("header", "metadata")}}
    later = {"coll_perf": record(5)["coll_perf"]}
    assert read(head, later).communicators[0].numbers == {2: (5,)}


def test_the_newest_times_are_kept():
    numbers = read(*(record(number) for number in range(600))).communicators[0].numbers[2]
    assert (numbers[0], numbers[-1]) == (88, 599)


def test_transfers_are_no_collectives():
    sent = {**record(1), "p2p_perf": {"p2p": "Send", "p2p_sn": 1, "p2p_peer": 1}}
    del sent["coll_perf"]
    assert read(sent).communicators == ()


def test_lines_that_are_cut_are_said():
    assert read(record(1), json.dumps(record(2))[:90]).partial == "1 lines are no record"


@pytest.mark.parametrize("text", ["", "{}", "{", "[]", "\n\n", '{"header": 7}', "[" * 50_000])
def test_what_holds_no_record_is_refused(text):
    with pytest.raises(Corrupt):
        read_inspector(text, "x")


@pytest.mark.parametrize(
    "changed",
    [
        {"coll_sn": -1}, {"coll_sn": "x"}, {"coll": None}, {"coll_sn": 1.5},
    ],
)  # fmt: skip
def test_records_of_foreign_shapes_are_passed_over(changed):
    one = record(3)
    one["coll_perf"] |= changed
    assert read(one).communicators == ()


@pytest.mark.parametrize("took", [0, -5, "nan", None, True, 1e300])
def test_a_time_that_is_none_is_left_out(took):
    assert read(record(3, took)).communicators[0].durations_us == {2: ()}
