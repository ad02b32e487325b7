"""Next step: what the person on call does now, as a sentence and as commands to paste.

Commands are printed and never run. Node names come from logs, so a command names a
node only when the name is a plain host name.
"""

import re

from triage.domain.category import Action, Role, VerdictKind
from triage.domain.report import Answer, Suspect
from triage.render.clean import cut, one_line
from triage.render.ranges import condense, condense_names

__all__ = ["MAX_COMMANDS", "commands", "next_step"]

# n3, gpu-a-017.cluster.local; never a blank, a quote, a leading dash or an expression.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLAIN_JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")

# More than this many nodes in one answer is a rack or a switch: no list to paste.
MAX_COMMANDS = 8

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

_NOWHERE = {
    Action.REBOOT_NODE: " the node",
    Action.DRAIN_NODE: " the node",
    Action.INVESTIGATE: " the evidence",
}


def next_step(answer: Answer) -> str:
    """One or two sentences: the verdict's action, where, and what would make it surer."""
    best = _best_suspects(answer)
    nodes = answer.verdict.cordon or tuple(s.node for s in best if s.node is not None)
    ranks = [rank for suspect in best for rank in suspect.ranks]
    where = ""
    if nodes:
        where = f" {condense_names((cut(one_line(node), 80) for node in nodes), max_chars=48)}"
    elif ranks:
        where = f" of {'rank' if len(ranks) == 1 else 'ranks'} {condense(ranks, max_chars=48)}"
    gpus = [gpu for suspect in best for gpu in suspect.gpus]
    step = _STEP[answer.verdict.action].format(
        where=_joined(answer.verdict.action, where),
        gpus=f" {', '.join(cut(one_line(gpu), 40) for gpu in gpus)}" if 0 < len(gpus) <= 2 else "",
    )
    return f"{step}{_caution(answer)}{_surer(answer)}"


def commands(answer: Answer) -> tuple[str, ...]:
    """Slurm and Kubernetes commands that take the cordoned nodes out; empty without any."""
    nodes = [node for node in answer.verdict.cordon if _PLAIN_NAME.fullmatch(node)]
    if not nodes or len(nodes) > MAX_COMMANDS or len(nodes) < len(answer.verdict.cordon):
        return ()
    job = answer.job.job_id or ""
    label = job if _PLAIN_JOB.fullmatch(job) else "job"
    verdict = answer.verdict
    reason = f"triage:{label}:{verdict.category}:{verdict.confidence:.2f}"
    slurm = (f"scontrol update nodename={node} state=drain reason={reason}" for node in nodes)
    return (*slurm, *(f"kubectl cordon {node}" for node in nodes))


def _best_suspects(answer: Answer) -> tuple[Suspect, ...]:
    culprits = tuple(s for s in answer.suspects if s.role is Role.CULPRIT)
    return culprits or tuple(s for s in answer.suspects if s.role is Role.POSSIBLE)[:4]


def _joined(action: Action, where: str) -> str:
    if not where:
        return _NOWHERE.get(action, "")
    if action is Action.CHECK_NETWORK:
        return f", beginning with{where.removeprefix(' of')}"
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
    """What to bring when the answer is not one."""
    if answer.verdict.kind is not VerdictKind.INCONCLUSIVE:
        return ""
    missing = answer.coverage.ranks_without_dump
    if missing:
        return (
            f" Bring the missing dumps (ranks {condense(missing, max_chars=48)}) and run it again."
        )
    return " Bring kernel logs and job logs of the nodes and run it again."
