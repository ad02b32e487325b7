"""GPUs that idle long behind the last step: the job does not run, whatever its log looks like.

A log that moves up to its own end says nothing of the time behind it.
"""

from dataclasses import replace
from typing import Final

from triage.analysis.progress.course import SECOND
from triage.analysis.progress.job import judge_health
from triage.analysis.progress.movement import is_off_by_a_zone
from triage.analysis.progress.pace import describe_step, format_seconds
from triage.domain.progress import Change, ChangeKind, Health, IdleGpus, JobProgress


def beside_idle_gpus(progress: JobProgress | None, idle: IdleGpus | None) -> JobProgress | None:
    """``progress`` as stopped where the log moves to its end without saying that the job is done,
    and its GPUs idle from there on, for longer than any pause of it.
    """
    last = progress.last if progress is not None else None
    if progress is None or idle is None or last is None:
        return progress
    troubled = progress.traceback or progress.error_at_end is not None
    if progress.health is Health.UNKNOWN:
        if progress.ended is not None or troubled:
            return progress
    elif progress.health is not Health.MOVING_TO_THE_END:
        return progress
    since_ns = idle.since_ns if last.at_ns is None else max(idle.since_ns, last.at_ns)
    idle_s = (idle.until_ns - since_ns) / SECOND
    pause_s = progress.pause_s or 0.0
    if idle_s < max(_LEAST_IDLE_S, pause_s) or not _is_on_its_clock(progress, idle):
        return progress
    step = describe_step(last.step, last.line - 1)
    text = (
        f"the job stopped moving after {step}: its {idle.gpus} GPUs idle for"
        f" {format_seconds(idle_s)}"
    )
    stop = Change(ChangeKind.STOPPED, text, last, progress.gap_s, idle_s)
    stopped = replace(progress, changes=(*progress.changes, stop))
    health, said = judge_health(stopped)
    return replace(stopped, health=health, said=said)


def _is_on_its_clock(progress: JobProgress, idle: IdleGpus) -> bool:
    """Whether GPUs idle behind the last step by the clock of the log: they work until then, or
    never where they were measured, which an unknown zone of the log does not explain.
    """
    last_ns = progress.last.at_ns if progress.last is not None else None
    if last_ns is None:
        return idle.busy_until_ns is not None  # it ran, and no log tells of a later time
    if idle.busy_until_ns is None:
        return not is_off_by_a_zone((idle.until_ns - last_ns) / SECOND)
    apart_s = (idle.busy_until_ns - last_ns) / SECOND
    return abs(apart_s) <= max(progress.pause_s or 0.0, _NEAR_S)


# GPUs of a job that runs idle for minutes, while it writes a checkpoint.
_LEAST_IDLE_S: Final = 900.0
# A sample stands for half a minute, and what was begun behind the last line goes on for a while.
_NEAR_S: Final = 300.0
