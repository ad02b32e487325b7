"""The sections of a fleet's page, and the page of a report in one file.

``templates/sections.html`` has the markup. The same stands on the pages of the service and in the
report, which takes what ``FleetReport.to_dict`` and ``FleetStandings.to_dict`` give.
"""

from functools import cache
from typing import Final

from jinja2 import Environment

from triage.fleet.render import tables
from triage.fleet.render.sentences import (
    EMPTY,
    FLEET_CSS,
    STANDS_OUT,
    TO_BEGIN,
    format_period,
    is_empty,
    list_headlines,
    load_environment,
    write_sentences,
)
from triage.fleet.render.words import (
    Wire,
    format_duration,
    format_figure,
    format_node_rate,
    with_interval,
)
from triage.render.page.templates import CSS, compute_policy_source
from triage.render.pictures.markup import Html
from triage.render.words.clean import cut, format_one_line

_SHEET: Final = CSS + FLEET_CSS
POLICY: Final = (
    f"default-src 'none'; style-src {compute_policy_source(_SHEET)}; base-uri 'none';"
    f" form-action 'none'"
)
"""Content-Security-Policy of the report in one file."""


def render(report: Wire, standings: Wire, *, num_checks: int = 0) -> str:
    """One self-contained page without a script, with a newline at the end.

    ``num_checks`` is how many checks of nodes are due or failing.
    """
    period = format_period(report)
    text = (
        _load_environment()
        .get_template("fleet.html")
        .render(
            title=cut(format_one_line(f"Fleet, {period}"), 120),
            policy=POLICY,
            css=Html(_SHEET),
            period=period,
            nothing=is_empty(report, standings),
            headlines=list_headlines(report, standings, num_checks),
            report=report,
            standings=standings,
            named=lambda node: cut(node, 80),
            telemetry=report.get("telemetry") or {},
        )
    )
    return f"{text}\n"


def draw(macro: str, *values: object) -> Html:
    """What a macro of ``sections.html`` makes; blank where it makes nothing.

    It takes wire forms, and as ``named`` what makes of a node's name what stands in a table: a
    link where there are pages.
    """
    module = _load_environment().get_template("sections.html").module
    return Html(getattr(module, macro)(*values).strip())


@cache
def _load_environment() -> Environment:
    made = load_environment()
    made.globals |= {
        "EMPTY": EMPTY,
        "TO_BEGIN": TO_BEGIN,
        "repair_tables": tables.list_repair_tables,
        "rows": tables.tabulate,
        "say": write_sentences,
        "tables": tables,
    }
    made.filters |= {
        "chance": _format_chance,
        "node_rate": format_node_rate,
        "rates": _list_rates,
        "standing_out": lambda rows: [row for row in rows if row["grade"] in STANDS_OUT],
        "where": _describe_where,
    }
    return made


def _list_rates(report: Wire) -> list[tuple[str, str]]:
    """How often jobs stop, in each unit in which it is known."""
    rates = report["rates"]
    between = with_interval(rates["gpu_hours_between"], lambda value: format_figure(value, 3))
    rows = (
        ("Between two, of one job", format_duration(report["reference_mtti"])),
        ("Between two, anywhere", format_duration(rates["calendar_mtti"])),
        ("Per 1,000 node-days", with_interval(rates["per_thousand_node_days"])),
        ("Per 1e6 GPU-hours", with_interval(rates["per_million_gpu_hours"])),
        ("GPU-hours between two", between),
    )
    return [row for row in rows if row[1] != "unknown"]


def _describe_where(row: Wire) -> str:
    """The leaf switch and the rack of a node, as far as an inventory names them."""
    rack = f"rack {row['rack']}" if row["rack"] else None
    return ", ".join(filter(None, (row["leaf_switch"], rack)))


def _format_chance(q: float | None) -> str:
    """The false-discovery rate; a very small one is given as a bound."""
    if q is None:
        return ""
    return "< 0.001" if q < 0.001 else f"{q:.2g}"
