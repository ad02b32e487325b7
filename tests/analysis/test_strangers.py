"""What is not of the job accuses nobody; of what only follows a few rows are enough."""

from dataclasses import replace

from triage.analysis.facts.of_the_job import find_strange_nodes
from triage.analysis.facts.on_one_clock import ALL_ROWS, DatedEvidence, drop_repetitions
from triage.analysis.placement.identity import JobPlacement
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.domain.job import Job
from triage.parsers.logs.logset import LogSet

ROW = Evidence(
    artifact="nodes/n0/kernel.log", line=1, signature="nvidia.xid", kind=Kind.XID,
    role=EvidenceRole.ROOT, text="NVRM: Xid", node="n0",
)  # fmt: skip
FOUR = Job(nodes=("n0", "n1", "n2", "n3"), gpus_per_node=8)


def dated(*nodes: str | None) -> DatedEvidence:
    rows = tuple(replace(ROW, node=node, line=k + 1) for k, node in enumerate(nodes))
    return DatedEvidence(rows, LogSet(), JobPlacement(), (), {})


def test_a_node_that_job_json_does_not_list_is_left_out_and_named():
    strange, notes = find_strange_nodes(dated("n0", "n1", "spare9", None), FOUR)
    assert strange == {"spare9"}
    assert "job.json does not list spare9" in notes[0]


def test_names_that_are_written_in_two_ways_leave_everything_in():
    assert find_strange_nodes(dated("ip-10-0-0-1", "ip-10-0-0-2", "n0"), FOUR) == (frozenset(), [])


def test_without_a_list_nobody_is_a_stranger():
    assert find_strange_nodes(dated("n0", "x"), Job()) == (frozenset(), [])


def test_roots_seats_and_one_row_of_each_rank_are_kept():
    following = replace(ROW, role=EvidenceRole.CONSEQUENCE)
    many = [replace(following, line=k, rank=k % 500) for k in range(ALL_ROWS + 1)]
    seat = replace(following, kind=Kind.IDENTITY, role=EvidenceRole.NOISE)
    kept = drop_repetitions([*many, ROW, seat])
    assert ROW in kept
    assert seat in kept
    assert {row.rank for row in kept} >= set(range(500))
    assert len(kept) < 600


def test_few_rows_are_all_kept():
    rows = [replace(ROW, role=EvidenceRole.CONSEQUENCE, line=k) for k in range(1000)]
    assert drop_repetitions(rows) == rows


def test_where_all_ranks_are_seated_other_nodes_are_strangers():
    node_by_rank = {rank: f"n{rank // 2}" for rank in range(4)}
    rows = dated("n0", "n1", "spare9")
    seated = replace(rows, fleet=JobPlacement(node_by_rank=node_by_rank, world_size=4))
    strange, notes = find_strange_nodes(seated, Job())
    assert strange == {"spare9"}
    assert "no rank of the job sits on spare9" in notes[0]
    some = replace(rows, fleet=JobPlacement(node_by_rank=node_by_rank, world_size=6))
    assert find_strange_nodes(some, Job()) == (frozenset(), [])
