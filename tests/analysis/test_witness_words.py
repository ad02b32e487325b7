"""Whose words a term of the sum is: a kernel log's, telemetry's, a check's, the job's."""

import pytest

from triage.analysis.facts.stop import Stop
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import AtNode
from triage.analysis.joining.witness_words import describe_witness
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind

SECOND = 1_000_000_000
STOP = Stop(1000 * SECOND, 1600 * SECOND, known=True, trouble=True, job_seen=True)


def row(signature: str, at_s: float | None = 1000, kind: Kind = Kind.THERMAL, **values) -> Evidence:
    return Evidence(
        artifact="a", line=None, signature=signature, kind=kind, role=EvidenceRole.ROOT,
        text="said", at_ns=None if at_s is None else int(at_s * SECOND), **values,
    )  # fmt: skip


def words(feature: str, *rows: Evidence) -> str | None:
    return describe_witness(feature, Hypothesis(Category.GPU_THERMAL, AtNode("n3"), rows), STOP)


KERNEL = row("nvidia.xid", kind=Kind.XID)
MEASURED = row("telemetry.thermal_slowdown")
CHECKED = row("check.dcgm.memory", kind=Kind.ECC)
JOB = row("cuda.ecc", kind=Kind.CUDA)


@pytest.mark.parametrize(
    ("feature", "rows", "said"),
    [
        ("kernel_at", [KERNEL], "its kernel log says so at the time of the stop"),
        ("kernel_at", [MEASURED], "its telemetry says so at the time of the stop"),
        ("kernel_at", [CHECKED], "its health check says so at the time of the stop"),
        ("kernel_at", [MEASURED, KERNEL],
         "its kernel log and its telemetry say so at the time of the stop"),
        ("kernel_at", [KERNEL, row("telemetry.x", 500)],
         "its kernel log says so at the time of the stop"),
        ("kernel_before", [row("telemetry.x", 500)],
         "its telemetry says so, up to an hour before the stop"),
        ("kernel_undated", [row("telemetry.x", None)],
         "its telemetry says so, and no clock tells when"),
        ("job_at", [JOB, MEASURED], "its job log says so at the time of the stop"),
        ("weak_at", [row("telemetry.x", weak=True)],
         "its telemetry, which needs another source, says so at the time of the stop"),
        ("weak_at", [row("nvidia.xid", weak=True)],
         "its log, which needs another source, says so at the time of the stop"),
        ("both_sources", [KERNEL, JOB], "the kernel log and the job log agree"),
        ("both_sources", [MEASURED, JOB], "the telemetry and the job log agree"),
        ("both_sources", [MEASURED, KERNEL, JOB],
         "the kernel log, the telemetry and the job log agree"),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_term_names_the_files_that_say_so(feature, rows, said):
    assert words(feature, *rows) == said


@pytest.mark.parametrize("feature", ["gpu_part", "kernel", "kernel_never", "node_gone", "late"])
def test_what_no_file_says_is_not_put_into_its_mouth(feature):
    assert words(feature, KERNEL, MEASURED) is None
