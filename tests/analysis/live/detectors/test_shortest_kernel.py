"""NCCL Inspector's logs to the rank that comes last."""

import json

import pytest

from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.kernels import find_shortest_kernels
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Role, VerdictKind
from triage.parsers.live.inspector import read_inspector
from triage.report import analyze


def log(rank, times, *, name="default_pg", comm="0x1f", size=4, host=None, pid=None):
    """One process's log: an all-reduce of each of ``times``, in us."""
    lines = []
    for number, took in enumerate(times, 40):
        lines.append(
            {
                "header": {"id": comm, "comm_name": name, "rank": rank, "n_ranks": size},
                "metadata": {
                    "inspector_output_format_version": "v4.0", "pid": pid or 700 + rank,
                    "hostname": host or f"n{rank // 2}",
                    "dump_timestamp_us": 1_790_000_000_000_000 + number * 1_000_000,
                },
                "coll_perf": {
                    "coll": "AllReduce", "coll_sn": number, "coll_exec_time_us": took,
                    "coll_timing_source": "kernel_gpu",
                },
            }
        )  # fmt: skip
    return "\n".join(map(json.dumps, lines)) + "\n"


def found(logs):
    looks = [one for name, text in sorted(logs.items()) for one in read_inspector(text, name)]
    return list(find_shortest_kernels(LiveCase(looks, JobPlacement())))


def job(late_rank=2, late=4600, num=12, **more):
    wave = [k % 5 * 7 for k in range(num)]
    return {
        f"r{rank}.log": log(rank, [1500 + (late if rank != late_rank else 0) + w for w in wave])
        for rank in range(4)
    } | more


def test_names_the_rank_whose_kernels_are_the_shortest():
    (one,) = found(job())
    assert (one.ranks, one.kind, one.role) == ((2,), VerdictKind.STRAGGLER, Role.CULPRIT)
    assert one.late_ms == pytest.approx(4.6)
    assert "1.5" in one.because[0].text
    assert one.because[0].artifact == "r2.log"


@pytest.mark.parametrize(
    "logs",
    [
        pytest.param({}, id="no log"),
        pytest.param(job(late=0), id="nobody is late"),
        pytest.param(job(late_rank=9), id="all kernels are long alike"),
        pytest.param(job(num=3), id="too few operations"),
        pytest.param({"r2.log": job()["r2.log"]}, id="one process alone"),
    ],
)
def test_is_silent(logs):
    assert found(logs) == []


def test_who_waits_in_another_group_is_not_to_blame():
    """Rank 1 comes late to its data-parallel group as it waits for rank 0's tensor-parallel one."""
    long, short = [6000] * 9, [1500] * 9
    logs = {}
    for rank in range(6):
        times = short if rank == 1 else long
        logs[f"dp{rank}.log"] = log(rank, times, name="dp", comm="0x2", size=6, pid=700 + rank)
    for place, rank in enumerate((1, 6, 7)):
        times = short if rank == 7 else long
        logs[f"tp{rank}.log"] = log(place, times, name="tp", comm="0x3", size=3, pid=700 + rank,
                                    host="n0" if rank == 1 else "n3")  # fmt: skip
    for rank in range(8):
        logs[f"world{rank}.log"] = log(
            rank, long[:1], size=8, pid=700 + rank, host={6: "n3", 7: "n3"}.get(rank)
        )
    (one,) = found(logs)
    assert one.ranks == (7,)


def test_a_node_is_named_where_no_rank_is_known():
    logs = {f"r{rank}.log": log(rank, [6000 if rank else 1500] * 9, name="dp") for rank in range(4)}
    (one,) = found(logs)
    assert (one.ranks, one.nodes) == ((), ("n0",))


def test_the_whole_answer_names_rank_and_node(tmp_path):
    for name, text in job().items():
        (tmp_path / name).write_text(text)
    answer = analyze(tmp_path).answer
    assert (answer.verdict.kind, answer.suspects[0].ranks) == ("straggler", (2,))
    assert answer.suspects[0].node == "n1"
    assert answer.verdict.cordon == ()


def test_the_whole_answer_accuses_nobody_where_kernels_are_alike(tmp_path):
    for name, text in job(late=0).items():
        (tmp_path / name).write_text(text)
    assert analyze(tmp_path).answer.suspects == ()
