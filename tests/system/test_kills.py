"""A few kills of each kind during a small burst; `benchmarks/kills.py` does it at length."""

from pathlib import Path

import pytest

from benchmarks.kills import run
from benchmarks.service_load import Shape

# One installation a backend: starting one costs more than the burst that it takes. Each kind of
# server is killed once; `workers/test_embedded.py` kills the worker of an embedded service.
CASES = {
    "embedded": ("api", "database"),
    "redis": ("broker", "database"),
    "rabbitmq": ("worker", "broker"),
}


@pytest.mark.parametrize("backend", CASES)
def test_nothing_is_lost(backend: str, tmp_path: Path) -> None:
    num_kills = 2 * len(CASES[backend])
    shape = Shape(num_ranks=8, num_clients=3, every_s=2.0, most_jobs=num_kills)

    killed = run(
        backend, CASES[backend], num_kills, seed=7, folder=tmp_path, shape=shape, gap_s=(0.3, 2.0)
    )

    assert killed.faults == ()
    assert killed.kills.total() == num_kills
    assert killed.num_files >= 8
    assert killed.num_answers > killed.num_jobs
