"""``scontrol show node``: which nodes are out of service now, since when and why.

::

    NodeName=gpu003 Arch=x86_64 CoresPerSocket=56
       Gres=gpu:h100:8
       State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
       BootTime=2026-11-02T08:00:00 SlurmdStartTime=2026-11-02T08:01:10
       Reason=NHC: check_hw_gpu failed [root@2026-11-20T22:00:00]

Also with ``-o`` (a line for each node). It tells of no end: what is out lasts until events or the
log say that it came back. The type of the GPUs is taken as the generation.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from triage.domain.patterns import compile_re
from triage.fleet.domain.exposure import NodeFacts
from triage.fleet.parsers.lines import Line
from triage.fleet.parsers.node_changes import make_outage_for_reasons
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    name_in,
    parse_row_time,
    shorten_foreign_text,
)
from triage.fleet.parsers.slurm.node_state import is_maintenance, is_node_state, is_out

NAME: Final = "scontrol"
_IN_SERVICE: Final = Passed("nodes that are in service")
_SINCE_WHEN: Final = Passed("nodes that are out, without a time since when")
# A node of Slurm has some two thousand.
_MOST_CHARS: Final = 1 << 14
_BEGIN: Final = "NodeName="
_STATE: Final = compile_re(r"\bState=(\S+)")
_TYPE: Final = compile_re(r"Gres=(?:\S{0,200},)?gpu:([A-Za-z][\w.-]{0,63}):\d")
# Reason=NHC: check_hw_gpu failed [root@2026-11-20T22:00:00]; with -o other fields follow.
REASON: Final = compile_re(r"Reason=(.{0,2000}?) ?\[[^\[\]@]{1,80}@([^\]\s]{1,40})\]")


def is_node_list(line: str) -> bool:
    """Whether a first line begins a node."""
    return line.startswith(_BEGIN)


def iterate_node_rows(lines: Iterable[Line], options: Options) -> Iterator[Row]:
    """Facts and outages, node by node."""
    begin, block = 0, ""
    for number, text in lines:
        if text is None:
            yield Unread(number, "the line is too long")
        elif text.startswith(_BEGIN):
            yield from _iterate_block_rows(begin, block, options)
            begin, block = number, text[:_MOST_CHARS]
        elif len(block) < _MOST_CHARS:
            block = f"{block} {text.strip()}"
    yield from _iterate_block_rows(begin, block, options)


def _iterate_block_rows(number: int, block: str, options: Options) -> Iterator[Row]:
    if not block:
        return
    try:
        yield from _parse_node(block, options)
    except RowError as error:
        yield Unread(number, str(error))


def _parse_node(block: str, options: Options) -> Iterator[Row]:
    """What is said of one node. Raises :class:`RowError`."""
    node = name_in(block[len(_BEGIN) :].partition(" ")[0], "NodeName")
    found = _STATE.search(block)
    if found is None or not is_node_state(found[1]):
        raise RowError(f"the state {shorten_foreign_text(found[1] if found else '')} is not known")
    if typed := _TYPE.match(block, block.find("Gres=") % len(block)):
        yield NodeFacts(node, generation=typed[1], cluster=options.cluster)
    if not is_out(found[1]):
        yield _IN_SERVICE
        return
    reason = REASON.match(block, block.find("Reason=") % len(block))
    since = None if reason is None else parse_row_time(reason[2], "the time of its reason", options)
    if reason is None or since is None:
        yield _SINCE_WHEN
        return
    reasons = [reason[1].strip()[:MAX_REASON] or found[1]]
    outage = make_outage_for_reasons(node, since, None, reasons, options.cluster)
    yield replace(outage, planned=outage.planned or is_maintenance(found[1]))
