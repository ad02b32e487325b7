"""Next step: what the person on call does now, as a sentence and as commands to paste.

Commands are printed and never run. Node names come from logs, so a command names a
node only when the name is a plain host name. What changes a node is offered for
cordoned nodes alone; what only looks, for the suspects that are not convicted.
"""

import re
from collections.abc import Iterator, Mapping

from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.hosts import is_host_name
from triage.domain.report import Answer, Missing, Suspect
from triage.render.words.belief import belief
from triage.render.words.clean import one_line
from triage.render.words.ranges import condense, condense_names, name_ranks

__all__ = ["MAX_COMMANDS", "cordon_commands", "inspection_commands", "next_step", "what_is_missing"]

_PLAIN_JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
# 0000:5d:00 as reports have it, or with the function.
_BUS_ID = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(\.[0-7])?")
# mlx5_3, mlx5_3:1, bnxt_re0/1, roce2: an adapter as drivers and NCCL name it, with its port.
_PORT = re.compile(r"\b(?:mlx[45]_|bnxt_re|irdma|efa_?|roce|hfi1_)[0-9]{1,3}(?:[:/][0-9]{1,2})?\b")

# More than this many nodes in one answer is a rack or a switch: no list to paste.
MAX_COMMANDS = 8
MAX_INSPECTED = 3
_MAX_PORTS = 4

_STEP = {
    Action.NONE: "Nothing to do.",
    Action.RESTART_JOB: "Restart the job; no node has to leave the pool.",
    Action.FIX_CODE: "Fix the code before the next start; a restart alone will stop again.",
    Action.RESET_GPU: "Reset the GPU{gpus}{where}, then restart the job.",
    Action.REBOOT_NODE: "Reboot{where}, then restart the job.",
    Action.DRAIN_NODE: "Drain{where}, then restart the job without it.",
    Action.CHECK_NETWORK: "Check links, NICs and switch ports{where} before the next start.",
    Action.CHECK_STORAGE: "Check the file system and the checkpoint store before the next start.",
    Action.INVESTIGATE: "Look at{where}: the reasons above say what is known of it.",
}

_FIX = {
    Category.GPU_OOM: "Let the job ask for less GPU memory before the next start;",
    Category.HOST_OOM: "Let the job ask for less host memory, or find what else takes it;",
    Category.DEPENDENCY: "Set driver, image, versions or settings right before the next start;",
    Category.NUMERICAL: "Look at data, precision and learning rate before the next start;",
}
"""How code is fixed where that is more than an error in it."""

_XID = "sudo dmesg -T | grep -i xid"
_SEL = "sudo ipmitool sel list"
_ECC = "nvidia-smi -q -d ECC,ROW_REMAPPER"
_INSPECTIONS: Mapping[Category, tuple[str, ...]] = {
    Category.GPU: (_XID,),
    Category.GPU_HBM: (_XID, _ECC),
    Category.GPU_SRAM: (_XID, _ECC),
    Category.GPU_GSP: (_XID,),
    Category.GPU_THERMAL: ("nvidia-smi -q -d TEMPERATURE,PERFORMANCE",),
    Category.NVLINK: (_XID, "nvidia-smi nvlink -e"),
    Category.SDC: (_XID, _ECC),
    Category.NIC: ("ibstat", "sudo dmesg -T | grep -i link"),
    Category.NETWORK: ("ibstat", "sudo dmesg -T | grep -i link"),
    Category.SSD: ("sudo dmesg -T | grep -i nvme",),
    Category.POWER: (_SEL,),
    Category.CHASSIS: (_SEL, _XID),
    Category.IO_BOARD: ("sudo dmesg -T | grep -i pcie", _SEL),
    Category.CPU: (_SEL, "sudo dmesg -T | grep -i mce"),
    Category.HOST_MEMORY: (_SEL, "sudo dmesg -T | grep -i edac"),
    Category.HOST_OOM: ("sudo dmesg -T | grep -i oom",),
    Category.STORAGE: ("df -hT",),
    Category.NCCL_TIMEOUT: ("sudo dmesg -T | tail -n 50",),
}
"""Commands to inspect a node that is suspected of a category; none of them changes it."""


def next_step(answer: Answer) -> str:
    """One or two sentences: the verdict's action, where, and what would make it surer."""
    best = _best_suspects(answer)
    nodes = answer.verdict.cordon or tuple(s.node for s in best if s.node is not None)
    ranks = [rank for suspect in best for rank in suspect.ranks]
    where = ""
    if nodes:
        where = f" {condense_names(map(_named, nodes), max_chars=48)}"
    elif ranks:
        where = f" of {name_ranks(ranks, max_chars=48)}"
    if answer.verdict.action is Action.CHECK_NETWORK:
        where = _connection(best) or where
    gpus = [gpu for suspect in best for gpu in suspect.gpus]
    if answer.verdict.action is Action.INVESTIGATE and not where:
        return f"No node is named, so none has to leave the pool on this.{_surer(answer)}"
    if answer.verdict.action is Action.FIX_CODE and answer.verdict.category in _FIX:
        again = "a restart alone will stop again."
        return f"{_FIX[answer.verdict.category]} {again}{_surer(answer)}"
    step = _STEP[answer.verdict.action].format(
        where=_joined(answer.verdict.action, where),
        gpus=f" {', '.join(one_line(gpu, 40) for gpu in gpus)}" if 0 < len(gpus) <= 2 else "",
    )
    return f"{step}{_caution(answer)}{_surer(answer)}"


def cordon_commands(answer: Answer) -> tuple[str, ...]:
    """Slurm and Kubernetes commands that take the cordoned nodes out; empty without any.

    A node that only wants a reboot is rebooted, and a GPU that only wants a reset is
    reset once its node is drained.
    """
    nodes = [node for node in answer.verdict.cordon if is_host_name(node)]
    if not nodes or len(nodes) > MAX_COMMANDS or len(nodes) < len(answer.verdict.cordon):
        return ()
    job = answer.job.job_id or ""
    label = job if _PLAIN_JOB.fullmatch(job) else "job"
    verdict = answer.verdict
    reason = f"triage:{label}:{verdict.category}:{belief(verdict.confidence)}"
    of = {suspect.node: suspect for suspect in reversed(answer.suspects)}
    slurm = [_slurm(node, of.get(node), verdict.action, reason) for node in nodes]
    resets = [reset for node in nodes for reset in _resets(node, of.get(node), verdict.action)]
    return (*slurm, *(f"kubectl cordon {node}" for node in nodes), *resets)


def inspection_commands(answer: Answer) -> tuple[str, ...]:
    """Commands that only look at suspects which are not taken out; empty without any."""
    wanted = [
        suspect
        for suspect in answer.suspects
        if suspect.role is not Role.AFFECTED
        and suspect.node is not None
        and is_host_name(suspect.node)
        and suspect.node not in answer.verdict.cordon
        and suspect.category in _INSPECTIONS
    ]
    return tuple(
        dict.fromkeys(
            f"ssh {suspect.node} {inspection}"
            for suspect in wanted[:MAX_INSPECTED]
            for inspection in _INSPECTIONS[suspect.category]
        )
    )


def what_is_missing(missing: Missing) -> tuple[str, ...]:
    """What to bring, as nouns, the most telling first."""
    nouns = []
    if missing.dumps_of:
        nouns.append(f"the missing dumps (ranks {condense(missing.dumps_of, max_chars=48)})")
    if missing.kernel_logs_of:
        logs = "log" if len(missing.kernel_logs_of) == 1 else "logs"
        nodes = condense_names(map(_named, missing.kernel_logs_of), max_chars=48)
        nouns.append(f"the kernel {logs} of {nodes}")
    elif missing.kernel_logs:
        nouns.append("the kernel logs of the nodes")
    if missing.dumps:
        nouns.append("the flight-recorder dumps")
    if missing.job_logs:
        nouns.append("the job's own log")
    if missing.places:
        nouns.append("a job.json with the nodes")
    return tuple(nouns)


def _slurm(node: str, suspect: Suspect | None, otherwise: Action, reason: str) -> str:
    action = otherwise if suspect is None else suspect.action
    if action is Action.REBOOT_NODE:
        return f"scontrol reboot ASAP nextstate=resume reason={reason} {node}"
    return f"scontrol update nodename={node} state=drain reason={reason}"


def _resets(node: str, suspect: Suspect | None, otherwise: Action) -> Iterator[str]:
    action = otherwise if suspect is None else suspect.action
    if suspect is None or action is not Action.RESET_GPU:
        return
    for gpu in suspect.gpus:
        if _BUS_ID.fullmatch(gpu):
            bus_id = gpu if "." in gpu else f"{gpu}.0"
            yield f"ssh {node} sudo nvidia-smi --gpu-reset -i {bus_id}"


def _best_suspects(answer: Answer) -> tuple[Suspect, ...]:
    culprits = tuple(s for s in answer.suspects if s.role is Role.CULPRIT)
    possible = tuple(s for s in answer.suspects if s.role is Role.POSSIBLE)
    return culprits or possible[:4] or answer.suspects


def _connection(best: tuple[Suspect, ...]) -> str:
    """Ends and ports of a connection that the reasons name; nothing where there is none."""
    nodes = list(dict.fromkeys(_named(one.node) for one in best if one.node is not None))
    reasons = [because.text for suspect in best for because in suspect.because]
    ports = list(dict.fromkeys(port for text in reasons for port in _PORT.findall(text[:2000])))
    where = f" {condense_names(nodes, max_chars=48)}" if nodes else ""
    leaves = {
        because.text.rpartition("leaf switch ")[2]
        for suspect in best
        for because in suspect.because
        if because.detector == "fabric.leaf"
    }
    if leaves and nodes:
        where = f" {' and '.join(f'leaf switch {_named(one)}' for one in sorted(leaves)[:2])}"
        return f"{where} and its ports to {condense_names(nodes, max_chars=48)}"
    if len(nodes) == 2 and all(one.role is Role.POSSIBLE for one in best):
        where = f" the connection between {nodes[0]} and {nodes[1]}"
    if ports and where:
        where += f" ({', '.join(ports[:_MAX_PORTS])})"
    return where


def _joined(action: Action, where: str) -> str:
    if not where:
        return " the node" if action in (Action.REBOOT_NODE, Action.DRAIN_NODE) else ""
    if action is Action.CHECK_NETWORK:
        return f", beginning with{where.removeprefix(' of')},"
    if action is Action.INVESTIGATE:
        return f"{where.removeprefix(' of')} first"
    if action is Action.RESET_GPU and not where.startswith(" of"):
        return f" on{where}"
    if action in (Action.REBOOT_NODE, Action.DRAIN_NODE) and where.startswith(" of"):
        return f" the node{where}"
    return where


def _caution(answer: Answer) -> str:
    if answer.verdict.action is Action.DRAIN_NODE and not answer.verdict.cordon:
        return " Confirm it first: no node is named as surely as a cordon asks for (0.9)."
    return ""


def _surer(answer: Answer) -> str:
    """What to bring where the answer is inconclusive or convicts nobody."""
    verdict = answer.verdict
    open_end = verdict.kind is VerdictKind.INCONCLUSIVE
    convicts = any(suspect.role is Role.CULPRIT for suspect in answer.suspects)
    unsure = verdict.category is Category.NCCL_TIMEOUT or bool(answer.suspects and not convicts)
    if not open_end and not unsure:
        return ""
    bring = what_is_missing(answer.missing) or what_is_missing(
        Missing(dumps_of=answer.coverage.ranks_without_dump)
    )
    if not bring and open_end:
        bring = ("kernel logs and job logs of the nodes",)
    if not bring:
        return ""
    head = ", ".join(bring[:-1])
    return f" Bring {f'{head} and ' if head else ''}{bring[-1]} and run it again."


def _named(node: str) -> str:
    return one_line(node, 80)
