"""The part of a job around one file: the same rows as with the whole job, from less of it."""

from collections.abc import ItemsView, Iterator
from dataclasses import replace

import pytest

from simulator.incidents.whole import Wish, simulate_incident
from triage.analysis.placement.job_excerpts import FEW_SEATS, MANY_NODES, JobExcerpts
from triage.domain.evidence import EvidenceRole
from triage.domain.job import Job
from triage.formats.extractor import Extractor
from triage.parsers.extract.extract import Extract
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.report import list_evidence_rows

RANKS = 512


@pytest.fixture(scope="module")
def job_and_logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, list[Extract]]:
    folder = tmp_path_factory.mktemp("near") / "hbm"
    simulate_incident("hbm-dbe", folder, Wish(ranks=RANKS, kernel_lines=20, dumps=False, seed=3))
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    job, _ = parse_job(next(folder.rglob("job.json")).read_bytes())
    files = [InputFile(p, str(p.relative_to(folder)), p.stat().st_size) for p in paths]
    return job, list(Extractor().extract(files, {}))


def as_map(job: Job) -> Job:
    """The same seats, as a map of ranks."""
    ranks = range(RANKS)
    return replace(job, nodes=(), rank_to_node={rank: job.node_of(rank) or "" for rank in ranks})


@pytest.mark.parametrize("form", ["in order", "as a map", "nothing known"])
def test_rows_are_those_of_the_whole_job(
    job_and_logs: tuple[Job, list[Extract]], form: str
) -> None:
    job, extracts = job_and_logs
    job = {"in order": job, "as a map": as_map(job), "nothing known": Job()}[form]
    near = JobExcerpts(job)
    rows = [list_evidence_rows(one, near.of(one)) for one in extracts]
    for one, found in zip(extracts, rows, strict=True):
        for a, b in zip(found, list_evidence_rows(one, job), strict=True):
            assert a == b, one.artifact
    roots = [row for some in rows for row in some if row["role"] == EvidenceRole.ROOT]
    assert roots
    if form != "nothing known":
        assert any(row["rank"] is not None for row in roots)


def test_of_a_large_job_only_the_nodes_of_the_file_are_taken(
    job_and_logs: tuple[Job, list[Extract]],
) -> None:
    job, extracts = job_and_logs
    near = JobExcerpts(job)
    assert len(near.nodes) == RANKS > FEW_SEATS
    kernel = [one for one in extracts if "kernel" in one.artifact and one.logs and one.logs[0].rows]
    assert kernel
    for one in kernel:
        part = near.of(one)
        assert 0 < len(part.rank_to_node) <= MANY_NODES * 8 < RANKS + 1
        assert {near.nodes[rank] for rank in part.rank_to_node} == set(part.rank_to_node.values())


class Passes(dict[int, str]):
    """A map that counts how often it is gone through."""

    passes = 0

    def __iter__(self) -> Iterator[int]:
        self.passes += 1
        return super().__iter__()

    def items(self) -> ItemsView[int, str]:
        self.passes += 1
        return super().items()


def test_the_map_is_gone_through_once_however_many_ranks_are_asked_for() -> None:
    placement = Passes({rank: f"n{rank // 8}" for rank in range(1024)})
    buses = {"n7": tuple(f"0000:{k:02x}:00" for k in range(8))}
    job = Job(gpus_per_node=8, rank_to_node=placement, gpu_bus_ids=buses)
    found = [job.gpu_of(rank) for rank in range(1024)]
    assert placement.passes == 1
    assert found[56:64] == list(buses["n7"])
    assert found[:56] == [None] * 56
    assert replace(job, rank_to_node={3: "n7"}).local_rank(3, "n7") == 0
