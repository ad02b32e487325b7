"""``slurmctld.log``: the controller says which node went, why, and when it came back.

::

    [2026-11-20T22:00:00.476] update_node: node gpu003 reason set to: NHC: check_hw_gpu failed
    [2026-11-20T22:00:00.476] update_node: node gpu003 state set to DRAINED
    [2026-11-20T23:10:41.020] error: Nodes gpu[007-008] not responding, setting DOWN
    [2026-11-20T23:31:02.117] node_did_resp: node gpu007 returned to service
    [2026-11-21T06:00:00.000] update_node: node gpu003 state set to IDLE

The lines are those of ``src/slurmctld/node_mgr.c``, ``ping_nodes.c`` and ``job_mgr.c``; the same
from the journal (``journalctl -o short-iso``) are read as well. A health check drains a node by
``update_node``. "Not responding" without "setting DOWN" takes no node out.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from triage.domain.patterns import compile_re
from triage.fleet.parsers.lines import Line
from triage.fleet.parsers.node_changes import NodeChange, StateChange, join_changes
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    parse_host_list,
    parse_row_time,
    shorten_foreign_text,
)
from triage.fleet.parsers.slurm.node_state import is_drained, is_node_state, is_out

NAME: Final = "slurmctld"
_OTHER: Final = "lines that say nothing of a node's state"
# [2025-04-08T21:44:43.476] ..., or 2026-11-20T22:00:00+0100 head slurmctld[483]: slurmctld: ...
_STAMPED: Final = compile_re(
    r"(?:\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\]\s]{0,16})\]"
    r"|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,16}) \S{1,253} slurmctld(?:\[\d+\])?:)\s+(.*)"
)
# A cheap look first: most lines of the log are of jobs.
_OF_NODES: Final = compile_re(r"state set to|reason set to|setting DOWN|returned to service"
    r"|unexpectedly rebooted|draining the node|state to INVAL")  # fmt: skip
REASON: Final = compile_re(r"update_node: node (\S+) reason set to: ?(.*)")
_STATE: Final = compile_re(r"(?:update_node|drain_nodes): node (\S+) state set to (\S+)")
_SILENT: Final = compile_re(r"Nodes (\S+) not responding, setting DOWN")
_RETURNED: Final = compile_re(r"\bnode (\S+) returned to service")
_REBOOTED: Final = compile_re(r"Node (\S+) unexpectedly rebooted")
_INVALID: Final = compile_re(r"Setting node (\S+) state to INVAL with reason:(.*)")
# _slurm_rpc_..: Prolog or job env setup failure on node n1, draining the node
# epilog_complete: JobId=71 epilog error on n1, draining the node
_AFTER_JOB: Final = compile_re(
    r"\b(\w{1,40}(?: or job env setup)?) (?:failure|error) on (?:node )?(\S+), draining"
)


def is_controller_log(line: str) -> bool:
    """Whether a first line may be one of the controller."""
    return _STAMPED.match(line) is not None


def log_rows(lines: Iterable[Line], options: Options) -> Iterator[Row]:
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
    if found := REASON.search(message):
        change, nodes, reason = StateChange.REASON, found[1], found[2]
    elif found := _STATE.search(message):
        if not is_node_state(found[2]):
            raise RowError(f"the state {shorten_foreign_text(found[2])} is not known")
        change, nodes, reason = _change_to(found[2]), found[1], ""
    elif found := _SILENT.search(message):
        change, nodes, reason = StateChange.DOWN, found[1], "Not responding"
    elif found := _RETURNED.search(message):
        change, nodes, reason = StateChange.UP, found[1], ""
    elif found := _REBOOTED.search(message):
        change, nodes, reason = StateChange.DOWN, found[1], "Node unexpectedly rebooted"
    elif found := _INVALID.search(message):
        change, nodes, reason = StateChange.DRAIN, found[1], found[2]
    elif found := _AFTER_JOB.search(message):
        change, nodes, reason = StateChange.DRAIN, found[2], f"{found[1]} error"
    else:
        yield Passed(_OTHER)
        return
    for node in parse_host_list(nodes):
        yield NodeChange(at, change, node, reason.strip()[:MAX_REASON])


def _change_to(state: str) -> StateChange:
    if not is_out(state):
        return StateChange.BACK
    return StateChange.DRAIN if is_drained(state) else StateChange.DOWN
