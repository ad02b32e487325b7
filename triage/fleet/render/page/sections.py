"""The sections of a fleet's page: answers first, then what they rest on, picture by picture.

The same markup stands on the pages of the service and in the report in one file. Every picture
has its table, folded below it; nothing here needs a script.
"""

from collections.abc import Callable, Iterable
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts import causes, heat, leaves, lifetime, over_time, projection
from triage.fleet.render.charts import plan as plan_tables
from triage.fleet.render.charts.leaves import render_grades_legend
from triage.fleet.render.charts.table import (
    render_details,
    render_facts,
    render_paragraphs,
    render_picture,
    render_rows_table,
    render_scrolled,
    render_section,
)
from triage.fleet.render.page import nodes
from triage.fleet.render.sentences import (
    EMPTY,
    STANDS_OUT,
    TO_BEGIN,
    Headline,
    is_without_runs,
    list_headlines,
)
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_figure,
    with_interval,
)
from triage.render.pictures.markup import Html, join, make_element, trust_markup

Named = Callable[[str], Html]

MAX_NODES: Final = 10
_NOTHING: Final = trust_markup("")


def render_empty() -> Html:
    """What to do where nothing is known."""
    lines = join((make_element("span", None, line) for line in TO_BEGIN), "\n")
    return join((make_element("p", None, EMPTY), make_element("pre", {"tabindex": 0}, lines)))


def answer_list(report: Wire, standings: Wire, num_checks: int = 0) -> Html:
    """The answers of the whole report."""
    return render_headlines(list_headlines(report, standings, num_checks))


def render_headlines(headlines: Iterable[Headline]) -> Html:
    """Sentences, each with what it rests on."""
    return make_element("ul", {"class": "answers"}, join(map(_answer, headlines)))


def _answer(headline: Headline) -> Html:
    why = make_element("span", {"class": "why"}, headline.why) if headline.why else None
    return make_element("li", {"class": headline.tone or None}, headline.text, why)


def render_overview(
    report: Wire, standings: Wire, named: Named | None = None, telemetry: Wire | None = None
) -> Html:
    """All that looks back: nodes, rate, causes, then what follows for plans.

    ``telemetry`` is ``FleetTelemetry`` on the wire, where there is some.
    """
    return join(
        (
            _render_nodes(standings, named),
            render_leaf_section(standings),
            _render_rate(report),
            _render_causes(report),
            _render_projection(report),
            _render_lifetime(report),
            _render_checkpoints(report),
            _render_spares(report),
            _render_sizes(report),
            _render_heat(telemetry or {}, named),
            _render_hours(report),
            _render_limits(report),
            _render_basis(report, standings),
        )
    )


def plan(report: Wire, spares: Wire) -> Html:
    """What looks ahead, for the job and the costs that the report was asked for.

    ``spares`` is ``what_if.SparesAnswer`` on the wire.
    """
    return join(
        (
            _render_projection(report),
            _render_checkpoints(report),
            render_section("spares", "Spare nodes", plan_tables.render_spare_answer(spares)),
            _render_lifetime(report),
            _render_limits(report),
        )
    )


def _fold_numbers(content: Html) -> Html:
    """The table of a picture, folded below it."""
    return render_details("The same in numbers", content)


def _render_nodes(standings: Wire, named: Named | None) -> Html:
    if not standings["nodes"]:
        return _NOTHING
    shown = [row for row in standings["nodes"] if row["grade"] in STANDS_OUT]
    more = len(shown) - MAX_NODES
    rate = standings["fleet_rate_per_1000_node_days"]
    rows = nodes.as_table(shown[:MAX_NODES], rate, named, folded=True)
    parts = render_details("What is named again and again", nodes.render_parts_list(standings))
    return render_section(
        "nodes",
        "Nodes that stand out",
        make_element("p", {"class": "soft"}, nodes.summarize_standings(standings)),
        render_grades_legend(standings["counts"]),
        rows if shown else make_element("p", None, "None."),
        make_element("p", {"class": "soft"}, f"and {count(more, 'more node')}.")
        if more > 0
        else None,
        parts if standings["parts"] else None,
    )


def render_leaf_section(standings: Wire) -> Html:
    """The map; nothing where no inventory names leaves."""
    switches = leaves.group_by_leaf(standings)
    if not switches:
        return _NOTHING
    drawn = render_scrolled(leaves.as_svg(switches), "Leaf switches")
    return render_section(
        "leaves",
        "Leaf switches",
        render_grades_legend(leaves.count_grades(switches)),
        make_element("figure", {"class": "picture wide"}, drawn),
        _fold_numbers(leaves.as_table(switches)),
    )


def _render_rate(report: Wire) -> Html:
    if is_without_runs(report):
        return _NOTHING
    rates, comparison = report["rates"], report["comparison"]
    between = with_interval(rates["gpu_hours_between"], lambda value: format_figure(value, 3))
    rows = (
        ("Between two, of one job", format_duration(report["reference_mtti"])),
        ("Between two, anywhere", format_duration(rates["calendar_mtti"])),
        ("Per 1,000 node-days", with_interval(rates["per_thousand_node_days"])),
        ("Per 1e6 GPU-hours", with_interval(rates["per_million_gpu_hours"])),
        ("GPU-hours between two", between),
    )
    ratio = None
    if comparison["ratio"]["value"] is not None:
        words = "more than chance" if comparison["differs"] else "no more than chance"
        ratio = f"Later half over the first: {format_by_unit(comparison['ratio'])}, {words}."
    drawn = over_time.as_svg(report)
    key = (
        "Dots: each window with its 95 % band; a hollow one is a bound, as nothing stopped. "
        "Dotted: the whole record."
    )
    beside = (
        render_facts("figures", (row for row in rows if row[1] != "unknown")),
        make_element("p", None, ratio) if ratio else None,
        make_element("p", None, key) if drawn else None,
    )
    return render_section(
        "rate",
        "How often jobs stop",
        render_picture(drawn, "Time between interruptions, over time", *beside) or join(beside),
        _fold_numbers(over_time.as_table(report)) if report["over_time"] else None,
    )


def _render_causes(report: Wire) -> Html:
    if not report["mix"]["count"]:
        return _NOTHING
    origins = (
        (row["origin"], format_by_unit(row["share"]), format_figure(row["rate"]["value"]))
        for row in report["origins"]
        if row["count"]
    )
    key = (
        "Filled bars are this fleet, with 95 % intervals; outlined bars are the"
        " 419 interruptions of the Llama 3 run."
    )
    return render_section(
        "causes",
        "What fails",
        render_picture(
            causes.as_svg(report),
            "Causes beside Llama 3's",
            render_paragraphs((causes.summarize_causes(report), key)),
            render_rows_table("By origin", ("Origin", "#Share", "#Per 1e6 GPU-h"), origins),
        ),
        _fold_numbers(causes.as_table(report)),
    )


def _render_projection(report: Wire) -> Html:
    key = (
        "The line is one over N with its 95 % band, the dashed one keeps software faults at"
        " their number a job. Dots are jobs of that size on record.",
        "Shaded: sizes that the rate is from. Hatched: more than four times beyond them.",
    )
    beware = (
        make_element("p", None, make_element("b", None, "Beware: "), text)
        for text in projection.list_shared_warnings(report)
    )
    return render_section(
        "projection",
        "How long a job of any size runs",
        render_picture(
            projection.as_svg(report),
            "Time between interruptions by size of job",
            render_paragraphs(key),
            *beware,
        ),
        _fold_numbers(projection.as_table(report)) if report["projection"] else None,
    )


def _render_lifetime(report: Wire) -> Html:
    chances = lifetime.render_chances(report)
    key = "Dashed: what one steady rate would give."
    beside = (render_paragraphs((*lifetime.describe_lifetime(report), key)), chances)
    return render_section(
        "lifetime",
        "How likely a run is to last",
        render_picture(lifetime.as_svg(report), "Survival curve", *beside) or chances,
        _fold_numbers(lifetime.as_table(report)) if report["gaps"]["curve"]["times"] else None,
    )


def _render_checkpoints(report: Wire) -> Html:
    if is_without_runs(report):
        return _NOTHING
    return render_section(
        "checkpoint",
        "Checkpoints and effective time",
        plan_tables.render_checkpoint_table(report),
        render_paragraphs(plan_tables.describe_effective_time(report)),
    )


def _render_spares(report: Wire) -> Html:
    repairs = report["repairs"]
    words = []
    if repairs["mean_days"]["value"] is not None:
        mean = format_duration(repairs["mean_days"], 24.0)
        words.append(f"{count(repairs['outages'], 'outage')} on record, {mean} each.")
    return render_section(
        "spares", "Spare nodes", render_paragraphs(words), plan_tables.render_spare_table(report)
    )


def _render_sizes(report: Wire) -> Html:
    rows = [
        (
            f"{row['from_gpus']:,} to {row['to_gpus']:,}",
            f"{row['runs']:,}",
            f"{row['gpu_hours']:,.0f}",
            f"{row['events']:,}",
            format_duration(row["mtti"]),
            with_interval(row["gpu_hours_between"], lambda value: format_figure(value, 3)),
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
    return render_section(
        "sizes",
        "By size and generation",
        render_rows_table("Interruptions by size of job", heads, rows) if rows else None,
        render_rows_table("Interruptions by generation of node", beside, generations)
        if generations
        else None,
    )


def _render_heat(telemetry: Wire, named: Named | None) -> Html:
    words = heat.describe_heat(telemetry)
    hours_known = (telemetry.get("daily_swing") or {}).get("step_by_hour")
    return render_section(
        "heat",
        "Heat and counters",
        render_paragraphs(words) if words else None,
        render_details("Step time by hour", heat.as_table(telemetry)) if hours_known else None,
        heat.render_rack_table(telemetry),
        heat.render_node_table(telemetry, named),
    )


def _render_hours(report: Wire) -> Html:
    of_day = report["hours_of_day"]
    return render_section(
        "hours",
        "By hour of the day",
        render_paragraphs((heat.describe_stops_by_hour(report), *of_day["notes"])),
        _fold_numbers(heat.render_stops_table(report)) if of_day["p_value"] is not None else None,
    )


def _render_limits(report: Wire) -> Html:
    rows = plan_tables.limit_table(report)
    words = "After Epoch AI: as GPUs grow, failures come as fast as a checkpoint is written."
    return (
        render_section("limits", "Where growth ends", make_element("p", None, words), rows)
        if rows
        else _NOTHING
    )


def _render_basis(report: Wire, standings: Wire) -> Html:
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
    return render_section(
        "basis",
        "What this rests on",
        render_facts("facts", rows),
        make_element("ul", None, join(make_element("li", None, note) for note in notes))
        if notes
        else None,
    )
