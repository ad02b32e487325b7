"""What is to be planned by: checkpoints, effective time, spare nodes, and where growth ends."""

from collections.abc import Mapping, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.table import render_details, render_rows_table
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_figure,
    format_hours,
    format_per_cent,
    format_seconds,
    format_share,
    mark,
    with_interval,
)
from triage.render.pictures.markup import Html, join, make_element, trust_markup

BASIS: Final[Mapping[str, str]] = {
    "forecast": "forecast: outages in bursts, batches and as long as on record",
    "record": "in sample: what sufficed in the record",
    "every stop": "every interruption takes a node out",
    "hardware": "hardware faults take a node out",
    "outages": "nodes go out as often as on record, each on its own (Palm)",
}
"""What spares rest on, by the report's word for it."""
_METHOD: Final[Mapping[str, str]] = {
    "poisson": "Poisson: each node on its own (Palm)",
    "over_dispersed": "negative binomial of the record's variance",
    "record": "what sufficed in the record",
    "clusters": "the record, and its clusters in any order",
    "drifting": "the same at a rate that drifts",
}
MEASURED: Final = frozenset({"forecast", "record", "outages"})
"""Those of them whose days of repair are measured."""
_DAY_H: Final = 24.0


def render_checkpoint_table(report: Wire) -> Html:
    """Intervals and losses by what a checkpoint costs; the first row is that of the options."""
    rows = [
        (
            mark(row["cost_s"] / 3600),
            format_duration(row["young"], 1 / 3600),
            format_duration(row["daly"], 1 / 3600),
            format_by_unit(row["loss_without_restart"]),
            format_by_unit(row["loss"]),
        )
        for row in sorted(report["checkpoints"], key=lambda row: row["cost_s"])
        if row["young"]["value"] or row["young"]["low"]
    ]
    if not rows:
        return trust_markup("")
    restarts = f"#And {mark(report['options']['restart_s'] / 3600)} restarts"
    head = ("One checkpoint takes", "#Young: every", "#Daly: every", "#Lost to both", restarts)
    return render_rows_table("How often to checkpoint", head, rows)


def describe_effective_time(report: Wire) -> list[str]:
    """Effective training time, expected and measured, as sentences."""
    ettr = report["ettr"]
    sentences = []
    if ettr["expected"]["value"] is not None:
        doubt = "" if ettr["valid"] else "; so much is lost that the formula is no longer exact"
        sentences.append(
            f"Effective training time expected: {format_by_unit(ettr['expected'])}{doubt}."
        )
    measured = ettr["measured"]["share"]
    if measured["value"] is not None:
        sentences.append(
            f"Measured over {count(measured['n'], 'run')}: {format_by_unit(measured)}, with"
            f" {format_figure(ettr['measured']['redone_hours'], 3)} GPU-hours of work done again."
        )
    if ettr["budget_min"] is not None:
        sentences.append(
            f"For {format_per_cent(ettr['wanted'])}, one interruption may cost"
            f" {format_hours(ettr['budget_min'] / 60, 3)} of its job, lost work included."
        )
    if ettr["longest_restart_s"] is not None:
        sentences.append(
            f"{format_per_cent(ettr['wanted'])} can be had with restarts of up to"
            f" {format_seconds(ettr['longest_restart_s'])}."
        )
    elif ettr["expected"]["value"] is not None:
        sentences.append(
            f"{format_per_cent(ettr['wanted'])} cannot be had at this checkpoint cost."
        )
    return sentences


def render_spare_table(report: Wire) -> Html:
    """Spare nodes by what takes nodes out and how long they are away."""
    rows = [
        (
            BASIS.get(row["basis"], row["basis"]),
            describe_away(row),
            format_figure(row["spares"]["mean_down"]),
            *(f"{row['spares'][key]:,}" for key in ("at_95", "at_99", "at_999")),
            f"{row['spares']['percent']:.1f} %",
        )
        for row in report["spares"]
    ]
    if not rows:
        return trust_markup("")
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    figures = ("#Away at once", "#95 %", "#99 %", "#99.9 %", "#99 % of the nodes")
    head = ("What takes nodes out", "#And are away for", *figures)
    made = render_rows_table(
        f"Spares with which {nodes} are there, at three confidences", head, rows
    )
    absent = report["away"]
    own = () if absent is None else (_own_notes(absent, report), render_cost_table(absent["costs"]))
    folded = () if absent is None else (_render_methods(absent), _render_groups(absent))
    return join((made, *own, *folded, _render_by_availability(report)))


def render_cost_table(costs: Sequence[Wire]) -> Html:
    """Spares against what is short without them, a month of 30 days; empty without a spare."""
    if len(costs) < 2:
        return trust_markup("")
    gpus = costs[0]["gpu_hours_short"] is not None
    rows = [
        (
            f"{row['spares']:,}",
            format_share(row["in_sample"]),
            format_share(row["forecast"]),
            f"{row['node_days']:,.0f}",
            f"{row['idle_node_days']:,.0f}",
            format_figure(row["node_hours_short"], 3),
            *((format_figure(row["gpu_hours_short"], 3),) if gpus else ()),
            format_hours(row["hours_short"]) if row["hours_short"] >= 1 / 60 else "none",
        )
        for row in costs
    ]
    shares = ("#Sufficed", "#Will suffice", "#Node-days bought", "#Of them idle")
    short = ("#Node-hours short", *(("#GPU-hours short",) if gpus else ()))
    head = ("Spares", *shares, *short, "#Time with a node short")
    return render_rows_table("What spares cost and save, a month", head, rows)


def _own_notes(absent: Wire, report: Wire) -> Html:
    """The forecast with its interval, and why it is none or may be too low."""
    said = absent["forecast"]
    nodes = with_interval(said, lambda value: f"{value:,.0f}")
    basis = (
        f"{count(absent['outages'], 'outage')}, {count(absent['departures'], 'time')} that nodes"
        " went away, alone or together"
    )
    lines = [f"Forecast at 99 %: {nodes} ({basis})." if said["value"] is not None else ""]
    lines += [f"{text[:1].upper()}{text[1:]}." for text in said["notes"]]
    following = report["next_period"]
    if following is not None and following["outages"]["n"]:
        expected = with_interval(following["outages"], lambda value: f"{value:,.0f}")
        lines.append(f"Outages in the next {mark(following['days'] * _DAY_H)}: {expected}.")
    return join(make_element("p", {"class": "soft"}, line) for line in lines if line)


def _render_methods(absent: Wire) -> Html:
    rows = [
        (
            _METHOD.get(row["method"], row["method"]),
            f"{row['spares']:,}",
            "" if row["covered"] is None else format_share(row["covered"]),
        )
        for row in absent["methods"]
    ]
    head = ("Method", "#99 %", "#Covered of held-out time")
    if not absent["outages"]:
        return trust_markup("")
    return render_details(
        "Other methods", render_rows_table("The same by other methods", head, rows)
    )


def _render_groups(absent: Wire) -> Html | None:
    rows = [
        (
            row["kind"],
            row["name"],
            f"{row['num_nodes']:,}",
            f"{row['outages']:,}",
            format_figure(row["mean_away"]),
            f"{row['in_sample']:,}",
            with_interval(row["forecast"], lambda value: f"{value:,.0f}"),
        )
        for row in absent["groups"]
    ]
    head = ("By", "", "#Nodes", "#Outages", "#Away at once", "#In sample", "#Forecast")
    title = "By generation, rack and cause"
    return (
        render_details(title, render_rows_table("Spares at 99 % for a part of them", head, rows))
        if rows
        else None
    )


def describe_away(row: Wire) -> str:
    """How long a node is away: days asked for as given, measured ones with the digits they bear."""
    measured = row["basis"] in MEASURED
    return (format_hours if measured else mark)(row["repair_days"] * _DAY_H)


def _render_by_availability(report: Wire) -> Html | None:
    spares = report["availability"]
    if spares is None or spares["at_99"] is None:
        return None
    words = (
        f"By availability alone ({format_share(spares['availability'])} of nodes in service,"
        f" measured):"
        f" {count(spares['at_99'], 'spare')} at 99 %."
    )
    return make_element("p", {"class": "soft"}, words)


def render_spare_answer(answer: Wire) -> Html:
    """Spares for one plan: ``triage.fleet.report.what_if.SparesAnswer`` on the wire."""
    rows = [
        (
            BASIS.get(row["basis"], row["basis"]),
            with_interval(row["per_thousand_node_days"]),
            format_figure(row["mean_down"]),
            with_interval(row["spares"], lambda value: f"{value:,.0f}"),
        )
        for row in answer["rows"]
    ]
    notes = join(make_element("p", {"class": "soft"}, note) for note in answer["notes"])
    if not rows:
        return notes
    caption = (
        f"Spares for {count(answer['num_nodes'], 'node')} that are away for"
        f" {mark(answer['repair_days'] * _DAY_H)} each, at {format_per_cent(answer['confidence'])}"
    )
    head = ("What takes nodes out", "#Per 1,000 node-days", "#Away at once", "#Spares")
    return join((render_rows_table(caption, head, rows), notes, render_cost_table(answer["costs"])))


def limit_table(report: Wire) -> Html:
    """Where growth ends: after Epoch AI, from this fleet's own rate."""
    rows = [
        (
            row["name"],
            with_interval(row["useful_gpus"], _format_gpus),
            with_interval(row["num_gpus"], _format_gpus),
        )
        for row in report["limits"]
    ]
    if not rows:
        return trust_markup("")
    wanted = format_per_cent(report["ettr"]["wanted"])
    figures = (f"#GPUs up to which {wanted} is left", "#GPUs at which saving takes all time")
    head = ("What grows, what is moved", *figures)
    return render_rows_table("How far one job can grow at this rate of failures", head, rows)


def _format_gpus(value: float) -> str:
    return f"{value / 1e6:.2g} M" if value >= 1e6 else f"{float(f'{value:.2g}'):,.0f}"
