"""Launchers beside torchrun: MPI, Hydra, Lightning, Composer, accelerate, NeMo's monitors.

A launcher sees a process end and ends the others; what it prints is the exit, not
the cause. A signal tells more than a number, and the first process that it names
is the first that it saw, not the first that failed.
"""

import re
from collections.abc import Sequence

from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.scheduler.exit_codes import read_exit_code, read_signal
from triage.signatures.signature import Reading

_HYDRA_EXIT = compile_re(
    r"^=? {0,8}(?:EXIT CODE: (?P<code>\d{1,3})|KILLED BY SIGNAL: (?P<number>\d{1,2}))"
)
_HYDRA_PLACE = compile_re(r"PID (?P<pid>\d{1,10}) RUNNING AT (?P<node>[\w.-]{1,128})")
_HYDRA_RANK = compile_re(r"RANK (?P<rank>\d{1,7})\b")


def hydra(_match: re.Match[str], after: Sequence[str]) -> Reading:
    """The box that Hydra prints: rank, process, node and how it ended."""
    fields: dict[str, str] = {}
    ended = Reading()
    for line in after:
        for pattern in (_HYDRA_PLACE, _HYDRA_RANK):
            one = pattern.search(line)
            if one is not None:
                fields.update(one.groupdict())
        one = _HYDRA_EXIT.search(line.strip())
        if one is not None:
            ended = (
                read_signal(int(one["number"]))
                if one["number"]
                else read_exit_code(int(one["code"]))
            )
    return Reading(
        role=ended.role,
        category=ended.category,
        also=ended.also,
        blame=ended.blame,
        weak=ended.weak,
        fields=fields,
    )


def exited(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The code or the signal, in whatever words."""
    return read_exit_code(int(match["exit_code"]))


SIGNATURES = load(
    __name__,
    hydra_string=lambda match, _after: read_signal(int(match["signal"])),
    rank_ended=lambda match, after: (
        None if int(match["exit_code"]) == 0 or "srun: " in match.string else exited(match, after)
    ),
    shell_ended=lambda match, _after: read_signal(
        8 if match["why"].lower().startswith("float") else 15
    ),
    waits_for_end=lambda match, _after: None if " is the " in match.string else Reading(),
    rank_monitor=lambda match, _after: (
        None
        if re.search(r"\bno (?:job )?hang", match.string, re.IGNORECASE)
        else Reading(peer=None if match["silent"] is None else f"rank {match['silent']}")
    ),
)
