"""Unresponsive: processes that RAS cannot reach any more.

Such a process is gone, stopped, or cut off from the network that RAS uses. Where other processes
of its node answer it is the process; where none does it is the node, or its network.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.rounds import get_order_key
from triage.analysis.live.communicators.who import MembersOfJob, describe_machine
from triage.analysis.live.jobs import own_looks, own_round
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Presence
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.report import Because

# RAS calls a process dead after 60 s without an answer; silent for some seconds is less.
_DEAD: Final = 0.85
_SILENT: Final = 0.7
# Of several nodes nothing tells which went first.
_SEVERAL: Final = 0.6
_MAX_NODES: Final = 3
# Where more of the processes are silent, it is whoever asked who is cut off, or the job ends.
_MAX_SHARE: Final = 0.5
_MAX_REASONS: Final = 4


class _Unreached(NamedTuple):
    """The last word of a process that does not answer, and the look that says it."""

    reply: Reply
    look: Look

    @property
    def home(self) -> tuple[Process, Look]:
        return self.reply.process, self.look

    @property
    def dead(self) -> bool:
        """Whether the process could not be reached."""
        return self.reply.kind is ReplyKind.UNREACHABLE


class Unresponsive:
    """One finding per node with silent processes.

    Silent: where the process answered again later, where the job moves all the same, where half
    of the job is silent, or processes of more than three nodes.
    """

    name = "ras.unresponsive"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings, one a node."""
        looks = own_looks(case, Tool.RAS).looks
        if not looks:
            return
        found = own_round(case, Tool.RAS)
        moved = found is not None and found.moved
        members = MembersOfJob(case, looks)
        silent = [one for one in _find_silent_processes(looks) if one.dead or not moved]
        answered = _find_answering(looks)
        total = _count_processes(case, looks, silent, answered)
        if not silent or (total is not None and len(silent) > _MAX_SHARE * total):
            return
        by_node: dict[str, list[_Unreached]] = defaultdict(list)
        for one in silent:
            by_node[members.node_of(*one.home) or ""].append(one)
        if len(by_node) > _MAX_NODES:
            return
        alive = {members.node_of(process, look) for (process, look) in answered.values()}
        for node in sorted(by_node):
            whole = _is_whole_node(by_node[node], looks, node in alive)
            yield self.finding(members, by_node[node], whole=whole, num_nodes=len(by_node))

    def finding(
        self,
        members: MembersOfJob,
        ones: Sequence[_Unreached],
        *,
        whole: bool,
        num_nodes: int,
    ) -> Finding:
        """The claim on the processes of one node."""
        dead = any(one.dead for one in ones)
        strength = (_DEAD if dead else _SILENT) if num_nodes == 1 else _SEVERAL / num_nodes
        ranks, nodes = members.places(one.home for one in ones)
        state = "dead" if dead else "silent"
        if whole:
            text = (
                f"do not answer NCCL RAS, nor does any other process of the node: the node or its"
                f" network is gone ({len(ones)} processes are {state})"
            )
        elif len(ones) == 1:
            inside = ", ".join([*describe_machine(ones[0].reply.process), state])
            text = f"does not answer NCCL RAS ({inside}): its process is gone, stopped or cut off"
        else:
            text = (
                f"do not answer NCCL RAS ({len(ones)} processes are {state}): they are gone,"
                " stopped or cut off"
            )
        return make_look_claim(
            detector=self.name,
            kind=VerdictKind.CRASH if dead else VerdictKind.HANG,
            category=Category.NCCL_TIMEOUT,
            ranks=tuple(ranks),
            nodes=tuple(nodes),
            strength=strength,
            role=Role.CULPRIT if num_nodes == 1 else Role.POSSIBLE,
            summary=text if ranks or nodes else f"{_name_subject(members, ones)} {text}",
            advice="look whether the process and its node are there, and at their kernel log",
            because=tuple(
                Because(
                    self.name,
                    f"{members.words(*one.home)} does not answer: {one.reply.detail}",
                    one.look.artifact,
                    one.reply.line,
                )
                for one in ones[:_MAX_REASONS]
            ),
        )


def _name_subject(members: MembersOfJob, ones: Sequence[_Unreached]) -> str:
    """Who does not answer, where no rank and no node of the job is known for it."""
    first = ones[0]
    if len(ones) == 1:
        return members.words(*first.home)
    return f"the processes on {members.node_of(*first.home)}"


_ProcessId = tuple[str | None, int | None]


def _find_silent_processes(looks: Sequence[Look]) -> list[_Unreached]:
    """The processes whose last word in all looks is that they do not answer, by host and pid."""
    last: dict[_ProcessId, _Unreached] = {}
    for look in sorted(looks, key=get_order_key):
        for communicator in look.communicators:
            for member in communicator.ranks:
                if member.presence is Presence.ANSWERED and look.stamp.wall_ns is not None:
                    last.pop((member.process.host, member.process.pid), None)
        for reply in look.replies:
            key = (reply.process.host, reply.process.pid)
            if reply.kind is ReplyKind.ANSWERED:
                last.pop(key, None)
            elif key not in last or not last[key].dead or reply.kind is ReplyKind.UNREACHABLE:
                last[key] = _Unreached(reply, look)
    return [last[key] for key in sorted(last, key=repr)]


def _find_answering(looks: Sequence[Look]) -> Mapping[_ProcessId, tuple[Process, Look]]:
    """The processes that gave data of themselves, by host and pid."""
    return {
        (member.process.host, member.process.pid): (member.process, look)
        for look in looks
        for communicator in look.communicators
        for member in communicator.ranks
        if member.presence is Presence.ANSWERED and member.process.pid is not None
    }


def _count_processes(
    case: LiveCase,
    looks: Sequence[Look],
    silent: Sequence[_Unreached],
    answered: Mapping[_ProcessId, tuple[Process, Look]],
) -> int | None:
    """How many processes the job has; None where nothing says it."""
    sizes = [look.num_gpus for look in looks if look.num_gpus is not None]
    listed = len(
        {(one.reply.process.host, one.reply.process.pid) for one in silent} | answered.keys()
    )
    world = case.world_size or case.fleet.world_size or max(sizes, default=0)
    return max(world, listed if answered else 0) or None


def _is_whole_node(ones: Sequence[_Unreached], looks: Sequence[Look], alive: bool) -> bool:
    """Whether no process of a node answers: as many are silent as it has, of two or more."""
    if alive or len(ones) < 2:
        return False
    per_node = [look.per_node for look in looks if look.per_node is not None]
    return not per_node or len(ones) >= min(per_node)
