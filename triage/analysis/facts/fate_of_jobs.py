"""What a scheduler or a kernel did to other jobs than this one: no fate of this job.

A controller's log, a node's log and the events of a cluster tell of every job that ran there. A
line that names a job by its number, or a pod, is about that one; so is the kill for want of memory
that names the group of a job, and every line of that kill. Which one is ours stands in
``job.json``, at the head of the job's own log, in what its launcher says, or in the names of its
hosts and folders.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

from triage.analysis.facts.stop import is_failing
from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.placement.host_names import OTHER_NAME, parse_plain_host
from triage.analysis.placement.identity import parse_small_number
from triage.domain.category import Category
from triage.domain.counts import list_some
from triage.domain.evidence import KERNEL_KINDS, Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.domain.patterns import compile_re
from triage.parsers.logs.logset import LogFile, LogSet

# 4711, 4711_3, 4711[3], 4711+1, 4711.0, 4711_3(4715), 8812.pbs-server
_JOB: Final = r"(?P<id>\d{1,12}(?:_\d{1,9}|\[\d{1,9}\]|\+\d{1,4})?)(?:\((?P<raw>\d{1,12})\))?"
_ABOUT_A_JOB: Final = compile_re(
    r"(?:\bJob_?I[dD][ =:]{1,2}|\bStepId=|\bjob_?id[ =:]{1,2}"
    rf"|\b(?:[Jj]obs?(?: step)?|JOB|STEP|;Job;)[ ;=:#]{{0,2}}<?){_JOB}(?![\w%])"
)
_ABOUT_A_POD: Final = compile_re(
    r"\bpod/(?P<pod>[a-z0-9][\w.-]{1,252})|\b[Pp]ods? (?:[a-z0-9][\w-]{0,62}/)?"
    r"(?P<named>[a-z0-9][\w.-]{0,250}-[\w.-]{1,60})"
    r"|\bevicting pod (?:[\w.-]{1,80}/)?(?P<evicted>[\w.-]{2,253})"
)
_LISTED: Final = "slurm.job_nodes"
_POD: Final = "kubernetes.pod_listed"
# How sacct and kubectl write that a job or a pod is over and ended by itself.
_COMPLETED: Final = frozenset({"COMPLETED", "Completed", "Succeeded"})
_NUMBER_IN_NAME: Final = compile_re(r"(?<!\d)\d{2,12}(?:_\d{1,9})?(?!\d)")
# slurm-4711.out, slurm-4711_3.out
_IN_NAME: Final = compile_re(r"(?:^|/)slurm-(\d{1,12}(?:_\d{1,9})?)\.(?:out|err|log)$")
# What these say in the job's own log is about it.
_LAUNCHER: Final = compile_re(r"\b(?:srun|slurmstepd)(?:-\S{1,80})?: ")
# /slurm/uid_1000/job_4799/step_0, /system.slice/slurmstepd.scope/job_4799/step_0/user/task_3
_GROUP_OF_A_JOB: Final = compile_re(r"/job_(?P<id>\d{1,12})(?![\w.-])")
_UID: Final = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}"
# /kubepods.slice/kubepods-burstable-pod0c2f3ab1_1111_....slice, /kubepods/pod0c2f3ab1-1111-...
_GROUP_OF_A_POD: Final = compile_re(rf"\bkubepods\S{{0,200}}?[-/]pod(?P<uid>{_UID})")
# var/log/pods/default_train-0_0c2f3ab1-.../worker/0.log
_POD_IN_NAME: Final = compile_re(rf"_(?P<uid>{_UID})/")
# Whose limit was reached, where a line says it: that of a group above all jobs is everybody's.
_LIMIT: Final = compile_re(
    r"(?:\boom_memcg=| limit of | due to memory \w{1,9}(?: for| by)? )([^,\s]+)"
)
_WHOLE_NODE: Final = "CONSTRAINT_NONE"
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class OwnJob:
    """What this job is called: ``numbers`` by its scheduler, ``words`` by who named its pods, whose
    ``uids`` folders of their logs bear.
    """

    numbers: frozenset[str]
    words: frozenset[str] = frozenset()
    uids: frozenset[str] = frozenset()

    def has_number(self, number: str, raw: str | None) -> bool:
        """Whether a scheduler's number is this job's; a task of its array is, too."""
        told = {number.replace("[", "_").rstrip("]"), raw}
        base = re.split(r"[_+\[]", number, maxsplit=1)[0]
        whole = base in told  # the line is about the array, or the job of several parts
        return any(
            own in told or own == base or (whole and re.split(r"[_+]", own)[0] == base)
            for own in self.numbers
        )

    def has_pod(self, pod: str) -> bool:
        """Whether a pod is one of this job's."""
        return any(pod == word or pod.startswith(f"{word}-") for word in self.words)


def own_job(
    facts: Job, files: Sequence[LogFile], hosts: Collection[str], rows: Iterable[Evidence] = ()
) -> OwnJob:
    """The numbers and names of this job; ``hosts`` are the names of its nodes.

    Where neither the facts nor the head of a log tell its number, the launcher in its own log does
    by what it says of its step among ``rows``.
    """
    numbers = {file.job_id for file in files if file.job_id}
    numbers |= {found[1] for file in files if (found := _IN_NAME.search(file.artifact)) is not None}
    own = facts.job_id or ""
    words = {host for host in hosts if "-" in host}
    if re.fullmatch(r"\d{1,12}(?:_\d{1,9})?", own):
        numbers.add(own)
    elif own:
        words.add(own)
    if not numbers:
        logs = {file.artifact for file in files if file.of_a_job}
        told = [row.text for row in rows if row.artifact in logs and _LAUNCHER.search(row.text)]
        steps = {found["id"] for text in told if (found := _ABOUT_A_JOB.search(text)) is not None}
        numbers |= steps if len(steps) == 1 else set()
    uids = {
        _plain_uid(found["uid"])
        for file in files
        if file.of_a_job and (found := _POD_IN_NAME.search(file.artifact)) is not None
    }
    return OwnJob(frozenset(numbers), frozenset(words), frozenset(uids))


def take_from_scheduler(facts: Job, logs: LogSet) -> tuple[Job, LogSet, list[str]]:
    """``facts`` with the nodes on which the scheduler put the job, where nobody else lists them,
    ``logs`` without those of its other jobs, and a note.

    A log of the scheduler tells of many jobs: this one's number is known, or stands in the names of
    its logs; where nothing tells it, its ranks joined on the nodes of no other, or no other is
    listed. Of a job that was started twice the last start counts. That all of it completed is its
    exit code, where nobody gives one.
    """
    facts = _take_good_end(facts, logs, _list_states(_list_pods(facts, logs)))
    nodes: dict[str, list[str]] = {}
    states: dict[str, list[str]] = defaultdict(list)
    for row in logs.evidence:
        if row.signature == _LISTED:
            number = next(text for name, text in row.fields.items() if name.startswith("job"))
            nodes[number] = row.fields.get("nodes", row.fields.get("said_of", "")).split()
            states[number] += _list_states([row])
    known = own_job(facts, logs.files, ()).numbers
    own_logs = " ".join(file.artifact for file in logs.files if file.of_a_job)
    own = nodes.keys() & {facts.job_id}
    own = own or nodes.keys() & {*known, *_NUMBER_IN_NAME.findall(own_logs)}
    if len(own) != 1:
        own = _find_jobs_of_ranks(nodes, logs) or (set() if known else {*nodes})
    if len(own) != 1:
        return facts, logs, []
    (number,) = own
    others = {
        file.artifact
        for file in logs.files
        if file.of_a_job and (told := _read_number(file)) is not None and told != number
    }
    if not any(file.progress is not None and file.artifact not in others for file in logs.files):
        others = set()  # what is left tells of no job
    logs, notes = _leave_out(logs, others, f"of another job than {number}")
    if not (facts.nodes or facts.rank_to_node):
        facts = replace(facts, nodes=tuple(nodes[number]))
    return _take_good_end(facts, logs, states[number]), logs, notes


def _list_pods(facts: Job, logs: LogSet) -> list[Evidence]:
    """What a list says of the pods on the job's nodes; of all, where nobody lists its nodes."""
    pods = [row for row in logs.evidence if row.signature == _POD and OTHER_NAME not in row.text]
    homes = {parse_plain_host(node) for node in (*facts.nodes, *facts.rank_to_node.values())}
    own = [row for row in pods if not homes or parse_plain_host(row.node or "") in homes]
    return own if homes <= {parse_plain_host(row.node or "") for row in own} else []


def _list_states(rows: Iterable[Evidence]) -> list[str]:
    """The states that rows of a scheduler's tables give, as it writes them."""
    return [text for row in rows for name, text in row.fields.items() if name.startswith("state")]


def _take_good_end(facts: Job, logs: LogSet, states: Collection[str]) -> Job:
    """``facts``, with exit code 0 where nobody gives another one, all ``states`` that the scheduler
    tells of the job are that it completed, and no process says that it failed, but that it was torn
    down: a wrapper may exit well whatever its program did.
    """
    completed = bool(states) and _COMPLETED.issuperset(states)
    failed = any(
        is_failing(row) and row.kind is not Kind.SCHEDULER and Trait.TEARDOWN not in row.traits
        for row in logs.evidence
    )
    is_good = completed and not failed and facts.exit_code is None
    return replace(facts, exit_code=0) if is_good else facts


def _find_jobs_of_ranks(nodes: Mapping[str, Sequence[str]], logs: LogSet) -> set[str]:
    """The jobs among ``nodes``, by number, on whose nodes all ranks of a log joined."""
    joined: dict[str, set[str]] = defaultdict(set)
    for row in logs.evidence:
        if row.signature == JOINED and row.node is not None:
            joined[row.artifact].add(parse_plain_host(row.node))
    homes = {number: {parse_plain_host(name) for name in names} for number, names in nodes.items()}
    several = [hosts for hosts in joined.values() if len(hosts) > 1]
    return {number for number, home in homes.items() if any(hosts <= home for hosts in several)}


def _read_number(file: LogFile) -> str | None:
    """The number of the job that a log is of, by its head or its name."""
    found = _IN_NAME.search(file.artifact)
    return file.job_id or (found[1] if found is not None else None)


def _plain_uid(uid: str) -> str:
    """The UID of a pod as the cluster writes it; systemd has no hyphens in names."""
    return uid.replace("_", "-")


def mark_fates_of_other_jobs(
    rows: Sequence[Evidence], job: OwnJob
) -> tuple[list[Evidence], list[str]]:
    """``rows``, those of a scheduler about another job as noise, and a note.

    What such a line says of a node holds, whosever job it took.
    """
    # Whether this job's own pods are called by its name.
    of_pods = any(
        job.has_pod(pod)
        for row in rows
        if row.kind is Kind.SCHEDULER and (pod := _parse_pod(row)) is not None
    )
    kills = _other_kills(rows, job)
    others: dict[str, None] = {}
    kept = []
    for place, row in enumerate(rows):
        other = kills.get(place)
        # A scheduler tells it of a job, or a wrapper in its words.
        ends = row.category is Category.HOST_MAINTENANCE and row.kind is Kind.ELASTIC
        if row.kind is Kind.SCHEDULER or ends:
            found = _ABOUT_A_JOB.search(row.text) if job.numbers else None
            pod = _parse_pod(row) if of_pods and found is None else None
            if other is None and found is not None:
                own = job.has_number(found["id"], found["raw"])
                other = None if own else f"job {found['id']}"
            elif other is None and pod is not None and not job.has_pod(pod):
                other = f"pod {pod}"
        if other is not None:
            others.setdefault(other)
            row = _mark_as_another_job(row)
        kept.append(row)
    if not others:
        return kept, []
    shown = list_some([*others], _SHOWN)
    return kept, [f"what is said of other jobs is no end of this one: {shown}"]


# Who writes so says that it is no trouble of this job, or that it is over. What is unrelated to its
# code, or "not the job" but the node, accuses the node.
_DISCLAIMED: Final = compile_re(
    r"\b(?:(?:un|not )related to|no impact on|not (?:part )?of|outside(?: of)?)"
    r" (?:(?:the|this|our|any) (?:job|run|training)\b(?! (?:code|script|config))"
    r"|(?:job )?(?P<job>[\w.-]{3,80}))"
    r"|(?<!no )(?<!not )\b(?:(?:retr(?:y|ied)|attempt) (?:ok|succeeded|successful)"
    r"|returned to normal)\b|-> ?(?:ok|recovered|success)\W{0,4}$",
    re.IGNORECASE,
)


def mark_disclaimed(rows: Iterable[Evidence], job_id: str) -> list[Evidence]:
    """``rows``, those as noise whose own words say that they are over, or not of the job, which may
    be called by the front of its id.
    """

    def is_disclaimed(text: str) -> bool:
        named = (found["job"] for found in _DISCLAIMED.finditer(text))
        return any(
            name is None or f"{job_id}-".startswith(f"{name.rstrip('.')}-") for name in named
        )

    return [
        replace(row, role=EvidenceRole.NOISE, category=Category.NONE, also=())
        if row.role is EvidenceRole.ROOT and is_disclaimed(row.text)
        else row
        for row in rows
    ]


def _other_kills(rows: Sequence[Evidence], job: OwnJob) -> dict[int, str]:
    """Place -> the other job, for the rows of each kill for want of memory in a group of it.

    One line of a kill names the group. What the same log says of one since the kill before is of
    it, and so is what it says of the same process.
    """
    found: dict[int, str] = {}
    before: dict[str, list[int]] = defaultdict(list)
    latest: dict[str, tuple[int | None, str | None]] = {}
    places = [place for place, row in enumerate(rows) if row.kind is Kind.OOM]
    for place in sorted(places, key=lambda place: (rows[place].artifact, rows[place].line or 0)):
        row = rows[place]
        pid, other = latest.get(row.artifact, (0, None))
        if "group" in row.fields:
            other = _other_group(row, job)
            latest[row.artifact] = row.pid, other
        elif row.pid is None:
            before[row.artifact].append(place)
            continue
        elif pid not in (None, row.pid):
            other = None
        of_it = before.pop(row.artifact, []) if "group" in row.fields or other is None else []
        if other is not None:
            found |= dict.fromkeys([*of_it, place], other)
    return found


def _other_group(row: Evidence, job: OwnJob) -> str | None:
    """The other job whose group reached its limit; None where it is this one's, or everybody's."""
    limit = _LIMIT.search(row.text)
    group = limit[1] if limit is not None else row.fields.get("group", "")
    if row.fields.get("constraint") == _WHOLE_NODE:
        return None
    number, pod = _GROUP_OF_A_JOB.search(group), _GROUP_OF_A_POD.search(group)
    if number is not None and job.numbers:
        return None if job.has_number(number["id"], None) else f"job {number['id']}"
    if pod is not None and job.uids:
        uid = _plain_uid(pod["uid"])
        return None if uid in job.uids else f"pod {uid}"
    return None


def _parse_pod(row: Evidence) -> str | None:
    """The pod that an event is about."""
    found = _ABOUT_A_POD.search(row.text)
    return (found["pod"] or found["named"] or found["evicted"]) if found is not None else None


def _mark_as_another_job(row: Evidence) -> Evidence:
    """A line about another job: noise, unless it names a node, of which it may still tell."""
    row = replace(row, traits=row.traits | {Trait.NOT_THE_JOB})
    if row.fields.keys() & {"said_of", "nodes"}:
        return row
    return replace(row, role=EvidenceRole.NOISE, category=Category.NONE, also=())


# Job logs of other jobs may lie beside this one's: their ranks ran on other nodes.


def drop_other_jobs(
    logs: LogSet, facts: Job, dump_nodes: Mapping[int, str]
) -> tuple[LogSet, list[str]]:
    """``logs`` without those whose ranks all joined on nodes that are not the job's, and a note.

    The job's are those of ``job.json`` and of the dumps' folders (``dump_nodes``, by rank). Where
    these do not seat all ranks, a log on another node is another job's only if a rank of it sits
    elsewhere in this one, or is none of it. Where other logs do not call their nodes so, or all
    that joined are as many ranks on as many other hosts, as pods are called, names are written in
    two ways, and nothing can be told from them. Where nothing tells the job's
    nodes, of two sets of logs that seat the same ranks on other nodes the job's is the one from
    more of whose nodes there are logs.
    """
    node_by_rank = {
        rank: parse_plain_host(node) for rank, node in {**facts.rank_to_node, **dump_nodes}.items()
    }
    own = {parse_plain_host(one) for one in facts.nodes} | set(node_by_rank.values())
    if not own:
        return _drop_strange_logs(logs, _find_less_heard_logs(logs, facts.world_size))
    is_whole = bool(facts.nodes) or len(node_by_rank) == facts.world_size
    hosts: dict[str, set[str]] = defaultdict(set)
    contradicting: set[str] = set()
    for row in logs.evidence:
        if row.signature == JOINED and row.node is not None:
            hosts[row.artifact].add(parse_plain_host(row.node))
            if is_whole or _is_on_another_node(row, node_by_rank, facts.world_size):
                contradicting.add(row.artifact)
    strange = {one for one in contradicting if not hosts[one] & own}
    seen = {
        parse_plain_host(row.node)
        for row in logs.evidence
        if row.node is not None and row.artifact not in strange
    }
    if 2 * len(own & seen) < len(own) or (
        strange == hosts.keys()
        and len(set().union(*hosts.values())) == len(own)
        and _collect_sizes(logs) == {facts.world_size}
    ):
        return logs, []
    return _drop_strange_logs(logs, strange)


def _collect_sizes(logs: LogSet) -> set[int | None]:
    """How many ranks joined, by each line that tells it: of the whole job, if it is one."""
    sizes: dict[str, int] = {}
    for row in logs.evidence:
        if row.signature == JOINED:
            size = parse_small_number(row.fields.get("nranks")) or 0
            sizes[row.artifact] = max(sizes.get(row.artifact, 0), size)
    return set(sizes.values())


def _drop_strange_logs(logs: LogSet, strange: Collection[str]) -> tuple[LogSet, list[str]]:
    """``logs`` without those whose ranks ran elsewhere, and a note that names them."""
    return _leave_out(logs, strange, "their ranks ran on other nodes than this job's")


def _leave_out(logs: LogSet, strange: Collection[str], why: str) -> tuple[LogSet, list[str]]:
    """``logs`` without those of another job, and a note that names them and says why."""
    if not strange:
        return logs, []
    shown = list_some(sorted(strange), _SHOWN)
    kept = replace(
        logs,
        files=[file for file in logs.files if file.artifact not in strange],
        evidence=[row for row in logs.evidence if row.artifact not in strange],
    )
    return kept, [f"{shown}: left out, {why}"]


def _find_less_heard_logs(logs: LogSet, world: int | None) -> set[str]:
    """Of logs that seat the same ranks on other nodes, those whose side has fewer nodes with logs.

    Only communicators of all ranks count. Empty where no two logs contradict, or neither side
    has more.
    """
    joined = [row for row in logs.evidence if row.signature == JOINED and row.node is not None]
    size = world or max(
        (parse_small_number(row.fields.get("nranks")) or 0 for row in joined), default=0
    )
    hosts: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    nodes: dict[str, set[str]] = defaultdict(set)
    for row in joined:
        if row.rank is not None and parse_small_number(row.fields.get("nranks")) == size:
            host = parse_plain_host(row.node or "")
            hosts[row.rank][host].add(row.artifact)
            nodes[row.artifact].add(host)
    against: dict[str, set[str]] = defaultdict(set)
    for at in hosts.values():
        for one, other in permutations(at, 2):
            for artifact in at[one]:
                against[artifact] |= at[other] - {artifact}
    if not against:
        return set()
    first = min(against)
    sides = (against[first], set().union(*(against[one] for one in against[first])))
    ran_on = [set().union(*(nodes[one] for one in side)) for side in sides]
    if sides[0] & sides[1] or sides[0] | sides[1] != set(against) or ran_on[0] & ran_on[1]:
        return set()  # more than two jobs, or attempts of one
    heard = {
        parse_plain_host(row.node)
        for row in logs.evidence
        if row.node is not None and row.kind in KERNEL_KINDS
    }
    counts = [len(heard & hosts_of) for hosts_of in ran_on]
    if counts[0] == counts[1]:
        return set()
    return sides[counts.index(min(counts))]


def _is_on_another_node(row: Evidence, node_by_rank: Mapping[int, str], world: int | None) -> bool:
    """Whether a rank that joined is not the job's rank of that number."""
    size = parse_small_number(row.fields.get("nranks"))
    if size is None or row.node is None or row.rank is None or world is None:
        return False
    return size > world or (
        size == world
        and node_by_rank.get(row.rank, parse_plain_host(row.node)) != parse_plain_host(row.node)
    )
