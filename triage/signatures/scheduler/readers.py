"""Readers of what stands around a job: exits, launchers, schedulers, Kubernetes.

A launcher prints a negative number (``-9``), a shell and Kubernetes 128 + the signal (``137``).
SIGKILL is usually the memory killer, but a scheduler sends it too; SIGABRT is how a library ends a
process after it has printed its reason; SIGTERM and exit 1 say nothing about a cause. A launcher
kills its other workers after the first exit, so most entries of its table are consequences. A
controller speaks of any job and of any node: what it does because a node went silent follows from
what silenced that node.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Trait
from triage.domain.patterns import compile_re
from triage.signatures.host.agent_words import find_part
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.severity import CONSEQUENCE, ROOT, get_group_text
from triage.signatures.signature import Reading

_MAINTENANCE: Final = Category.HOST_MAINTENANCE
# The signals that tell more than that a process was ended.
_SIGNALS: Final = {"SIGINT": 2, "SIGILL": 4, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGSEGV": 11}


def read_signal(number: int) -> Reading:
    """The reading of a process that ended by signal ``number``."""
    match number:
        case 9:
            return Reading(role=ROOT, category=Category.HOST_OOM, weak=True)
        case 7:  # a page behind which is nothing: of shared memory, of a bad DIMM, of a file
            return Reading(
                role=ROOT,
                category=Category.HOST_OOM,
                also=(Category.HOST_MEMORY, Category.STORAGE),
                weak=False,
            )
        case 11:
            category, also = Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER,)
            return Reading(role=ROOT, category=category, also=also, weak=False)
        case 4 | 8:  # a binary built for another CPU, a division in C code
            return Reading(
                role=ROOT,
                category=Category.SOFTWARE_FRAMEWORK,
                also=(Category.DEPENDENCY, Category.CPU),
                weak=True,
            )
        case 2:
            return Reading(
                role=ROOT, category=Category.HOST_MAINTENANCE, blame=Blame.NOBODY, weak=True
            )
    return Reading(role=CONSEQUENCE, blame=Blame.NOBODY)


def read_exit_code(code: int) -> Reading:
    """The reading of an exit code: negative or above 128 for a signal."""
    if code < 0:
        return read_signal(-code)
    if 128 < code < 160:
        return read_signal(code - 128)
    return Reading(role=CONSEQUENCE, blame=Blame.NOBODY)


def read_ended(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The exit code or the signal that ended a process, by number or by name."""
    groups = match.groupdict()
    if groups.get("exit_code"):
        return read_exit_code(int(match["exit_code"]))
    number = groups.get("signal") or groups.get("number")
    name = groups.get("signal_name") or groups.get("other_name") or ""
    return read_signal(int(number) if number else _SIGNALS.get(name.upper(), 0))


def read_task_code(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The exit code in srun's words about a task."""
    code = re.search(r"exit code (\d{1,3})", match["why"], re.IGNORECASE)
    if code is None:
        return Reading()
    return replace(read_exit_code(int(code[1])), fields={"exit_code": code[1]})


_HYDRA_EXIT = compile_re(
    r"^=? {0,8}(?:EXIT CODE: (?P<code>\d{1,3})|KILLED BY SIGNAL: (?P<number>\d{1,2}))"
)
_HYDRA_PLACE = compile_re(r"PID (?P<pid>\d{1,10}) RUNNING AT (?P<node>[\w.-]{1,128})")
_HYDRA_RANK = compile_re(r"RANK (?P<rank>\d{1,7})\b")


def read_hydra(_match: re.Match[str], after: Sequence[str]) -> Reading:
    """The box that Hydra prints: rank, process, node and how it end."""
    fields: dict[str, str] = {}
    end = Reading()
    for line in after:
        for pattern in (_HYDRA_PLACE, _HYDRA_RANK):
            one = pattern.search(line)
            if one is not None:
                fields.update(one.groupdict())
        one = _HYDRA_EXIT.search(line.strip())
        if one is not None:
            end = read_exit_code(int(one["code"] or -int(one["number"])))
    return replace(end, fields=fields)


_LOST_DAEMON = compile_re(
    r"(?:Remote daemon: .{0,40} on node|hostname:) {1,4}(?P<node>[\w.-]{1,256})"
)


def read_lost_daemon(_match: re.Match[str], after: Sequence[str]) -> Reading:
    """The node whose daemon mpirun lost, which it prints lines below."""
    found = next(filter(None, map(_LOST_DAEMON.search, after)), None)
    return Reading(fields={"node": found["node"], "said_of": found["node"]} if found else {})


_TABLE_HOST = compile_re(r"^\s*host\s{1,8}: (\S{1,256})")
_TABLE_RANK = compile_re(r"^\s*rank\s{1,8}: (\d{1,7}) \(local_rank: (\d{1,4})\)")
_TABLE_EXIT = compile_re(r"^\s*exitcode\s{1,8}: (-?\d{1,5}) \(pid: (\d{1,10})\)")
_ERROR_FILE = compile_re(r"^\s*error_file\s{0,8}: (\S{1,512})")
_TRACEBACK = compile_re(r"^\s*traceback\s{0,8}: (\S.{0,200})")
_NEXT_ENTRY = compile_re(r"^\s*(?:\[\d{1,7}\]:|-{8,}|Root Cause \()")
_END_OF_TABLE = compile_re(r"^\s*={8,}")


def read_table_entry(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """One entry of a table; that of the root cause is the last before the closing rule."""
    fields = {"time": match["time"]}
    said = [match.string]
    code = None
    first = True
    for line in after:
        if _NEXT_ENTRY.match(line):
            first = False
            break
        if _END_OF_TABLE.match(line):
            break
        if one := _TABLE_HOST.match(line):
            fields["node"] = one[1]
        elif one := _TABLE_RANK.match(line):
            fields["rank"], fields["local_rank"] = one[1], one[2]
        elif one := _TABLE_EXIT.match(line):
            code, fields["pid"] = int(one[1]), one[2]
            fields["exit_code"] = one[1]
        else:
            if one := _ERROR_FILE.match(line):
                fields["error_file"] = one[1]
            elif one := _TRACEBACK.match(line):
                fields["traceback"] = one[1]
            continue
        said.append(line)
    if len(fields) == 1 and after:
        return None
    fields["first"] = "1" if first else "0"
    reading = Reading() if code is None else read_exit_code(code)
    if not first and reading.role is ROOT:
        reading = replace(reading, weak=True)
    return replace(reading, text=" ".join(line.strip() for line in said), fields=fields)


def read_of_nodes(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is about; several nodes at once are a rack, or what somebody chose."""
    fields = named(match, "nodes", "node")
    return Reading(fields=fields, blame=Blame.SHARED if "nodes" in fields else None)


def read_node_drained(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A drain, by whichever of its forms."""
    groups = match.groupdict()
    fields = named(match, "nodes", "node", "set", "updated")
    reason = groups["reason"] or groups["reason2"] or groups["reason3"] or ""
    blame = Blame.SHARED if "nodes" in fields else None
    part = find_part(reason)
    if part.after_the_job or "drain_nodes:" in match[0]:  # the controller itself, not a person
        return Reading(role=CONSEQUENCE, fields=fields, blame=blame)
    if part.category is None or part.category is _MAINTENANCE:
        return Reading(fields={**fields, **({"reason": reason} if reason else {})}, blame=blame)
    traits = frozenset({Trait.ROOT_WHEN_ALONE})
    return replace(part.read(fields), role=CONSEQUENCE, blame=blame, traits=traits)


def read_prolog_failed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What a prolog or epilog found wrong; an epilog runs when the job has ended."""
    role = CONSEQUENCE if match["which"].lower() == "epilog" else None
    return replace(find_part(match["reason"]).read(named(match, "nodes")), role=role)


def read_offline(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A node set offline: by a person, or by a check that names a part."""
    fields = named(match, "node", "marked", "host")
    part = find_part(get_group_text(match, "why"))
    if part.category is None or part.category is _MAINTENANCE:
        return Reading(fields=fields)
    return part.read(fields)


# How an event's line or a message names the node that it is about.
_ON_NODE: Final = compile_re(
    rf"\bnodes?[/ =:\"']{{1,3}}(?P<node>{HOST})|\bnode-name[=:]\"?(?P<other>{HOST})", re.IGNORECASE
)
# In front of the message in the table of events: "pod/llm-worker-5", "node/gpu-17".
_OBJECT: Final = compile_re(
    rf"(?<![\w/.-])(?P<kind>pod|node|Pod|Node)/(?P<name>(?:[\w.-]{{1,80}}/)?{HOST})"
)
_EVICTED_FROM: Final = compile_re(
    rf"evicted by the eviction API from (?P<node>{HOST})|\bdrained for \w{{1,20}} of node"
    rf" (?P<drained>{HOST})"
)
_NO_NODE: Final = frozenset(
    {"is", "was", "has", "had", "condition", "conditions", "status", "not", "will", "and", "or",
     "in", "on", "to", "the", "for", "with", "controller", "affinity", "selector", "shutdown",
     "pressure", "problem", "drain", "lifecycle", "label", "taint", "taints", "group", "pool",
     "level", "draining", "failure", "ready", "notready", "maintenance", "became", "went", "that",
     "names", "name", "s", "restart", "does", "did", "which", "lost", "object"}
)  # fmt: skip
_POD: Final = compile_re(
    r"(?:\b[Pp]od[ =:\"']{1,3}|[Ee]victing pod )(?P<pod>(?:[\w.-]{1,80}/)?[a-z0-9]"
    r"[a-z0-9.]{0,60}-[\w.-]{1,120})"
)


def _name_object(text: str, *, is_pod: bool = False) -> dict[str, str]:
    """The fields of a node, or of a pod that stands for its node."""
    name = text.rpartition("/")[2].rstrip(".,:;")
    fields = {"node": name, "said_of": name}
    return {**fields, "pod": name} if is_pod else fields


def _collect_object_fields(text: str) -> dict[str, str]:
    """The node, else the pod, that a line is about."""
    evicted = _EVICTED_FROM.search(text)
    if evicted is not None:
        return _name_object(evicted["node"] or evicted["drained"])
    objects = list(_OBJECT.finditer(text))
    for one in objects:
        if one["kind"].lower() == "node":
            return _name_object(one["name"])
    for one in _ON_NODE.finditer(text):
        fields = _name_object(one["node"] or one["other"])
        if fields["node"] and fields["node"].lower() not in _NO_NODE:
            return fields
    pod = _POD.search(text)
    if objects:
        return _name_object(objects[0]["name"], is_pod=True)
    return {} if pod is None else _name_object(pod["pod"], is_pod=True)


def read_object_of_event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is, as far as the line says."""
    return Reading(fields=_collect_object_fields(match.string[:2000]))


def read_node_or_object(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The node that a group names, else what the line is about."""
    groups = ("node", "object", "named", "cordoned", "draining")
    fields = named(match, *groups)
    return Reading(fields=fields) if fields else read_object_of_event(match, after)


def read_node_condition(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A condition of a node that says a problem; its own words name the part."""
    if get_group_text(match, "status") in ("false", "unknown", "ishealthy"):
        return None
    part = find_part(match.string[match.start() :])
    if part.category is None or part.category is _MAINTENANCE:
        return None
    return part.read(_collect_object_fields(match.string[:2000]))
