"""User processes that the kernel saw die: segmentation faults, bad instructions, audit marks.

The same place in the same library on many nodes is a bug; other places on one node are
its processor or memory. One line cannot tell, so none convicts alone; the place is kept.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import NOISE, HostFamily, says
from triage.signatures.program.process_names import Whose, whose
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

TRAPS = "Linux: arch/x86/mm/fault, arch/x86/kernel/traps"
ALSO = (Category.SOFTWARE_USER, Category.HOST_MEMORY, Category.CPU)
TASK = r"(?P<task>[^\s\[][^\[\n]{0,63}?)\[(?P<pid>\d{1,9})\]:? "
IN = (
    r"(?:[^\n]{0,80}? in (?P<library>[^\[\n]{1,120})\["
    r"(?:(?P<file_offset>[0-9a-f]{1,16}),)?(?P<base>[0-9a-f]{1,16})\+)?"
)


def offset(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Where in the library, so that the same bug compares equal wherever it was loaded."""
    fields: dict[str, str] = {}
    if match["base"] is not None:
        distance = int(match["ip"], 16) - int(match["base"], 16)
        fields = {"offset": hex(distance)} if distance >= 0 else {}
    reading = of_process(match["task"], match["library"] or "", fields)
    if says(match, "trap") == "trap int3" and Trait.GENERIC in (reading.traits or ()):
        # A program that stops itself: desktops' libraries end so on an error of their own.
        return replace(reading, role=NOISE, category=Category.NONE, also=())
    return reading


# Libraries that only programs on GPUs load, whatever the program is called.
OF_A_JOB = re.compile(
    r"(?:lib)?(?:nccl|rccl|torch|c10|cuda|cudart|cudnn|cublas|nvrtc|hip|hsa|amdhip|mlx5|ibverbs|efa"
    r"|fabric|ucp|ucs|uct|mpi|open-rte)",
    re.IGNORECASE,
)
PYTHON = re.compile(r"(?:lib)?python3", re.IGNORECASE)


def of_process(task: str | None, library: str, fields: dict[str, str]) -> Reading:
    """The death of a service is no matter of the job; that of an unknown program may be."""
    owner = whose((task or "").rsplit(": ", 1)[-1])  # behind "traps: "
    name = library.rsplit("/", 1)[-1]
    if owner is Whose.JOB or OF_A_JOB.match(name):
        return Reading(fields=fields)
    if owner is Whose.UNKNOWN and PYTHON.match(name):
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
    return of_process(match["task"] or match["who"], "", {})


PROCESS = HostFamily(
    "process", Kind.KERNEL, category=Category.SOFTWARE_FRAMEWORK, also=ALSO, weak=True
)

PROCESS.root(
    "segfault",
    rf"{TASK}segfault at (?P<address>[0-9a-f]{{1,16}}) ip (?:0x)?(?P<ip>[0-9a-f]{{1,16}}) sp "
    rf"(?:0x)?[0-9a-f]{{1,16}} error (?P<error>[0-9a-f]{{1,4}}){IN}",
    literals=(": segfault at ",),
    matches=(
        "python3[88123]: segfault at 18 ip 00007f3bc0de1234 sp 00007ffd00c0de00 error 4 in"
        " libnccl.so.2.21.5[7f3bc0000000+1a2b000] likely on CPU 12 (core 12, socket 0)",
        "pt_data_worker[4]: segfault at 0 ip 0000000000000000 sp 00007ffd00c0de00 error 14",
    ),
    near_misses=("the report: segfault at start is fixed",),
    source=TRAPS,
    read=offset,
)
PROCESS.root(
    "trap",
    rf"{TASK}(?P<trap>general protection(?: fault)?|trap invalid opcode|trap divide error"
    r"|trap stack segment|trap int3) ip:(?P<ip>[0-9a-f]{1,16}) sp:[0-9a-f]{1,16} error:"
    rf"(?P<error>[0-9a-f]{{1,4}}){IN}",
    literals=(
        "general protection fault ip:",
        "general protection ip:",
        "trap invalid opcode",
        "trap divide error",
        "trap stack segment",
        "trap int3",
    ),
    matches=(
        "traps: python3[88123] general protection fault ip:7f3bc0de1234 sp:7ffd00c0de00 error:0"
        " in libtorch_cpu.so[7f3bb0000000+18000000]",
        "traps: rank3[91] trap invalid opcode ip:55d0c0de sp:7ffd00c0 error:0 in"
        " python3.11[55d000000+2b0000]",
    ),
    near_misses=("gdb: trap int3 handler is installed",),
    source=TRAPS,
    read=offset,
)
PROCESS.consequence(
    "fatal_signal",
    r"(?:(?P<who>[^\s:][^\n:]{0,31}): )?potentially unexpected fatal signal "
    r"(?P<signal_number>\d{1,2})"
    r'|type=1701 [^\n]{0,200}?pid=(?P<pid>\d{1,9}) comm="(?P<task>[^"\n]{1,32})"'
    r"[^\n]{0,300}?sig=(?P<audit_signal>\d{1,2})",
    literals=("potentially unexpected fatal signal", "type=1701 "),
    matches=(
        "python3: potentially unexpected fatal signal 11.",
        'audit: type=1701 audit(1790000000.100:9): auid=0 uid=0 gid=0 ses=1 pid=88123 comm="rank3"'
        ' exe="/usr/bin/python3.11" sig=6 res=1',
    ),
    near_misses=("audit: type=1400 audit(1790000000.100:9): apparmor",),
    source="Linux: kernel/signal, kernel/auditsc",
    read=signalled,
)

SIGNATURES = PROCESS.signatures()
