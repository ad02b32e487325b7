"""Next step: what the person on call does now, as a sentence and as commands to paste.

Commands are printed and never run. Node names come from logs, so a command names a
node only when the name is a plain host name. What changes a node is offered for
cordoned nodes alone; what only looks (`commands.py`), for all other suspects. Where nobody is
named, the commands collect what was not there to be read.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.category import SOFTWARE, Action, Category, Role, VerdictKind
from triage.domain.hosts import is_host_name
from triage.domain.next_step import ANYWHERE, LOGIN, NextCommand, NextStep
from triage.domain.patterns import compile_re
from triage.domain.report import Answer, Because, Missing, Suspect
from triage.render.words.answer import format_belief
from triage.render.words.clean import format_one_line
from triage.render.words.commands import ADVICE, FIND_RANK, LOOKS, Advice, LookCommand
from triage.render.words.ranges import condense, condense_names, name_ranks

_PLAIN_JOB = compile_re(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
# 0000:5d:00 as reports have it, or with the function.
_BUS_ID = compile_re(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(\.[0-7])?")
# mlx5_3, mlx5_3:1, bnxt_re0/1, roce2: an adapter as drivers and NCCL name it, with its port.
_PORT = compile_re(r"\b(?:mlx[45]_|bnxt_re|irdma|efa_?|roce|hfi1_)[0-9]{1,3}(?:[:/][0-9]{1,2})?\b")

# More than this many nodes in one answer is a rack or a switch: no list to paste.
MAX_COMMANDS = 8
MAX_INSPECTED = 3
_MAX_PORTS = 4
_MOST = 3 * MAX_COMMANDS
# What a shell would read before ssh hands it on; a pipe may as well run here.
_NEEDS_QUOTES = compile_re(r"[\"'$*?<>;&()\[\]{}!`\\]")
# A file below the folder that was analysed, in letters that no shell reads.
_PLAIN_PATH = compile_re(
    r"(?!-|.*\.\.)(?:[\w.@+-]{1,128}/){0,8}[\w.@+-]{1,128}(?<!\.gz)(?<!\.zst)", re.ASCII
)
_LINES_BEFORE, _LINES_BEHIND = 20, 10
_OF_A_NODE = frozenset({Action.RESET_GPU, Action.REBOOT_NODE, Action.DRAIN_NODE})
# The error itself says what to mend.
_TELLS_ITSELF = SOFTWARE | {Category.NUMERICAL, Category.DEPENDENCY, Category.GPU_OOM}
# From here on a cordon is asked for, where a line says so that may.
_CORDONED: Final = 0.9

_STEP = {
    Action.NONE: "Nothing to do.",
    Action.RESTART_JOB: "Restart the job; no node has to leave the pool.",
    Action.FIX_CODE: "Fix the code before the next start; a restart alone will stop again.",
    Action.RESET_GPU: "Reset the GPU{gpus}{where}, then restart the job.",
    Action.REBOOT_NODE: "Reboot{where}, then restart the job.",
    Action.DRAIN_NODE: "Drain{where}, then restart the job without it.",
    Action.CHECK_NETWORK: "Check links, NICs and switch ports{where} before the next start.",
    Action.CHECK_STORAGE: "Check the file system and the checkpoint store before the next start.",
    Action.INVESTIGATE: "Look at{where}: its reasons say what is known of it.",
}

_FIX = {
    Category.GPU_OOM: "Let the job ask for less GPU memory before the next start;",
    Category.HOST_OOM: "Let the job ask for less host memory, or find what else takes it;",
    Category.DEPENDENCY: "Set driver, image, versions or settings right before the next start;",
    Category.NUMERICAL: "Look at data, precision and learning rate before the next start;",
}
"""How code is fixed where that is more than an error in it."""


def get_next_step(answer: Answer) -> NextStep:
    """The next step that the answer carries; made of it where an older release left it out."""
    return answer.next_step or build_next_step(answer)


def describe_next_step(answer: Answer) -> str:
    """One or two sentences: the verdict's action, where, and what would make it surer."""
    return get_next_step(answer).text


def build_next_step(answer: Answer, signatures: Sequence[str] = ()) -> NextStep:
    """The sentences and the commands of an answer; ``signatures`` are those of the lines that its
    cause rests on, the telling ones first.
    """
    advice = _find_advice(answer, signatures)
    commands = [*_list_cordons(answer), *_iterate_looks(answer, advice)]
    if not answer.suspects and answer.verdict.kind is not VerdictKind.HEALTHY:
        commands += _iterate_collecting(answer)
    return NextStep(_compose_sentences(answer, advice), tuple(dict.fromkeys(commands))[:_MOST])


def _find_advice(answer: Answer, signatures: Sequence[str]) -> Advice | None:
    if answer.verdict.category not in (Category.DEPENDENCY, Category.HOST_OOM):
        return None
    return next((ADVICE[one] for one in signatures if one in ADVICE), None)


def _compose_sentences(answer: Answer, advice: Advice | None) -> str:
    best = _select_best_suspects(answer)
    nodes = answer.verdict.cordon or tuple(s.node for s in best if s.node is not None)
    ranks = [rank for suspect in best for rank in suspect.ranks]
    where = ""
    if nodes:
        where = f" {condense_names(map(_format_node_name, nodes), max_chars=48)}"
    elif ranks:
        where = f" of {name_ranks(ranks, max_chars=48)}"
    if advice is not None:
        return f"{advice.text}{_describe_surer(answer)}"
    if answer.verdict.action is Action.CHECK_NETWORK:
        where = _describe_connection(best) or where
    gpus = [gpu for suspect in best for gpu in suspect.gpus]
    if answer.verdict.action in _OF_A_NODE and not where:
        found = "Find out on which node it was (a job.json with the nodes, or the node's own log)"
        return f"{found}: what failed is known, and where is not.{_describe_surer(answer)}"
    if answer.verdict.action is Action.INVESTIGATE and not where:
        return f"No node is named, so none has to leave the pool on this.{_describe_surer(answer)}"
    if answer.verdict.action is Action.FIX_CODE and answer.verdict.category in _FIX:
        again = "a restart alone will stop again."
        return f"{_FIX[answer.verdict.category]} {again}{_describe_surer(answer)}"
    if answer.verdict.action is Action.NONE and answer.slow_job is not None:
        first = format_one_line(answer.slow_job.parts[0].text, 120)
        return f"Nothing stopped, but the job is slow: begin with its dearest part ({first})."
    step = _STEP[answer.verdict.action].format(
        where=_join_action(answer.verdict.action, where),
        gpus=f" {', '.join(format_one_line(gpu, 40) for gpu in gpus)}"
        if 0 < len(gpus) <= 2
        else "",
    )
    return f"{step}{_describe_caution(answer, best)}{_describe_surer(answer)}"


def cordon_commands(answer: Answer) -> tuple[str, ...]:
    """Slurm and Kubernetes commands that take the cordoned nodes out; empty without any.

    A node that only wants a reboot is rebooted, and a GPU that only wants a reset is
    reset once its node is drained.
    """
    return tuple(map(format_shell_line, _list_cordons(answer)))


def list_inspection_commands(answer: Answer) -> tuple[str, ...]:
    """Commands that change nothing: they look at suspects which are not taken out, or collect what
    was not there; empty without any.
    """
    changing = _list_cordons(answer)
    return tuple(
        format_shell_line(one) for one in get_next_step(answer).commands if one not in changing
    )


def format_shell_line(command: NextCommand) -> str:
    """A command as it is pasted where one reaches all nodes by ssh."""
    if not is_host_name(command.where) or command.where in (ANYWHERE, LOGIN):
        return command.command
    quoted = shlex.quote(command.command) if _NEEDS_QUOTES.search(command.command) else None
    return f"ssh {command.where} {quoted or command.command}"


def _list_cordons(answer: Answer) -> list[NextCommand]:
    nodes = [node for node in answer.verdict.cordon if is_host_name(node)]
    if not nodes or len(nodes) > MAX_COMMANDS or len(nodes) < len(answer.verdict.cordon):
        return []
    job = answer.job.job_id or ""
    label = job if _PLAIN_JOB.fullmatch(job) else "job"
    verdict = answer.verdict
    reason = f"triage:{label}:{verdict.category}:{format_belief(verdict.confidence)}"
    of = {suspect.node: suspect for suspect in reversed(answer.suspects)}
    slurm = [_format_slurm_drain(node, of.get(node), verdict.action, reason) for node in nodes]
    taken_out = "takes the node out of the pool"
    return [
        *(NextCommand(LOGIN, line, f"{taken_out} (Slurm)") for line in slurm),
        *(
            NextCommand(LOGIN, f"kubectl cordon {node}", f"{taken_out} (Kubernetes)")
            for node in nodes
        ),
        *(reset for node in nodes for reset in _iterate_resets(node, of.get(node), verdict.action)),
    ]


def _iterate_looks(answer: Answer, advice: Advice | None) -> Iterator[NextCommand]:
    """What to look at of the first suspects that are not taken out."""
    wanted = [
        suspect
        for suspect in answer.suspects
        if suspect.role is not Role.AFFECTED
        and (suspect.node is None or suspect.node not in answer.verdict.cordon)
    ]
    for suspect in wanted[:MAX_INSPECTED]:
        of_cause = advice is not None and suspect.category is answer.verdict.category
        looks = advice.looks if of_cause and advice is not None else LOOKS[suspect.category]
        yield from _iterate_looks_at(suspect, looks)


def _iterate_looks_at(suspect: Suspect, looks: Sequence[LookCommand]) -> Iterator[NextCommand]:
    """The commands of one place: on its node, else wherever its rank is found."""
    rank = suspect.ranks[0] if suspect.ranks else None
    if suspect.node is not None and is_host_name(suspect.node):
        where = suspect.node
    elif rank is not None and suspect.node is None:
        where = ANYWHERE
        yield NextCommand(
            where, _fill_rank(FIND_RANK.command, rank), _fill_rank(FIND_RANK.why, rank)
        )
    else:
        return
    error = _make_error_command(suspect) if suspect.category in _TELLS_ITSELF else None
    if error is not None:
        yield error
    for look in looks:
        if look.of_rank and rank is None:
            continue
        at = ANYWHERE if look.anywhere else where
        yield NextCommand(at, _fill_rank(look.command, rank), _fill_rank(look.why, rank))


def _fill_rank(text: str, rank: int | None) -> str:
    return text.replace("{rank}", str(rank))


def _make_error_command(suspect: Suspect) -> NextCommand | None:
    """The lines about the first line of a log that accuses; None where none is told."""

    def is_told(one: Because) -> bool:
        return one.line is not None and _PLAIN_PATH.fullmatch(one.artifact or "") is not None

    reason = next(filter(is_told, suspect.because), None)
    if reason is None or reason.line is None:
        return None
    first, last = max(reason.line - _LINES_BEFORE, 1), reason.line + _LINES_BEHIND
    line = f"sed -n {first},{last}p ./{reason.artifact}"
    return NextCommand(ANYWHERE, line, "the lines about the error, in the folder that was analysed")


def _iterate_collecting(answer: Answer) -> Iterator[NextCommand]:
    """What to collect where nobody is named."""
    missing = answer.missing
    if missing.kernel_logs or missing.kernel_logs_of:
        yield NextCommand(
            ANYWHERE,
            "sudo dmesg -T > kernel-$(hostname -s).log",
            "on each node of the job: its kernel log, for the next analysis",
        )
    if missing.dumps or missing.dumps_of or answer.coverage.ranks_without_dump:
        yield NextCommand(
            ANYWHERE,
            "ls -l /tmp/*_trace_rank_* ~/.cache/torch/*_trace_rank_*",
            "on each node of the job, as its user: the flight-recorder dumps that PyTorch wrote",
        )
    job = answer.job.job_id or ""
    if _PLAIN_JOB.fullmatch(job):
        columns = "JobID,State,ExitCode,NodeList,End"
        yield NextCommand(
            LOGIN, f"sacct -j {job} --format={columns}", "how its steps ended (Slurm)"
        )
    elif not missing.kernel_logs:
        yield NextCommand(
            ANYWHERE, "sudo dmesg -T | tail -n 50", "on each node: what the kernel said"
        )


def list_missing_inputs(missing: Missing) -> tuple[str, ...]:
    """What to bring, as nouns, the most telling first."""
    nouns = []
    if missing.dumps_of:
        nouns.append(f"the missing dumps (ranks {condense(missing.dumps_of, max_chars=48)})")
    if missing.kernel_logs_of:
        logs = "log" if len(missing.kernel_logs_of) == 1 else "logs"
        nodes = condense_names(map(_format_node_name, missing.kernel_logs_of), max_chars=48)
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


def _format_slurm_drain(node: str, suspect: Suspect | None, otherwise: Action, reason: str) -> str:
    action = otherwise if suspect is None else suspect.action
    if action is Action.REBOOT_NODE:
        return f"scontrol reboot ASAP nextstate=resume reason={reason} {node}"
    return f"scontrol update nodename={node} state=drain reason={reason}"


def _iterate_resets(node: str, suspect: Suspect | None, otherwise: Action) -> Iterator[NextCommand]:
    action = otherwise if suspect is None else suspect.action
    if suspect is None or action is not Action.RESET_GPU:
        return
    for gpu in suspect.gpus:
        if _BUS_ID.fullmatch(gpu):
            bus_id = gpu if "." in gpu else f"{gpu}.0"
            line = f"sudo nvidia-smi --gpu-reset -i {bus_id}"
            yield NextCommand(node, line, "resets the GPU, once its node is drained")


def _select_best_suspects(answer: Answer) -> tuple[Suspect, ...]:
    culprits = tuple(s for s in answer.suspects if s.role is Role.CULPRIT)
    possible = tuple(s for s in answer.suspects if s.role is Role.POSSIBLE)
    return culprits or possible[:4] or answer.suspects


def _describe_connection(best: tuple[Suspect, ...]) -> str:
    """Ends and ports of a connection that the reasons name; nothing where there is none."""
    nodes = list(dict.fromkeys(_format_node_name(one.node) for one in best if one.node is not None))
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
        named = (f"leaf switch {_format_node_name(one)}" for one in sorted(leaves)[:2])
        where = f" {' and '.join(named)}"
        return f"{where} and its ports to {condense_names(nodes, max_chars=48)}"
    if len(nodes) == 2 and all(one.role is Role.POSSIBLE for one in best):
        where = f" the connection between {nodes[0]} and {nodes[1]}"
    if ports and where:
        where += f" ({', '.join(ports[:_MAX_PORTS])})"
    return where


def _join_action(action: Action, where: str) -> str:
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


def _describe_caution(answer: Answer, best: Sequence[Suspect]) -> str:
    """Why a node that is to be drained is not under cordon."""
    if answer.verdict.action is not Action.DRAIN_NODE or answer.verdict.cordon:
        return ""
    sure = answer.verdict.confidence
    if round(sure, 4) < _CORDONED:
        return (
            f" Confirm it first: a cordon asks for {_CORDONED}, and this is {format_belief(sure)}."
        )
    if all(one.node is None for one in best):
        return " Find its node first: nothing tells where that rank runs."
    if not any(is_host_name(one.node or "") for one in best):
        return " Find the node first: what is named is no name of a host."
    if not any(reason.at is not None for one in best for reason in one.because):
        return " Confirm it first: no clock dates the lines that name it to the stop."
    return " Confirm it first: only its place in its log dates it to the stop."


def _describe_surer(answer: Answer) -> str:
    """What to bring where the answer is inconclusive or convicts nobody."""
    verdict = answer.verdict
    open_end = verdict.kind is VerdictKind.INCONCLUSIVE
    convicts = any(suspect.role is Role.CULPRIT for suspect in answer.suspects)
    unsure = verdict.category is Category.NCCL_TIMEOUT or bool(answer.suspects and not convicts)
    if not open_end and not unsure:
        return ""
    bring = list_missing_inputs(answer.missing) or list_missing_inputs(
        Missing(dumps_of=answer.coverage.ranks_without_dump)
    )
    if not bring and open_end:
        bring = ("kernel logs and job logs of the nodes",)
    if not bring:
        return ""
    head = ", ".join(bring[:-1])
    return f" Bring {f'{head} and ' if head else ''}{bring[-1]} and run it again."


def _format_node_name(node: str) -> str:
    return format_one_line(node, 80)
