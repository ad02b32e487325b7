"""What a scheduler or a kernel did to other jobs than this one: no fate of this job.

A controller's log, a node's log and the events of a cluster tell of every job that ran there. A
line that names a job by its number, or a pod, is about that one; so is the kill for want of memory
that names the group of a job, and every line of that kill. Which one is ours stands in
``job.json``, at the head of the job's own log, or in the names of its hosts and folders.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.category import Category
from triage.domain.counts import list_some
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.domain.patterns import compile_re
from triage.parsers.logs.logset import LogFile

# 4711, 4711_3, 4711[3], 4711+1, 4711.0, 4711_3(4715), 8812.pbs-server
_JOB: Final = r"(?P<id>\d{1,12}(?:_\d{1,9}|\[\d{1,9}\]|\+\d{1,4})?)(?:\((?P<raw>\d{1,12})\))?"
_ABOUT_A_JOB: Final = compile_re(
    rf"(?:\bJob_?I[dD][ =:]{{1,2}}|\bStepId=|\bjob_?id[ =:]{{1,2}}|\b(?:[Jj]obs?|JOB|STEP|;Job;)"
    rf"[ ;=:#]{{0,2}}<?){_JOB}(?![\w%])"
)
_ABOUT_A_POD: Final = compile_re(
    r"\bpod/(?P<pod>[a-z0-9][\w.-]{1,252})|\b[Pp]ods? (?:[a-z0-9][\w-]{0,62}/)?"
    r"(?P<named>[a-z0-9][\w.-]{0,250}-[\w.-]{1,60})"
    r"|\bevicting pod (?:[\w.-]{1,80}/)?(?P<evicted>[\w.-]{2,253})"
)
# slurm-4711.out, slurm-4711_3.out
_IN_NAME: Final = compile_re(r"(?:^|/)slurm-(\d{1,12}(?:_\d{1,9})?)\.(?:out|err|log)$")
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


def own_job(facts: Job, files: Iterable[LogFile], hosts: Collection[str]) -> OwnJob:
    """The numbers and names of this job; ``hosts`` are the names of its nodes."""
    numbers = {file.job_id for file in files if file.job_id}
    numbers |= {found[1] for file in files if (found := _IN_NAME.search(file.artifact)) is not None}
    own = facts.job_id or ""
    words = {host for host in hosts if "-" in host}
    if re.fullmatch(r"\d{1,12}(?:_\d{1,9})?", own):
        numbers.add(own)
    elif own:
        words.add(own)
    uids = {
        _plain_uid(found["uid"])
        for file in files
        if file.of_a_job and (found := _POD_IN_NAME.search(file.artifact)) is not None
    }
    return OwnJob(frozenset(numbers), frozenset(words), frozenset(uids))


def _plain_uid(uid: str) -> str:
    """The UID of a pod as the cluster writes it; systemd has no hyphens in names."""
    return uid.replace("_", "-")


def mark_fates_of_other_jobs(
    rows: Sequence[Evidence], job: OwnJob
) -> tuple[list[Evidence], list[str]]:
    """``rows``, those of a scheduler about another job as noise, and a note.

    What such a line says of a node holds, whosever job it took.
    """
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
            other = other or _find_other_job(row, job, of_pods=of_pods)
        if other is not None:
            others.setdefault(other)
            row = _mark_as_another_job(row)
        kept.append(row)
    if not others:
        return kept, []
    shown = list_some([*others], _SHOWN)
    return kept, [f"what is said of other jobs is no end of this one: {shown}"]


def _find_other_job(row: Evidence, job: OwnJob, *, of_pods: bool) -> str | None:
    """The other job, or its pod, that a scheduler's line is about; None for this one or none.

    ``of_pods`` says that this job's own pods are called by its name.
    """
    found = _ABOUT_A_JOB.search(row.text) if job.numbers else None
    if found is not None:
        own = job.has_number(found["id"], found["raw"])
        return None if own else f"job {found['id']}"
    pod = _parse_pod(row) if of_pods else None
    return None if pod is None or job.has_pod(pod) else f"pod {pod}"


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
