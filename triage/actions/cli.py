"""``triage act``: act on convicted nodes, decide, undo; ``triage launch``: may a
job start, and without which nodes, for scripts of launchers.
"""

import json
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import make_group, take, take_flag
from triage.domain.hosts import format_host_list
from triage.errors import TooMany, Unavailable, UsageError
from triage.render.words.clean import format_one_line

if TYPE_CHECKING:
    from triage.client import Client

ACT_HELP: Final = """
Act on the nodes that an incident convicts, where settings allow it.

\b
    triage act list
    triage act drain inc_01... --dry-run
    triage act drain inc_01... --node gpu-0102
    triage act undo act_01...

What a person asks for needs no approval; all other rules hold, and what is
refused says which one. It takes a token of scope admin (list: read).

\b
Exit status:
  0  done, or it waits as is said
  2  refused
  3  not done: left alone, failed, or refused by the scheduler
"""
_NOT_DONE: Final = 3
_LEFT: Final = ("left_alone", "failed", "expired")
_EVERY_S: Final = 0.5
_VERBS: Final = {
    "drain": "Let no new work be placed on the convicted nodes; what runs there goes on.",
    "exclude": "Leave the convicted nodes out of new starts; the scheduler is not asked.",
    "undrain": "Take the drains of an incident back, where their reason is still ours.",
}
_DECISIONS: Final = {
    "approve": "Approve a proposal, and wait for what becomes of it.",
    "undo": "Take back what was done: an exclusion at once, a drain where it is still ours.",
}

app = make_group(ACT_HELP)
_Wait = Annotated[float, take("SECONDS", "Wait so long for the end.", "--wait", min=0, max=600)]


def _add_verb(verb: str) -> None:
    """Add the command of an act: all have the same options."""

    def command(
        incident_id: Annotated[
            str, typer.Argument(metavar="INCIDENT", help="Its id.", show_default=False)
        ],
        node: Annotated[str | None, take("NAME", "One of the convicted nodes; else all.")] = None,
        dry_run: Annotated[bool, take_flag("--dry-run", "Say what would be done.")] = False,
        approve: Annotated[bool, take_flag("--approve", "Also where the budget is spent.")] = False,
        wait: _Wait = 30.0,
        url: Url = "",
        token_file: TokenFile = None,
        ca_file: CaFile = None,
    ) -> int:
        with open_client(url, token_file, ca_file) as client:
            flags = {"dry_run": dry_run, "approve": approve}
            found = client.acts.ask(incident_id, verb, node=node, **flags)
            if not dry_run:
                return _show_at_end(client, found["actions"], wait)
            for one in found["actions"]:
                typer.echo(format_one_line(f"would {one['verb']} {one['node']}: {one['why']}"))
        return 0

    app.command(verb, help=_VERBS[verb])(command)


def _add_decision(decision: str) -> None:
    """Add the command that decides about one act, or undoes all of an incident."""

    def command(
        subject: Annotated[
            str,
            typer.Argument(
                metavar="ACTION|INCIDENT" if decision == "undo" else "ACTION",
                help="Its id; undo also takes that of an incident: all of its acts.",
                show_default=False,
            ),
        ],
        wait: _Wait = 30.0,
        url: Url = "",
        token_file: TokenFile = None,
        ca_file: CaFile = None,
    ) -> int:
        with open_client(url, token_file, ca_file) as client:
            ids = [subject]
            if decision == "undo" and not subject.startswith("act_"):
                done = client.acts.listing(most=None, incident=subject, state="done")
                ids = [one["id"] for one in done if one["verb"] in ("drain", "exclude")]
                if not ids:
                    raise UsageError(f"nothing that was done for {subject} can be undone")
            acts = [client.acts.decide(one, decision) for one in ids]
            return _show_at_end(client, acts, wait)

    app.command(decision, help=_DECISIONS[decision])(command)


def _show_at_end(client: "Client", acts: Sequence[Mapping[str, Any]], wait_s: float) -> int:
    """Each act once it has ended, or as it stands when the time is up; the exit status."""
    end = time.monotonic() + wait_s
    status = 0
    for one in acts:
        now = one
        while now["state"] in ("approved", "acting") and time.monotonic() < end:
            time.sleep(_EVERY_S)
            now = client.acts.find(one["id"])
        typer.echo(format_one_line(_describe_act(now)))
        status = _NOT_DONE if now["state"] in _LEFT else status
    return status


def _describe_act(one: Mapping[str, Any]) -> str:
    """How an act stands, in one line."""
    state = one["state"].replace("_", " ")
    by = one["decided_by"] or one["asked_by"]
    text = f"{one['id']}  {state:<10}  {one['verb']} {one['node']}  {one['incident_id']}  by {by}"
    if one["state"] == "proposed":
        text += f"; may be approved until {one['expires_at']}: {one['why']}"
    elif one["waits_since"]:
        text += f"; waits for the scheduler since {one['waits_since']}"
    elif one["error"]:
        text += f": {one['error']}"
    return text


for _verb in _VERBS:
    _add_verb(_verb)
for _decision in _DECISIONS:
    _add_decision(_decision)


@app.command("list")
def list_acts(
    incident: Annotated[str | None, take("ID", "Only of this incident.")] = None,
    node: Annotated[str | None, take("NAME", "Only on this node.")] = None,
    state: Annotated[str | None, take("STATE", "proposed, approved, done, undone ...")] = None,
    limit: Annotated[int, take("N", "Lines at most.", min=1)] = 50,
    as_json: Annotated[bool, take_flag("--json", "One JSON object a line.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Show what waits and what was done, newest first."""
    with open_client(url, token_file, ca_file) as client:
        for one in client.acts.listing(most=limit, incident=incident, node=node, state=state):
            typer.echo(json.dumps(one) if as_json else format_one_line(_describe_act(one)))
    return 0


_REFUSED: Final = 3
_NO_ANSWER: Final = 4


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
    cluster: Annotated[str | None, take("NAME", "Its cluster; else the token's.")] = None,
    node: Annotated[str | None, take("NAME", "Ask whether this node may take part.")] = None,
    form: Annotated[
        Form,
        take(None, "text, json, slurm or deepspeed (--exclude=...), or hosts.", "--format", "-f"),
    ] = Form.TEXT,
    wait: Annotated[
        float, take("SECONDS", "Wait for the answer to the last failure.", min=0, max=60)
    ] = 0.0,
    deadline: Annotated[
        float, take("SECONDS", "For the service to answer.", min=0.1, max=600)
    ] = 5.0,
    strict: Annotated[
        bool, take_flag("--strict", "Do not start without an answer (status 4).")
    ] = False,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Say without which nodes a job should start now.

    Ask between attempts, before rendezvous: the record answers within milliseconds.

    \b
    Examples:
      out=$(triage launch 4711 --wait 30 -f slurm) && sbatch $out train.sbatch
      triage launch 4711 --node "$(hostname)" && torchrun ... train.py

    \b
    Exit status:
      0  start without what is printed; also where the service does not answer
      3  do not start here: --node is left out
      4  the service does not answer, with --strict
    """
    with open_client(url, token_file, ca_file, timeout_s=deadline, tries=1) as client:
        try:
            found = client.launch(job_id, cluster=cluster, wait_s=wait)
        except (Unavailable, TooMany) as error:
            # Our outage is no reason for thousands of GPUs to wait.
            end = "not started (--strict)" if strict else "start without an answer"
            typer.echo(f"triage: {format_one_line(str(error))}; {end}", err=True)
            found = None
    if found is None:
        return _NO_ANSWER if strict else 0
    status = _REFUSED if node in found["exclude"] else 0
    if text := _format_decision(found, form, node):
        typer.echo(text)
    if status and form is not Form.TEXT:
        typer.echo(f"triage: {format_one_line(_describe_decision(found, node))}", err=True)
    return status


def _format_decision(found: dict[str, Any], form: Form, node: str | None) -> str:
    nodes: list[str] = found["exclude"]
    if form is Form.JSON:
        return json.dumps(found, indent=2)
    if form is Form.SLURM:
        return f"--exclude={format_host_list(nodes)}" if nodes else ""
    if form is Form.DEEPSPEED:
        return f"--exclude={'@'.join(nodes)}" if nodes else ""
    if form is Form.HOSTS:
        return "\n".join(nodes)
    lines = [format_one_line(_describe_decision(found, node))]
    lines += [f"  {one['node']}: {one['why']} ({one['incident_id']})" for one in found["excluded"]]
    return "\n".join(lines)


def _describe_decision(found: dict[str, Any], node: str | None) -> str:
    """The decision in words, and why."""
    if node is not None:
        head = f"{node} {'is left out' if node in found['exclude'] else 'may take part'}"
    else:
        head = f"start without {', '.join(found['exclude'])}" if found["exclude"] else "start"
    return f"{head}: {found['why']}"
