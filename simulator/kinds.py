"""All kinds of fault, by name, and the shape of job in which each shows.

To add a kind: write its function beside its like, and add one line here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simulator import mismatches, stalls, transfers
from simulator.scene import Fault, Scene
from simulator.topology import Shape
from triage.errors import UsageError


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault and what it needs of the job; ``tp`` and ``pp`` are wishes, 0 for no wish."""

    name: str
    fault: Callable[[Scene], Fault]
    tp: int = 0
    pp: int = 0
    timing: bool = False
    local_sgd: bool = False

    @property
    def about(self) -> str:
        """What happens, in one sentence."""
        return (self.fault.__doc__ or "").strip().split("\n")[0]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("healthy", stalls.healthy),
        Kind("healthy-live", stalls.healthy_live, timing=True),
        Kind("host-stall", stalls.host_stall),
        Kind("device-stall", stalls.device_stall),
        Kind("no-dump", stalls.no_dump),
        Kind("mismatch-op", mismatches.mismatch_op),
        Kind("mismatch-size", mismatches.mismatch_size),
        Kind("mismatch-dtype", mismatches.mismatch_dtype),
        Kind("mismatch-pair", mismatches.mismatch_pair, tp=2),
        Kind("mismatch-tie", mismatches.mismatch_tie),
        Kind("swapped-order", mismatches.swapped_order),
        Kind("skipped-op", mismatches.skipped_op),
        Kind("group-order", mismatches.group_order),
        Kind("p2p-wrong-peer", transfers.p2p_wrong_peer, pp=4),
        Kind("p2p-missing-send", transfers.p2p_missing_send, pp=4),
        Kind("p2p-size", transfers.p2p_size, pp=4),
        Kind("fabric-stall", stalls.fabric_stall),
        Kind("setup-hang", stalls.setup_hang),
        Kind("straggler", stalls.straggler),
        Kind("slow-gpu", stalls.slow_gpu, timing=True),
        Kind("slow-link", stalls.slow_link, timing=True),
        Kind("slow-stage", stalls.slow_stage, pp=2, timing=True),
        Kind("slow-since", stalls.slow_since, timing=True),
        Kind("input-bound", stalls.input_bound, timing=True),
        Kind("two-culprits", stalls.two_culprits),
        Kind("stale-dump", stalls.stale_dump),
        Kind("mixed-jobs", stalls.mixed_jobs),
        Kind("early-stall", stalls.early_stall, local_sgd=True),
    )
}


def kind_named(name: str) -> Kind:
    """The kind called ``name``, with ``_`` for ``-`` allowed."""
    found = KINDS.get(name.replace("_", "-"))
    if found is None:
        raise UsageError(f"there is no kind of fault {name!r}: give one of {', '.join(KINDS)}")
    return found


def shape_for(kind: Kind, ranks: int, tp: int | None, pp: int | None, ep: int | None) -> Shape:
    """The job's shape; what is not given is chosen so that replicas remain where they can."""
    if ranks < 2:
        raise UsageError(f"{ranks} ranks make no collective: give 2 or more")
    if pp is None:
        wish = kind.pp or (4 if ranks >= 64 else 2 if ranks >= 8 else 1)
        pp = _largest(ranks // (tp or 1), wish, spare=1 if kind.pp else 2)
    if tp is None:
        wish = kind.tp or (8 if ranks >= 64 else 4 if ranks >= 16 else 2)
        tp = _largest(ranks // max(pp, 1), wish, spare=1 if ranks < 4 or kind.tp else 2)
    return Shape(ranks, tp, pp, ep or 1)


def _largest(ranks: int, wish: int, spare: int) -> int:
    """The largest divisor of ``ranks`` up to ``wish`` that leaves ``spare`` or more; else 1."""
    fitting = (size for size in range(wish, 0, -1) if ranks % size == 0 and ranks // size >= spare)
    return next(fitting, 1)
