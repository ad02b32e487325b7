"""The whole path on each backend: hook, 16 collectors, suspects, signed webhooks, resolution."""

from pathlib import Path

import pytest

from benchmarks.service_processes import BACKENDS, servers
from benchmarks.whole_path import NUM_NODES, walk


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_whole_path(backend: str, tmp_path: Path) -> None:
    with servers(backend) as settings:
        walked = walk(backend, tmp_path, settings)

    assert walked.faults == ()
    assert walked.num_files == NUM_NODES * 10  # eight dumps, a kernel log and a job log
    assert walked.num_webhooks >= 5
