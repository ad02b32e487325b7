"""A few kills of each kind during a small burst; `benchmarks/kills.py` does it at length."""

from pathlib import Path

import pytest

from benchmarks.kills import run
from benchmarks.service_load import Shape

CASES = [
    ("embedded", "api"),
    ("embedded", "worker"),
    ("embedded", "database"),
    ("redis", "worker"),
    ("redis", "broker"),
    ("redis", "database"),
    ("rabbitmq", "broker"),
]


@pytest.mark.parametrize(("backend", "kind"), CASES)
def test_nothing_is_lost(backend: str, kind: str, tmp_path: Path) -> None:
    shape = Shape(num_ranks=8, num_clients=3, every_s=1.0, most_jobs=4)

    killed = run(backend, kind, 3, seed=7, folder=tmp_path, shape=shape, gap_s=(0.3, 2.0))

    assert killed.faults == ()
    assert killed.kills.total() == 3
    assert killed.num_files >= 8
    assert killed.num_answers > killed.num_jobs
