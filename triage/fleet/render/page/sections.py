"""The sections of a fleet's page: answers first, then what they rest on, picture by picture.

The same markup stands on the pages of the service and in the report in one file. Every picture
has its table, folded below it; nothing here needs a script.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from triage.fleet.render.charts import causes as fleet_causes
from triage.fleet.render.charts import heat as fleet_heat
from triage.fleet.render.charts import hours as fleet_hours
from triage.fleet.render.charts import leaves as fleet_leaves
from triage.fleet.render.charts import lifetime as fleet_lifetime
from triage.fleet.render.charts import over_time as fleet_over_time
from triage.fleet.render.charts import plan as fleet_plan
from triage.fleet.render.charts import projection as fleet_projection
from triage.fleet.render.charts.table import details, picture, section, table
from triage.fleet.render.page import nodes as fleet_nodes
from triage.fleet.render.sentences import EMPTY, TO_BEGIN, Headline, answers
from triage.fleet.render.words import by_unit, count, duration, figure, told
from triage.render.pictures.markup import Html, constant, el, join

__all__ = [
    "MAX_NODES",
    "Named",
    "answer_list",
    "empty",
    "leaf_section",
    "overview",
    "plan",
    "sentences",
]

Wire = Mapping[str, Any]
Named = Callable[[str], Html]

MAX_NODES: Final = 10
_TOLD: Final = frozenset({"lemon", "watch"})
_NUMBERS: Final = "The same in numbers"
_NOTHING: Final = constant("")


def empty() -> Html:
    """What to do where nothing is known."""
    commands = el("pre", {"tabindex": 0}, join((el("span", None, one) for one in TO_BEGIN), "\n"))
    return join((el("p", None, EMPTY), commands))


def answer_list(report: Wire, standings: Wire, num_checks: int = 0) -> Html:
    """The answers of the whole report."""
    return sentences(answers(report, standings, num_checks))


def sentences(said: Iterable[Headline]) -> Html:
    """Sentences, each with what it rests on."""
    return el("ul", {"class": "answers"}, join(map(_answer, said)))


def _answer(one: Headline) -> Html:
    why = el("span", {"class": "why"}, one.why) if one.why else None
    return el("li", {"class": one.tone or None}, one.text, why)


def overview(
    report: Wire, standings: Wire, named: Named | None = None, telemetry: Wire | None = None
) -> Html:
    """All that looks back: nodes, rate, causes, then what follows for plans.

    ``telemetry`` is ``FleetTelemetry`` on the wire, where there is some.
    """
    return join(
        (
            node_section(standings, named),
            leaf_section(standings),
            _rate(report),
            _causes(report),
            _projection(report),
            _lifetime(report),
            _checkpoints(report),
            _spares(report),
            _sizes(report),
            _heat(telemetry or {}, named),
            _hours(report),
            _limits(report),
            _basis(report, standings),
        )
    )


def plan(report: Wire, spares: Wire) -> Html:
    """What looks ahead, for the job and the costs that the report was asked for.

    ``spares`` is ``what_if.SparesAnswer`` on the wire.
    """
    return join(
        (
            _projection(report),
            _checkpoints(report),
            section("spares", "Spare nodes", fleet_plan.spare_answer(spares)),
            _lifetime(report),
            _limits(report),
        )
    )


def node_section(standings: Wire, named: Named | None) -> Html:
    shown = [one for one in standings["nodes"] if one["grade"] in _TOLD]
    if not standings["nodes"]:
        return _NOTHING
    more = len(shown) - MAX_NODES
    return section(
        "nodes",
        "Nodes that stand out",
        el("p", {"class": "soft"}, fleet_nodes.said(standings)),
        fleet_nodes.keys(standings),
        fleet_nodes.as_table(
            shown[:MAX_NODES], standings["fleet_rate_per_1000_node_days"], named, folded=True
        ) if shown else el("p", None, "None."),
        el("p", {"class": "soft"}, f"and {count(more, 'more node')}.") if more > 0 else None,
        details("What is named again and again", fleet_nodes.parts_list(standings))
        if standings["parts"] else None,
    )  # fmt: skip


def leaf_section(standings: Wire) -> Html:
    """The map; nothing where no inventory names leaves."""
    leaves = fleet_leaves.leaves_of(standings)
    if not leaves:
        return _NOTHING
    drawn = fleet_leaves.as_svg(leaves)
    return section(
        "leaves",
        "Leaf switches",
        fleet_leaves.legend(leaves),
        el("figure", {"class": "picture wide"}, _scrolled(drawn, "Leaf switches")),
        details(_NUMBERS, fleet_leaves.as_table(leaves)),
    )


def _rate(report: Wire) -> Html:
    figures, comparison = report["rates"], report["comparison"]
    rows = [
        ("Between two, of one job", duration(report["reference_mtti"])),
        ("Between two, anywhere", duration(figures["calendar_mtti"])),
        ("Per 1,000 node-days", told(figures["per_thousand_node_days"])),
        ("Per 1e6 GPU-hours", told(figures["per_million_gpu_hours"])),
        ("GPU-hours between two", told(figures["gpu_hours_between"], lambda one: figure(one, 3))),
    ]
    facts = el("dl", {"class": "figures"}, join(
        join((el("dt", None, name), el("dd", None, value)))
        for name, value in rows if value != "unknown"
    ))  # fmt: skip
    ratio = None
    if comparison["ratio"]["value"] is not None:
        words = "more than chance" if comparison["differs"] else "no more than chance"
        ratio = f"Later half over the first: {by_unit(comparison['ratio'])}, {words}."
    drawn = fleet_over_time.as_svg(report)
    legend = (
        "Dots: each window with its 95 % band; a hollow one is a bound, as nothing stopped. "
        "Dotted: the whole record."
    )
    said = (
        facts,
        el("p", None, ratio) if ratio else None,
        el("p", None, legend) if drawn else None,
    )
    return section(
        "rate",
        "How often jobs stop",
        picture(drawn, "Time between interruptions, over time", *said) or join(said),
        details(_NUMBERS, fleet_over_time.as_table(report)) if report["over_time"] else None,
    )


def _causes(report: Wire) -> Html:
    if not report["mix"]["count"]:
        return _NOTHING
    origins = table(
        "By origin",
        ("Origin", "#Share", "#Per 1e6 GPU-h"),
        [
            (one["origin"], by_unit(one["share"]), figure(one["rate"]["value"]))
            for one in report["origins"]
            if one["count"]
        ],
    )
    return section(
        "causes",
        "What fails",
        picture(
            fleet_causes.as_svg(report),
            "Causes beside Llama 3's",
            el("p", None, fleet_causes.said(report)),
            el("p", None, "Filled bars are this fleet, with 95 % intervals; outlined bars are the",
               " 419 interruptions of the Llama 3 run."),
            origins,
        ),
        details(_NUMBERS, fleet_causes.as_table(report)),
    )  # fmt: skip


def _projection(report: Wire) -> Html:
    said = fleet_projection.warnings(report)
    return section(
        "projection",
        "How long a job of any size runs",
        picture(
            fleet_projection.as_svg(report),
            "Time between interruptions by size of job",
            el("p", None, "The line is one over N with its 95 % band, the dashed one keeps"
               " software faults at their number a job. Dots are jobs of that size on record."),
            el("p", None, "Shaded: sizes that the rate is from. Hatched: more than four times"
               " beyond them."),
            join(el("p", None, el("b", None, "Beware: "), one) for one in said),
        ),
        details(_NUMBERS, fleet_projection.as_table(report)) if report["projection"] else None,
    )  # fmt: skip


def _lifetime(report: Wire) -> Html:
    return section(
        "lifetime",
        "How likely a run is to last",
        picture(
            fleet_lifetime.as_svg(report),
            "Survival curve",
            join(el("p", None, one) for one in fleet_lifetime.said(report)),
            el("p", None, "Dashed: what one steady rate would give."),
            fleet_lifetime.chances(report),
        )
        or fleet_lifetime.chances(report),
        details(_NUMBERS, fleet_lifetime.as_table(report)) if report["gaps"]["curve"]["times"]
        else None,
    )  # fmt: skip


def _checkpoints(report: Wire) -> Html:
    made = fleet_plan.checkpoint_table(report)
    said = [el("p", None, one) for one in fleet_plan.effective(report)]
    return section("checkpoint", "Checkpoints and effective time", made or None, *said)


def _spares(report: Wire) -> Html:
    made = fleet_plan.spare_table(report)
    found = report["repairs"]
    words = None
    if found["mean_days"]["value"] is not None:
        mean = duration(found["mean_days"], 24.0)
        words = f"{count(found['outages'], 'outage')} on record, {mean} each."
    return section("spares", "Spare nodes", el("p", None, words) if words else None, made or None)


def _sizes(report: Wire) -> Html:
    rows = [
        (
            f"{one['from_gpus']:,} to {one['to_gpus']:,}",
            f"{one['runs']:,}",
            f"{one['gpu_hours']:,.0f}",
            f"{one['events']:,}",
            duration(one["mtti"]),
            told(one["gpu_hours_between"], lambda value: figure(value, 3)),
        )
        for one in report["by_size"]
    ]
    generations = [
        (
            one["generation"] or "unknown",
            f"{one['num_nodes']:,}",
            f"{one['node_days']:,.0f}",
            f"{one['events']:,}",
            told(one["rate"]),
        )
        for one in report["by_generation"]
    ]
    heads = ("GPUs of the job", "#Runs", "#GPU-hours", "#Interruptions", "#Between two",
             "#GPU-hours between two")  # fmt: skip
    beside = ("Generation", "#Nodes", "#Node-days", "#Interruptions", "#Per 1,000 node-days")
    return section(
        "sizes",
        "By size and generation",
        table("Interruptions by size of job", heads, rows) if rows else None,
        table("Interruptions by generation of node", beside, generations) if generations else None,
    )


def _heat(telemetry: Wire, named: Named | None) -> Html:
    said = join(el("p", None, one) for one in fleet_heat.said(telemetry))
    drawn = fleet_heat.as_svg(telemetry)
    return section(
        "heat",
        "Heat and counters",
        picture(drawn, "Step time by hour of the day", said) or said or None,
        details(_NUMBERS, fleet_heat.as_table(telemetry)) if drawn else None,
        fleet_heat.rack_table(telemetry) or None,
        fleet_heat.node_table(telemetry, named) or None,
    )


def _hours(report: Wire) -> Html:
    return section(
        "hours",
        "By hour of the day",
        picture(
            fleet_hours.as_svg(report),
            "Interruptions by hour",
            el("p", None, fleet_hours.said(report)),
            join(el("p", None, one) for one in report["hours_of_day"]["notes"]),
        )
        or None,
        details(_NUMBERS, fleet_hours.as_table(report))
        if report["hours_of_day"]["p_value"] is not None
        else None,
    )


def _limits(report: Wire) -> Html:
    made = fleet_plan.limit_table(report)
    words = "After Epoch AI: as GPUs grow, failures come as fast as a checkpoint is written."
    return section("limits", "Where growth ends", el("p", None, words), made) if made else _NOTHING


def _basis(report: Wire, standings: Wire) -> Html:
    exposure, stops = report["exposure"], report["stops"]
    rows = [
        ("Runs", f"{exposure['runs']:,}"),
        ("GPU-hours", f"{exposure['gpu_hours']:,.0f}"),
        ("Node-days", f"{exposure['node_days']:,.0f}"),
        ("Nodes", f"{exposure['num_nodes']:,}"),
        ("Unexpected", f"{stops['unexpected']:,}, {stops['without_run']:,} of them with no run"),
        ("Planned", f"{stops['planned']:,}, in no rate"),
        ("Triaged", f"{stops['triaged']:,}, {stops['resolved']:,} named by a person"),
    ]
    facts = el("dl", {"class": "facts"}, join(
        join((el("dt", None, name), el("dd", None, value))) for name, value in rows
    ))  # fmt: skip
    notes = [*report["notes"], *standings["notes"]]
    return section(
        "basis",
        "What this rests on",
        facts,
        el("ul", None, join(el("li", None, one) for one in notes)) if notes else None,
    )


def _scrolled(drawn: Html, what: str) -> Html:
    return el(
        "div", {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": what}, drawn
    )
