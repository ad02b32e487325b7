"""The whole road on a real Slurm: a job fails, its node is drained with our reason, and back."""

import re

import pytest

from benchmarks.slurm_run import NODE, main
from tests.support.slurm import missing_programs


def test_a_failed_job_drains_its_node_and_undo_gives_it_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if missing := missing_programs():
        pytest.skip(f"Slurm is not there: {', '.join(missing)}")

    main()

    said = capsys.readouterr().out
    for step in ("an incident is open", f"gpu, ['{NODE}']", "is drained", "back in service"):
        assert step in said
    assert re.search(r"^triage:inc_\w+:gpu:\d\.\d\d ", said, re.M)
