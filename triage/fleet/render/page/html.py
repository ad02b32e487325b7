"""The fleet report as one page that needs nothing else: no script, nothing from outside.

``render`` takes what ``FleetReport.to_dict`` and ``FleetStandings.to_dict`` give.
"""

from triage.fleet.render.page.sections import answer_list, render_empty, render_overview
from triage.fleet.render.page.style import FLEET_CSS
from triage.fleet.render.sentences import format_period, is_empty
from triage.fleet.render.words import Wire
from triage.render.page.style import CSS, compute_policy_source
from triage.render.pictures.markup import make_element, trust_markup
from triage.render.words.clean import cut, format_one_line

_SHEET = CSS + FLEET_CSS
POLICY = (
    f"default-src 'none'; style-src {compute_policy_source(_SHEET)}; base-uri 'none';"
    f" form-action 'none'"
)
"""Content-Security-Policy of the page."""


def render(report: Wire, standings: Wire, *, num_checks: int = 0) -> str:
    """One self-contained page, with a newline at the end.

    ``num_checks`` is how many checks of nodes are due or failing.
    """
    nothing = is_empty(report, standings)
    period = format_period(report)
    head = make_element(
        "head",
        None,
        make_element("meta", {"charset": "utf-8"}),
        make_element(
            "meta", {"http-equiv": "Content-Security-Policy", "content": trust_markup(POLICY)}
        ),
        make_element(
            "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}
        ),
        make_element("meta", {"name": "referrer", "content": "no-referrer"}),
        make_element("title", None, cut(format_one_line(f"Fleet, {period}"), 120)),
        make_element("style", None, trust_markup(_SHEET)),
    )
    body = make_element(
        "body",
        {"class": "fleet"},
        make_element(
            "main",
            None,
            make_element(
                "header",
                None,
                make_element("h1", None, "The fleet"),
                make_element("p", {"class": "soft"}, period),
            ),
            render_empty() if nothing else answer_list(report, standings, num_checks),
            None if nothing else render_overview(report, standings, None, report.get("telemetry")),
        ),
    )
    return f"<!DOCTYPE html>\n{make_element('html', {'lang': 'en'}, head, body)}\n"
