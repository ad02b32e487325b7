"""The fleet report as one page that needs nothing else: no script, nothing from outside.

``render`` takes what ``FleetReport.to_dict`` and ``FleetStandings.to_dict`` give.
"""

from triage.fleet.render.page.sections import answer_list, empty, overview
from triage.fleet.render.page.style import FLEET_CSS
from triage.fleet.render.sentences import is_empty, period_text
from triage.fleet.render.words import Wire
from triage.render.page.style import CSS, allowed
from triage.render.pictures.markup import constant, el
from triage.render.words.clean import cut, one_line

_SHEET = CSS + FLEET_CSS
POLICY = f"default-src 'none'; style-src {allowed(_SHEET)}; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy of the page."""


def render(report: Wire, standings: Wire, *, num_checks: int = 0) -> str:
    """One self-contained page, with a newline at the end.

    ``num_checks`` is how many checks of nodes are due or failing.
    """
    nothing = is_empty(report, standings)
    period = period_text(report)
    head = el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el("meta", {"http-equiv": "Content-Security-Policy", "content": constant(POLICY)}),
        el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        el("meta", {"name": "referrer", "content": "no-referrer"}),
        el("title", None, cut(one_line(f"Fleet, {period}"), 120)),
        el("style", None, constant(_SHEET)),
    )
    body = el(
        "body",
        {"class": "fleet"},
        el(
            "main",
            None,
            el("header", None, el("h1", None, "The fleet"), el("p", {"class": "soft"}, period)),
            empty() if nothing else answer_list(report, standings, num_checks),
            None if nothing else overview(report, standings, None, report.get("telemetry")),
        ),
    )
    return f"<!DOCTYPE html>\n{el('html', {'lang': 'en'}, head, body)}\n"
