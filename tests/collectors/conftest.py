"""A node with the files of one job, and the options that find them."""

import pytest

from tests.collectors.scripted import dump
from triage.collectors.options import Options


@pytest.fixture
def node(tmp_path):
    """A node with two dumps, a kernel log and a job log; the options that find them."""
    for rank in (0, 1):
        dump(tmp_path / "fr", rank)
    (tmp_path / "kern.log").write_text("2026-11-21T03:14:15Z n3 kernel: NVRM: Xid 79\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "job.out").write_text("hello\n")

    def options(url: str, **more: object) -> Options:
        given: dict[str, object] = {
            "url": url,
            "job_id": "a/7 é",
            "node": "n 3/x",
            "fr": (str(tmp_path / "fr" / "trace_rank_*"),),
            "logs": (str(tmp_path / "logs" / "*"),),
            "kernel_log": str(tmp_path / "kern.log"),
            "spool": str(tmp_path / "spool"),
            "deadline_s": 60.0,
            "shared": "own",
        }
        return Options(**{**given, **more})  # type: ignore[arg-type]

    return options
