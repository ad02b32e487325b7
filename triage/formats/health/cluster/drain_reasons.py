"""Why Slurm's nodes are drained or down: ``sinfo -R`` and ``scontrol show node``.

::

    REASON               USER      TIMESTAMP           NODELIST
    Xid 79 on GPU 3      root      2026-11-21T03:20:11 gpu[003,017]

    NodeName=gpu003 Arch=x86_64 CoresPerSocket=56
       State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1
       Reason=Xid 79 on GPU 3 [root@2026-11-21T03:20:11]

A reason is what a person or another program concluded: it needs another source before it
counts. A reason that begins with ``triage:`` is our own conclusion come back, and is no news.
Slurm prints local times without a zone, which cannot be placed. ``sinfo -R`` cuts reasons
after 20 characters; ``sinfo -R -o "%E|%u|%H|%N"`` or ``scontrol show node`` prints all.
"""

import re
from typing import Final

from triage.domain.category import HARDWARE
from triage.domain.health import Outcome
from triage.domain.hosts import expand
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.part_words import category_in
from triage.formats.health.reading import Reading, lines_of

__all__ = ["NODE_RECORDS", "OURS", "SINFO_REASONS"]

OURS: Final = "triage:"
HEADER: Final = re.compile(
    r"REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*$|REASON\|USER\|TIMESTAMP\|NODELIST"
)
# The reason may hold anything; what follows it does not.
ROW: Final = re.compile(
    r"(.{0,300}?)\s+(\S{1,64})\s+(\d{4}-\d\d-\d\dT[\d:]{8}|Unknown)\s+(\S+)\s*$"
)
NODE: Final = re.compile(r"NodeName=(\S{1,256})")
STATE: Final = re.compile(r"\bState=(\S{1,120})")
REASON: Final = re.compile(r"^\s*Reason=(.{1,300}?)(?: \[[^\]\[]{1,80}@[^\]\[]{1,40}\])?\s*$")
OUT: Final = ("DRAIN", "DOWN", "FAIL", "NOT_RESPONDING", "MAINT")


def claimed_sinfo(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    return HEADER.match(first.strip()) is not None


def read_sinfo(text: str, reading: Reading) -> None:
    begun = False
    for index, line in lines_of(text):
        if not line.strip():
            continue
        if not begun:
            begun = True
            continue
        cells = line.strip().split("|")
        found = ROW.match(line.strip())
        if len(cells) >= 4:
            reason, hosts = "|".join(cells[:-3]), cells[-1]
        elif found is not None:
            reason, hosts = found[1], found[4]
        else:
            reading.skip(index, "no reason, user, time and list of nodes")
            continue
        try:
            names = expand(hosts)
        except ValueError as error:
            reading.skip(index, str(error))
            continue
        for name in names:
            add_reason(name, reason, index, reading)


def claimed_records(head: str) -> bool:
    return NODE.match(head.lstrip()) is not None and STATE.search(head[:4000]) is not None


def read_records(text: str, reading: Reading) -> None:
    node, state, first = "", "", 1
    reason = ""
    for index, line in lines_of(f"{text}\nNodeName="):
        if line.startswith("NodeName="):
            finish(node, state, reason, first, reading)
            named = NODE.match(line)
            node, state, reason, first = named[1] if named else "", "", "", index
        if (found := STATE.search(line)) is not None:
            state = found[1]
        if (found := REASON.match(line)) is not None:
            reason = found[1]


def finish(node: str, state: str, reason: str, line: int, reading: Reading) -> None:
    """One record: in service, or out of it with its reason."""
    if not node:
        return
    if any(word in state.upper() for word in OUT):
        add_reason(node, reason or f"state {state}", line, reading)
    else:
        reading.add("slurm.drain", Outcome.PASS, node=node, detail=f"state {state}", line=line)


def add_reason(node: str, reason: str, line: int, reading: Reading) -> None:
    """A node that is out of service, by the words of its reason."""
    reason = reason.strip()
    if reason.lower().startswith(OURS):
        said = f"drained by this product: {reason}"
        reading.add("slurm.drain", Outcome.SKIPPED, node=node, detail=said, line=line)
        return
    category = category_in(reason)
    outcome = Outcome.FAIL if category in HARDWARE else Outcome.WARN
    reading.add("slurm.drain", outcome, node=node, detail=reason, category=category, line=line)


SINFO_REASONS: Final = CheckFormat("sinfo_reasons", claimed_sinfo, read_sinfo, words=("NODELIST",))
NODE_RECORDS: Final = CheckFormat(
    "scontrol_node", claimed_records, read_records, words=("NodeName=",)
)
