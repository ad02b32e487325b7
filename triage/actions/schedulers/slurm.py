"""Slurm: a drain is ``scontrol update nodename=N state=drain``, known as ours by its reason.

A node is looked at before each act, and an act on a node that somebody else drained is refused:
Slurm itself would write our reason over theirs. Slurm has no change that holds only for what was
looked at, so an operator who drains the node within the milliseconds between look and act loses
the reason.

The text of ``scontrol -o show node`` is read, not JSON: it has the same words from Slurm 22.05 to
25.11, while ``scontrol --json`` is missing in 22.05 and changes its shape with each version.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, TimeoutExpired
from tempfile import TemporaryFile
from typing import Final

from triage.actions.schedulers.interface import (
    NodeView,
    NoSuchNode,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    check_node_name,
    parse_reason_incident,
    parse_scheduler_time,
)
from triage.collectors.artifact import Deadline
from triage.collectors.capture import CannotRun, iterate_output, run_command
from triage.domain.patterns import compile_re
from triage.errors import UsageError
from triage.render.words.clean import format_one_line
from triage.settings import Settings

# What a client of Slurm needs of our environment; tokens and secrets of the service stay here.
KEPT: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_CONF_SERVER",
    "SLURM_JWT",
)  # fmt: skip
MOST_WORDS: Final = 300
# A node has some two thousand.
MOST_CHARS: Final = 1 << 16

FIELD: Final = compile_re(r"(?:^|\s)(State|BootTime)=(\S*)", re.ASCII)
# Reason=NHC: check_hw_gpu failed [root@2026-11-20T22:00:00]; later versions add fields behind it.
REASON: Final = compile_re(
    r"\sReason=(?P<reason>.*?)"
    r"(?:\s\[(?P<by>[^\[\]@\s]{1,80})@(?P<at>[0-9T:.+-]{10,40}|Unknown|None)\])?"
    r"(?:\s+(?:Comment|Extra|Instance\w{1,20}|ReservationName|Topology)=.*)?\s*$",
    re.ASCII | re.DOTALL,
)
PARTED: Final = compile_re(r"[+,\s]+")
MARKS: Final = "*~#!%$@^-"
# FAIL is a drain of an operator, too: no new job, and jobs that run go on.
DRAINED: Final = frozenset(
    {"DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILED", "FAILING", "FAILG"}
)

UNKNOWN_NODE: Final = compile_re(r"Node \S+ not found|Invalid node name", re.IGNORECASE)
# Asking again does not change it. "Invalid node state" is no such word: Slurm says so of each node
# that has not registered since slurmctld was started.
NO_RIGHTS: Final = compile_re(r"Invalid user id|Access(?:/permission)? denied", re.IGNORECASE)
RIGHTS: Final = (
    "run the service as SlurmUser, or give its user the rights:"
    " sacctmgr modify user NAME set AdminLevel=Operator"
)


@dataclass(frozen=True, slots=True)
class SlurmScheduler:
    """:class:`triage.actions.schedulers.interface.Scheduler` over ``scontrol`` and ``sinfo``.

    ``folder`` holds the programs; None: they are searched for on PATH. A program that has not
    ended after ``timeout_s`` is killed with its children.
    """

    folder: str | None = None
    timeout_s: float = 30.0
    name: str = "slurm"

    def node(self, node: str) -> NodeView:
        """How the node stands. ``details``: ``state``, and ``boot_time`` where it is known."""
        printed = self._run("scontrol", "-o", "show", "node", check_node_name(node))
        return parse_node_view(node, printed)

    def pool(self) -> PoolView:
        """The nodes that the partitions have together; each counts once.

        Slurm keeps a reason as long as the node is drained, down or on its way through a reboot.
        """
        form = "--format=%N|%H|%E"
        printed = self._run("sinfo", "--all", "--local", "--noheader", "--Node", form)
        nodes, out = set(), {}
        for line in printed.splitlines():
            node, _, rest = line.partition("|")
            since, _, reason = rest.partition("|")
            nodes.add(node.strip())
            if parse_reason_incident(reason) is not None:
                out[node.strip()] = parse_scheduler_time(since)
        return PoolView(len(nodes - {""}), out)

    def drain(self, node: str, reason: str) -> None:
        """Drain the node, unless it is drained for this incident already."""
        if not self._look_for(node, reason).drained:
            self._update(node, "state=drain", f"reason={reason}")

    def undrain(self, node: str, reason: str, earlier: str) -> None:
        """Take back the drain of this incident.

        ``state=undrain`` leaves the base state alone: a node that is DOWN stays DOWN. The reason
        that stood there before is written again.
        """
        seen = self._look_for(node, reason)
        if not seen.drained:
            return
        earlier = format_one_line(earlier)[:MOST_WORDS]
        self._update(node, "state=undrain")
        # Without a reason of its own, a node that is DOWN would keep ours.
        if earlier or "DOWN" in parse_state_flags(str(seen.details.get("state", ""))):
            self._update(node, f"reason={earlier or 'DOWN; the drain of triage was taken back'}")

    def _look_for(self, node: str, reason: str) -> NodeView:
        """The node. Raises :class:`SchedulerRefused` where it is drained for anything else."""
        seen = self.node(node)
        if seen.drained and (seen.incident or "") != parse_reason_incident(reason):
            raise SchedulerRefused(f"{node} is drained for another reason: {seen.why}")
        return seen

    def _update(self, node: str, *changes: str) -> None:
        self._run("scontrol", "update", f"nodename={check_node_name(node)}", *changes)

    def _run(self, program: str, *arguments: str) -> str:
        """What a program prints.

        Raises :class:`NoSuchNode`, :class:`SchedulerRefused`, :class:`SchedulerAway`.
        """
        path = program if self.folder is None else os.path.join(self.folder, program)
        status, printed, complaint = run([path, *arguments], self.timeout_s)
        # Some versions say so on stdout, and some end with 0 then.
        if status == 0 and not UNKNOWN_NODE.match(printed.strip()):
            return printed
        complaint = format_one_line(f"{complaint} {printed}").strip()[:MOST_WORDS]
        if UNKNOWN_NODE.search(complaint):
            raise NoSuchNode(f"Slurm knows no such node: {complaint}")
        if NO_RIGHTS.search(complaint):
            raise SchedulerRefused(f"{complaint} ({RIGHTS})")
        raise SchedulerAway(f"{program} ended with status {status}: {complaint or 'no words'}")


def run(argv: Sequence[str], timeout_s: float) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a program. Raises :class:`SchedulerAway`."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    # Times are compared as text, so they are of one zone in summer and winter.
    environment["TZ"] = "UTC"
    deadline = Deadline(timeout_s)
    with TemporaryFile() as complaint:
        try:
            with run_command(argv, environment, DEVNULL, complaint) as process:
                printed = b"".join(iterate_output(process, deadline))
                status = process.wait(max(deadline.left_s(), 0.1))
        except CannotRun as error:
            raise SchedulerAway(f"{argv[0]} {error}; see TRIAGE_ACT_SLURM_BIN") from error
        except (TimeoutError, TimeoutExpired) as error:
            raise SchedulerAway(f"{argv[0]} did not end within {timeout_s:g} s") from error
        complaint.seek(0)
        return status, printed.decode("utf-8", "replace"), complaint.read().decode(errors="replace")


def parse_node_view(node: str, printed: str) -> NodeView:
    """The node of a one-line record. Raises :class:`SchedulerAway` for what is none.

    >>> line = "NodeName=n1 State=IDLE+DRAIN Reason=fan [root@2026-01-02T03:04:05]"
    >>> seen = parse_node_view("n1", line)
    >>> seen.drained, seen.reason, seen.by
    (True, 'fan', 'root')
    """
    found: dict[str, str] = {}
    printed = " ".join(printed[:MOST_CHARS].split())
    # The reason is a person's words, and may look like a field.
    head, reason = printed, REASON.search(printed)
    if reason is not None:
        head = printed[: reason.start()]
    for match in FIELD.finditer(head):
        found.setdefault(match[1], match[2])
    words = parse_state_flags(found.get("State", ""))
    if not printed.startswith(f"NodeName={node} ") or not words:
        raise SchedulerAway(
            f"scontrol did not print a node: {format_one_line(printed)[:MOST_WORDS]!r}"
        )
    details = {"state": found["State"]}
    if found.get("BootTime", "None") != "None":
        details["boot_time"] = found["BootTime"]
    return NodeView(
        name=node,
        drained=bool(words & DRAINED),
        reason="" if reason is None else format_one_line(reason["reason"]).strip(),
        by="" if reason is None else reason["by"] or "",
        details=details,
    )


def parse_state_flags(state: str) -> frozenset[str]:
    """The base and the flags of a state, without marks: ``IDLE*+DRAIN`` is IDLE and DRAIN."""
    return frozenset(word.strip(MARKS) for word in PARTED.split(state.upper())) - {""}


def open_scheduler(settings: Settings) -> SlurmScheduler:
    """Slurm as the settings say. Raises :class:`UsageError` where its clients are missing."""
    folder = settings.act_slurm_bin or None
    for program in ("scontrol", "sinfo"):
        if shutil.which(program if folder is None else os.path.join(folder, program)) is None:
            where = folder or "the folders of PATH"
            raise UsageError(f"{program} is not in {where}: install Slurm's clients, or set"
                             " TRIAGE_ACT_SLURM_BIN")  # fmt: skip
    return SlurmScheduler(folder, settings.act_timeout_s)
