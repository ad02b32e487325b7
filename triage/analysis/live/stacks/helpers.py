"""Helper processes: started by ranks or beside them, with a main loop of their own, and no rank.

``torch.compile``'s compile workers, pools of processes, multiprocessing's resource tracker and
fork server, wandb's service: each stands in its loop for as long as the job runs, well or not.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.analysis.live.stacks.normalise import called, is_library, short_file
from triage.analysis.live.stacks.rank_stack import main_thread
from triage.domain.live.launchers import is_helper
from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack

__all__ = ["helps"]

# Main loops, as "file function"; a pool's worker that runs the job's own code may be a rank.
LOOPS: Final = re.compile(
    r"concurrent/futures/process\.py _process_worker$|multiprocessing/pool\.py worker$"
    r"|multiprocessing/managers\.py serve_forever$"
    r"|multiprocessing/(?:resource_tracker|semaphore_tracker|forkserver)\.py main$"
    r"|torch/_inductor/compile_worker/(?:__main__\.py |subproc_pool\.py (?:main|_start_pool)$)"
    r"|wandb/(?:sdk/(?:service|internal)/|__main__\.py )|tensorboard/(?:main|program)\.py "
)
WORKS_FOR_A_RANK: Final = "torch/distributed/"


def helps(process: Process, threads: Sequence[ThreadStack]) -> bool:
    """Whether a process is a helper, by its command line or by the loop that its main thread is in
    without any code of the job inside.
    """
    if is_helper(process.command):
        return True
    main = main_thread(threads)
    if main is None:
        return False
    loop = next((at for at, frame in enumerate(main.frames) if is_loop(frame)), None)
    if loop is None:
        return False
    return all(
        is_library(frame) and not short_file(frame.filename).startswith(WORKS_FOR_A_RANK)
        for frame in main.frames[:loop]
    )


def is_loop(frame: StackFrame) -> bool:
    return LOOPS.match(f"{short_file(frame.filename)} {called(frame)}") is not None
