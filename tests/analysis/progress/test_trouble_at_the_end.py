"""Text of a job that ends in trouble is never health."""

from pathlib import Path

import pytest

import triage

CLOSED = "n1:7:9 [0] NCCL INFO [Service thread] Connection closed by localRank 3\n"
STEPS = "".join(
    f"2026-11-21 03:{second // 60:02d}:{second % 60:02d},123 - INFO - iteration {second}/1000"
    f" | loss 2.{900 - second} | step time 1.02 s\n"
    for second in range(90)
)
INIT = "n1:7:7 [0] NCCL INFO comm 0x5 rank 0 nranks 8 cudaDev 0 busId 8010 - Init COMPLETE\n"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/workspace/train.py", line 310, in <module>\n    main()\n'
)
OVERFLOW = "".join(
    f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {2.0 ** (16 - k)}\n"
    for k in range(40)
)
PLUGIN = (
    "n1:7:7 [0] NCCL INFO NET/Plugin: Could not load plugin libnccl-net.so: cannot open shared"
    " object file: No such file or directory\n"
)


def kind(folder: Path, text: str) -> str:
    (folder / "job.log").write_text(text)
    return str(triage.analyze(folder).answer.verdict.kind)


@pytest.mark.parametrize("before", ["", INIT, INIT + STEPS], ids=["alone", "start", "steps"])
@pytest.mark.parametrize("end", [TRACEBACK, OVERFLOW, CLOSED], ids=["traceback", "loop", "closed"])
def test_ends_in_trouble(before: str, end: str, tmp_path: Path) -> None:
    assert kind(tmp_path, before + end) != "healthy"


def test_a_plugin_that_does_not_load_and_nothing_behind_it(tmp_path: Path) -> None:
    assert kind(tmp_path, PLUGIN) != "healthy"
    assert kind(tmp_path, INIT + PLUGIN) != "healthy"


@pytest.mark.parametrize(
    "text",
    [INIT + STEPS, INIT + CLOSED + STEPS, INIT + PLUGIN + STEPS],
    ids=["steps", "closed before them", "no plugin"],
)
def test_moves_up_to_the_end(text: str, tmp_path: Path) -> None:
    assert kind(tmp_path, text) == "healthy"
