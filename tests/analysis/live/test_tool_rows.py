"""Rows of ``triage parse`` for communicators and GPUs."""

from triage.analysis.rows import list_look_rows
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import GpuSample, Look, Tool
from triage.domain.live.process import Process

PROCESS = Process(rank=3, host="n1", pid=812)


def row_of(tool, **fields):
    (row,) = list_look_rows([Look("file", tool, **fields)])
    return row


def test_a_communicator_that_one_rank_tells_of():
    member = CommunicatorRank(1, PROCESS, launched={"all": 43}, completed={"all": 42}, line=7)
    row = row_of(Tool.RAS, communicators=(Communicator(0x1F, 4, (member,), name="tp"),))
    assert (row["kind"], row["rank"], row["pid"], row["line"]) == ("ras", 3, 812, 7)
    assert row["text"] == "tp, rank 1 of 4: launched 43 all, completed 42 all"
    assert (row["communicator"], row["size"], row["role"]) == ("1f", 4, "noise")


def test_kernel_times_are_told_by_the_middle():
    one = Communicator(
        1, 4, (CommunicatorRank(1, PROCESS, completed={"allreduce": 3}),),
        durations_us={1: (10.0, 30.0, 20.0)}, function="allreduce",
    )  # fmt: skip
    text = row_of(Tool.INSPECTOR, communicators=(one,))["text"]
    assert text.endswith("completed 3 allreduce, 3 kernels of allreduce, 20 us in the middle")


def test_a_communicator_of_many_ranks_is_one_row():
    members = tuple(
        CommunicatorRank(rank, Process(), launched={"allgather": 9 - (rank == 2), "reduce": 4})
        for rank in range(4)
    )
    row = row_of(Tool.RAS, communicators=(Communicator(1, 4, members, line=3),))
    assert (row["kind"], row["rank"], row["line"]) == ("ras", None, 3)
    assert row["text"] == "4 of 4 ranks listed, launched 8 to 9 allgather, 4 reduce"


def test_a_gpu_says_what_is_known_of_it():
    sample = GpuSample("n1", 5, "0000:6d:00", utilisation_percent=100, power_w=232.5, line=6)
    row = row_of(Tool.GPU_STATE, gpus=(sample,))
    assert (row["gpu"], row["node"], row["utilisation_percent"]) == ("0000:6d:00", "n1", 100)
    assert row["text"] == "GPU 5: utilisation_percent 100, power_w 232.5"
