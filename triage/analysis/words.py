"""An answer of all sources in words: summary, reasons and the next step."""

from collections.abc import Sequence
from typing import Final

from triage.analysis.hypothesis import UNKNOWN_LEAF, Hypothesis
from triage.analysis.weigh import GPU_PARTS, KERNEL_KINDS
from triage.domain.category import Action, Category, Role
from triage.domain.evidence import Evidence
from triage.domain.report import Because, Suspect, Victims

__all__ = ["action_of", "because_of", "summary_of"]

ACTIONS: Final = {
    Category.GPU: Action.DRAIN_NODE,
    Category.NVLINK: Action.DRAIN_NODE,
    Category.GPU_HBM: Action.DRAIN_NODE,
    Category.GPU_SRAM: Action.DRAIN_NODE,
    Category.GPU_GSP: Action.REBOOT_NODE,
    Category.GPU_THERMAL: Action.DRAIN_NODE,
    Category.SDC: Action.DRAIN_NODE,
    Category.NIC: Action.DRAIN_NODE,
    Category.NETWORK: Action.CHECK_NETWORK,
    Category.SSD: Action.DRAIN_NODE,
    Category.POWER: Action.DRAIN_NODE,
    Category.CHASSIS: Action.DRAIN_NODE,
    Category.IO_BOARD: Action.DRAIN_NODE,
    Category.CPU: Action.DRAIN_NODE,
    Category.HOST_MEMORY: Action.DRAIN_NODE,
    Category.HOST_MAINTENANCE: Action.RESTART_JOB,
    Category.SOFTWARE_USER: Action.FIX_CODE,
    Category.SOFTWARE_FRAMEWORK: Action.FIX_CODE,
    Category.COLLECTIVE_MISMATCH: Action.FIX_CODE,
    Category.HOST_STALL: Action.INVESTIGATE,
    Category.GPU_OOM: Action.FIX_CODE,
    Category.HOST_OOM: Action.FIX_CODE,
    Category.NUMERICAL: Action.FIX_CODE,
    Category.DEPENDENCY: Action.FIX_CODE,
    Category.STORAGE: Action.CHECK_STORAGE,
    Category.NCCL_TIMEOUT: Action.INVESTIGATE,
    Category.STRAGGLER: Action.INVESTIGATE,
    Category.NONE: Action.NONE,
}

FAILED: Final = {
    Category.GPU: "a GPU failed",
    Category.NVLINK: "NVLink failed",
    Category.GPU_HBM: "GPU memory (HBM) failed",
    Category.GPU_SRAM: "GPU on-chip memory (SRAM) failed",
    Category.GPU_GSP: "the GPU's system processor (GSP) stopped answering",
    Category.GPU_THERMAL: "a GPU is too hot and slows down",
    Category.SDC: "a GPU computes wrong results",
    Category.NIC: "a network adapter failed",
    Category.NETWORK: "a link or switch port failed",
    Category.SSD: "a local disk failed",
    Category.POWER: "power failed",
    Category.CHASSIS: "several devices of the node were lost at once",
    Category.IO_BOARD: "the PCIe path to a device failed (switch, riser or retimer)",
    Category.CPU: "a CPU failed",
    Category.HOST_MEMORY: "system memory failed",
    Category.HOST_MAINTENANCE: "the node or the job was taken down from outside",
    Category.SOFTWARE_USER: "the training code raised an error",
    Category.SOFTWARE_FRAMEWORK: "the framework or a library crashed",
    Category.COLLECTIVE_MISMATCH: "ranks run different collectives",
    Category.HOST_STALL: "a host process stopped issuing work",
    Category.GPU_OOM: "GPU memory ran out",
    Category.HOST_OOM: "host memory ran out",
    Category.NUMERICAL: "the loss or a gradient is not a number",
    Category.DEPENDENCY: "a driver, library or setting does not fit",
    Category.STORAGE: "the file system or checkpoint store failed",
    Category.NCCL_TIMEOUT: "a process failed without saying why",
    Category.STRAGGLER: "a rank is slow",
    Category.NONE: "nothing failed",
}

QUOTED: Final = 120


def action_of(one: Hypothesis, role: Role) -> Action:
    """The next step for a place; one that is only possible is looked at first."""
    if role is Role.POSSIBLE and not one.shared:
        return Action.INVESTIGATE
    if role is Role.AFFECTED:
        return Action.CHECK_NETWORK
    return ACTIONS[one.category]


def because_of(one: Hypothesis, node: str | None) -> tuple[Because, ...]:
    """Reasons: the roots in the order of time, then what the dumps say."""
    own = [row for row in one.rows if node is None or row.node in (node, None)] or one.rows
    reasons = [reason_of(row, node) for row in own[:5]]
    if one.leaf == UNKNOWN_LEAF:
        reasons.insert(0, Because("fabric.links", "links of several nodes went down together"))
    elif one.leaf is not None:
        reasons.insert(0, Because("fabric.leaf", f"all ends hang on leaf switch {one.leaf}"))
    elif one.votes > 1 and not one.shared:
        text = f"{one.votes} other nodes have trouble in connections with it"
        reasons.append(Because("fabric.votes", text))
    reasons += [reason for finding in one.findings for reason in finding.because[:3]]
    return tuple(dict.fromkeys(reasons))


def reason_of(row: Evidence, node: str | None) -> Because:
    """The line as a reason to suspect ``node``; another node's line says whose it is."""
    source = "kernel" if row.kind in KERNEL_KINDS else "job"
    if row.signature.startswith("telemetry."):
        source = "telemetry"
    times = f" ({row.count} times)" if row.count > 1 else ""
    teller = f"{row.node} says of it: " if node and row.node and row.node != node else ""
    text = f"{teller}{row.text}{times}"
    return Because(f"{source}.{row.kind}", text, row.artifact, row.line, row.at)


def summary_of(
    top: Hypothesis, suspects: Sequence[Suspect], victims: Victims, *, said: bool
) -> str:
    """One sentence for the person on call."""
    what = FAILED[top.category]
    quote = quoted(top)
    if not said:
        return f"No cause is likely enough to be named; the best guess is that {what}{quote}."
    waits = ""
    if victims.ranks:
        waiting = len(victims.ranks)
        other = " other" if suspects and suspects[0].ranks else ""
        waits = f"; {waiting}{other} rank{' waits' if waiting == 1 else 's wait'}"
    if top.leaf is not None:
        nodes = ", ".join(top.nodes[:4]) + (" ..." if len(top.nodes) > 4 else "")
        if top.leaf == UNKNOWN_LEAF:
            return f"Links of {nodes} went down together, so the switch is the likelier{quote}."
        return f"Leaf switch {top.leaf} or its links failed, behind which {nodes} stand{quote}."
    if top.shared or not suspects or top.place == ("", -1):
        on = f" on {top.votes} nodes" if top.votes > 1 else ""
        where = "no single node is to blame" if top.shared else "no line says on which node"
        return f"{what[0].upper()}{what[1:]}{on}{quote}: {where}{waits}."
    best = suspects[0]
    place = f"On {best.node}" if best.node is not None else "In the job"
    of = f" ({', '.join(part)})" if (part := whose(best)) else ""
    hedge = "" if best.role is Role.CULPRIT else "possibly "
    return f"{place}{of}, {hedge}{what}{quote}{waits}."


def whose(best: Suspect) -> list[str]:
    """Ranks and the one GPU of a suspect, as far as they are known."""
    found = []
    if best.ranks:
        shown = ", ".join(map(str, best.ranks[:4])) + (" ..." if len(best.ranks) > 4 else "")
        found.append(f"rank {shown}" if len(best.ranks) == 1 else f"ranks {shown}")
    if len(best.gpus) == 1 and best.category in GPU_PARTS:
        found.append(f"GPU {best.gpus[0]}")
    return found


def quoted(top: Hypothesis) -> str:
    if not top.rows:
        return f": {top.findings[0].summary}" if top.findings else ""
    text = " ".join(top.rows[0].text.split())
    return f': "{text[:QUOTED]}{"..." if len(text) > QUOTED else ""}"'
