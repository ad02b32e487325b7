"""A small job whose evidence is written down row by row, and what is decided of it."""

from dataclasses import dataclass, field, replace

from triage.analysis.facts.stop import SECOND, Stop
from triage.analysis.facts.told_together import with_common_losses
from triage.analysis.joining.join import join
from triage.analysis.joining.model import load_model
from triage.analysis.joining.sources import Sources
from triage.analysis.joining.verdict import Decision
from triage.analysis.placement.topology import JobTopology
from triage.analysis.registry import DETECTORS
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.finding import Finding
from triage.domain.report import Because

T = 1_795_230_000 * SECOND
NODES = [f"n{k}" for k in range(8)]


@dataclass
class Placement:
    """Eight ranks a node, `n0`, `n1`, ...; GPU k of a node is 0000:k0:00."""

    nodes: int = 8
    addresses: dict[str, str | None] = field(default_factory=dict)

    @property
    def world_size(self) -> int | None:
        return 8 * self.nodes

    def node_of(self, rank: int) -> str | None:
        return f"n{rank // 8}" if rank < 8 * self.nodes else None

    def is_seen(self, rank: int) -> bool:
        return self.node_of(rank) is not None

    def gpu_of(self, rank: int) -> str | None:
        return f"0000:{rank % 8}0:00"

    def rank_of_gpu(self, node: str, gpu: str) -> int | None:
        return 8 * int(node[1:]) + int(gpu[5])

    def ranks_on(self, node: str) -> list[int]:
        return [rank for rank in range(8 * self.nodes) if self.node_of(rank) == node]

    def node_of_address(self, text: str) -> str | None:
        return self.addresses.get(text, text if text.startswith("n") else None)


def row(node: str | None = "n3", at_s: float | None = 0.0, **given) -> Evidence:
    at = None if at_s is None else T + int(at_s * SECOND)
    base = Evidence(
        artifact=f"nodes/{node}/kernel.log", line=1, signature="nvidia.xid", kind=Kind.XID,
        role=EvidenceRole.ROOT, text="NVRM: Xid", category=Category.GPU, code=79, node=node,
        gpu="0000:50:00", at_ns=at, last_at_ns=at, error_ns=SECOND // 1000,
        fields={"severity": "fatal"},
    )  # fmt: skip
    return replace(base, **given)


def of(category: Category, kind: Kind, node="n3", at_s=0.0, **given) -> Evidence:
    return row(node, at_s, category=category, kind=kind, code=None, gpu=None,
               signature=f"test.{category}", **given)  # fmt: skip


def watchdog(rank: int, at_s: float = 600.0) -> Evidence:
    return Evidence(
        artifact=f"nodes/n{rank // 8}/rank{rank}.log", line=5, signature="c10d.watchdog_timeout",
        kind=Kind.NCCL, role=EvidenceRole.CONSEQUENCE, text="Watchdog caught", rank=rank,
        node=f"n{rank // 8}", at_ns=T + int(at_s * SECOND), fields={"ran_ms": "600000"},
        traits=frozenset({Trait.TIMEOUT}),
    )  # fmt: skip


def claim(rank: int, detector="fr.host_stall", category=Category.HOST_STALL, strength=0.95):
    reason = Because(detector, "everything it issued is done", f"fr/rank_{rank}")
    return Finding(
        detector, VerdictKind.HANG, category, (rank,), strength, Role.CULPRIT,
        "stopped issuing work", (reason,),
        explained_by=next(one.explains for one in DETECTORS if one.name == detector),
    )  # fmt: skip


STOP = Stop(start_ns=T, end_ns=T + 601 * SECOND, known=True, trouble=True, job_seen=True)


def answer(*rows, findings=(), stop=STOP, leaves=None, placement=None) -> Decision:
    topology = JobTopology(placement or Placement(), NODES, leaves or {})
    rows = with_common_losses(rows, len(NODES))
    return join(Sources(None, findings, rows), topology, stop, load_model()).decision


def culprits(decision: Decision) -> list[str | None]:
    return [one.node for one in decision.suspects if one.role is Role.CULPRIT]


def retry(teller: str, peer: str, at_s: float | None = 0.0) -> Evidence:
    return of(Category.NETWORK, Kind.NCCL, teller, at_s, peer=peer, blame=Blame.PAIR, weak=True,
              artifact=f"nodes/{teller}/rank.log")  # fmt: skip


def stalled() -> Finding:
    return replace(claim(0, "fr.fabric_stall", Category.NCCL_TIMEOUT, 0.7), ranks=(),
                   role=Role.POSSIBLE)  # fmt: skip
