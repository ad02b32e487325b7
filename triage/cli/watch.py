"""``triage watch``: one incident as it comes to its answer."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.interrupt import TIDY_S, stop_at_once
from triage.cli.options import Format, IncidentId, take
from triage.cli.output import emit, render_answer

if TYPE_CHECKING:
    from triage.client import Client, Incident

_SHORTEST_S, _LONGEST_S = 0.5, 5.0
_MAX_SUSPECTS = 3


Show = Callable[[list[str]], None]
"""Shows the state now; called again and again."""


def watch(
    incident_id: IncidentId,
    timeout: Annotated[
        float | None, take("S", "Give up after S seconds; never if left out.", min=0)
    ] = None,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Watch one incident until its answer is final, then print it.

    A terminal shows one view that is kept up to date; elsewhere each change is
    one line on stderr. Ctrl-C ends the command and changes nothing.

    \b
    Examples:
      triage watch inc_01m7z63k2atd86c7aaq2
      triage watch inc_01m7z63k2atd86c7aaq2 --timeout 600 > answer.txt

    \b
    Exit status: 0 answered; 1 the analysis failed, or the time was up;
    2 wrong usage; 130 interrupted.
    """
    with stop_at_once(TIDY_S), open_client(url, token_file, ca_file) as client:
        with _open_screen() as show:
            incident = follow(client, incident_id, timeout, show)
        if incident is None:
            typer.echo(f"triage: no answer within {timeout:g} s; it goes on without us", err=True)
            return 1
        if incident.state == "failed":
            why = incident.reason or "no reason is known"
            typer.echo(f"triage: the analysis failed, by no fault of the files: {why}", err=True)
            return 1
        emit(render_answer(incident.report.answer, Format.TEXT, None, to_file=False))
    return 0


def follow(
    client: "Client", incident_id: str, timeout_s: float | None, show: Show
) -> "Incident | None":
    """The incident once its answer is final; None when the time is up before."""
    from triage.render.terminal.listing import state_text

    begun = time.monotonic()
    pause_s = _SHORTEST_S
    incident = client.incident(incident_id)
    before: list[str] = []
    while True:
        lines = _state_lines(incident, state_text(incident.facts))
        show(lines)
        if incident.state == "failed" or (incident.state == "ready" and not incident.provisional):
            return incident
        if timeout_s is not None and time.monotonic() - begun >= timeout_s:
            return None
        # The pause is short after a change and grows while nothing changes.
        pause_s = _SHORTEST_S if lines != before else min(pause_s * 1.5, _LONGEST_S)
        before = lines
        time.sleep(pause_s)
        incident.refresh()


def _state_lines(incident: "Incident", state: str) -> list[str]:
    """The state, and the answer so far."""
    from triage.render.words.answer import format_belief
    from triage.render.words.clean import format_one_line
    from triage.render.words.ranges import condense

    lines = [f"{incident.id}, job {format_one_line(incident.job_id, 30)}: {state}"]
    verdict = incident.verdict
    if verdict is None:
        return lines
    lines.append(f"  {format_one_line(verdict.summary, 300)}")
    for suspect in incident.report.answer.suspects[:_MAX_SUSPECTS]:
        where = format_one_line(suspect.node or f"rank {condense(suspect.ranks, max_chars=20)}", 40)
        facts = f"{suspect.category}, {format_belief(suspect.score)}, {suspect.role}"
        lines.append(f"  {suspect.position}. {where}, {facts}")
    return lines


@contextmanager
def _open_screen() -> Iterator[Show]:
    """A view that is kept up to date on a terminal, else a line a change on stderr."""
    if not sys.stderr.isatty():
        from triage.render.words.clean import cut

        before = ""

        def tell(lines: list[str]) -> None:
            nonlocal before
            state = "; ".join(line.strip() for line in lines[:2])
            if state != before:
                before = state
                now = time.strftime("%H:%M:%S", time.gmtime())
                typer.echo(cut(f"{now} {state}", 400), err=True)

        yield tell
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda lines: live.update(Text("\n".join(lines)), refresh=True)
