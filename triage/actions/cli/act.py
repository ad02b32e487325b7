"""``triage act``: act on convicted nodes, decide, undo, stop and go on."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from triage.actions.names import who
from triage.cli.ask import CaFile, TokenFile, Url, asking
from triage.errors import Conflict, UsageError
from triage.render.words.clean import one_line

if TYPE_CHECKING:
    from triage.client import Client

__all__ = ["HELP", "app"]

HELP = """
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
NOT_DONE: Final = 3
LEFT: Final = ("left_alone", "failed", "refused", "expired")
EVERY_S: Final = 0.5

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
IncidentId = Annotated[str, typer.Argument(metavar="INCIDENT", help="Its id.", show_default=False)]
ActionId = Annotated[str, typer.Argument(metavar="ACTION", help="Its id.", show_default=False)]
Node = Annotated[
    str | None, typer.Option(metavar="NAME", help="One of the convicted nodes; else all.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")]
Approve = Annotated[bool, typer.Option("--approve", help="Also where the budget is spent.")]
WaitS = Annotated[
    float,
    typer.Option("--wait", min=0, max=600, metavar="SECONDS", help="Wait so long for the end."),
]


def asked(
    verb: str,
    incident_id: str,
    node: str | None,
    flags: Mapping[str, bool],
    wait_s: float,
    service: tuple[str, str | None, str | None],
) -> int:
    """Ask for an act and print what becomes of it."""
    with asking(*service) as client:
        found = refusable(client.acts.ask, incident_id, verb, node=node, **flags)
        for one in found["would"]:
            command = f": {one['command']}" if one["command"] else ""
            typer.echo(one_line(f"would {one['verb']} {one['node']} ({one['why']}){command}"))
        return shown_at_end(client, found["actions"], wait_s)


def refusable(call: Any, *arguments: Any, **named: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the service answers; a rule in the way is a sentence with the next step."""
    try:
        found: dict[str, Any] = call(*arguments, **named)
    except Conflict as error:
        raise UsageError(f"{error.detail}; {error.hint}" if error.hint else error.detail) from error
    return found


def shown_at_end(client: "Client", acts: Sequence[Mapping[str, Any]], wait_s: float) -> int:
    """Each act once it has ended, or as it stands when the time is up; the exit status."""
    end = time.monotonic() + wait_s
    status = 0
    for one in acts:
        now = one
        while now["state"] in ("approved", "acting") and time.monotonic() < end:
            time.sleep(EVERY_S)
            now = client.acts.find(one["id"])
        typer.echo(one_line(sentence(now)))
        status = NOT_DONE if now["state"] in LEFT else status
    return status


def sentence(one: Mapping[str, Any]) -> str:
    """How an act stands, in one line."""
    state = one["state"].replace("_", " ")
    by = who(one["decided_by"] or one["asked_by"])
    text = f"{one['id']}  {state:<10}  {one['verb']} {one['node']}  {one['incident_id']}  by {by}"
    if one["state"] == "proposed":
        text += f"; may be approved until {one['expires_at']}: {one['why']}"
    elif one["waits_since"]:
        text += f"; waits for the scheduler since {one['waits_since']}"
    elif one["error"]:
        text += f": {one['error']}"
    return text


def asking_for(verb: str) -> Callable[..., int]:
    """The command of an act: all have the same options."""

    def command(
        incident_id: IncidentId,
        node: Node = None,
        dry_run: DryRun = False,
        approve: Approve = False,
        wait: WaitS = 30.0,
        url: Url = "",
        token_file: TokenFile = None,
        ca_file: CaFile = None,
    ) -> int:
        flags = {"dry_run": dry_run, "approve": approve}
        return asked(verb, incident_id, node, flags, wait, (url, token_file, ca_file))

    return command


for verb, help_text in {
    "drain": "Let no new work be placed on the convicted nodes; what runs there goes on.",
    "exclude": "Leave the convicted nodes out of new starts; the scheduler is not asked.",
    "reboot": "Ask for a reboot of the convicted nodes, as soon as nothing runs there.",
}.items():
    app.command(verb, help=help_text)(asking_for(verb))


@app.command()
def undrain(
    incident_id: IncidentId,
    node: Node = None,
    dry_run: DryRun = False,
    wait: WaitS = 30.0,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Take the drains of an incident back, where their reason is still ours."""
    flags = {"dry_run": dry_run}
    return asked("undrain", incident_id, node, flags, wait, (url, token_file, ca_file))


@app.command()
def approve(
    action_id: ActionId,
    wait: WaitS = 30.0,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Approve a proposal, and wait for what becomes of it."""
    with asking(url, token_file, ca_file) as client:
        return shown_at_end(client, [refusable(client.acts.decide, action_id, "approve")], wait)


@app.command()
def refuse(
    action_id: ActionId, url: Url = "", token_file: TokenFile = None, ca_file: CaFile = None
) -> int:
    """Say no to a proposal."""
    with asking(url, token_file, ca_file) as client:
        typer.echo(one_line(sentence(refusable(client.acts.decide, action_id, "refuse"))))
    return 0


@app.command()
def undo(
    subject: Annotated[
        str,
        typer.Argument(metavar="ACTION|INCIDENT", help="One act, or all of an incident.",
                       show_default=False),
    ],
    wait: WaitS = 30.0,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:  # fmt: skip
    """Take back what was done: an exclusion at once, a drain where it is still ours."""
    with asking(url, token_file, ca_file) as client:
        ids = [subject]
        if not subject.startswith("act_"):
            done = client.acts.listing(most=None, incident=subject, state="done")
            ids = [one["id"] for one in done if one["verb"] in ("drain", "exclude")]
            if not ids:
                raise UsageError(f"nothing that was done for {subject} can be undone")
        acts = [refusable(client.acts.decide, one, "undo") for one in ids]
        return shown_at_end(client, acts, wait)


@app.command("list")
def list_acts(
    incident: Annotated[
        str | None, typer.Option(metavar="ID", help="Only of this incident.")
    ] = None,
    node: Annotated[str | None, typer.Option(metavar="NAME", help="Only on this node.")] = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="proposed, approved, done, undone ...")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Lines at most.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Show how acting stands, then what waits and what was done, newest first."""
    with asking(url, token_file, ca_file) as client:
        if not as_json:
            typer.echo(one_line(standing(client.acts.actuator())))
        for one in client.acts.listing(most=limit, incident=incident, node=node, state=state):
            typer.echo(json.dumps(one) if as_json else one_line(sentence(one)))
    return 0


@app.command()
def halt(
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Stop: nothing more is done to nodes until it is resumed."""
    with asking(url, token_file, ca_file) as client:
        typer.echo(one_line(standing(client.acts.halt(reason))))
    return 0


@app.command()
def resume(url: Url = "", token_file: TokenFile = None, ca_file: CaFile = None) -> int:
    """Go on; acts that proved wrong before are not counted again."""
    with asking(url, token_file, ca_file) as client:
        typer.echo(one_line(standing(client.acts.resume())))
    return 0


def standing(found: Mapping[str, Any]) -> str:
    """How the actuator stands, in one line."""
    if halted := found["halted"]:
        return f"halted since {halted['at']} by {halted['by']}: {halted['reason']}"
    return (
        f"mode {found['mode']}, {found['system']}, cluster {found['cluster'] or '(none)'};"
        f" {found['acted_within_hour']} of {found['nodes_per_hour']} nodes within the hour,"
        f" {found['nodes_out']} out, {found['waiting']} wait for a person,"
        f" {found['wrong_within_week']} of {found['wrong_stop']} wrong within a week"
    )
