"""Readers of a program's own lines: tasks that a coordination service misses, norms, step times."""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.signature import Reading

_TASK = compile_re(r"/job:\w{1,40}(?:/replica:\d{1,6})?/task:(\d{1,7})")


def _find_only_task(text: str) -> str | None:
    """The task that a text names, where it is the only one."""
    named = set(_TASK.findall(text))
    return f"rank {named.pop()}" if len(named) == 1 else None


def read_late_tasks(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The task that is named behind the words, where it is the only one."""
    task = _find_only_task(" ".join((match.string[match.start() :], *after)))
    return Reading() if task is None else Reading(peer=task, blame=Blame.PEER)


def read_lost_task(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The task whose end caused this one, if the line names it."""
    return Reading(peer=_find_only_task(match.string[match.start() :]), blame=Blame.PEER)


# From one printed norm to the next; clipping and warm-up move it far less.
_NORM_JUMP = 50.0
_GRAD_NORM = compile_re(
    r"grad[ _]norm['\"]?\s?[:=]\s?['\"]?"
    r"(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    re.IGNORECASE,
)


def read_norm_jump(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The norm of the next step beside this one's; None while it moves as it should."""
    norm = float(match["norm"])
    for line in after:
        one = _GRAD_NORM.search(line)
        if one is None:
            continue
        if norm > 0 and float(one[1]) > _NORM_JUMP * norm:
            return Reading(fields={"grad_norm": match["norm"], "next_grad_norm": one[1]})
        return None
    return None


# Of ranks that do the same work, the highest rate is so many times the lowest where one is slow.
_APART: Final = 1.25


def read_lowest_rate(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The rank with the lowest rate; None where the highest is near it."""
    return Reading() if float(match["low"]) * _APART < float(match["high"]) else None


_NUMBER: Final = r"[-+]?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,4})?|nan|inf)"
_MILLISECONDS: Final = compile_re(rf"elapsed time per iteration \(ms\): ({_NUMBER})")
_SECONDS: Final = compile_re(
    rf"(?:train_step_timing in s|\btime|iter_time|step_time)['\"]?\s?[:=]\s{{0,4}}({_NUMBER})"
)


def read_step_time(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The time of a step, in seconds."""
    one = _MILLISECONDS.search(match.string)
    if one is not None:
        return Reading(fields={"step_time_s": f"{float(one[1]) / 1000:.6g}"})
    one = _SECONDS.search(match.string)
    return Reading(fields={} if one is None else {"step_time_s": one[1]})
