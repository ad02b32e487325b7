"""What is to be planned by: checkpoints, effective time, spare nodes, and where growth ends."""

from collections.abc import Mapping
from typing import Any, Final

from triage.fleet.render.charts.table import table
from triage.fleet.render.words import (
    by_unit,
    count,
    duration,
    figure,
    hours,
    mark,
    per_cent,
    seconds,
    share,
    told,
)
from triage.render.pictures.markup import Html, constant, el, join

__all__ = [
    "BASIS",
    "away",
    "checkpoint_table",
    "effective",
    "limit_table",
    "spare_answer",
    "spare_table",
]

Report = Mapping[str, Any]

BASIS: Final[Mapping[str, str]] = {
    "every stop": "every interruption takes a node out",
    "hardware": "hardware faults take a node out",
    "outages": "nodes go out as often as on record",
}
"""What takes a node out of service, by the report's word for it."""
_DAY_H: Final = 24.0


def checkpoint_table(report: Report) -> Html:
    """Intervals and losses by what a checkpoint costs; the first row is that of the options."""
    rows = [
        (
            mark(one["cost_s"] / 3600),
            duration(one["young"], 1 / 3600),
            duration(one["daly"], 1 / 3600),
            by_unit(one["loss_without_restart"]),
            by_unit(one["loss"]),
        )
        for one in sorted(report["checkpoints"], key=lambda one: one["cost_s"])
        if one["young"]["value"] or one["young"]["low"]
    ]
    if not rows:
        return constant("")
    restart = mark(report["options"]["restart_s"] / 3600)
    head = ("One checkpoint takes", "#Young: every", "#Daly: every", "#Lost to both",
            f"#And {restart} restarts")  # fmt: skip
    return table("How often to checkpoint", head, rows)


def effective(report: Report) -> list[str]:
    """Effective training time, expected and measured, as sentences."""
    ettr = report["ettr"]
    said = []
    if ettr["expected"]["value"] is not None:
        doubt = "" if ettr["valid"] else "; so much is lost that the formula is no longer exact"
        said.append(f"Effective training time expected: {by_unit(ettr['expected'])}{doubt}.")
    measured = ettr["measured"]["share"]
    if measured["value"] is not None:
        said.append(
            f"Measured over {count(measured['n'], 'run')}: {by_unit(measured)}, with"
            f" {figure(ettr['measured']['redone_hours'], 3)} GPU-hours of work done again."
        )
    if ettr["budget_min"] is not None:
        said.append(
            f"For {per_cent(ettr['wanted'])}, one interruption may cost"
            f" {hours(ettr['budget_min'] / 60, 3)} of its job, lost work included."
        )
    if ettr["longest_restart_s"] is not None:
        said.append(
            f"{per_cent(ettr['wanted'])} can be had with restarts of up to"
            f" {seconds(ettr['longest_restart_s'])}."
        )
    elif ettr["expected"]["value"] is not None:
        said.append(f"{per_cent(ettr['wanted'])} cannot be had at this checkpoint cost.")
    return said


def spare_table(report: Report) -> Html:
    """Spare nodes by what takes nodes out and how long they are away."""
    rows = [
        (
            BASIS.get(one["basis"], one["basis"]),
            away(one),
            figure(one["spares"]["mean_down"]),
            f"{one['spares']['at_95']:,}",
            f"{one['spares']['at_99']:,}",
            f"{one['spares']['at_999']:,}",
            f"{one['spares']['percent']:.1f} %",
        )
        for one in report["spares"]
    ]
    if not rows:
        return constant("")
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    head = ("What takes nodes out", "#And are away for", "#Away at once", "#95 %", "#99 %",
            "#99.9 %", "#99 % of the nodes")  # fmt: skip
    made = table(f"Spares with which {nodes} are there, at three confidences", head, rows)
    return join((made, _by_availability(report)))


def away(row: Mapping[str, Any]) -> str:
    """Days that were asked for are told as they are, measured ones with the digits they bear."""
    measured = row["basis"] == "outages"
    return (hours if measured else mark)(row["repair_days"] * _DAY_H)


def _by_availability(report: Report) -> Html | None:
    found = report["availability"]
    if found is None or found["at_99"] is None:
        return None
    words = (
        f"By availability alone ({share(found['availability'])} of nodes in service, measured):"
        f" {count(found['at_99'], 'spare')} at 99 %."
    )
    return el("p", {"class": "soft"}, words)


def spare_answer(answer: Mapping[str, Any]) -> Html:
    """Spares for one plan: ``triage.fleet.report.what_if.SparesAnswer`` on the wire."""
    rows = [
        (
            BASIS.get(one["basis"], one["basis"]),
            told(one["per_thousand_node_days"]),
            figure(one["mean_down"]),
            told(one["spares"], lambda value: f"{value:,.0f}"),
        )
        for one in answer["rows"]
    ]
    notes = join(el("p", {"class": "soft"}, note) for note in answer["notes"])
    if not rows:
        return notes
    caption = (
        f"Spares for {count(answer['num_nodes'], 'node')} that are away for"
        f" {mark(answer['repair_days'] * _DAY_H)} each, at {per_cent(answer['confidence'])}"
    )
    head = ("What takes nodes out", "#Per 1,000 node-days", "#Away at once", "#Spares")
    return join((table(caption, head, rows), notes))


def limit_table(report: Report) -> Html:
    """Where growth ends: after Epoch AI, from this fleet's own rate."""
    rows = [
        (one["name"], told(one["useful_gpus"], _gpus), told(one["num_gpus"], _gpus))
        for one in report["limits"]
    ]
    if not rows:
        return constant("")
    wanted = per_cent(report["ettr"]["wanted"])
    head = ("What grows, what is moved", f"#GPUs up to which {wanted} is left",
            "#GPUs at which saving takes all time")  # fmt: skip
    return table("How far one job can grow at this rate of failures", head, rows)


def _gpus(value: float) -> str:
    return f"{value / 1e6:.2g} M" if value >= 1e6 else f"{float(f'{value:.2g}'):,.0f}"
