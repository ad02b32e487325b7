"""When the answer to an incident leaves open which node it was, and a test of groups would tell."""

from triage.domain.category import Category, Role, VerdictKind
from triage.domain.report import Answer

_FABRIC = frozenset({Category.NETWORK, Category.NIC})
_NOT_OF_A_NODE = frozenset(
    {
        Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK, Category.COLLECTIVE_MISMATCH,
        Category.GPU_OOM, Category.DEPENDENCY, Category.STORAGE,
    }
)  # fmt: skip


def explain_test_groups(answer: Answer) -> str | None:
    """The reason in half a sentence; None where a node is convicted, or none is in question."""
    verdict = answer.verdict
    if verdict.kind is VerdictKind.HEALTHY or verdict.category in _NOT_OF_A_NODE:
        return None
    if verdict.category is Category.SDC:
        return "corruption that no error reports has to be seen more than once"
    if any(one.role is Role.CULPRIT and one.node for one in answer.suspects):
        return None
    possible = {one.node for one in answer.suspects if one.role is Role.POSSIBLE and one.node}
    if len(possible) > 1:
        return f"{len(possible)} nodes may be the cause, and none is convicted"
    if verdict.kind is VerdictKind.STRAGGLER or answer.slow_job is not None:
        return "the job is slow, and no node explains it"
    if verdict.category is Category.NCCL_TIMEOUT:
        return "collectives time out, and no node explains it"
    if verdict.category in _FABRIC:
        return "the fabric stalls, and no node explains it"
    if verdict.kind is VerdictKind.INCONCLUSIVE:
        return "the evidence names no node"
    return None
