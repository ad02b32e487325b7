"""A traceback without a rank, and the launcher that says below it which rank left."""

from dataclasses import replace

import pytest

from triage.analysis.facts.exits import MOST_LINES, with_ranks_that_exit
from triage.analysis.placement.identity import JobPlacement, resolve
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job

T = 1_795_000_000 * 1_000_000_000
JOB = Job(world_size=8, gpus_per_node=4, nodes=("n0", "n1"), rank_to_node={
    rank: f"n{rank // 4}" for rank in range(8)
})  # fmt: skip
RAISED = Evidence(
    "n1.log", 100, "python.user_code", Kind.PYTHON, EvidenceRole.ROOT, "KeyError: 'labels'",
    category=Category.SOFTWARE_USER, node="n1", weak=True,
)  # fmt: skip


def ends(line: int, local: int, code: str, node: str | None = "n1", pid: int = 4000) -> Evidence:
    return Evidence(
        "n1.log", line, "elastic.worker_exit", Kind.ELASTIC, EvidenceRole.CONSEQUENCE,
        f"failed (exitcode: {code}) local_rank: {local}", node=node, local_rank=local,
        pid=pid + local, at_ns=T, last_at_ns=T, fields={"exit_code": code},
    )  # fmt: skip


def fleet() -> JobPlacement:
    return resolve([], JOB, {})


def raised(*rows: Evidence) -> Evidence:
    """What becomes of the first row."""
    return with_ranks_that_exit(rows, fleet())[0]


def test_the_rank_that_exits_below_raised_it() -> None:
    row = raised(RAISED, ends(104, 2, "1"))

    assert (row.rank, row.local_rank) == (6, 2)


@pytest.mark.parametrize(
    "exit_",
    [
        pytest.param(ends(90, 2, "1"), id="an exit above it is of something before"),
        pytest.param(ends(101 + MOST_LINES, 2, "1"), id="an exit far below"),
        pytest.param(ends(104, 2, "-15"), id="whom the launcher ended"),
        pytest.param(ends(104, 2, "0"), id="who was done"),
        pytest.param(replace(ends(104, 2, "1"), artifact="n0.log"), id="an exit of another log"),
    ],
)
def test_other_exits_name_nobody(exit_: Evidence) -> None:
    assert raised(RAISED, exit_).rank is None


def test_a_rank_that_the_line_names_itself_stays() -> None:
    assert raised(replace(RAISED, rank=5), ends(104, 2, "1")).rank == 5


def test_a_pid_that_a_kernel_names_tells_the_node() -> None:
    xid = Evidence(
        "kernel.log", 7, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid 31", node="n1", pid=4002
    )
    row = raised(replace(RAISED, node=None), ends(104, 2, "1", node=None), xid)

    assert (row.node, row.rank) == ("n1", 6)


def test_a_pid_that_a_rank_joined_with_tells_the_node() -> None:
    joined = Evidence(
        "n1.log", 9, "identity.nccl_comm", Kind.IDENTITY, EvidenceRole.NOISE, "Init COMPLETE",
        node="n1", rank=6, pid=4002, fields={"nranks": "8"},
    )  # fmt: skip
    rows = [replace(RAISED, node=None), ends(104, 2, "1", node=None)]
    row = with_ranks_that_exit(rows, resolve([joined], JOB, {}))[0]

    assert (row.node, row.rank) == ("n1", 6)


@pytest.mark.parametrize(("local", "rank"), [(2, 6), (1, None)])
def test_a_label_that_counts_on_some_node_is_of_the_node_whose_rank_ends(
    local: int, rank: int | None
) -> None:
    """A log of all nodes with ``[default2]:`` in front."""
    label = replace(RAISED, node=None, local_rank=local)
    assert raised(label, ends(104, 2, "1")).rank == rank


def test_a_pid_on_two_nodes_tells_none() -> None:
    xid = Evidence(
        "kernel.log", 7, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid 31", node="n1", pid=4002
    )
    row = raised(
        replace(RAISED, node=None), ends(104, 2, "1", node=None), xid, replace(xid, node="n0")
    )

    assert (row.node, row.rank) == (None, None)


def test_the_only_one_that_left_needs_no_other_source_and_has_its_time() -> None:
    row = raised(RAISED, ends(104, 2, "1"), ends(110, 0, "-15"), ends(111, 1, "-15"))

    assert (row.weak, row.at_ns) == (False, T)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="one launcher alone tells of one exit"),
        pytest.param([ends(110, 1, "1"), ends(111, 0, "-15")], id="two left"),
    ],
)
def test_one_of_several_needs_another_source(others: list[Evidence]) -> None:
    assert raised(RAISED, ends(104, 2, "1"), *others).weak


def task(line: int, node: str, code: str) -> Evidence:
    return Evidence(
        "n1.log", line, "scheduler.slurm_task", Kind.SCHEDULER, EvidenceRole.CONSEQUENCE,
        f"srun: error: {node}: task 2", node=node, at_ns=T, last_at_ns=T,
        fields={"exit_code": code, "tasks": "2"},
    )  # fmt: skip


def test_the_task_that_the_scheduler_saw_leave_first_raised_it() -> None:
    row = raised(replace(RAISED, node=None), task(104, "n1", "1"), task(108, "n0", "-15"))

    assert row.node == "n1"


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([task(104, "n1", "1")], id="of the others nothing is told"),
        pytest.param([task(104, "n1", "1"), task(105, "n0", "1")], id="two left"),
        pytest.param([task(104, "n1", "-15"), task(105, "n0", "-15")], id="all were ended"),
    ],
)
def test_other_tasks_tell_nothing(others: list[Evidence]) -> None:
    assert raised(replace(RAISED, node=None), *others).node is None


def fault(pid: int, node: str | None = None) -> Evidence:
    return Evidence(
        "central.log", 7, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid 94", node=node, pid=pid
    )


@pytest.mark.parametrize(
    ("told", "node", "rank"),
    [
        pytest.param(fault(4002), "n1", 6, id="its launcher says that it ended"),
        pytest.param(fault(4003), None, None, id="another process"),
        pytest.param(fault(4002, "n0"), "n0", None, id="a log that names its node"),
    ],
)
def test_a_drivers_line_without_a_node_is_of_who_left(
    told: Evidence, node: str | None, rank: int | None
) -> None:
    row = raised(told, replace(ends(104, 2, "-6"), rank=6))

    assert (row.node, row.rank) == (node, rank)


def test_a_number_that_ended_on_two_nodes_tells_none() -> None:
    row = raised(fault(4002), ends(104, 2, "-6"), ends(105, 2, "-6", node="n0"))

    assert row.node is None


def test_the_exit_of_another_node_below_it_is_not_its_own() -> None:
    """A log of all nodes: the agents report in any order."""
    away = replace(ends(102, 3, "1", node="n0"), artifact="n1.log")
    rows = [RAISED, away, ends(104, 2, "1")]

    assert with_ranks_that_exit(rows, fleet())[0].rank == 6
    assert with_ranks_that_exit([RAISED, away], fleet())[0].rank is None


HEAP = replace(RAISED, signature="python.heap", text="free(): invalid pointer", weak=False, rank=6)


@pytest.mark.parametrize(
    ("row", "code", "is_teardown"),
    [
        (HEAP, "-15", True),
        (HEAP, "-6", False),
        (replace(HEAP, rank=5), "-15", False),
        (replace(HEAP, node="n0"), "-15", False),
        (replace(RAISED, rank=6), "-15", False),
    ],
    ids=["ended by its launcher", "aborted", "another rank", "another node",
         "an exception, which aborts nothing"],
)  # fmt: skip
def test_a_process_that_was_ended_had_not_aborted(
    row: Evidence, code: str, *, is_teardown: bool
) -> None:
    end = replace(ends(120, 2, code), signature="elastic.failure", rank=6)
    assert (Trait.TEARDOWN in raised(row, end).traits) is is_teardown


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [((0, 5), [True, False]), ((0, 1), [False, False]), ((None, 5), [False, False])],
    ids=["one is clearly the first", "together", "no clock tells"],
)
def test_a_heap_is_broken_by_one_process(seconds: tuple[int | None, int], kept: list[bool]) -> None:
    rows = [
        replace(HEAP, node=node, at_ns=None if at is None else at * 10**9, rank=None)
        for node, at in zip(("n1", "n2"), seconds, strict=True)
    ]
    marked = with_ranks_that_exit(rows, JobPlacement())
    assert [row.role is EvidenceRole.ROOT for row in marked] == kept
