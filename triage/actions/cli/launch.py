"""``triage launch``: may the job start, and without which nodes; for scripts of launchers."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.errors import TooMany, Unavailable, UsageError
from triage.render.words.clean import format_one_line
from triage.render.words.commands import format_deepspeed_exclude, format_slurm_exclude, leave_out

HELP = """
Say whether a job may start now, and without which nodes.

Ask between attempts, before rendezvous: the record answers within milliseconds.

\b
Examples:
  out=$(triage launch 4711 --wait 30 -f slurm) && sbatch $out train.sbatch
  triage launch 4711 --node "$(hostname)" && torchrun ... train.py
  kubectl create --dry-run=client -o json -f job.yaml \\
    | triage launch train-7 --manifest - | kubectl create -f -

\b
Exit status:
  0  start without what is printed; also where the service does not answer
  3  do not start: it is to be fixed first, or waits, or --node is left out
  4  the service does not answer, with --strict
"""
_REFUSED: Final = 3
_NO_ANSWER: Final = 4
_LARGEST: Final = 64 << 20
_NOT_NOW: Final = ("stop", "wait")


class Form(StrEnum):
    """How nodes are printed."""

    TEXT = "text"
    JSON = "json"
    SLURM = "slurm"
    DEEPSPEED = "deepspeed"
    HOSTS = "hosts"


def launch(
    job_id: Annotated[
        str,
        typer.Argument(metavar="JOB", help="The scheduler's id of the job.", show_default=False),
    ],
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its cluster; else the token's.")
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask whether this node may take part.")
    ] = None,
    form: Annotated[
        Form,
        typer.Option(
            "--format", "-f", help="text, json, slurm or deepspeed (--exclude=...), or hosts."
        ),
    ] = Form.TEXT,
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Print this JSON manifest (- is stdin), its pods kept off the nodes.",
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0, max=60, metavar="SECONDS", help="Wait for the answer to the last failure."
        ),
    ] = 0.0,
    deadline: Annotated[
        float, typer.Option(min=0.1, max=600, metavar="SECONDS", help="For the service to answer.")
    ] = 5.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Do not start without an answer (status 4).")
    ] = False,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Ask; the help stands in ``HELP``."""
    pods = None if manifest is None else _read_manifest(manifest)
    with open_client(url, token_file, ca_file, timeout_s=deadline, tries=1) as client:
        try:
            found = client.launch(job_id, cluster=cluster, node=node, wait_s=wait)
        except (Unavailable, TooMany) as error:
            # Our outage is no reason for thousands of GPUs to wait.
            end = "not started (--strict)" if strict else "start without an answer"
            typer.echo(f"triage: {format_one_line(str(error))}; {end}", err=True)
            found = None
    if found is None:
        if not strict and pods is not None:
            typer.echo(json.dumps(pods))
        return _NO_ANSWER if strict else 0
    refused = found["decision"] in _NOT_NOW or (node is not None and not found["may_join"])
    status = _REFUSED if refused else 0
    if pods is not None:
        if status == 0:
            typer.echo(json.dumps(_exclude_nodes(pods, found["exclude"], manifest or "")))
    elif text := _format_decision(found, form, node):
        typer.echo(text)
    if status and form is not Form.TEXT:
        typer.echo(f"triage: {format_one_line(_describe_decision(found, node))}", err=True)
    return status


def _format_decision(found: dict[str, Any], form: Form, node: str | None) -> str:
    nodes: list[str] = found["exclude"]
    if form is Form.JSON:
        return json.dumps(found, indent=2)
    if form is Form.SLURM:
        return format_slurm_exclude(nodes)
    if form is Form.DEEPSPEED:
        return format_deepspeed_exclude(nodes)
    if form is Form.HOSTS:
        return "\n".join(nodes)
    lines = [format_one_line(_describe_decision(found, node))]
    lines += [f"  {one['node']}: {one['why']} ({one['incident_id']})" for one in found["excluded"]]
    return "\n".join(lines)


def _describe_decision(found: dict[str, Any], node: str | None) -> str:
    """The decision in words, and why."""
    if node is not None and found["decision"] not in _NOT_NOW:
        head = f"{node} may take part" if found["may_join"] else f"{node} is left out"
    else:
        head = {
            "start": "start",
            "start_without": f"start without {', '.join(found['exclude'])}",
            "stop": "do not start",
            "wait": f"wait {found['again_s'] or 0:.0f} s and ask again",
        }.get(found["decision"], found["decision"])
    return f"{head}: {found['why']}"


def _read_manifest(name: str) -> object:
    """The manifest. Raises :class:`UsageError` for what is no JSON."""
    try:
        data = sys.stdin.buffer.read(_LARGEST) if name == "-" else Path(name).read_bytes()
        return json.loads(data)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{name} is no JSON ({error}); `kubectl create --dry-run=client -o json -f FILE`"
            " makes it from YAML"
        ) from error


def _exclude_nodes(pods: object, nodes: list[str], name: str) -> object:
    """The manifest with its pods kept off. Raises :class:`UsageError` where it has none."""
    try:
        num_templates = leave_out(pods, nodes)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    if num_templates == 0:
        raise UsageError(
            f"{name} holds no pod template (a `spec` with `containers`); give the Job, JobSet,"
            " Volcano Job or PyTorchJob itself"
        )
    return pods
