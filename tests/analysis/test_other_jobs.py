"""A job log beside this job's: whose it is tell the hosts on which its ranks joined."""

from dataclasses import replace

import pytest

from triage.analysis.other_jobs import without_other_jobs
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.domain.fleet import Job
from triage.parsers.logs.logset import LogFile, LogKind, LogSet

NODES = ("n0", "n1", "n2", "n3")
LISTED = Job(nodes=NODES)


def joined(artifact: str, node: str) -> Evidence:
    return Evidence(
        artifact, 3, "identity.nccl_comm", Kind.IDENTITY, EvidenceRole.NOISE, "Init COMPLETE",
        node=node,
    )  # fmt: skip


def xid(node: str) -> Evidence:
    return Evidence(
        f"nodes/{node}/kernel.log", 9, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid", node=node
    )


def left_out(rows: list[Evidence], job: Job = LISTED, dumps: tuple[str, ...] = ()) -> set[str]:
    """The artifacts that are left out, files and rows alike."""
    names = sorted({row.artifact for row in rows})
    logs = LogSet(files=[LogFile(name, LogKind.JOB, lines=99) for name in names], evidence=rows)
    kept, notes = without_other_jobs(logs, job, dumps)
    gone = set(names) - {row.artifact for row in kept.evidence}
    assert gone == set(names) - {file.artifact for file in kept.files}
    assert bool(notes) is bool(gone)
    return gone


OWN = [xid("n0"), xid("n1"), joined("job.log", "n0.example.org"), joined("job.log", "n2")]
OTHERS = [joined("earlier/job.log", "x7"), joined("earlier/job.log", "x8")]


def test_a_log_whose_ranks_ran_elsewhere_is_another_jobs() -> None:
    assert left_out([*OWN, *OTHERS]) == {"earlier/job.log"}


def test_the_dumps_tell_the_nodes_where_nothing_lists_them() -> None:
    assert left_out([*OWN, *OTHERS], Job(), NODES) == {"earlier/job.log"}
    assert left_out([*OWN, *OTHERS], Job()) == set()


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
