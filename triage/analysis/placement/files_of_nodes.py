"""Whose a file is, where its folder and its lines disagree, and what lies in two folders.

A log may lie in the folder of the node that wrote it and hold what ranks of all nodes said: the
output of a batch host, a rack's syslog, a copy. The folder's name counts where the lines name no
other node of the job.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from triage.analysis.placement.host_names import name_in, parse_full_host, parse_plain_host
from triage.domain.counts import list_some
from triage.domain.evidence import (
    BY_FILE,
    HOST,
    HOST_AMONG_SEVERAL,
    LABELS,
    NO_STAMP,
    OWN_RANK,
    Evidence,
    EvidenceRole,
    Kind,
)
from triage.domain.job import Job
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.logset import LogFile, LogKind, LogSet


def with_lines_of_their_hosts(
    logs: LogSet, facts: Job, dump_nodes: Mapping[int, str]
) -> tuple[LogSet, list[str]]:
    """``logs``; where the host on a line is another node of the job than its folder's, the line is
    of that host, and so is a kernel log of which all lines name it.

    A name that nothing else calls a node is taken for another name of the folder's.
    """
    told = {*facts.nodes, *facts.rank_to_node.values(), *dump_nodes.values()}
    folders = {node for file in logs.files if (node := parse_node(file.artifact)) is not None}
    known: dict[str, str] = {}
    for node in sorted(folders - told) + sorted(told):
        known[parse_plain_host(node)] = known[parse_full_host(node)] = node
    homes: dict[str, str] = {}
    for row in logs.evidence:
        host = row.fields.get(HOST)
        home = name_in(known, host) if host is not None else None
        if home is not None and parse_plain_host(home) != parse_plain_host(row.node or ""):
            homes[row.artifact] = home
    if not homes:
        return logs, []
    kernel = {file.artifact for file in logs.files if file.kind is LogKind.KERNEL}
    moved = {artifact: home for artifact, home in homes.items() if artifact in kernel}
    rows = [
        replace(row, node=homes[row.artifact])
        if row.artifact in homes
        and (HOST in row.fields or (BY_FILE in row.fields and row.artifact in moved))
        else row
        for row in logs.evidence
    ]
    files = [
        replace(file, node=moved[file.artifact]) if file.artifact in moved else file
        for file in logs.files
    ]
    shown = ", ".join(f"{artifact} names {home}" for artifact, home in sorted(homes.items())[:3])
    note = f"a log lies in the folder of another node than its lines name: {shown}"
    return replace(logs, files=files, evidence=rows), [note]


def drop_copies(logs: LogSet) -> tuple[LogSet, list[str]]:
    """``logs`` without the second copy of a dated log; what lies in the folders of two nodes is in
    the folder of nobody.
    """
    pages = {file.artifact: _LogLines(file, []) for file in logs.files}
    for row in logs.evidence:
        if row.artifact in pages:
            pages[row.artifact].rows.append(row)
    copies = _find_copies(pages.values())
    if not copies:
        return logs, []
    first_of: dict[str, _LogLines] = {}
    nobodys: set[str] = set()
    kept: dict[str, str | None] = {}
    for group in copies:
        first, *others = sorted(
            group, key=lambda one: (-one.file.lines, one.home is None, one.name)
        )
        first_of |= {one.name: first for one in others}
        if len({one.home for one in group} - {None}) > 1:
            nobodys |= {one.name for one in group}
            kept[first.name] = None
    evidence = [
        replace(row, node=None, fields={**row.fields, HOST_AMONG_SEVERAL: "1"})
        if row.artifact in nobodys and (BY_FILE in row.fields or HOST in row.fields)
        else row
        for row in logs.evidence
        if row.artifact not in first_of or _get_words(row) not in first_of[row.artifact].words
    ]
    files = [
        replace(file, node=kept[file.artifact]) if file.artifact in kept else file
        for file in logs.files
        if file.artifact not in first_of
    ]
    notes = [f"copies of another log, read once: {list_some(sorted(first_of), 3)}"]
    if nobodys:
        notes.append(
            "the same log lies in the folders of several nodes, which tell of no line whose it is"
        )
    return replace(logs, files=files, evidence=evidence), notes


# Of the lines that two files could share so many are the same, and as much of the shorter file
# lies beside the other one, where the files are copies that were cut or begun in another way.
_SHARED: Final = 0.8
_BESIDE: Final = 0.5
# Lines with a time that must be the same where no progress is told.
_DATED: Final = 3
# More logs than these with one line in common are no copies.
_MOST_COPIES: Final = 64


@dataclass
class _LogLines:
    """A log and the lines of it that were read: rows of evidence, and steps."""

    file: LogFile
    rows: list[Evidence]

    @property
    def name(self) -> str:
        """The artifact."""
        return self.file.artifact

    @property
    def home(self) -> str | None:
        """The node of its folder."""
        return self.file.node

    @cached_property
    def words(self) -> frozenset[Hashable]:
        """What its rows say, wherever they stand."""
        return frozenset(map(_get_words, self.rows))

    @cached_property
    def by_line(self) -> dict[int, set[Hashable]]:
        """Line -> what its rows say."""
        found: dict[int, set[Hashable]] = defaultdict(set)
        for row in self.rows:
            found[row.line or 0].add(_get_words(row))
        return found

    @cached_property
    def steps(self) -> dict[int, Hashable]:
        """Line -> the step that it tells, with its time."""
        steps = self.file.progress.steps if self.file.progress is not None else ()
        return {
            one.place.line: (one.counter, one.rank, one.place.stamp, *sorted(one.values.items()))
            for one in steps
        }


def _get_words(row: Evidence) -> Hashable:
    """What a row says, and when, but not where it lies."""
    own = row.node if not {BY_FILE, HOST} & row.fields.keys() else None
    return row.signature, row.text, row.rank, row.pid, row.gpu, row.stamp, own


def _find_copies(logs: Iterable[_LogLines]) -> list[list[_LogLines]]:
    """The dated logs of the same bytes, each with its copies, and logs in the folders of several
    nodes that share most lines; a text without a time may well be the same on several nodes.
    """
    alike: dict[Hashable, list[_LogLines]] = defaultdict(list)
    dated = [
        one for one in logs if (one.file.first_stamp, one.file.last_stamp) != (NO_STAMP, NO_STAMP)
    ]
    for one in dated:
        key = (one.file.kind, one.file.lines, one.file.checksum)
        alike[key if one.file.checksum else one.name].append(one)
    copies = {files[0].name: files for files in alike.values()}
    failing: dict[Hashable, list[_LogLines]] = defaultdict(list)
    for files in copies.values():
        if files[0].home is not None and files[0].file.kind is LogKind.JOB:
            roots = {_get_words(row) for row in files[0].rows if row.role is EvidenceRole.ROOT}
            for words in roots:
                failing[words].append(files[0])
    for words, sharing in failing.items():
        for one, other in pairwise(sharing[:_MOST_COPIES]):
            mine, theirs = copies[one.name], copies[other.name]
            if mine is not theirs and _is_same_log(one, other, words):
                copies |= dict.fromkeys((log.name for log in theirs), mine)
                mine += theirs
    return [files for files in {id(files): files for files in copies.values()}.values()
            if len(files) > 1]  # fmt: skip


def _is_same_log(one: _LogLines, other: _LogLines, words: Hashable) -> bool:
    """Whether two logs are the same but for their first or last lines, laid beside each other by
    the line that says ``words`` in both.
    """
    if one.home == other.home:
        return False
    mine, theirs = (
        min(line for line, said in log.by_line.items() if words in said) for log in (one, other)
    )
    shift = theirs - mine
    first, last = max(1, 1 - shift), min(one.file.lines, other.file.lines - shift)
    if last - first + 1 < _BESIDE * min(one.file.lines, other.file.lines):
        return False
    told = {line for line in one.by_line if first <= line <= last}
    told |= {line - shift for line in other.by_line if first <= line - shift <= last}
    same = [line for line in told if one.by_line.get(line) == other.by_line.get(line + shift)]
    steps = [line for line in one.steps if line + shift in other.steps]
    same_steps = [line for line in steps if one.steps[line] == other.steps[line + shift]]
    if len(same) < _SHARED * len(told) or len(same_steps) < _SHARED * len(steps):
        return False
    dated = sum(row.stamp != NO_STAMP and (row.line or 0) in same for row in one.rows)
    return bool(same_steps) or dated >= _DATED


# Where nothing tells how many ranks a node has, more labels than these are of several nodes.
USUAL_RANKS: Final = 8


def gathered_by_their_lines(
    rows: Iterable[Evidence], own_name: Callable[[str], str], job: Job
) -> set[str]:
    """Logs in the folders of nodes whose lines are of several nodes, though no node of the job need
    stand on any: a launcher names another host whose tasks ended, or labels more ranks than one
    node has. ``own_name`` gives the job's own name of a node.
    """
    if len({*job.nodes, *job.rank_to_node.values()}) == 1:
        return set()
    most = job.gpus_per_node or USUAL_RANKS
    gathered = set()
    for row in rows:
        home = parse_node(row.artifact)
        if home is None:
            continue
        if BY_FILE in row.fields:
            if int(row.fields.get(LABELS, "0")) > most:
                gathered.add(row.artifact)
            continue
        tells = row.kind is Kind.SCHEDULER and "tasks" in row.fields and row.node is not None
        if tells and own_name(row.node or "") != own_name(home):
            gathered.add(row.artifact)
    return gathered


def with_labels_of_their_nodes(rows: Sequence[Evidence], job: Job) -> list[Evidence]:
    """``rows``; task labels that come again in the logs of other nodes' folders count the ranks of
    each node.
    """
    most = job.gpus_per_node or USUAL_RANKS
    homes: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        if _is_labelled(row, most) and row.rank is not None and row.node is not None:
            homes[row.rank].add(row.node)
    if max(homes, default=most) >= most or all(len(nodes) == 1 for nodes in homes.values()):
        return list(rows)
    return [
        replace(row, rank=None, local_rank=row.rank) if _is_labelled(row, most) else row
        for row in rows
    ]


def _is_labelled(row: Evidence, most: int) -> bool:
    """Whether only a task's label gives the rank of a row, in a log of at most so many of them in
    a node's folder.
    """
    if BY_FILE not in row.fields or OWN_RANK in row.fields or row.rank is None:
        return False
    return row.fields.get("task") == str(row.rank) and int(row.fields.get(LABELS, "0")) <= most
