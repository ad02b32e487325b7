"""User processes that the kernel saw die: segmentation faults, bad instructions, audit marks.

The same place in the same library on many nodes is a bug; other places on one node are
its processor or memory. One line cannot tell, so none convicts alone; the place is kept.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.program.process_names import Whose, classify_owner
from triage.signatures.severity import NOISE, get_group_text
from triage.signatures.signature import Reading


def offset(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Where in the library, so that the same bug compares equal wherever it was loaded."""
    fields: dict[str, str] = {}
    if match["base"] is not None:
        distance = int(match["ip"], 16) - int(match["base"], 16)
        fields = {"offset": hex(distance)} if distance >= 0 else {}
    reading = _read_process_death(match["task"], match["library"] or "", fields)
    if get_group_text(match, "trap") == "trap int3" and Trait.GENERIC in (reading.traits or ()):
        # A program that stops itself: desktops' libraries end so on an error of their own.
        return replace(reading, role=NOISE, category=Category.NONE, also=())
    return reading


# Libraries that only programs on GPUs load, whatever the program is called.
_OF_A_JOB = compile_re(
    r"(?:lib)?(?:nccl|rccl|torch|c10|cuda|cudart|cudnn|cublas|nvrtc|hip|hsa|amdhip|mlx5|ibverbs|efa"
    r"|fabric|ucp|ucs|uct|mpi|open-rte)",
    re.IGNORECASE,
)
_PYTHON = compile_re(r"(?:lib)?python3", re.IGNORECASE)


def _read_process_death(task: str | None, library: str, fields: dict[str, str]) -> Reading:
    """The death of a service is no matter of the job; that of an unknown program may be."""
    owner = classify_owner((task or "").rsplit(": ", 1)[-1])  # behind "traps: "
    name = library.rsplit("/", 1)[-1]
    if owner is Whose.JOB or _OF_A_JOB.match(name):
        return Reading(fields=fields)
    if owner is Whose.UNKNOWN and _PYTHON.match(name):
        return Reading(fields=fields)
    if owner is Whose.SERVICE:
        return Reading(
            role=NOISE,
            category=Category.NONE,
            also=(),
            fields=fields,
            traits=frozenset({Trait.NOT_THE_JOB}),
        )
    return Reading(fields=fields, traits=frozenset({Trait.GENERIC}))


def signalled(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An audit record or a signal line of a process."""
    return _read_process_death(match["task"] or match["who"], "", {})


SIGNATURES = load(__name__)
