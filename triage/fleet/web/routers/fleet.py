"""The fleet: what its record says, how its nodes stand, what to plan with, what to check."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.requests.values import Name, check_choice
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.fleet.api.values import Confidence, Cost, Gpus, Nodes, RepairDays, Restart, StandingName
from triage.fleet.render.charts.leaves import WORDS
from triage.fleet.render.page import nodes as fleet_nodes
from triage.fleet.render.page import sections as fleet_sections
from triage.fleet.render.sentences import TO_BEGIN, format_period, is_empty, plan_answers
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.what_if import DEFAULT_CONFIDENCE, spares_for
from triage.fleet.services.answers import (
    build_fleet_options,
    determine_fleet_period,
    look_at_fleet,
    make_fleet_report,
)
from triage.fleet.services.health.due_list import STATES, list_check_rows, open_checks
from triage.fleet.services.repairs import answer_repairs
from triage.fleet.services.standings import get_kept_standings
from triage.fleet.store.record import map_cluster_keys
from triage.fleet.web.period import (
    PERIOD,
    PRESETS,
    Cluster,
    Days,
    First,
    FleetDays,
    Last,
    list_shown_clusters,
    parse_fleet_days,
)
from triage.render.pictures.markup import Html, make_element, trust_markup
from triage.statistics.projection import SIZES
from triage.web.access import admit
from triage.web.blank_filters import drop_blanks
from triage.web.filters import build_node_address
from triage.web.pages import page
from triage.web.route import page_router

router = page_router("/fleet", admit(Scope.READ))
_ROWS: Final = 50
_MAX_HOT: Final = 50
_MOST_PAGES: Final = 10_000
_KNOBS: Final = ("gpus", "nodes", "cost_s", "restart_s", "repair_days", "confidence")
_USUAL_REPAIR_DAYS: Final = 7.0


def _page_number(text: Any) -> int:  # noqa: ANN401
    """Which page of a list."""
    if isinstance(text, int):
        return text
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= _MOST_PAGES):
        raise ValueError(f"give a whole number from 1 to {_MOST_PAGES:,}")
    return int(text)


@router.get("", name="page_fleet", dependencies=[Depends(drop_blanks(*PERIOD))])
def fleet(
    request: Request,
    days: Days = None,
    first: First = None,
    last: Last = None,
    cluster: Cluster = None,
) -> Response:
    """The answers in sentences, then what they rest on."""
    asked = parse_fleet_days(days, first, last, cluster)
    found = look_at_fleet(
        get_state(request).context,
        since=asked.since(read_utc_now()),
        until=asked.until,
        cluster=cluster,
    )
    report, standings = found.report.to_dict(), found.standings.to_dict()
    nothing = is_empty(report, standings)
    return page(
        request,
        "fleet.html",
        **_collect_head(asked, _own_names(request, found.clusters), report),
        nothing=nothing,
        answers=fleet_sections.render_answers(report, standings, len(found.checks)),
        overview=None
        if nothing
        else fleet_sections.render_overview(
            report, standings, _link_node, found.telemetry.to_dict(_MAX_HOT)
        ),
    )


@router.get(
    "/nodes",
    name="page_fleet_nodes",
    dependencies=[Depends(drop_blanks("cluster", "standing", "page"))],
)
def fleet_standings(
    request: Request,
    cluster: Cluster = None,
    standing: StandingName = None,
    number: Annotated[int, BeforeValidator(_page_number), Query(alias="page")] = 1,
) -> Response:
    """How each node stands now, with its reasons; the worst first."""
    ctx = get_state(request).context
    standings = get_kept_standings(ctx, cluster).to_dict()
    rows = [row for row in standings["nodes"] if standing in (None, row["grade"])]
    shown = rows[(number - 1) * _ROWS : number * _ROWS]
    return page(
        request,
        "fleet_nodes.html",
        **_collect_head(FleetDays(cluster=cluster), _list_cluster_names(request), None),
        standings=standings,
        said=fleet_nodes.summarize_standings(standings),
        **fleet_sections.render_node_lists(standings),
        table=fleet_sections.render_node_table(
            shown, standings["fleet_rate_per_1000_node_days"], _link_node
        ),
        num_rows=len(rows),
        shown=len(shown),
        number=number,
        rows_a_page=_ROWS,
        standing=standing,
        grades=[grade for grade in WORDS if standings["counts"].get(grade)],
    )


@router.get("/repairs", name="page_fleet_repairs", dependencies=[Depends(drop_blanks("cluster"))])
def repairs_page(request: Request, cluster: Cluster = None) -> Response:
    """Which repairs hold, and which nodes are on probation."""
    ctx = get_state(request).context
    found = answer_repairs(ctx, until=determine_fleet_period().until, cluster=cluster).to_dict()
    answers, repairs = fleet_sections.render_repairs(found, _link_node)
    return page(
        request,
        "fleet_repairs.html",
        **_collect_head(FleetDays(cluster=cluster), _list_cluster_names(request), None),
        answers=answers,
        repairs=repairs,
    )


@router.get("/plan", name="page_fleet_plan", dependencies=[Depends(drop_blanks(*PERIOD, *_KNOBS))])
def fleet_plans(
    request: Request,
    days: Days = None,
    first: First = None,
    last: Last = None,
    cluster: Cluster = None,
    gpus: Gpus = None,
    nodes: Nodes = None,
    cost_s: Cost = None,
    restart_s: Restart = None,
    repair_days: RepairDays = None,
    confidence: Confidence = None,
) -> Response:
    """What if: another job, another checkpoint, other repairs, at the fleet's own rate."""
    asked = parse_fleet_days(days, first, last, cluster)
    knobs = dict(
        zip(_KNOBS, (gpus, nodes, cost_s, restart_s, repair_days, confidence), strict=True)
    )
    found = make_fleet_report(
        get_state(request).context,
        since=asked.since(read_utc_now()),
        until=asked.until,
        cluster=cluster,
        options=_plan_options(gpus, cost_s, restart_s, repair_days),
    )
    each = found.exposure.gpus_per_node
    spares = spares_for(
        found,
        nodes or (-(-gpus // each) if gpus and each else None),
        repair_days=repair_days,
        confidence=DEFAULT_CONFIDENCE if confidence is None else confidence,
    ).to_dict()
    report = found.to_dict()
    nothing = is_empty(report)
    return page(
        request,
        "fleet_plan.html",
        **_collect_head(asked, _list_cluster_names(request), report),
        nothing=nothing,
        knobs={name: "" if value is None else f"{value:.9g}" for name, value in knobs.items()},
        usual={
            "gpus": report["exposure"]["reference_gpus"],
            "nodes": spares["num_nodes"],
            "repair_days": f"{spares['repair_days']:g}",
        },
        answers=fleet_sections.render_headlines(plan_answers(report, spares)),
        plan=None if nothing else fleet_sections.render_plan(report, spares),
    )


@router.get(
    "/checks",
    name="page_fleet_checks",
    dependencies=[Depends(drop_blanks("cluster", "node", "state", "page"))],
)
def fleet_checks(
    request: Request,
    cluster: Cluster = None,
    node: Annotated[Name | None, Query()] = None,
    state: Annotated[str | None, check_choice(*STATES), Query()] = None,
    number: Annotated[int, BeforeValidator(_page_number), Query(alias="page")] = 1,
) -> Response:
    """Checks that fail or are due; all others by their state."""
    now = read_utc_now()
    with get_state(request).context.database.reading() as session:
        if node is None and state is None:
            rows = open_checks(session, now, cluster=cluster)
        else:
            rows = list_check_rows(session, now, cluster=cluster, node=node, state=state)
    asked = {"cluster": cluster, "node": node, "state": state}
    return page(
        request,
        "fleet_checks.html",
        **_collect_head(FleetDays(cluster=cluster), _list_cluster_names(request), None),
        rows=rows[(number - 1) * _ROWS : number * _ROWS],
        num_rows=len(rows),
        number=number,
        rows_a_page=_ROWS,
        states=STATES,
        filters={name: value or "" for name, value in asked.items()},
    )


def _plan_options(
    gpus: int | None, cost_s: float | None, restart_s: float | None, repair_days: float | None
) -> FleetOptions:
    """The options of a report, with the size that is asked for among those of its curve."""
    options = build_fleet_options(gpus=gpus, cost_s=cost_s, restart_s=restart_s)
    if gpus is not None:
        options = replace(options, sizes=tuple(sorted({*SIZES, gpus})))
    if repair_days is not None:
        days = {repair_days, 1.0, _USUAL_REPAIR_DAYS}
        options = replace(options, repair_days=tuple(sorted(days)))
    return options


def _collect_head(
    asked: FleetDays, names: list[str], report: dict[str, Any] | None
) -> dict[str, Any]:
    """What the head of every fleet page is made of."""
    return {
        "asked": asked,
        "to_begin": TO_BEGIN,
        "clusters": list_shown_clusters(names, asked),
        "presets": [(number, word, urlencode(asked.ago(number))) for number, word in PRESETS],
        "period": None if report is None else format_period(report),
        "query": urlencode(asked.query()),
        "cluster_query": urlencode({"cluster": asked.cluster}) if asked.cluster else "",
    }


def _list_cluster_names(request: Request) -> list[str]:
    with get_state(request).context.database.reading() as session:
        return _own_names(request, sorted(name for name in map_cluster_keys(session) if name))


def _own_names(request: Request, names: Iterable[str]) -> list[str]:
    """The clusters that the visitor's token reaches."""
    return [name for name in names if get_caller(request).sees(name)]


def _link_node(node: str) -> Html:
    """A node's name as a link to its page."""
    return make_element("a", {"href": trust_markup(build_node_address(node))}, node)
