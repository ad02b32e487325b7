"""What is to be planned by: checkpoints, effective time, spare nodes, and where growth ends."""

from collections.abc import Mapping, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.table import Table, make_table
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


def build_checkpoint_table(report: Wire) -> Table | None:
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
    restarts = f"#And {mark(report['options']['restart_s'] / 3600)} restarts"
    head = ("One checkpoint takes", "#Young: every", "#Daly: every", "#Lost to both", restarts)
    return make_table("How often to checkpoint", head, rows)


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


def describe_outages(report: Wire) -> list[str]:
    """How many outages are on record, and how long each lasted."""
    repairs = report["repairs"]
    if repairs["mean_days"]["value"] is None:
        return []
    mean = format_duration(repairs["mean_days"], _DAY_H)
    return [f"{count(repairs['outages'], 'outage')} on record, {mean} each."]


def build_spare_table(report: Wire) -> Table | None:
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
        return None
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    figures = ("#Away at once", "#95 %", "#99 %", "#99.9 %", "#99 % of the nodes")
    head = ("What takes nodes out", "#And are away for", *figures)
    return make_table(f"Spares with which {nodes} are there, at three confidences", head, rows)


def build_cost_table(costs: Sequence[Wire]) -> Table | None:
    """Spares against what is short without them, a month of 30 days; none without a spare."""
    if len(costs) < 2:
        return None
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
    return make_table("What spares cost and save, a month", head, rows)


def describe_forecast(report: Wire) -> list[str]:
    """The forecast with its interval, and why it is none or may be too low."""
    absent = report["away"]
    said = absent["forecast"]
    basis = (
        f"{count(absent['outages'], 'outage')}, {count(absent['departures'], 'time')} that nodes"
        " went away, alone or together"
    )
    known = said["value"] is not None
    lines = [f"Forecast at 99 %: {_format_nodes(said)} ({basis})."] if known else []
    lines += [f"{text[:1].upper()}{text[1:]}." for text in said["notes"]]
    following = report["next_period"]
    if following is not None and following["outages"]["n"]:
        expected = _format_nodes(following["outages"])
        lines.append(f"Outages in the next {mark(following['days'] * _DAY_H)}: {expected}.")
    return lines


def build_method_table(absent: Wire) -> Table | None:
    """What other methods say, and how each did on held-out time."""
    rows = [
        (
            _METHOD.get(row["method"], row["method"]),
            f"{row['spares']:,}",
            "" if row["covered"] is None else format_share(row["covered"]),
        )
        for row in absent["methods"]
    ]
    head = ("Method", "#99 %", "#Covered of held-out time")
    return make_table("The same by other methods", head, rows)


def build_group_table(absent: Wire) -> Table | None:
    """Spares for the nodes of one generation or rack, and for one cause."""
    rows = [
        (
            row["kind"],
            row["name"],
            f"{row['num_nodes']:,}",
            f"{row['outages']:,}",
            format_figure(row["mean_away"]),
            f"{row['in_sample']:,}",
            _format_nodes(row["forecast"]),
        )
        for row in absent["groups"]
    ]
    head = ("By", "", "#Nodes", "#Outages", "#Away at once", "#In sample", "#Forecast")
    return make_table("Spares at 99 % for a part of them", head, rows)


def _format_nodes(estimate: Wire) -> str:
    return with_interval(estimate, lambda value: f"{value:,.0f}")


def describe_away(row: Wire) -> str:
    """How long a node is away: days asked for as given, measured ones with the digits they bear."""
    measured = row["basis"] in MEASURED
    return (format_hours if measured else mark)(row["repair_days"] * _DAY_H)


def describe_availability(report: Wire) -> list[str]:
    """Spares by the share of nodes in service alone."""
    spares = report["availability"]
    if spares is None or spares["at_99"] is None:
        return []
    share = format_share(spares["availability"])
    return [
        f"By availability alone ({share} of nodes in service, measured):"
        f" {count(spares['at_99'], 'spare')} at 99 %."
    ]


def build_answer_table(answer: Wire) -> Table | None:
    """Spares for one plan: ``triage.fleet.report.what_if.SparesAnswer`` on the wire."""
    rows = [
        (
            BASIS.get(row["basis"], row["basis"]),
            with_interval(row["per_thousand_node_days"]),
            format_figure(row["mean_down"]),
            _format_nodes(row["spares"]),
        )
        for row in answer["rows"]
    ]
    caption = (
        f"Spares for {count(answer['num_nodes'], 'node')} that are away for"
        f" {mark(answer['repair_days'] * _DAY_H)} each, at {format_per_cent(answer['confidence'])}"
    )
    head = ("What takes nodes out", "#Per 1,000 node-days", "#Away at once", "#Spares")
    return make_table(caption, head, rows)


def build_size_table(report: Wire) -> Table | None:
    """Interruptions by powers of two of GPUs."""
    rows = (
        (
            f"{row['from_gpus']:,} to {row['to_gpus']:,}",
            f"{row['runs']:,}",
            f"{row['gpu_hours']:,.0f}",
            f"{row['events']:,}",
            format_duration(row["mtti"]),
            with_interval(row["gpu_hours_between"], lambda value: format_figure(value, 3)),
        )
        for row in report["by_size"]
    )
    figures = ("#Interruptions", "#Between two", "#GPU-hours between two")
    head = ("GPUs of the job", "#Runs", "#GPU-hours", *figures)
    return make_table("Interruptions by size of job", head, rows)


def build_generation_table(report: Wire) -> Table | None:
    """Interruptions for which a node of each generation was convicted."""
    rows = (
        (
            row["generation"] or "unknown",
            f"{row['num_nodes']:,}",
            f"{row['node_days']:,.0f}",
            f"{row['events']:,}",
            with_interval(row["rate"]),
        )
        for row in report["by_generation"]
    )
    head = ("Generation", "#Nodes", "#Node-days", "#Interruptions", "#Per 1,000 node-days")
    return make_table("Interruptions by generation of node", head, rows)


def build_limit_table(report: Wire) -> Table | None:
    """Where growth ends: after Epoch AI, from this fleet's own rate."""
    rows = [
        (
            row["name"],
            with_interval(row["useful_gpus"], _format_gpus),
            with_interval(row["num_gpus"], _format_gpus),
        )
        for row in report["limits"]
    ]
    wanted = format_per_cent(report["ettr"]["wanted"])
    figures = (f"#GPUs up to which {wanted} is left", "#GPUs at which saving takes all time")
    head = ("What grows, what is moved", *figures)
    return make_table("How far one job can grow at this rate of failures", head, rows)


def _format_gpus(value: float) -> str:
    return f"{value / 1e6:.2g} M" if value >= 1e6 else f"{float(f'{value:.2g}'):,.0f}"
