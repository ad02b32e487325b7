"""The plan of a job of N GPUs as lines for a terminal: how long it runs, checkpoints, spares."""

from collections.abc import Iterator
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_hours,
    format_per_cent,
    format_share,
    with_interval,
)
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import format_one_line

_BOLD, _DIM = "1", "2"
_BASIS: Final = {
    "every stop": "if every stop takes a node away",
    "hardware": "if hardware faults alone do",
    "outages": "as often as nodes were out of service, each on its own",
    "forecast": "forecast, by the outages of the record",
    "record": "in sample: what sufficed in the record",
}


def plan_lines(plan: Wire, width: int = 80) -> list[Line]:
    """``{projection, checkpoint, spares}`` as the service answers them."""
    lines: list[Line] = []
    job = f"A job of {count(plan['projection']['num_gpus'], 'GPU')}"
    for title, sentences in (
        (job, _iterate_projection(plan["projection"])),
        ("Checkpoints", _iterate_checkpoint(plan["checkpoint"])),
        ("Spare nodes", _iterate_spares(plan["spares"])),
    ):
        lines += [Line("")] if lines else []
        lines.append(Line(title, _BOLD))
        for text in sentences:
            lines += map(Line, wrap(text, width, first="  ", rest="    "))
    warnings = dict.fromkeys(
        format_one_line(text)
        for part in (plan["projection"], plan["checkpoint"])
        for text in part["warnings"]
    )
    if warnings:
        lines += [Line(""), Line("Before you rely on it", _BOLD)]
        lines += [Line(line, _DIM) for text in warnings for line in wrap(text, width, first="  ")]
    return lines


def _iterate_projection(projection: Wire) -> Iterator[str]:
    if projection["mtti"]["value"] is None and not projection["mtti"]["low"]:
        yield "nothing can be said: the record holds no GPU-hours"
        return
    yield f"is interrupted every {format_duration(projection['mtti'])}"
    if projection["software_fixed"] is not None:
        time = format_hours(projection["software_fixed"])
        yield f"every {time} if software stops it no more often than now"
    for point in projection["survival"]:
        yield f"runs {point['hours']:g} h without a stop: {format_by_unit(point['probability'])}"
    if projection["seen_gpus"] is not None:
        low, high = projection["seen_gpus"]
        yield f"from jobs of {low:,}{'' if low == high else f' to {high:,}'} GPUs"


def _iterate_checkpoint(checkpoint: Wire) -> Iterator[str]:
    young = checkpoint["young"]
    if young["value"] is None and young["low"] is None:
        yield "nothing can be said: no stop and no time without one is known"
        return
    yield (
        f"best interval: {format_by_unit(young)}; by Daly's formula"
        f" {format_by_unit(checkpoint['daly'])}"
    )
    yield (
        f"lost to checkpoints and work done again:"
        f" {format_by_unit(checkpoint['loss_without_restart'])}"
    )
    yield f"with restarts: {format_by_unit(checkpoint['loss'])}"
    cost, restart = _format_plainly(checkpoint["cost_s"]), _format_plainly(checkpoint["restart_s"])
    yield f"a checkpoint stops the job for {cost} s, a restart takes {restart} s"


def _iterate_spares(answer: Wire) -> Iterator[str]:
    if not answer["num_nodes"]:
        yield "nothing can be said: no node is known; --nodes says for how many"
        return
    nodes, days = count(answer["num_nodes"], "node"), _format_plainly(answer["repair_days"])
    sure = format_per_cent(answer["confidence"])
    yield f"for {nodes} that are away for {days} days each, at {sure}"
    for row in answer["rows"]:
        spares = row["spares"]
        part = ""
        if spares["value"] is not None:
            part = f", {format_share(spares['value'] / answer['num_nodes'])} of them"
        basis = _BASIS.get(row["basis"]) or format_one_line(row["basis"])
        yield f"{basis}: {with_interval(spares, lambda value: f'{value:,.0f}')}{part}"
    for row in answer["costs"]:
        yield (
            f"with {count(row['spares'], 'spare')} {format_share(row['forecast'])} of the time:"
            f" {row['node_days']:,.0f} node-days a month, {row['node_hours_short']:,.0f}"
            " node-hours short"
        )
    yield from map(format_one_line, answer["notes"])


def _format_plainly(number: float) -> str:
    """A number that somebody gave, or that was measured: three digits, ``7`` and not 7.0."""
    return f"{float(f'{number:.3g}'):g}"
