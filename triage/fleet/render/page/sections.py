"""The sections of a fleet's page: answers first, then what they rest on, picture by picture.

The same markup stands on the pages of the service and in the report in one file. Every picture
has its table, folded below it; nothing here needs a script.
"""

from collections.abc import Callable, Iterable
from typing import Final

from triage.domain.counts import count
from triage.fleet.render import precursors
from triage.fleet.render.charts import causes, heat, leaves, lifetime, over_time, projection
from triage.fleet.render.charts import plan as plan_tables
from triage.fleet.render.charts.leaves import legend
from triage.fleet.render.charts.table import (
    details,
    facts,
    paragraphs,
    picture,
    scrolled,
    section,
    table,
)
from triage.fleet.render.page import nodes
from triage.fleet.render.sentences import (
    EMPTY,
    STANDS_OUT,
    TO_BEGIN,
    Headline,
    answers,
    nothing_ran,
)
from triage.fleet.render.words import Wire, by_unit, duration, figure, with_interval
from triage.render.pictures.markup import Html, constant, el, join

Named = Callable[[str], Html]

MAX_NODES: Final = 10
_NOTHING: Final = constant("")


def empty() -> Html:
    """What to do where nothing is known."""
    lines = join((el("span", None, line) for line in TO_BEGIN), "\n")
    return join((el("p", None, EMPTY), el("pre", {"tabindex": 0}, lines)))


def answer_list(report: Wire, standings: Wire, num_checks: int = 0) -> Html:
    """The answers of the whole report."""
    return sentences(answers(report, standings, num_checks))


def sentences(headlines: Iterable[Headline]) -> Html:
    """Sentences, each with what it rests on."""
    return el("ul", {"class": "answers"}, join(map(_answer, headlines)))


def _answer(headline: Headline) -> Html:
    why = el("span", {"class": "why"}, headline.why) if headline.why else None
    return el("li", {"class": headline.tone or None}, headline.text, why)


def overview(
    report: Wire, standings: Wire, named: Named | None = None, telemetry: Wire | None = None
) -> Html:
    """All that looks back: nodes, rate, causes, then what follows for plans.

    ``telemetry`` is ``FleetTelemetry`` on the wire, where there is some.
    """
    return join(
        (
            _nodes(standings, named),
            leaf_section(standings),
            _precursors(standings),
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
            section("spares", "Spare nodes", plan_tables.spare_answer(spares)),
            _lifetime(report),
            _limits(report),
        )
    )


def _numbers(content: Html) -> Html:
    """The table of a picture, folded below it."""
    return details("The same in numbers", content)


def _nodes(standings: Wire, named: Named | None) -> Html:
    if not standings["nodes"]:
        return _NOTHING
    shown = [row for row in standings["nodes"] if row["grade"] in STANDS_OUT]
    more = len(shown) - MAX_NODES
    rate = standings["fleet_rate_per_1000_node_days"]
    rows = nodes.as_table(shown[:MAX_NODES], rate, named, folded=True)
    parts = details("What is named again and again", nodes.parts_list(standings))
    return section(
        "nodes",
        "Nodes that stand out",
        el("p", {"class": "soft"}, nodes.summary(standings)),
        legend(standings["counts"]),
        rows if shown else el("p", None, "None."),
        el("p", {"class": "soft"}, f"and {count(more, 'more node')}.") if more > 0 else None,
        parts if standings["parts"] else None,
    )


def leaf_section(standings: Wire) -> Html:
    """The map; nothing where no inventory names leaves."""
    switches = leaves.leaves_of(standings)
    if not switches:
        return _NOTHING
    drawn = scrolled(leaves.as_svg(switches), "Leaf switches")
    return section(
        "leaves",
        "Leaf switches",
        legend(leaves.counts_of(switches)),
        el("figure", {"class": "picture wide"}, drawn),
        _numbers(leaves.as_table(switches)),
    )


def _precursors(standings: Wire) -> Html:
    """Nothing where no telemetry is known."""
    texts = precursors.sentences(standings)
    if not texts:
        return _NOTHING
    listed = el("ul", None, join(el("li", None, text) for text in texts[1:]))
    said = el("p", None, texts[0])
    return section("precursors", "Counters before faults", said, listed if texts[1:] else None)


def _rate(report: Wire) -> Html:
    if nothing_ran(report):
        return _NOTHING
    rates, comparison = report["rates"], report["comparison"]
    between = with_interval(rates["gpu_hours_between"], lambda value: figure(value, 3))
    rows = (
        ("Between two, of one job", duration(report["reference_mtti"])),
        ("Between two, anywhere", duration(rates["calendar_mtti"])),
        ("Per 1,000 node-days", with_interval(rates["per_thousand_node_days"])),
        ("Per 1e6 GPU-hours", with_interval(rates["per_million_gpu_hours"])),
        ("GPU-hours between two", between),
    )
    ratio = None
    if comparison["ratio"]["value"] is not None:
        words = "more than chance" if comparison["differs"] else "no more than chance"
        ratio = f"Later half over the first: {by_unit(comparison['ratio'])}, {words}."
    drawn = over_time.as_svg(report)
    key = (
        "Dots: each window with its 95 % band; a hollow one is a bound, as nothing stopped. "
        "Dotted: the whole record."
    )
    beside = (
        facts("figures", (row for row in rows if row[1] != "unknown")),
        el("p", None, ratio) if ratio else None,
        el("p", None, key) if drawn else None,
    )
    return section(
        "rate",
        "How often jobs stop",
        picture(drawn, "Time between interruptions, over time", *beside) or join(beside),
        _numbers(over_time.as_table(report)) if report["over_time"] else None,
    )


def _causes(report: Wire) -> Html:
    if not report["mix"]["count"]:
        return _NOTHING
    origins = (
        (row["origin"], by_unit(row["share"]), figure(row["rate"]["value"]))
        for row in report["origins"]
        if row["count"]
    )
    key = (
        "Filled bars are this fleet, with 95 % intervals; outlined bars are the"
        " 419 interruptions of the Llama 3 run."
    )
    return section(
        "causes",
        "What fails",
        picture(
            causes.as_svg(report),
            "Causes beside Llama 3's",
            paragraphs((causes.summary(report), key)),
            table("By origin", ("Origin", "#Share", "#Per 1e6 GPU-h"), origins),
        ),
        _numbers(causes.as_table(report)),
    )


def _projection(report: Wire) -> Html:
    key = (
        "The line is one over N with its 95 % band, the dashed one keeps software faults at"
        " their number a job. Dots are jobs of that size on record.",
        "Shaded: sizes that the rate is from. Hatched: more than four times beyond them.",
    )
    beware = (
        el("p", None, el("b", None, "Beware: "), text) for text in projection.warnings(report)
    )
    return section(
        "projection",
        "How long a job of any size runs",
        picture(
            projection.as_svg(report),
            "Time between interruptions by size of job",
            paragraphs(key),
            *beware,
        ),
        _numbers(projection.as_table(report)) if report["projection"] else None,
    )


def _lifetime(report: Wire) -> Html:
    chances = lifetime.chances(report)
    key = "Dashed: what one steady rate would give."
    beside = (paragraphs((*lifetime.sentences(report), key)), chances)
    return section(
        "lifetime",
        "How likely a run is to last",
        picture(lifetime.as_svg(report), "Survival curve", *beside) or chances,
        _numbers(lifetime.as_table(report)) if report["gaps"]["curve"]["times"] else None,
    )


def _checkpoints(report: Wire) -> Html:
    if nothing_ran(report):
        return _NOTHING
    return section(
        "checkpoint",
        "Checkpoints and effective time",
        plan_tables.checkpoint_table(report),
        paragraphs(plan_tables.effective_time(report)),
    )


def _spares(report: Wire) -> Html:
    repairs = report["repairs"]
    words = []
    if repairs["mean_days"]["value"] is not None:
        mean = duration(repairs["mean_days"], 24.0)
        words.append(f"{count(repairs['outages'], 'outage')} on record, {mean} each.")
    return section("spares", "Spare nodes", paragraphs(words), plan_tables.spare_table(report))


def _sizes(report: Wire) -> Html:
    rows = [
        (
            f"{row['from_gpus']:,} to {row['to_gpus']:,}",
            f"{row['runs']:,}",
            f"{row['gpu_hours']:,.0f}",
            f"{row['events']:,}",
            duration(row["mtti"]),
            with_interval(row["gpu_hours_between"], lambda value: figure(value, 3)),
        )
        for row in report["by_size"]
    ]
    generations = [
        (
            row["generation"] or "unknown",
            f"{row['num_nodes']:,}",
            f"{row['node_days']:,.0f}",
            f"{row['events']:,}",
            with_interval(row["rate"]),
        )
        for row in report["by_generation"]
    ]
    figures = ("#Interruptions", "#Between two", "#GPU-hours between two")
    heads = ("GPUs of the job", "#Runs", "#GPU-hours", *figures)
    beside = ("Generation", "#Nodes", "#Node-days", "#Interruptions", "#Per 1,000 node-days")
    return section(
        "sizes",
        "By size and generation",
        table("Interruptions by size of job", heads, rows) if rows else None,
        table("Interruptions by generation of node", beside, generations) if generations else None,
    )


def _heat(telemetry: Wire, named: Named | None) -> Html:
    words = heat.sentences(telemetry)
    hours_known = (telemetry.get("daily_swing") or {}).get("step_by_hour")
    return section(
        "heat",
        "Heat and counters",
        paragraphs(words) if words else None,
        details("Step time by hour", heat.as_table(telemetry)) if hours_known else None,
        heat.rack_table(telemetry),
        heat.node_table(telemetry, named),
    )


def _hours(report: Wire) -> Html:
    of_day = report["hours_of_day"]
    return section(
        "hours",
        "By hour of the day",
        paragraphs((heat.stops_by_hour(report), *of_day["notes"])),
        _numbers(heat.stops_table(report)) if of_day["p_value"] is not None else None,
    )


def _limits(report: Wire) -> Html:
    rows = plan_tables.limit_table(report)
    words = "After Epoch AI: as GPUs grow, failures come as fast as a checkpoint is written."
    return section("limits", "Where growth ends", el("p", None, words), rows) if rows else _NOTHING


def _basis(report: Wire, standings: Wire) -> Html:
    exposure, stops = report["exposure"], report["stops"]
    rows = (
        ("Runs", f"{exposure['runs']:,}"),
        ("GPU-hours", f"{exposure['gpu_hours']:,.0f}"),
        ("Node-days", f"{exposure['node_days']:,.0f}"),
        ("Nodes", f"{exposure['num_nodes']:,}"),
        ("Unexpected", f"{stops['unexpected']:,}, {stops['without_run']:,} of them with no run"),
        ("Planned", f"{stops['planned']:,}, in no rate"),
        ("Triaged", f"{stops['triaged']:,}, {stops['resolved']:,} named by a person"),
    )
    notes = [*report["notes"], *standings["notes"]]
    return section(
        "basis",
        "What this rests on",
        facts("facts", rows),
        el("ul", None, join(el("li", None, note) for note in notes)) if notes else None,
    )
