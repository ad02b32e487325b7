"""Repairs in words and tables: who is on probation, which repair holds, how right the chances were.

The same rows stand on a terminal and on a page. Shares are of returns whose time is over.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from triage.domain.counts import count
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.repair import RepairAction
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import Estimate, Wire, format_share, format_utc_day, with_interval
from triage.fleet.repairs.words import describe_repair_action, describe_repair_cause

_VERDICTS: Final = {
    "holds_better": "holds better than the others",
    "holds_worse": "holds worse than the others",
    "no_difference": "no difference found",
    "cannot_tell": "cannot tell",
}
_SHARES: Final = ("failed_7", "failed_30")
_AGAIN: Final = ("#Returns", "#Again in 7 days")


def summarize_repairs(repairs: Wire) -> Iterator[str]:
    """What the whole record says, in sentences."""
    returns = repairs["num_returns"]
    if not returns:
        yield "No node has come back from an unplanned outage in the last two years."
        return
    week, month = repairs["failed_7"], repairs["failed_30"]
    if week["value"] is None:
        yield f"{count(returns, 'return')}: too few to say how many fail again."
    else:
        text = (
            f"Of {count(week['n'], 'return')} {with_interval(week, format_share)} failed again"
            f" within 7"
            f" days, where the chance of any node is {format_share(repairs['usual_7'])}"
        )
        if month["value"] is not None:
            text += (
                f"; {with_interval(month, format_share)} within 30"
                f" ({format_share(repairs['usual_30'])})"
            )
        yield f"{text}."
    now = len(repairs["probation"])
    yield f"{count(now, 'node')} on probation." if now else "No node is on probation."
    for row in repairs["by_repair"]:
        if row["verdict"] in ("holds_better", "holds_worse"):
            own, others = (format_share(row[key]["value"]) for key in ("failed_30", "others_30"))
            yield (
                f"After {_name_cause(row['cause'])}, {_name_action(row['action'])}"
                f" {_VERDICTS[row['verdict']]}: {own}"
                f" fail again within 30 days, {others} of theirs."
            )
    yield from (_describe_accuracy(one) for one in repairs["judged"][:1] if one["auc"] is not None)


def _describe_accuracy(one: Wire) -> str:
    """How far the chances that were said could be believed."""
    low, high = one["auc_low"], one["auc_high"]
    return (
        f"Chances said on the day of each return: {format_share(one['mean_chance'])} on"
        f" average, and"
        f" {format_share(one['num_failed'] / one['num_returns'])} failed again within"
        f" {one['within_days']:g} days; of two returns the one that failed had the higher chance in"
        f" {100 * one['auc']:.0f} of 100 pairs ({100 * low:.0f} to {100 * high:.0f}; 50 is chance)."
    )


class RepairTable(NamedTuple):
    """A table under its title; a page folds one that has a ``folded`` word."""

    key: str
    title: str
    table: Table | None
    folded: str = ""


def list_repair_tables(
    repairs: Wire, named: Callable[[str], str] = str, most: int = 100
) -> tuple[RepairTable, ...]:
    """Probation, repairs, causes, and chances held against what came.

    ``named`` makes of a node's name what stands in the table; ``most`` are on probation by name.
    """
    nodes = repairs["probation"]
    return (
        RepairTable(
            "probation",
            "On probation",
            make_table(
                "Nodes on probation, the likeliest to fail first",
                ("Node", "Back", "After", "#7 days, then", "#7 days, now", "Check", "Until"),
                (_list_probation_cells(row, named) for row in nodes[:most]),
                left_out=len(nodes) - most,
            ),
        ),
        RepairTable(
            "holds",
            "Which repair holds",
            make_table(
                "Repairs by cause",
                ("Cause", "Repair", *_AGAIN, "#In 30 days", "#Others, 30 days", "Verdict"),
                (
                    (
                        _name_cause(row["cause"]),
                        _name_action(row["action"]),
                        f"{row['num_returns']:,}",
                        *(_format_share(row[key]) for key in _SHARES),
                        _format_share(row["others_30"]),
                        _VERDICTS[row["verdict"]],
                    )
                    for row in repairs["by_repair"]
                ),
            ),
        ),
        RepairTable(
            "causes",
            "By cause",
            make_table(
                "Returns by cause",
                ("Cause", *_AGAIN, "#Again in 30 days"),
                (
                    (
                        _name_cause(row["cause"]),
                        f"{row['num_returns']:,}",
                        *(_format_share(row[key]) for key in _SHARES),
                    )
                    for row in repairs["by_cause"]
                ),
            ),
        ),
        RepairTable(
            "judged",
            "What was said, and what came",
            make_table(
                "Chances said, and what came",
                ("Of", "#Returns", "#Said on average", "#Failed again", "#95 % interval"),
                (
                    (
                        f"{one['within_days']:g} days",
                        f"{row['num_returns']:,}",
                        format_share(row["chance"]),
                        format_share(row["observed"]),
                        f"{format_share(row['low'])} to {format_share(row['high'])}",
                    )
                    for one in repairs["judged"]
                    for row in one["deciles"]
                ),
            ),
            "By tenths of what was said",
        ),
    )


def _list_probation_cells(row: Wire, named: Callable[[str], str]) -> tuple[str, ...]:
    low, high = (f"{100 * row[key]:.0f}" for key in ("low_7", "high_7"))
    return (
        named(row["node"]),
        format_utc_day(row["returned_at"], with_year=False),
        _name_action(row["action"]) if row["action"] else _name_cause(row["cause"]),
        f"{100 * row['within_7']:.0f} % ({low} to {high})",
        f"{100 * row['next_7']:.0f} %",
        row["check"],
        format_utc_day(row["until"], with_year=False),
    )


def _format_share(estimate: Estimate) -> str:
    """A share with its interval; of too few returns nothing is told but that."""
    return (
        _VERDICTS["cannot_tell"]
        if estimate["value"] is None
        else with_interval(estimate, format_share)
    )


def _name_cause(name: str) -> str:
    """``a cable fault``; a name of another release as it is."""
    return describe_repair_cause(OutageCause(name)) if name in set(OutageCause) else name


def _name_action(name: str) -> str:
    """``a cable swap``; a name of another release as it is."""
    return describe_repair_action(RepairAction(name)) if name in set(RepairAction) else name
