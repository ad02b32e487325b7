"""Files of two looks at one process: each says of which look it is."""

import os
from pathlib import Path

from tests.collectors.live.conftest import seen
from triage.collectors.artifact import Deadline
from triage.collectors.live.folder import PullFolder
from triage.collectors.live.look import LookPlan, take_look
from triage.collectors.live.processes import Job, RankProcess
from triage.formats.format import Head
from triage.formats.registry import identify_stream

STACK = 'Process 41: python train.py\nPython v3.11.7 (python)\n\nThread 41 (idle): "MainThread"\n'


def test_a_rank_that_stands_gives_two_files_and_not_one_twice(tmp_path: Path) -> None:
    """A service keeps the same bytes once, and would have seen one look."""
    tool = tmp_path / "bin" / "py-spy"
    tool.parent.mkdir()
    frame = "    read_shard (train.py:18)"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{STACK}{frame}\nEND\n")
    tool.chmod(0o755)
    process = seen(os.getpid(), uid=os.geteuid())
    job = Job(("4711",), (RankProcess(process, 3, 3),), (), 8, (), ())
    folder = PullFolder(str(tmp_path / "out"), "n1", 1 << 20)
    without = ("proc", "gpu", "pipe", "debug-server", "ras")
    for number in (1, 2):
        plan = LookPlan(number, without, False, False, str(tool.parent))
        take_look(job, folder, plan, Deadline(30.0))

    files = sorted((tmp_path / "out").rglob("*pyspy_dump*.txt"))
    texts = [path.read_bytes() for path in files]
    assert len(texts) == 2
    assert texts[0] != texts[1]
    for number, text in enumerate(texts, 1):
        head = Head(text, "rank_3_pyspy_dump.txt")
        assert b"look %d" % number in text.splitlines()[0]
        found = identify_stream(head)
        assert found is not None
        assert found.name == "py_spy"
