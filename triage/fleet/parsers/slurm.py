"""What Slurm says of its nodes: words for their states, the controller's log, a listing.

A state is a base and flags: ``IDLE+DRAIN``, ``DOWN*``, ``MIXED+PLANNED``, ``DRAINED``. The list
is that of ``node_state_string`` in Slurm's ``src/common/slurm_protocol_defs.c``.

``slurmctld.log``: the controller says which node went, why, and when it came back. ::

    [2026-11-20T22:00:00.476] update_node: node gpu003 reason set to: NHC: check_hw_gpu failed
    [2026-11-20T22:00:00.476] update_node: node gpu003 state set to DRAINED
    [2026-11-20T23:10:41.020] error: Nodes gpu[007-008] not responding, setting DOWN
    [2026-11-20T23:31:02.117] node_did_resp: node gpu007 returned to service
    [2026-11-21T06:00:00.000] update_node: node gpu003 state set to IDLE

The lines are those of ``src/slurmctld/node_mgr.c``, ``ping_nodes.c`` and ``job_mgr.c``; the same
from the journal (``journalctl -o short-iso``) are read as well. A health check drains a node by
``update_node``. "Not responding" without "setting DOWN" takes no node out.

``scontrol show node``: which nodes are out of service now, since when and why. ::

    NodeName=gpu003 Arch=x86_64 CoresPerSocket=56
       Gres=gpu:h100:8
       State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
       BootTime=2026-11-02T08:00:00 SlurmdStartTime=2026-11-02T08:01:10
       Reason=NHC: check_hw_gpu failed [root@2026-11-20T22:00:00]

Also with ``-o`` (a line for each node). It tells of no end: what is out lasts until events or the
log say that it came back. The type of the GPUs is taken as the generation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.fleet.domain.exposure import NodeFacts
from triage.fleet.parsers.lines import Line
from triage.fleet.parsers.node_changes import (
    NodeChange,
    StateChange,
    join_changes,
    make_outage_for_reasons,
)
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    name_in,
    parse_host_list,
    parse_row_time,
    shorten_foreign_text,
)

_DOWN: Final = frozenset(
    {"DOWN", "ERROR", "INVAL", "INVALID", "INVALID_REG", "FAIL", "FAILED", "FAILG", "FAILING"}
)
_DRAIN: Final = frozenset({"DRAIN", "DRAINED", "DRAINING", "DRNG"})
_MAINTENANCE: Final = frozenset({"MAINT", "MAINTENANCE", "REBOOT", "REBOOT_ISSUED"})
# Powered down to save power, or held for a job: nothing is wrong with the node.
_WELL: Final = frozenset(
    {
        *("IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP", "PLANNED", "PLND"),
        *("RESERVED", "RESV", "FUTURE", "FUTR", "UNKNOWN", "UNK", "BLOCKED", "BLOCK", "CLOUD"),
        *("POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN", "POWER_UP", "POWERING_UP", "POWER_DRAIN"),
        *("POW_DN", "POW_UP", "POWERED_DN", "POWRING_DN", "REBOOT_REQUESTED", "CANCEL_REBOOT"),
        *("NO_RESPOND", "NOT_RESPONDING", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "PERFCTRS", "NPC"),
        *("RESUME", "RESM", "UNDRAIN", "EXTERNAL", "EXT"),
    }
)
_PARTED: Final = compile_re(r"[+,\s]+")
_LONGEST_STATE: Final = 200
_MARKS: Final = "*~#!%$@^-+"


@lru_cache(maxsize=256)
def _split_state(state: str) -> frozenset[str]:
    """The base and the flags of a state, without marks; none of what is no state by its length."""
    parts = _PARTED.split(state.strip().upper()) if len(state) <= _LONGEST_STATE else ()
    return frozenset(part.strip(_MARKS) for part in parts) - {""}


def is_node_state(state: str) -> bool:
    """Whether Slurm has words like these; a state that it cuts (``_DRAIN+``) is one."""
    found = _split_state(state)
    return bool(found) and found <= _DOWN | _DRAIN | _MAINTENANCE | _WELL


def is_out(state: str) -> bool:
    """Whether a node in this state takes no jobs.

    >>> is_out("IDLE+DRAIN"), is_out("DOWN*"), is_out("IDLE+POWERED_DOWN"), is_out("MIXED+PLANNED")
    (True, True, False, False)
    """
    found = _split_state(state)
    # $ is a mark of a maintenance reservation.
    return bool(found & (_DOWN | _DRAIN | _MAINTENANCE)) or "$" in state


def is_maintenance(state: str) -> bool:
    """Whether it is out for maintenance, and for nothing else."""
    found = _split_state(state)
    return ("$" in state or bool(found & _MAINTENANCE)) and not found & (_DOWN | _DRAIN)


LOG: Final = "slurmctld"
_OTHER: Final = "lines that say nothing of a node's state"
# [2025-04-08T21:44:43.476] ..., or 2026-11-20T22:00:00+0100 head slurmctld[483]: slurmctld: ...
_STAMPED: Final = compile_re(
    r"(?:\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\]\s]{0,16})\]"
    r"|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,16}) \S{1,253} slurmctld(?:\[\d+\])?:)\s+(.*)"
)
# A cheap look first: most lines of the log are of jobs.
_OF_NODES: Final = compile_re(r"state set to|reason set to|setting DOWN|returned to service"
    r"|unexpectedly rebooted|draining the node|state to INVAL")  # fmt: skip
_MESSAGES: Final[tuple[tuple[re.Pattern[str], StateChange | None, str], ...]] = tuple(
    (
        compile_re(one["pattern"]),
        StateChange[one["change"]] if "change" in one else None,
        one.get("reason", ""),
    )
    for one in read_toml("triage.fleet.parsers", "slurm")["message"]
)


def is_controller_log(line: str) -> bool:
    """Whether a first line may be one of the controller."""
    return _STAMPED.match(line) is not None


def iterate_log_rows(lines: Iterable[Line], options: Options) -> Iterator[Row]:
    """The outages of a log. Raises :class:`Forbidden` where it tells of too many changes."""
    return join_changes(_iterate_changes(lines, options), options)


def _iterate_changes(lines: Iterable[Line], options: Options) -> Iterator[NodeChange | Row]:
    num_others = 0
    for number, text in lines:
        if text is None:
            yield Unread(number, "the line is too long")
        elif _OF_NODES.search(text) is None:
            num_others += bool(text.strip())
        elif (stamped := _STAMPED.match(text)) is None:
            yield Unread(number, "it tells of a node, and its time has no year or no place")
        else:
            try:
                at = parse_row_time(stamped[1] or stamped[2], "the time", options)
                if at is not None:
                    yield from _iterate_message_changes(at, stamped[3])
            except RowError as error:
                yield Unread(number, str(error))
    if num_others:
        yield Passed(_OTHER, num_others)


def _iterate_message_changes(at: datetime, message: str) -> Iterator[NodeChange | Row]:
    """What one message says. Raises :class:`RowError`."""
    matches = ((row[0].search(message), *row[1:]) for row in _MESSAGES)
    found, change, reason = next((one for one in matches if one[0]), (None, None, ""))
    if found is None:
        yield Passed(_OTHER)
        return
    if change is None:
        state = found["state"]
        if not is_node_state(state):
            raise RowError(f"the state {shorten_foreign_text(state)} is not known")
        drained = StateChange.DRAIN if _split_state(state) & _DRAIN else StateChange.DOWN
        change = drained if is_out(state) else StateChange.BACK
    words = reason.format_map(found.groupdict()).strip()[:MAX_REASON]
    for node in parse_host_list(found["node"]):
        yield NodeChange(at, change, node, words)


LISTING: Final = "scontrol"
_IN_SERVICE: Final = Passed("nodes that are in service")
_NO_TIME: Final = Passed("nodes that are out, without a time since when")
# A node of Slurm has some two thousand.
_MOST_CHARS: Final = 1 << 14
_BEGIN: Final = "NodeName="
_STATE: Final = compile_re(r"\bState=(\S+)")
_TYPE: Final = compile_re(r"Gres=(?:\S{0,200},)?gpu:([A-Za-z][\w.-]{0,63}):\d")
# Reason=NHC: check_hw_gpu failed [root@2026-11-20T22:00:00]; with -o other fields follow.
_REASON: Final = compile_re(r"Reason=(.{0,2000}?) ?\[[^\[\]@]{1,80}@([^\]\s]{1,40})\]")


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
    reason = _REASON.match(block, block.find("Reason=") % len(block))
    since = None if reason is None else parse_row_time(reason[2], "the time of its reason", options)
    if reason is None or since is None:
        yield _NO_TIME
        return
    reasons = [reason[1].strip()[:MAX_REASON] or found[1]]
    outage = make_outage_for_reasons(node, since, None, reasons, options.cluster)
    yield replace(outage, planned=outage.planned or is_maintenance(found[1]))
