"""All nodes of a job, side by side: each sends its folder as a tar, and they become one.

A node that does not answer is said and costs only itself. Nodes are reached by srun inside the job,
ssh, or kubectl exec. The command brings its own code along on stdin, so that a node needs nothing
but Python 3.9. No way is tried that asks for a password.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tarfile
import tempfile
import time
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from triage.collectors.artifact import Deadline
from triage.collectors.capture import program
from triage.collectors.live.folder import PullFolder, extract_files, merge_facts, stamp_text
from triage.collectors.live.program import Printed, run_all, run_program
from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.live.options import LiveOptions
    from triage.collectors.live.program import Task

# Beside the budget of each node: to reach it, and to bring its files back.
_TRANSFER_S = 15.0
# Connections at a time.
_WIDTH = 64
# The environment that a way to the nodes needs: its configuration, agent and credentials.
_CARRIED = (
    "PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KUBECONFIG", "KUBERNETES_", "SLURM_",
    "LD_LIBRARY_PATH", "XDG_", "KRB5CCNAME", "MUNGE_",
)  # fmt: skip


def pull_all_nodes(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None],
) -> None:
    """Fill ``root`` from all nodes. Raises :class:`Misuse` where none answers, and OSError."""
    reach = choose_reach(options, environment)
    carried = {name: value for name, value in environment.items() if name.startswith(_CARRIED)}
    deadline = Deadline(options.budget_s + _TRANSFER_S)
    answers = _ask_nodes(reach, options, carried, deadline)
    facts, notes = _lay_answers(answers, root, options)
    if not facts:
        raise Misuse(f"no node answered: {notes[0] if notes else 'no tar came back'}")
    for note in notes[:5]:
        say(note)
    merged = merge_facts(facts)
    if options.job:
        merged["job_id"] = options.job
    whole = PullFolder(root, "all", 64 << 20)
    whole.put("job.json", f"{json.dumps(merged, indent=1)}\n".encode())
    if notes:
        row = {"schema": "triage.processes/1", "asked": [], "ranks": [], "notes": notes[:200]}
        name = f"not_reached_{stamp_text(time.time())}.json"
        whole.put(name, f"{json.dumps(row, indent=1)}\n".encode())
    say(f"{len(facts)} of {len(answers)} nodes answered")


def _ask_nodes(
    reach: Reach, options: LiveOptions, environment: Mapping[str, str], deadline: Deadline
) -> dict[str, Printed]:
    """What each node printed, or why it printed nothing."""
    arguments, agent = _list_arguments(options), make_agent_zip()
    if reach.how == "srun":
        with tempfile.TemporaryDirectory(prefix="triage-live-") as scratch:
            argv = make_srun_command(reach, os.path.join(scratch, "%N.tar"), arguments)
            srun = run_program(argv, deadline, 1 << 20, environment, agent)
            answers = {}
            for name in sorted(os.listdir(scratch)):
                with open(os.path.join(scratch, name), "rb") as file:
                    data = file.read(options.max_bytes)
                answers[name[: -len(".tar")]] = Printed(data, "", 0, "")
        why = srun.why or "it printed nothing"
        return answers or {"srun": Printed(b"", srun.errors, srun.status, why)}
    more = (deadline, options.max_bytes, environment, agent)
    tasks: dict[str, Task] = {
        node: (run_program, (make_remote_command(reach, node, arguments), *more))
        for node in reach.nodes
    }
    results = run_all(tasks, deadline, _WIDTH)
    late = Printed(b"", "", None, "did not answer in time")
    return {
        node: got if isinstance(got := results.get(node), Printed) else late for node in reach.nodes
    }


def _lay_answers(
    answers: Mapping[str, Printed], root: str, options: LiveOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """``job.json`` of each node that answered, and what is to be said of the others."""
    facts, notes = [], []
    for node, got in answers.items():
        name = node.rpartition("@")[2].rpartition("/")[2]
        folder = PullFolder(root, name, options.max_bytes)
        found: dict[str, Any] = {}
        try:
            if got.data:
                found = extract_files(io.BytesIO(got.data), folder, name)
        except (tarfile.TarError, EOFError) as error:
            notes.append(f"{node}: what came back was cut: {error}")
        if found:
            facts.append(found)
        else:
            words = (got.errors.strip().splitlines() or [got.why or "it sent no folder"])[-1]
            notes.append(f"{node} did not answer: {words[:200]}")
    return facts, notes


def _list_arguments(options: LiveOptions) -> tuple[str, ...]:
    """What the copies of this command on the nodes are told."""
    words = ["--out", "-", "--looks", str(options.looks), "--budget", f"{options.budget_s:g}"]
    words += ["--max-bytes", str(options.max_bytes), "--one-of-many"]
    words += [word for source in options.without for word in ("--without", source)]
    if options.job:
        words += ["--job", options.job]
    if options.cluster:
        words += ["--cluster", options.cluster]
    return tuple(words)


HOW = ("auto", "srun", "ssh", "kubectl")
_MAX_NODES = 100_000
# A node's name that no shell and no option parser takes for something else.
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:/-]{0,252}")
_BRACKETS = re.compile(r"([^\[\],]*)\[([0-9,-]+)\]([^\[\],]*)")
# Reads the code from stdin into a file of its own and runs it; nothing stays.
_LOADER = (
    "import sys,tempfile,runpy\n"
    "f=tempfile.NamedTemporaryFile(suffix='.zip')\n"
    "f.write(sys.stdin.buffer.read());f.flush()\n"
    "sys.path.insert(0,f.name);sys.argv=sys.argv[:1]+sys.argv[1:]\n"
    "runpy.run_module('triage.collectors',run_name='__main__')\n"
)
_SSH = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=10")


class Reach(NamedTuple):
    """``nodes`` by ``how``; ``path`` is that of the program. With srun one call does for all."""

    how: str
    path: str
    nodes: tuple[str, ...]
    job: str = ""


def choose_reach(options: LiveOptions, environment: Mapping[str, str]) -> Reach:
    """The way, and the nodes. Raises :class:`Misuse` where nothing says either."""
    search = environment.get("PATH", "")
    job = options.job or environment.get("SLURM_JOB_ID", "")
    nodes = _read_list(options.nodes) if options.nodes else ()
    how = options.via
    if how == "auto":
        srun = job.isdigit() and not nodes and program("srun", search)
        how = "srun" if srun else "kubectl" if any("/" in one for one in nodes) else "ssh"
    if how == "srun" and not job.isdigit():
        raise Misuse("the job is unknown to Slurm: give --job ID")
    if how != "srun" and not nodes:
        nodes = _find_nodes(environment)
        if not nodes:
            raise Misuse("the nodes are unknown: give --nodes LIST or FILE, or a Slurm --job ID")
    path = program(how, search)
    if path is None:
        raise Misuse(f"{how} is not on PATH")
    return Reach(how, path, nodes, job)


def make_remote_command(reach: Reach, node: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The command that runs the agent on ``node`` and gives its tar on stdout."""
    python = ("python3", "-c", _LOADER, "live", *arguments)
    if reach.how == "ssh":
        return (reach.path, *_SSH, node, shlex.join((*python, "--node", node.rpartition("@")[2])))
    space, _, pod = node.rpartition("/")
    where = ("-n", space) if space else ()
    return (reach.path, "exec", "-i", *where, pod, "--", *python, "--node", pod)


def make_srun_command(reach: Reach, output: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """One srun for all nodes of the job; each writes its own file by ``output`` (%N)."""
    where = ("--nodelist", ",".join(reach.nodes)) if reach.nodes else ()
    return (
        reach.path, "--overlap", f"--jobid={reach.job}", *where, "--ntasks-per-node=1",
        "--gres=none", "--quiet", "--kill-on-bad-exit=0", "--wait=0", "--mem=0",
        f"--output={output}", "--error=none",
        "python3", "-c", _LOADER, "live", *arguments, "--job", reach.job,
    )  # fmt: skip


def make_agent_zip() -> bytes:
    """The collectors as a zip that Python runs: this package and nothing else of triage."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = os.path.dirname(here)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("triage/__init__.py", '"""The agent of a node."""\n')
        bundle.write(os.path.join(package, "version.py"), "triage/version.py")
        for folder, below, names in os.walk(here):
            below[:] = sorted(set(below) - {"__pycache__"})
            for name in sorted(names):
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    bundle.write(path, os.path.relpath(path, os.path.dirname(package)))
    return made.getvalue()


def expand_nodes(text: str) -> tuple[str, ...]:
    """``a,b[1-3,07-08]c`` as names. Raises :class:`Misuse` for what is no list of nodes."""
    names: list[str] = []
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = _BRACKETS.fullmatch(word)
        numbers = _expand_numbers(match[2]) if match else [""]
        before, behind = (match[1], match[3]) if match else (word, "")
        names += [f"{before}{number}{behind}" for number in numbers]
        if len(names) > _MAX_NODES:
            raise Misuse(f"more than {_MAX_NODES:,} nodes")
    return tuple(dict.fromkeys(_check_name(name) for name in names))


def _expand_numbers(text: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit()) or len(last) > 9:
            raise Misuse(f"[{text}] is no range of nodes")
        if int(last) - int(first) > _MAX_NODES:
            raise Misuse(f"more than {_MAX_NODES:,} nodes")
        found += [str(one).zfill(len(first)) for one in range(int(first), int(last) + 1)]
    return found


def _read_list(text: str) -> tuple[str, ...]:
    """A list of names, or a hostfile: one a line, with ``slots=8`` and comments behind it."""
    if not os.path.isfile(text):
        return expand_nodes(text)
    try:
        with open(text, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_NODES * 100).splitlines()
    except OSError as error:
        raise Misuse(f"cannot read {text}: {error.strerror}") from error
    words = [line.partition("#")[0].split() for line in lines]
    return tuple(dict.fromkeys(_check_name(row[0].partition(":")[0]) for row in words if row))


def _find_nodes(environment: Mapping[str, str]) -> tuple[str, ...]:
    text = environment.get("SLURM_JOB_NODELIST", "")
    hostfile = environment.get("PBS_NODEFILE", "") or environment.get("LSB_DJOB_HOSTFILE", "")
    return expand_nodes(text) if text else _read_list(hostfile) if hostfile else ()


def _check_name(name: str) -> str:
    if _NODE.fullmatch(name) is None:
        raise Misuse(f"{name[:80]!r} is no name of a node")
    return name
