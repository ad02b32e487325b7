"""The fleet: what its record says, how its nodes stand, what to plan with, what to check; and
the history of one node.

People say whole days, the last one included; times are in UTC. Without days it is the last 30.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_caller
from triage.api.requests.values import Name, PathName, check_choice, check_query, name_in_path
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.errors import NotFound, Unprocessable
from triage.fleet.api.values import (
    ClusterName,
    Confidence,
    Cost,
    Gpus,
    Nodes,
    RepairDays,
    Restart,
    StandingName,
)
from triage.fleet.render.page import draw
from triage.fleet.render.sentences import (
    GRADES,
    TO_BEGIN,
    format_period,
    is_empty,
    list_headlines,
    plan_answers,
    write_sentences,
)
from triage.fleet.report.options import COST_S, REPAIR_DAYS, RESTART_S, FleetOptions
from triage.fleet.report.what_if import spares_for
from triage.fleet.services.answers import (
    DEFAULT_DAYS,
    MAX_DAYS,
    determine_fleet_period,
    look_at_fleet,
    make_fleet_report,
)
from triage.fleet.services.health.due_list import STATES, iterate_check_rows, open_checks
from triage.fleet.services.record.record import answer_repairs
from triage.fleet.services.standings import get_kept_standings
from triage.fleet.services.telemetry.rollups import describe_telemetry, sum_node_telemetry
from triage.fleet.store.record import map_cluster_keys
from triage.render.pictures.markup import Html
from triage.render.words.clean import format_one_line
from triage.statistics.projection import SIZES
from triage.store import nodes as node_store
from triage.web.access import admit
from triage.web.filters import build_node_address
from triage.web.pages import page, page_router
from triage.web.requests import drop_blanks

PERIOD: Final = ("days", "from", "to", "cluster")
PRESETS: Final = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))
DAY: Final = timedelta(days=1)


_EARLIEST, _LATEST = date(2000, 1, 1), date(2199, 12, 31)
Days = Annotated[int | None, Query(ge=1, le=MAX_DAYS)]
First = Annotated[date | None, Query(alias="from", ge=_EARLIEST, le=_LATEST)]
Last = Annotated[date | None, Query(alias="to", ge=_EARLIEST, le=_LATEST)]
Cluster = ClusterName


@dataclass(frozen=True, slots=True)
class FleetDays:
    """Days of a cluster, as an address says them. Given days win over a number of days back.

    Raises :class:`Unprocessable` for days that go backwards.
    """

    days: Days = None
    first: First = None
    last: Last = None
    cluster: Cluster = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.last < self.first:
            raise Unprocessable(
                f"the days go backwards: from {self.first} to {self.last}",
                hint="let from come before to",
            )

    @property
    def preset(self) -> int | None:
        """The number of days back, where no days are named."""
        if self.first or self.last:
            return None
        return self.days or round(DEFAULT_DAYS)

    @property
    def until(self) -> datetime | None:
        """The end, not itself in it; None is now."""
        return None if self.last is None else _make_midnight(self.last + DAY)

    def since(self, now: datetime) -> datetime:
        """The begin."""
        if self.first is not None:
            return _make_midnight(self.first)
        # To the minute, as the end is: whoever asks again within it gets the same page.
        end = self.until or now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        return end - timedelta(days=self.days or DEFAULT_DAYS)

    def query(self) -> dict[str, str]:
        """The same as a query; what is usual stands not in it."""
        said = {
            "days": "" if self.days is None or self.first or self.last else str(self.days),
            "from": "" if self.first is None else self.first.isoformat(),
            "to": "" if self.last is None else self.last.isoformat(),
            "cluster": self.cluster or "",
        }
        return {name: value for name, value in said.items() if value}

    def ago(self, days: int) -> dict[str, str]:
        """The query of so many days back, of the same cluster."""
        return {"days": str(days)} | ({"cluster": self.cluster} if self.cluster else {})


def _make_midnight(of: date) -> datetime:
    return datetime.combine(of, time(), UTC)


AskedDays = Annotated[FleetDays, Depends()]
router = page_router("/fleet", admit(Scope.READ))
node_router = page_router("/nodes", admit(Scope.READ))
_ROWS: Final = 50
_MAX_HOT: Final = 50
_MAX_CHECKS: Final = 200
_KNOBS: Final = ("gpus", "nodes", "cost_s", "restart_s", "repair_days", "confidence")


PageNumber = Annotated[int, Query(alias="page", ge=1, le=10_000)]


@router.get("", name="page_fleet", dependencies=[Depends(drop_blanks(*PERIOD))])
def fleet(request: Request, asked: AskedDays) -> Response:
    """The answers in sentences, then what they rest on."""
    found = look_at_fleet(
        get_state(request).context,
        since=asked.since(read_utc_now()),
        until=asked.until,
        cluster=asked.cluster,
    )
    report, standings = found.report.to_dict(), found.standings.to_dict()
    nothing = is_empty(report, standings)
    return page(
        request,
        "fleet.html",
        **_collect_head(asked, _own_names(request, found.clusters), report),
        nothing=nothing,
        answers=draw("answers", list_headlines(report, standings, len(found.checks))),
        overview=None
        if nothing
        else draw(
            "overview",
            report,
            standings,
            _link_node,
            describe_telemetry(found.telemetry, _MAX_HOT),
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
    number: PageNumber = 1,
) -> Response:
    """How each node stands now, with its reasons; the worst first."""
    ctx = get_state(request).context
    standings = get_kept_standings(ctx, cluster).to_dict()
    rows = [row for row in standings["nodes"] if standing in (None, row["grade"])]
    shown = rows[(number - 1) * _ROWS : number * _ROWS]
    return page(
        request,
        "fleet_nodes.html",
        **_collect_head(FleetDays(cluster=cluster), list_cluster_names(request), None),
        standings=standings,
        said=write_sentences("tested", standings)[0],
        keys=draw("legend", standings["counts"]),
        parts=draw("parts", standings),
        places=draw("places", standings),
        leaves=draw("leaf_section", standings),
        table=draw("node_table", shown, _link_node),
        num_rows=len(rows),
        shown=len(shown),
        number=number,
        rows_a_page=_ROWS,
        standing=standing,
        grades=[grade for grade in GRADES if standings["counts"].get(grade)],
    )


@router.get("/repairs", name="page_fleet_repairs", dependencies=[Depends(drop_blanks("cluster"))])
def repairs_page(request: Request, cluster: Cluster = None) -> Response:
    """Which repairs hold, and which nodes are on probation."""
    ctx = get_state(request).context
    found = answer_repairs(ctx, until=determine_fleet_period().until, cluster=cluster).to_dict()
    return page(
        request,
        "fleet_repairs.html",
        **_collect_head(FleetDays(cluster=cluster), list_cluster_names(request), None),
        answers=draw("paragraphs", write_sentences("repairs", found)),
        repairs=draw("repairs", found, _link_node),
    )


@router.get("/plan", name="page_fleet_plan", dependencies=[Depends(drop_blanks(*PERIOD, *_KNOBS))])
def fleet_plans(
    request: Request,
    asked: AskedDays,
    gpus: Gpus = None,
    nodes: Nodes = None,
    cost_s: Cost = None,
    restart_s: Restart = None,
    repair_days: RepairDays = None,
    confidence: Confidence = None,
) -> Response:
    """What if: another job, another checkpoint, other repairs, at the fleet's own rate."""
    knobs = dict(
        zip(_KNOBS, (gpus, nodes, cost_s, restart_s, repair_days, confidence), strict=True)
    )
    found = make_fleet_report(
        get_state(request).context,
        since=asked.since(read_utc_now()),
        until=asked.until,
        cluster=asked.cluster,
        options=_plan_options(gpus, cost_s, restart_s, repair_days),
    )
    each = found.exposure.gpus_per_node
    spares = spares_for(
        found,
        nodes or (-(-gpus // each) if gpus and each else None),
        repair_days=repair_days,
        confidence=confidence,
    ).to_dict()
    report = found.to_dict()
    nothing = is_empty(report)
    return page(
        request,
        "fleet_plan.html",
        **_collect_head(asked, list_cluster_names(request), report),
        nothing=nothing,
        knobs={name: "" if value is None else f"{value:.9g}" for name, value in knobs.items()},
        usual={
            "gpus": report["exposure"]["reference_gpus"],
            "nodes": spares["num_nodes"],
            "repair_days": f"{spares['repair_days']:g}",
        },
        answers=draw("answers", plan_answers(report, spares)),
        plan=None if nothing else draw("plan", report, spares),
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
    number: PageNumber = 1,
) -> Response:
    """Checks that fail or are due; all others by their state."""
    now = read_utc_now()
    with get_state(request).context.database.reading() as session:
        if node is None and state is None:
            rows = open_checks(session, now, cluster=cluster)
        else:
            rows = list(iterate_check_rows(session, now, cluster=cluster, node=node, state=state))
    asked = {"cluster": cluster, "node": node, "state": state}
    return page(
        request,
        "fleet_checks.html",
        **_collect_head(FleetDays(cluster=cluster), list_cluster_names(request), None),
        rows=rows[(number - 1) * _ROWS : number * _ROWS],
        num_rows=len(rows),
        number=number,
        rows_a_page=_ROWS,
        states=STATES,
        filters={name: value or "" for name, value in asked.items()},
    )


@node_router.get("", name="page_find_node", dependencies=[Depends(check_query("name"))])
def find_node(name: str = "") -> Response:
    """To the page of the node that was typed."""
    if name.strip():
        return RedirectResponse(f"/nodes/{quote(name.strip()[:256], safe='')}", 303)
    return RedirectResponse("/incidents", 303)


@node_router.get("/{node}", name="page_node", dependencies=[Depends(check_query())])
def node_history(request: Request, node: PathName) -> Response:
    """How it stands in the fleet and why; its incidents, its distinct errors, its checks."""
    name, now = name_in_path("node", node), read_utc_now()
    cluster = get_caller(request).cluster
    with get_state(request).context.database.reading() as session:
        found = node_store.read_history(session, name, cluster=cluster)
        checks = list(iterate_check_rows(session, now, cluster=cluster, node=name))
        measured = sum_node_telemetry(session, now, cluster=cluster, node=name).get(name)
    if found is None:
        raise NotFound(
            f"nothing has named the node {name} yet", hint="give its name as the scheduler does"
        )
    standings = get_kept_standings(get_state(request).context, cluster)
    standing = next((row.to_dict() for row in standings.nodes if row.node == name), None)
    return page(
        request,
        "node.html",
        history=found,
        standing=standing,
        grade=None if standing is None else draw("grade", standing["grade"]),
        standings=standings,
        checks=checks[:_MAX_CHECKS],
        num_checks=len(checks),
        measured=measured,
    )


def _plan_options(
    gpus: int | None, cost_s: float | None, restart_s: float | None, repair_days: float | None
) -> FleetOptions:
    """The options of a report, with the size that is asked for among those of its curve."""
    return FleetOptions(
        checkpoint_cost_s=cost_s or COST_S,
        restart_s=restart_s or RESTART_S,
        reference_gpus=gpus,
        repair_days=tuple(sorted({repair_days, 1.0, 7.0})) if repair_days else REPAIR_DAYS,
        sizes=tuple(sorted({*SIZES, gpus})) if gpus else SIZES,
    )


def _collect_head(
    asked: FleetDays, names: list[str], report: dict[str, Any] | None
) -> dict[str, Any]:
    """What the head of every fleet page is made of."""
    return {
        "asked": asked,
        "to_begin": TO_BEGIN,
        # The one asked for is among them, known or not.
        "clusters": sorted({*names, *filter(None, [asked.cluster])}),
        "presets": [(number, word, urlencode(asked.ago(number))) for number, word in PRESETS],
        "period": None if report is None else format_period(report),
        "query": urlencode(asked.query()),
        "cluster_query": urlencode({"cluster": asked.cluster}) if asked.cluster else "",
    }


def list_cluster_names(request: Request) -> list[str]:
    """The clusters that there are and that the visitor's token reaches, by name."""
    with get_state(request).context.database.reading() as session:
        return _own_names(request, sorted(name for name in map_cluster_keys(session) if name))


def _own_names(request: Request, names: Iterable[str]) -> list[str]:
    """The clusters that the visitor's token reaches."""
    return [name for name in names if get_caller(request).sees(name)]


def _link_node(node: str) -> Html:
    """A node's name as a link to its page."""
    return Html('<a href="{}">{}</a>').format(build_node_address(node), format_one_line(node))
