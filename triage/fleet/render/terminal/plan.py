"""The plan of a job of N GPUs as lines for a terminal: how long it runs, checkpoints, spares."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triage.fleet.render.words import by_unit, count, duration, hours, per_cent, share
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import one_line

__all__ = ["plan_lines"]

Facts = Mapping[str, Any]
_BOLD, _DIM = "1", "2"


def plan_lines(plan: Facts, width: int = 80) -> list[Line]:
    """``{projection, checkpoint, spares}`` as the service answers them."""
    lines: list[Line] = []
    for title, said in (
        (_title(plan["projection"]), _projection(plan["projection"])),
        ("Checkpoints", _checkpoint(plan["checkpoint"])),
        ("Spare nodes", _spares(plan["spares"])),
    ):
        lines += [Line("")] if lines else []
        lines.append(Line(title, _BOLD))
        lines += [Line(one) for text in said for one in wrap(text, width, first="  ", rest="    ")]
    warnings = dict.fromkeys(
        one_line(text)
        for part in (plan["projection"], plan["checkpoint"])
        for text in part["warnings"]
    )
    if warnings:
        lines += [Line(""), Line("Before you rely on it", _BOLD)]
        lines += [Line(one, _DIM) for text in warnings for one in wrap(text, width, first="  ")]
    return lines


def _title(projection: Facts) -> str:
    return f"A job of {count(projection['num_gpus'], 'GPU')}"


def _projection(found: Facts) -> Iterator[str]:
    if found["mtti"]["value"] is None and not found["mtti"]["low"]:
        yield "nothing can be said: the record holds no GPU-hours"
        return
    yield f"is interrupted every {duration(found['mtti'])}"
    if found["software_fixed"] is not None:
        yield (
            f"every {hours(found['software_fixed'])} if software stops it no more often than now"
        )
    for one in found["survival"]:
        yield f"runs {one['hours']:g} h without a stop: {by_unit(one['probability'])}"
    seen = found["seen_gpus"]
    if seen is not None:
        yield f"from jobs of {_range(seen)} GPUs"


def _checkpoint(found: Facts) -> Iterator[str]:
    young = found["young"]
    if young["value"] is None and young["low"] is None:
        yield "nothing can be said: no stop and no time without one is known"
        return
    yield f"best interval: {by_unit(young)}; by Daly's formula {by_unit(found['daly'])}"
    yield f"lost to checkpoints and work done again: {by_unit(found['loss_without_restart'])}"
    yield f"with restarts: {by_unit(found['loss'])}"
    cost, restart = _plainly(found["cost_s"]), _plainly(found["restart_s"])
    yield f"a checkpoint stops the job for {cost} s, a restart takes {restart} s"


def _spares(found: Facts) -> Iterator[str]:
    if not found["num_nodes"]:
        yield "nothing can be said: no node is known; --nodes says for how many"
        return
    nodes, days = count(found["num_nodes"], "node"), _plainly(found["repair_days"])
    sure = per_cent(found["confidence"])
    yield f"for {nodes} that are away for {days} days each, at {sure}"
    for row in found["rows"]:
        spares = row["spares"]
        part = "" if spares["value"] is None else f", {_of(spares['value'], found['num_nodes'])}"
        yield f"{_basis(row['basis'])}: {by_unit(spares)}{part}"
    for note in found["notes"]:
        yield one_line(note)


def _plainly(number: float) -> str:
    """A number that somebody gave, or that was measured: three digits, ``7`` and not 7.0."""
    return f"{float(f'{number:.3g}'):g}"


def _of(spares: float, num_nodes: int) -> str:
    return f"{share(spares / num_nodes)} of them"


def _basis(basis: str) -> str:
    return {
        "every stop": "if every stop takes a node away",
        "hardware": "if hardware faults alone do",
        "outages": "as often as nodes were out of service",
    }.get(basis, one_line(basis))


def _range(seen: Sequence[int]) -> str:
    low, high = seen
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
