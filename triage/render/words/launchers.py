"""Nodes to leave out, in the words of launchers: Slurm, DeepSpeed, and pods of Kubernetes.

Every workload of Kubernetes that starts pods holds a pod template somewhere: Job, JobSet,
Volcano's Job, PyTorchJob, MPIJob, RayJob, a Job that Kueue admits. So nodes are left out of all
of them alike: each template's required node affinity gets ``kubernetes.io/hostname NotIn``.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from triage.domain.hosts import format_host_list

_HOSTNAME: Final = "kubernetes.io/hostname"
_DEEPEST: Final = 64
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def format_slurm_exclude(nodes: Sequence[str]) -> str:
    """The option of ``sbatch``, ``salloc`` and ``srun``; empty for no nodes.

    >>> slurm_exclude(["gpu003", "gpu004", "gpu009"])
    '--exclude=gpu[003-004,009]'
    """
    return f"--exclude={format_host_list(nodes)}" if nodes else ""


def format_deepspeed_exclude(nodes: Sequence[str]) -> str:
    """The option of ``deepspeed``; empty for no nodes.

    >>> deepspeed_exclude(["n3", "n4"])
    '--exclude=n3@n4'
    """
    return f"--exclude={'@'.join(nodes)}" if nodes else ""


def leave_out(manifest: object, nodes: Sequence[str]) -> int:
    """Keep the pods of a manifest off ``nodes``, in place; how many pod templates it has.

    What the templates ask of nodes besides stays. A manifest is what JSON can hold: one object
    or a list of them. Raises ``ValueError`` for one that is nested too deeply.
    """
    num_templates = 0
    for spec in _iterate_pod_specs(manifest, 0):
        num_templates += 1
        if nodes:
            _keep_off(spec, nodes)
    return num_templates


def _iterate_pod_specs(value: object, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        raise ValueError(f"the manifest is nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield spec
            return
        for below in value.values():
            yield from _iterate_pod_specs(below, depth + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _iterate_pod_specs(below, depth + 1)


def _keep_off(spec: dict[str, Any], nodes: Sequence[str]) -> None:
    """Terms are alternatives, so each of them gets the requirement."""
    required = _ensure_child(
        _ensure_child(_ensure_child(spec, "affinity"), "nodeAffinity"), _REQUIRED
    )
    terms = required.get("nodeSelectorTerms")
    if not isinstance(terms, list) or not terms:
        terms = required["nodeSelectorTerms"] = [{}]
    for term in terms:
        if isinstance(term, dict):
            asked = term.get("matchExpressions") or []
            ours = {"key": _HOSTNAME, "operator": "NotIn", "values": list(nodes)}
            if ours not in asked:
                term["matchExpressions"] = [*asked, ours]


def _ensure_child(parent: dict[str, Any], key: str) -> dict[str, Any]:
    found = parent.get(key)
    if not isinstance(found, dict):
        found = parent[key] = {}
    return found
