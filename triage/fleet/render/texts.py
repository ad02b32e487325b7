"""The templates of a fleet: sentences as text, sections of pages as markup."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from jinja2 import Environment

from triage.domain.counts import count
from triage.fleet.render.tables import describe_reference_job, find_word, load_tables
from triage.fleet.render.words import FORMATS, Wire, format_share, with_interval
from triage.render.page.templates import make_environment
from triage.render.words.clean import cut, format_one_line

_FOLDER: Final = Path(__file__).parent / "templates"
FLEET_CSS: Final = (_FOLDER / "fleet.css").read_text("utf-8")
"""What the sheet of a report does not have: pages serve it as ``fleet.css`` after ``report.css``;
the report in one file holds both.
"""
GRADES: Final[Mapping[str, str]] = {
    "lemon": "fails, or is to fail, far more than its peers",
    "watch": "suspect, not proven",
    "normal": "no more than chance",
    "golden": "a long clean record, and a stress check passed",
    "unknown": "no run names it: no exposure, no standing",
}
"""What each grade means, the worst first."""
_MANY: Final = ((1e9, " billion"), (1e6, " million"))


def write_sentences(macro: str, *values: object) -> list[str]:
    """The paragraphs that a macro of ``sentences.txt`` makes, each as one line."""
    return [format_one_line(part) for part in write_paragraphs(macro, *values)]


def write_paragraphs(macro: str, *values: object) -> list[str]:
    """The same with their lines."""
    module = load_environment(markup=False).get_template("sentences.txt").module
    parts = re.split(r"\n\s*\n", str(getattr(module, macro)(*values)))
    return [part.strip() for part in parts if part.strip()]


@cache
def load_environment(*, markup: bool = True) -> Environment:
    """The templates with the words of a fleet as filters; values are escaped in ``markup``."""
    made = make_environment(_FOLDER, autoescape=markup)
    made.filters |= FORMATS | {kind: partial(find_word, kind) for kind in load_tables()["words"]}
    made.filters |= {
        "accused_leaves": _list_accused_leaves,
        "best_founded": _choose_best_founded,
        "cause_count": lambda row: f"{row['row']} {row['count']:,}",
        "cause_rows": select_cause_rows,
        "digits2": lambda value: f"{value:.2g}",
        "few": join_names,
        "g": lambda value: f"{value:g}",
        "grade": lambda word: word if word in GRADES else "unknown",
        "graded": list_graded_names,
        "job": describe_reference_job,
        "many": _format_many,
        "node_chance": lambda row: f"{row['node']} ({100 * row['next_7']:.0f} %)",
        "on_probation": _list_probations,
        "percent": lambda share: f"{share:.0%}",
        "plainly": lambda number: f"{float(f'{number:.3g}'):g}",
        "round_number": lambda value: f"{value:,.0f}",
        "signed": lambda value: f"{value:+g}",
        "spare_nodes": _format_spares,
        "tenths": lambda value: f"{value:.1f}",
        "trend_ratio": lambda one: FORMATS["unit"](one["ratio"]) if one["ratio"]["value"] else "",
        "trend_way": lambda one: "more" if (one["ratio"]["value"] or 2) > 1 else "less",
        "twice_share": _format_twice,
        "upfirst": lambda text: f"{text[:1].upper()}{text[1:]}",
        "with_spares": lambda rows, least: [row for row in rows if row["spares"] >= least][:1],
        "without_runs": is_without_runs,
    }
    made.globals["GRADES"] = GRADES
    return made


def is_without_runs(report: Wire) -> bool:
    """Whether no job is known, running or interrupted."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


def select_cause_rows(report: Wire) -> list[Wire]:
    """The causes with a count here or in the Llama 3 run, the most frequent here first."""
    rows = [row for row in report["mix"]["rows"] if row["count"] or row["llama3_count"]]
    return sorted(rows, key=lambda row: (-row["count"], -row["llama3_count"]))


def list_graded_names(standings: Wire, grade: str, max_chars: int = 110) -> str:
    """The nodes of a grade, the worst first, as many as fit: ``n17, n423 and 9 more``."""
    names = [format_one_line(row["node"]) for row in standings["nodes"] if row["grade"] == grade]
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > max_chars:
            break
        shown.append(cut(name, max_chars))
    left = standings["counts"].get(grade, len(names)) - len(shown)
    return f"{', '.join(shown)}{f' and {left:,} more' if left > 0 else ''}"


def join_names(names: Sequence[str], most: int = 12) -> str:
    """``n3, n7 and 2 more``: the first ``most`` of the names."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _list_accused_leaves(standings: Wire) -> list[str]:
    return [part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"]


def _list_probations(standings: Wire) -> list[Wire]:
    """Who came back from a repair lately, the likeliest to fail first."""
    rows = [row["probation"] for row in standings["nodes"] if row.get("probation")]
    return sorted(rows, key=lambda row: -row["next_7"])


def _choose_best_founded(rows: Sequence[Wire]) -> Wire | None:
    """Of the rows of spares the forecast, or that by the outages on record; else the first."""
    bases = {row["basis"]: row for row in rows}
    return bases.get("forecast") or bases.get("outages") or (rows[0] if rows else None)


def _format_spares(estimate: Wire, more: int = 0) -> str:
    return with_interval(estimate, lambda value: count(value + more, "spare"))


def _format_twice(estimate: Wire) -> str:
    """Twice a share, with its interval: an amplitude as peak to peak."""
    keys = ("value", "low", "high")
    both = {key: None if estimate[key] is None else 2 * estimate[key] for key in keys}
    return with_interval(both, format_share)


def _format_many(number: float) -> str:
    for least, unit in _MANY:
        if number >= least:
            return f"{number / least:,.1f}{unit}"
    return f"{number:,.0f}"
