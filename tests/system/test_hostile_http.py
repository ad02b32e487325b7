"""A seeded part of the hostile set through HTTP, alone and beside a good job.

The whole set is `benchmarks/hostile_http.py`.
"""

from pathlib import Path

from tests.system.attacked import attacked
from tests.system.hostile_uploads import Run, good_dumps, good_logs, neutral, sample

SEED = 20261121
GIB = 1024


def test_hostile_files_are_kept_apart_and_the_good_job_is_answered_as_ever(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    chosen = sample(SEED, 105)
    with attacked(folder) as service:
        run = Run(service, tmp_path / "marker", threads=4)
        run.alone(chosen[::2])
        run.beside(neutral(chosen, log=False), good_dumps(), "dumps")
        run.beside(neutral(chosen, log=True), good_logs(), "logs")

        assert run.end() == []
        assert run.verdicts >= 2
        assert run.states["quarantined"] > 10
        assert run.states["analysed"] > 10
        assert run.statuses[201] > 50
        assert run.statuses[422] > 2, "archives and damage that are told while they stream"
        assert service.peaks.api < 300
        assert service.peaks.both < GIB
