"""What was not there to be read: the places to look before somebody is blamed."""

from collections.abc import Iterable, Sequence
from typing import Final

from triage.analysis.placement.topology import Placement
from triage.analysis.waiting.case import Case
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.evidence import Evidence, RowOrigin
from triage.domain.report import Missing, Suspect
from triage.parsers.logs.logset import LogFile, LogKind

# The best of a long list: more would be the whole job.
_MAX_NODES: Final = 4
# Suspicions that a kernel log can settle.
_SETTLED_BY_KERNEL: Final = HARDWARE | {
    Category.HOST_STALL,
    Category.NCCL_TIMEOUT,
    Category.STRAGGLER,
    Category.HOST_OOM,
}


def find_missing(
    case: Case | None,
    files: Sequence[LogFile],
    evidence: Iterable[Evidence],
    suspects: Sequence[Suspect],
    placement: Placement,
) -> Missing:
    """What could be brought; ``evidence`` has its nodes already."""
    read = [file for file in files if file.lines]
    world = case.snapshot.world if case is not None else ()
    return Missing(
        kernel_logs_of=_list_nodes_without_kernel_log(read, evidence, suspects, placement),
        dumps_of=tuple(
            rank for rank in world if case is not None and rank not in case.snapshot.index_of
        ),
        dumps=case is None,
        kernel_logs=not any(file.kind is LogKind.KERNEL for file in read),
        job_logs=not any(file.kind is LogKind.JOB for file in read),
        places=case is not None and placement.node_of(int(case.snapshot.ranks[0])) is None,
    )


def _list_nodes_without_kernel_log(
    files: Sequence[LogFile],
    evidence: Iterable[Evidence],
    suspects: Sequence[Suspect],
    placement: Placement,
) -> tuple[str, ...]:
    """Nodes of suspects without a line of a kernel log.

    One kernel log of many nodes may hold any of them, so that nothing is missed then.
    """
    kernel = [file for file in files if file.kind is LogKind.KERNEL]
    if any(file.node is None for file in kernel):
        return ()
    names = {file.node for file in kernel if file.node is not None}
    with_log = names | {placement.node_of_address(name) for name in names}
    with_log |= {row.node for row in evidence if row.origin is RowOrigin.KERNEL_LOG}
    wanted = (
        suspect.node
        for suspect in suspects
        if suspect.node is not None
        and suspect.role is not Role.AFFECTED
        and suspect.category in _SETTLED_BY_KERNEL
        and suspect.node not in with_log
    )
    return tuple(dict.fromkeys(wanted))[:_MAX_NODES]
