"""One operation as a rank's program states it, before any time has passed."""

from dataclasses import dataclass, replace
from enum import IntEnum

from simulator.slots import Slot

Sizes = tuple[tuple[int, ...], ...]


class Part(IntEnum):
    """Where an entry stands in a coalesced block.

    A member is recorded, but only the closer runs on the device; the closer
    completes the members that stand directly before it.
    """

    ALONE = 0
    MEMBER = 1
    CLOSER = 2


@dataclass(frozen=True, slots=True)
class Op:
    """What the host of one rank issues.

    ``own`` and ``peer`` are group ranks of a send or recv. ``compute_us`` is the
    device's work before the operation, ``cost_us`` the operation itself once
    everybody is there. After a ``sync`` operation the host waits for it.
    A ``stuck`` operation takes part, but never ends on this rank.
    """

    slot: Slot
    name: str
    inputs: Sizes
    outputs: Sizes
    site: str
    dtype: str = "BFloat16"
    own: int = -1
    peer: int = -1
    part: Part = Part.ALONE
    autograd: bool = False
    compute_us: float = 300.0
    cost_us: float = 200.0
    sync: bool = False
    stuck: bool = False

    @property
    def is_p2p(self) -> bool:
        """A send or a recv (the closer of a block is neither)."""
        return self.name in ("send", "recv")

    @property
    def profiling_name(self) -> str:
        """As the recorder prints it; own group rank first."""
        if self.name == "send":
            return f"nccl:send {self.own}->{self.peer}"
        if self.name == "recv":
            return f"nccl:recv {self.own}<-{self.peer}"
        return f"nccl:{self.name}"

    @property
    def signature(self) -> tuple[object, ...]:
        """What must agree among those who meet; all-to-all may differ in size by right."""
        if self.is_p2p:
            return ("p2p", self.inputs, self.dtype)
        if self.name == "all_to_all":
            return (self.name, self.dtype)
        return (self.name, self.inputs, self.outputs, self.dtype)


Program = tuple[Op, ...]


def send(own: int, peer: int, shape: tuple[int, ...], *, site: str, autograd: bool = False) -> Op:
    """A send on the pipeline group to group rank ``peer``."""
    return Op(Slot.PP, "send", (shape,), (shape,), site, own=own, peer=peer, autograd=autograd)


def recv(own: int, peer: int, shape: tuple[int, ...], *, site: str) -> Op:
    """A recv on the pipeline group from group rank ``peer``."""
    return Op(Slot.PP, "recv", (shape,), (shape,), site, own=own, peer=peer)


def block(*members: Op) -> Program:
    """A coalesced block: the members, then the closer that alone runs."""
    if not members:
        return ()
    first = members[0]
    closer = Op(
        first.slot,
        "coalesced",
        (),
        (),
        first.site,
        "",
        part=Part.CLOSER,
        autograd=first.autograd,
        compute_us=first.compute_us,
        cost_us=first.cost_us,
    )
    return (*(replace(member, part=Part.MEMBER) for member in members), closer)
