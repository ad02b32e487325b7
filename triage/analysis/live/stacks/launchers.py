"""Launchers: processes that start ranks and wait for them."""

from collections.abc import Sequence
from typing import Final

from triage.analysis.live.stacks.normalise import called, short_file
from triage.domain.live.launchers import is_launcher
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack

__all__ = ["launches"]

# Files in which the agents of torchrun, of spawn and of Ray wait for what they started.
AGENTS: Final = (
    "torch/distributed/elastic/",
    "torch/distributed/launcher/",
    "torch/distributed/run.py",
    "torch/distributed/launch.py",
    "torch/multiprocessing/spawn.py",
    "deepspeed/launcher/",
    "accelerate/commands/",
)
# A rank that torch's spawn started has its frames below its own.
OF_A_RANK: Final = frozenset({"_wrap", "record", "wrapper"})


def launches(process: Process, threads: Sequence[ThreadStack]) -> bool:
    """Whether a process is a launcher, by its command line or by where its main thread waits."""
    if is_launcher(process.command):
        return True
    return any(
        short_file(frame.filename).startswith(AGENTS) and called(frame) not in OF_A_RANK
        for thread in threads
        if thread.is_main is not False
        for frame in thread.frames
    )
