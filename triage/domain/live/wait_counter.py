"""How long and how often a process waited at one place of PyTorch, as its debug server tells."""

from dataclasses import dataclass

from triage.domain.live.process import Process

__all__ = ["WaitCounter"]


@dataclass(frozen=True, slots=True)
class WaitCounter:
    """One of PyTorch's wait counters: ``TCPStore__wait``, ``c10d.init_process_group`` ...

    ``active`` is how many threads are inside now; their wait is not in the totals yet. Two looks
    with other ``calls`` are a process that moves.
    """

    process: Process
    name: str
    active: int
    calls: int
    total_us: int
    max_us: int
