"""The words of a failed part inside somebody's sentence are no failure; a report of one is."""

import pytest

from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.rows import read_line

LOST = "GPU has fallen off the bus"


def reads_as_weak(text: str) -> bool:
    _, (row,) = read_line(text, lambda: (), get_standard(), "a.log", 1)
    return row.weak


@pytest.mark.parametrize(
    "text",
    [
        f"[rank1] INFO note: see runbook 'Xid 79: {LOST}' for m2",
        f'[rank1]: if a check says "{LOST}", take the node out',
        f"if xid in (48, 79): raise RuntimeError('{LOST}')",
        f"[rank1] DEBUG looking for: {LOST}",
    ],
)
def test_a_sentence_about_failures_accuses_nobody_alone(text: str) -> None:
    assert reads_as_weak(text)


@pytest.mark.parametrize(
    "text",
    [
        f"[rank1] ERROR {LOST}",
        f'{{"level":"error","msg": "{LOST}"}}',
        f'level=info msg="{LOST}"',
        f"worker failed: RuntimeError('{LOST}')",
        f"the driver's words: {LOST}, and that's it",
        f"node m2 is marked unhealthy with reason '{LOST}'",
        "[rank3] NCCL WARN Cuda failure 'uncorrectable ECC error encountered'",
        f"'m2' and 'm3' were asked: {LOST}",
    ],
)
def test_a_report_of_a_failure_accuses(text: str) -> None:
    assert not reads_as_weak(text)
