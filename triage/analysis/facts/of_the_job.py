"""Which evidence is the job's: of its nodes, of its processes, and of its life.

Other people's processes run on its nodes, other jobs' logs lie beside its own, and a job that
ended in order tears down what its processes held.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.exits import has_own_exit_code
from triage.analysis.facts.on_one_clock import DatedEvidence
from triage.analysis.facts.outlived import OF_A_PROCESS, move_to_last_line
from triage.analysis.facts.stop import (
    AFTER_S,
    BEFORE_S,
    FAILING,
    MOST_SLACK_S,
    SECOND,
    TIMEOUT_S,
    Stop,
    When,
    is_by_process,
    is_failing,
)
from triage.analysis.placement.host_names import OF_PODS, OTHER_NAME
from triage.analysis.placement.identity import JobPlacement
from triage.analysis.progress.job import add_health, judge_health
from triage.domain.category import HARDWARE, Category
from triage.domain.counts import list_some
from triage.domain.evidence import (
    HOST_AMONG_SEVERAL,
    KERNEL_KINDS,
    Blame,
    Evidence,
    EvidenceRole,
    Kind,
    Trait,
)
from triage.domain.health import Outcome
from triage.domain.job import Job
from triage.domain.progress import ChangeKind, JobProgress, ProgressPoint
from triage.parsers.logs.logset import LogKind
from triage.signatures.program.process_names import Whose, classify_owner


def drop_contradicted_end(
    progress: JobProgress | None, dated: DatedEvidence, facts: Job
) -> JobProgress | None:
    """``progress``, whose end in order is none where a line behind it says that the job failed.

    The bar of an epoch is full before the last checkpoint and evaluation, in which jobs fail too.
    """
    end = progress.ended if progress is not None else None
    if progress is not None and facts.exit_code == 0:
        # It ended by itself: it was done when its logs fell silent, whatever they say last.
        changes = tuple(one for one in progress.changes if one.kind is not ChangeKind.STOPPED)
        done = replace(progress, changes=changes, error_at_end=None, silent_s=None, left_s=None)
        return add_health(done)
    if progress is None or end is None:
        return progress
    own = _own_logs(dated)
    if not any(
        _is_failure_after_end(row, end, by_count=progress.is_ended_by_count)
        if row.artifact in own
        else _is_break_at_end(row, progress)
        for row in dated.evidence
    ):
        return progress
    return add_health(replace(progress, failed_behind=True))


def _is_failure_after_end(row: Evidence, end: ProgressPoint, *, by_count: bool = False) -> bool:
    """Whether a row says, behind the end of a job, that it failed, and not only that it was torn
    down. Behind the full bar of an epoch only who misses the store, or its monitor, may just go.
    """
    last = move_to_last_line(row)
    torn = _is_teardown(row)
    if by_count and row.role is EvidenceRole.CONSEQUENCE:
        torn = (
            row.blame is Blame.STORE
            or Trait.RENDEZVOUS in row.traits
            or row.signature == "c10d.heartbeat_monitor"
        )
    return is_failing(row) and not torn and is_behind(last, end)


def _is_break_at_end(row: Evidence, progress: JobProgress) -> bool:
    """Whether a machine says that a part of it broke where the count of steps was full, before
    anybody said that the job was done.
    """
    end = progress.ended
    if end is None or not progress.is_ended_by_count:
        return False
    end_ns = end.at_ns if end.at_ns is not None else progress.until_ns
    if end_ns is None or row.at_ns is None or row.kind not in _OF_PARTS:
        return False
    grave = row.role is EvidenceRole.ROOT and row.is_firm and row.category in HARDWARE
    slack_ns = min(row.error_ns, MOST_SLACK_S * SECOND) + BEFORE_S * SECOND
    return grave and end_ns - slack_ns <= row.at_ns <= end_ns + TIMEOUT_S * SECOND


def list_contradictions(
    dated: DatedEvidence, progress: JobProgress | None, facts: Job
) -> tuple[str, ...]:
    """What ``job.json`` or the scheduler says of the end that the logs do not, as notes."""
    code = facts.exit_code
    if code is None:
        return ()
    end = progress.ended if progress is not None else None
    if code != 0:
        if progress is None or end is None or progress.failed_behind:
            return ()
        how = progress.ended_how
        return (f"exit code {code}, and {end.artifact} says that it ended ({how})",)
    own = _own_logs(dated)
    failing = [row for row in dated.evidence if row.artifact in own and is_failing(row)]
    if end is not None:
        failing = [row for row in failing if _is_failure_after_end(row, end)]
    roots = [row for row in failing if row.role is EvidenceRole.ROOT] or failing
    if not roots:
        return ()
    first = roots[0]
    text = first.text.strip()[:_SHOWN_CHARACTERS]
    held = "" if end is None else ": it is not held against anybody, since the job had ended"
    return (f'exit code 0, and {first.artifact} line {first.line} says "{text}"{held}',)


# What an interpreter ends with that aborts: 128 and SIGABRT.
_ABORTED: Final = "134"


def _is_teardown(row: Evidence) -> bool:
    """Whether processes print so when they go: whoever leaves first takes the store with him, and
    the others lose what they held.
    """
    if Trait.TIMEOUT in row.traits or row.kind is Kind.SCHEDULER:
        return False
    if row.role is EvidenceRole.CONSEQUENCE:
        return not (has_own_exit_code(row) or row.fields.get("exit_code") == _ABORTED)
    return Trait.RENDEZVOUS in row.traits or row.is_generic


def drop_teardown(dated: DatedEvidence, progress: JobProgress | None) -> tuple[Evidence, ...]:
    """Without what processes print once the job has ended in order, and what other logs than its
    own say of processes: nothing failed by that.
    """
    end = progress.ended if progress is not None else None
    if end is None or not judge_health(progress)[0].well:
        return tuple(dated.evidence)
    own = _own_logs(dated)
    return tuple(
        row
        for row in dated.evidence
        if not (
            is_by_process(row)
            and row.role in FAILING
            and (row.artifact not in own or is_behind(row, end))
        )
    )


def _own_logs(dated: DatedEvidence) -> set[str]:
    """The job's own logs."""
    return {file.artifact for file in dated.logs.files if file.kind is LogKind.JOB}


def is_behind(row: Evidence, end: ProgressPoint) -> bool:
    """Whether a row stands below a line of its own log, or is no earlier than it in another."""
    if row.artifact == end.artifact:
        return (row.line or 0) > end.line
    return row.at_ns is not None and end.at_ns is not None and row.at_ns >= end.at_ns


_SHOWN_CHARACTERS: Final = 90
# Parts of a machine that do not fail because a job ends; links flap on any day.
_OF_PARTS: Final = KERNEL_KINDS - {
    Kind.LINK,
    Kind.NIC,
    Kind.LOCKUP,
    Kind.KERNEL,
    Kind.OOM,
    Kind.STORAGE,
    Kind.THERMAL,
}


def find_strange_nodes(dated: DatedEvidence, facts: Job) -> tuple[frozenset[str], list[str]]:
    """Nodes in the logs that are not the job's, and a note of them.

    The job's are those that ``job.json`` lists, else those where its ranks sit, when all of them
    are known. Where half of its nodes are not to be found among the logs' either, the two
    write names in different ways, and nothing can be told from that.
    """
    fleet = dated.fleet
    listed = {*facts.nodes, *facts.rank_to_node.values()}
    who = "job.json does not list"
    if not listed and fleet.world_size and len(fleet.node_by_rank) == fleet.world_size:
        listed = set(fleet.node_by_rank.values())
        who = "no rank of the job sits on"
    elif not listed:
        listed = _list_nodes_of_pods(dated.evidence, fleet)
        who = "no pod of the job is on"
    said = (*dated.evidence, *dated.unfamiliar)
    named = {row.node for row in said if row.node is not None}
    seen = named | {file.node for file in dated.logs.files if file.node is not None}
    # Who lists several nodes calls all others so, too.
    seen |= {name for row in said for name in row.fields.get("nodes", "").split()}
    if not listed or 2 * len(listed & seen) < len(listed):
        return frozenset(), []
    strange = sorted(named - listed)
    if not strange:
        return frozenset(), []
    shown = list_some(strange, 3)
    return frozenset(strange), [f"{who} {shown}: what their logs say is not held against anybody"]


def _list_nodes_of_pods(evidence: Sequence[Evidence], fleet: JobPlacement) -> set[str]:
    """The nodes on which a list puts the job's pods, which are those called as the ones on nodes
    where its ranks sit or its processes speak; empty where these are not all among them.
    """
    homes = {
        (row.fields["pod"], row.node)
        for row in evidence
        if row.signature in OF_PODS and row.node is not None and OTHER_NAME not in row.text
    }
    tied = _find_tied_nodes(evidence, fleet)
    words = {pod.partition("-")[0] for pod, node in homes if node in tied}
    listed = {node for pod, node in homes if pod.partition("-")[0] in words}
    return listed if len(words) == 1 and tied <= listed else set()


# What it says of a node that is not ready it says of all nodes, whoever runs there.
_OF_A_CLUSTER: Final = "kubernetes"


def _find_tied_nodes(evidence: Iterable[Evidence], fleet: JobPlacement) -> frozenset[str]:
    """The nodes that the job's ranks sit on, and those that its processes speak on."""
    return fleet.seated | {
        row.node
        for row in evidence
        if is_by_process(row)
        and row.node is not None
        and Trait.NOT_THE_JOB not in row.traits
        and (row.family != _OF_A_CLUSTER or Trait.ROOT_WHEN_ALONE not in row.traits)
    }


def weaken_untied(
    evidence: Sequence[Evidence], facts: Job, fleet: JobPlacement
) -> tuple[Evidence, ...]:
    """The rows, weak where a log of many hosts tells them of a node that nothing ties to the job.

    Without a list of the job's nodes, those are tied to it that its ranks sit on and that its
    processes speak on, or where there are none, that pods are on; a log that lies in a folder of
    its node was collected because of the job.
    What a scheduler tells of another node than those does not stop it.
    """
    if facts.nodes or facts.rank_to_node:
        return tuple(evidence)
    tied = _find_tied_nodes(evidence, fleet)
    tied = tied or frozenset(row.node for row in evidence if row.signature in OF_PODS and row.node)
    kept = []
    for row in evidence:
        if row.node is not None and row.node not in tied:
            if tied and row.kind is Kind.SCHEDULER:
                row = replace(row, role=EvidenceRole.ADVICE, weak=True)
            elif HOST_AMONG_SEVERAL in row.fields:
                row = replace(row, weak=True)
        kept.append(row)
    return tuple(kept)


# Drivers whose addresses are GPUs'; a switch has one, too.
_OF_GPU_DRIVERS: Final = frozenset({"nvidia", "amdgpu"})


def mark_other_gpus(
    evidence: Sequence[Evidence], facts: Job, fleet: JobPlacement
) -> tuple[list[Evidence], list[str]]:
    """The rows, what a driver says of a GPU that the job does not have marked as not the job's, and
    a note.

    Only on nodes of which ``job.json`` lists a GPU for each of its ranks, and no line of the job
    names another one.
    """
    listed = _collect_listed_gpus(evidence, facts, fleet)
    strange: dict[str, None] = {}
    kept = []
    for row in evidence:
        gpus = listed.get(row.node or "")
        of_a_gpu = row.family in _OF_GPU_DRIVERS and row.kind is not Kind.SXID
        other = gpus is not None and of_a_gpu and row.gpu is not None and row.gpu not in gpus
        # It speaks of no process of the job.
        if other and (row.pid is None or fleet.rank_of_pid(row.node or "", row.pid) is None):
            strange.setdefault(f"{row.gpu} of {row.node}")
            row = replace(row, traits=row.traits | {Trait.NOT_THE_JOB})
        kept.append(row)
    shown = ", ".join([*strange][:3])
    note = f"job.json does not list GPU {shown}: what it reports is not held against the job"
    return kept, [note] if strange else []


def _collect_listed_gpus(
    evidence: Sequence[Evidence], facts: Job, fleet: JobPlacement
) -> dict[str, frozenset[str]]:
    """Node -> all GPUs that the job has on it, where that is told for certain."""
    listed = {
        node: frozenset(gpus)
        for node, gpus in facts.gpu_bus_ids.items()
        if len(set(gpus)) >= max(len(fleet.ranks_on(node)), facts.gpus_per_node or 1)
    }
    said: dict[str, set[str]] = defaultdict(set)
    for row in evidence:
        if row.kind is Kind.IDENTITY and row.node is not None and row.gpu is not None:
            said[row.node].add(row.gpu)
    for node, gpus in said.items():
        # What NCCL says of each of its ranks at the start is as good a list.
        if len(gpus) >= max(len(fleet.ranks_on(node)), facts.gpus_per_node or 1):
            listed.setdefault(node, frozenset(gpus))
    for row in evidence:
        own = row.kind is Kind.IDENTITY and row.node in listed and row.gpu is not None
        if own and row.gpu not in listed[row.node or ""]:
            del listed[row.node or ""]  # the job runs on another one: the list is of another time
    return listed


def mark_other_processes(evidence: Sequence[Evidence], fleet: JobPlacement) -> list[Evidence]:
    """The rows; what a driver says of another process than the job's is marked as that.

    By its number where some of the job's are known on that node, else by its name.
    """
    pids_on: dict[str, list[int]] = defaultdict(list)
    for node, pid in fleet.rank_by_pid:
        pids_on[node].append(pid)
    return [
        replace(row, traits=row.traits | {Trait.NOT_THE_JOB})
        if row.kind is Kind.XID
        and row.code in OF_A_PROCESS
        and row.pid is not None
        and is_a_strangers(row, pids_on)
        else row
        for row in evidence
    ]


# A launcher starts all processes of a node within seconds.
NEAR_PIDS: Final = 2_000


def is_a_strangers(row: Evidence, pids_on: Mapping[str, Sequence[int]]) -> bool:
    """Whether a row is about a process that is not the job's; ``pids_on``: node -> its pids."""
    own = pids_on.get(row.node or "")
    if own and row.pid is not None:
        return min(abs(row.pid - pid) for pid in own) > NEAR_PIDS
    name = row.fields.get("name") or row.fields.get("process") or ""
    return bool(name) and not name.startswith("<") and classify_owner(name) is not Whose.JOB


def tell_lost_gpus(rows: Iterable[Evidence], stop: Stop) -> list[Evidence]:
    """``rows``, those in which CUDA does not start a GPU as the GPU's where the job had run on it:
    drivers and settings were right. Where a tool does not reach it either, a container lost its
    devices, and they stay as they are.
    """
    rows = list(rows)
    of_settings = any(row.category is Category.DEPENDENCY and row.kind is Kind.GPU for row in rows)
    if stop.moved_ns is None or of_settings:
        return rows
    return [
        replace(
            row,
            category=Category.GPU,
            also=tuple(one for one in row.also if one is not Category.GPU),
            traits=row.traits - {Trait.GPU_NOT_STARTED},
        )
        if Trait.GPU_NOT_STARTED in row.traits and row.category is Category.DEPENDENCY
        else row
        for row in rows
    ]


# What tools that watch a node reported. Such a tool reports what the stop itself brought about,
# too: a GPU that is reset when its job is killed, a node that is drained because somebody asked. So
# only a report from before the stop accuses by itself; a later one needs another source. A report
# that was taken back before the stop, and one on a GPU that the job did not use, accuse nobody.

_FAMILY: Final = "check"
_BEHIND: Final = frozenset({When.AFTER, When.TEARDOWN})


def judge_reports(rows: Sequence[Evidence], stop: Stop, fleet: JobPlacement) -> list[Evidence]:
    """``rows``, those of checks and agents judged by their time and their GPU."""
    passes: dict[Hashable, list[int]] = defaultdict(list)
    for row in rows:
        passed = row.family == _FAMILY and row.fields.get("outcome") == Outcome.PASS
        if passed and row.at_ns is not None:
            passes[_get_subject(row)].append(row.at_ns)
    return [
        _judge_report(row, stop, fleet, passes)
        if row.family == _FAMILY and row.role is EvidenceRole.ROOT
        else row
        for row in rows
    ]


def _get_subject(row: Evidence) -> Hashable:
    """The check and the part that it looked at."""
    part = row.gpu or row.fields.get("gpu_uuid") or row.fields.get("device")
    return row.signature, row.node, part, row.cuda_device


def _judge_report(
    row: Evidence, stop: Stop, fleet: JobPlacement, passes: dict[Hashable, list[int]]
) -> Evidence:
    start_ns = stop.start_ns if stop.start_ns is not None else stop.end_ns
    if row.at_ns is not None and start_ns is not None:
        at_ns, until_ns = row.at_ns, start_ns + AFTER_S * SECOND
        if any(at_ns < passed <= until_ns for passed in passes.get(_get_subject(row), ())):
            return replace(row, role=EvidenceRole.ADVICE, weak=True)
    if row.gpu is not None and row.node is not None:
        own = [fleet.gpu_by_rank.get(rank) for rank in fleet.ranks_on(row.node)]
        if own and None not in own and row.gpu not in own:
            # It is beside those of the job, all of which are known.
            return replace(row, role=EvidenceRole.ADVICE, weak=True)
    return replace(row, weak=True) if stop.of(row) in _BEHIND else row
