"""What an upload is, by its first bytes: telemetry beside dumps and logs."""

import pytest

from triage.domain.file_kind import FileKind
from triage.services.uploads.body import identify_file

JOB_LOG, KERNEL_LOG, TELEMETRY = FileKind.JOB_LOG, FileKind.KERNEL_LOG, FileKind.TELEMETRY

SCRAPE = b'# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="n3"} 61\n'
SMI = b"timestamp, index, temperature.gpu\n2026/11/20 03:04:15.500, 0, 61\n"
JOB = b"step 12 loss 2.31\nstep 13 loss 2.30\n"
KERNEL = b"[   12.3] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n" * 3


@pytest.mark.parametrize(
    ("head", "kind"),
    [(SCRAPE, TELEMETRY), (SMI, TELEMETRY), (JOB, JOB_LOG), (KERNEL, KERNEL_LOG)],
    ids=["scrape", "nvidia-smi", "job-log", "kernel-log"],
)
def test_content_tells_the_kind(head: bytes, kind: str) -> None:
    assert identify_file(head, "upload", None).kind == kind


def test_telemetry_that_is_declared_a_log_is_kept_as_what_it_is() -> None:
    found = identify_file(SCRAPE, "kernel.log", KERNEL_LOG)

    assert (found.kind, found.note) == (
        TELEMETRY, "declared as a kernel log; its content is telemetry",
    )  # fmt: skip


def test_a_log_that_is_declared_telemetry_is_a_log() -> None:
    assert identify_file(JOB, "gpu.csv", TELEMETRY).kind == JOB_LOG


def test_a_dump_is_kept_byte_for_byte_and_text_is_looked_through_for_secrets() -> None:
    assert identify_file(b"\x80\x02}", "rank_0", None).binary
    assert not identify_file(SCRAPE, "gpu.prom", None).binary
