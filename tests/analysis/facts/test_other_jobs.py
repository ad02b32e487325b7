"""A job log beside this job's: whose it is tell the hosts on which its ranks joined."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from triage.analysis.facts.fate_of_jobs import drop_other_jobs, mark_disclaimed
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.domain.job import Job
from triage.parsers.logs.logset import LogFile, LogKind, LogSet

NODES = ("n0", "n1", "n2", "n3")
LISTED = Job(nodes=NODES)


def joined(artifact: str, node: str, rank: int = 0, size: int = 4) -> Evidence:
    return Evidence(
        artifact, 3, "identity.nccl_comm", Kind.IDENTITY, EvidenceRole.NOISE, "Init COMPLETE",
        node=node, rank=rank, fields={"nranks": str(size)},
    )  # fmt: skip


def xid(node: str) -> Evidence:
    return Evidence(
        f"nodes/{node}/kernel.log", 9, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid", node=node
    )


def left_out(rows: list[Evidence], job: Job = LISTED, dumps: Sequence[str] = ()) -> set[str]:
    """The artifacts that are left out, files and rows alike."""
    names = sorted({row.artifact for row in rows})
    logs = LogSet(files=[LogFile(name, LogKind.JOB, lines=99) for name in names], evidence=rows)
    kept, notes = drop_other_jobs(logs, job, dict(enumerate(dumps)))
    gone = set(names) - {row.artifact for row in kept.evidence}
    assert gone == set(names) - {file.artifact for file in kept.files}
    assert bool(notes) is bool(gone)
    return gone


OWN = [xid("n0"), xid("n1"), joined("job.log", "n0.example.org"), joined("job.log", "n2")]
OTHERS = [joined("earlier/job.log", "x7"), joined("earlier/job.log", "x8")]


def test_a_log_whose_ranks_ran_elsewhere_is_another_jobs() -> None:
    assert left_out([*OWN, *OTHERS]) == {"earlier/job.log"}


def test_the_dumps_tell_the_nodes_where_nothing_lists_them() -> None:
    job = Job(world_size=4)
    assert left_out([*OWN, *OTHERS], job, NODES) == {"earlier/job.log"}
    assert left_out([*OWN[2:], *OTHERS], job) == set()
    assert left_out([*OWN, *OTHERS], job) == {"earlier/job.log"}, "its own nodes have kernel logs"


@pytest.mark.parametrize(
    ("rank", "size", "is_another"), [(3, 4, False), (1, 4, True), (0, 8, True), (0, 2, False)]
)
def test_of_a_node_without_dumps_a_rank_is_another_jobs_that_sits_elsewhere(
    rank: int, size: int, is_another: bool
) -> None:
    """The node that failed may be the one that left no dumps."""
    rows = [*OWN, joined("x7/rank.log", "x7", rank, size)]
    gone = {"x7/rank.log"} if is_another else set()
    assert left_out(rows, Job(world_size=4), NODES[:3]) == gone


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([*OWN, *OTHERS, joined("earlier/job.log", "n3")], id="one rank on a node"),
        pytest.param(OTHERS, id="no other log calls its nodes so"),
        pytest.param([xid("n0"), *OTHERS], id="hardly any does"),
        pytest.param([*OWN, replace(xid("x9"), artifact="earlier/job.log")], id="nobody joined"),
    ],
)
def test_other_logs_stay(rows: list[Evidence]) -> None:
    assert left_out(rows) == set()


def on(artifact: str, *nodes: str, size: int = 4) -> list[Evidence]:
    return [joined(artifact, node, rank, size) for rank, node in enumerate(nodes)]


NOBODY_SAYS = Job(world_size=4)
HEARD = [xid(node) for node in ("n0", "n1", "n2", "x7")]


@pytest.mark.parametrize(
    ("rows", "gone"),
    [
        pytest.param(on("earlier.log", "x7", "x8"), {"earlier.log"}, id="fewer of its nodes"),
        pytest.param(
            [*on("a.log", "x7"), joined("b.log", "x8", 1), joined("b.log", "x9", 2)],
            {"a.log", "b.log"}, id="a log of each node",
        ),
        pytest.param(on("earlier.log", "n0", "x8"), set(), id="another attempt on one node of it"),
        pytest.param(on("earlier.log", "x7", "x8", size=2), set(), id="groups within the job"),
        pytest.param([joined("earlier.log", "x7", 3)], set(), id="another rank of it"),
        pytest.param(
            [*on("earlier.log", "x7", "x8", "x9"), xid("x8"), xid("x9")],
            set(), id="as many nodes with logs",
        ),
    ],
)  # fmt: skip
def test_where_nothing_lists_the_nodes_the_job_is_the_one_with_more_nodes_heard(
    rows: list[Evidence], gone: set[str]
) -> None:
    own = on("job.log", "n0", "n1", "n2")
    assert left_out([*HEARD, *own, *rows], NOBODY_SAYS) == gone
    assert left_out([*rows, *own, *HEARD][::-1], NOBODY_SAYS) == gone


@pytest.mark.parametrize(
    ("text", "is_cause"),
    [
        ("other tenant: pod ml/notebook-4 on cpu-2 OOMKilled; unrelated to speech-xl-r3", False),
        (
            "OOM CRIT: killed process 41233 (jupyter-lab) of b, not related to the job",
            False,
        ),
        ("push of metrics failed once, will retry (buffered 12 points) -> ok", False),
        ("CRIT: disk of the head node is full, no impact on job speech-xl-r3-3b7pa", False),
        ("mount of /data failed (retry ok)", False),
        ("inlet above its threshold (returned to normal after 4 minutes)", False),
        ("Out of memory: Killed process 811 (python)", True),
        ("every retry failed -> giving up", True),
        ("a related error was seen before", True),
        ("the GPU has fallen off the bus: unrelated to the training code, drain n0", True),
        ("the GPU has fallen off the bus, not related to driver 580", True),
        ("pod speech-2 OOMKilled, unrelated to vision-l-b", True),
        ("it is the node, not our job", True),
        ("the inlet has not returned to normal", True),
    ],
)
def test_who_says_that_it_is_not_of_the_job_or_over_accuses_nobody(
    text: str, is_cause: bool
) -> None:
    (row,) = mark_disclaimed([replace(xid("n0"), text=text)], "speech-xl-r3-3b7pa")
    assert (row.role is EvidenceRole.ROOT) is is_cause


@pytest.mark.parametrize(
    ("hosts", "size", "is_other"),
    [
        (("llm-worker-0", "llm-worker-1", "llm-worker-2", "llm-worker-3"), 4, False),
        (("llm-worker-0", "llm-worker-1", "llm-worker-2"), 4, True),  # on fewer hosts
        (("llm-worker-0", "llm-worker-1", "llm-worker-2", "llm-worker-3"), 8, True),
    ],
)
def test_hosts_that_are_called_as_pods_are_no_other_jobs(
    hosts: Sequence[str], size: int, is_other: bool
) -> None:
    pods = [joined(f"pods/{one}.log", one, k, size) for k, one in enumerate(hosts)]
    job = replace(LISTED, world_size=4)
    gone = left_out([*pods, *map(xid, NODES)], job)
    assert bool(gone) is is_other
