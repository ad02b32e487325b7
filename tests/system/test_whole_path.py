"""The whole path with and without a broker: hook, 16 collectors, suspects, webhooks, resolution.

A broker carries the names of tasks alone: `queue/test_wakeups.py` and `workers/test_worker.py` ask
the same of Redis and RabbitMQ. ``benchmarks/whole_path.py`` walks with each.
"""

from pathlib import Path

import pytest

from benchmarks.service_processes import servers
from benchmarks.whole_path import NUM_NODES, walk


@pytest.mark.parametrize("backend", ["embedded", "rabbitmq"])
def test_the_whole_path(backend: str, tmp_path: Path) -> None:
    with servers(backend) as settings:
        walked = walk(backend, tmp_path, settings)

    assert walked.faults == ()
    assert walked.num_files == NUM_NODES * 10  # eight dumps, a kernel log and a job log
    assert walked.num_webhooks >= 5
