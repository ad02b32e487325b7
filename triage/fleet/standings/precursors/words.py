"""Precursors in words: what a counter announced, and what a flag is worth."""

from typing import Final

from triage.domain.precursor import Precursor, Precursors

COUNTERS: Final = {
    "link_recovery_growth": "link recoveries",
    "ecc_corrected_growth": "corrected memory errors",
    "ecc_growth": "memory errors that nothing corrected",
    "remap_growth": "remapped rows",
    "nvlink_growth": "NVLink errors",
    "ib_growth": "errors of its network ports",
}
"""What the counters are called, by the column that holds their growth."""


def _name_of(counter: str) -> str:
    return COUNTERS.get(counter, counter)


def _per_cent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share:.1%}".replace("%", " %")


def _shares(precursor: Precursor, horizon_days: int) -> str:
    return (
        f"{precursor.followed} of {precursor.flags} such flags were followed by a fault within"
        f" {horizon_days} days, base rate {_per_cent(precursor.base_rate)}"
    )


def flag_text(
    precursor: Precursor, grew: float, days_ago: int, window_days: int, horizon_days: int
) -> str:
    """What a flag says: ``its link recoveries grew by 41 in 3 days; here 6 of 19 such ...``."""
    when = "" if days_ago == 0 else f" ({days_ago} day{'s' * (days_ago != 1)} ago)"
    counted = _shares(precursor, horizon_days)
    name = _name_of(precursor.counter)
    whose = "the" if " its " in name else "its"
    return f"{whose} {name} grew by {grew:,.0f} in {window_days} days{when}; here {counted}"


def precursor_text(precursor: Precursor, window_days: int, horizon_days: int) -> str:
    """What one counter was worth in the later half of the record."""
    name = _name_of(precursor.counter)
    name = name[0].upper() + name[1:]
    if precursor.threshold is None:
        return f"{name}: no growth of them came before faults more often than chance."
    at = f"{name}, {precursor.threshold:,.0f} or more in {window_days} days"
    figures = _shares(precursor, horizon_days)
    if not precursor.pays:
        return f"{at}: {figures}: no flag is raised."
    lead = f", {precursor.lead_days:.1f} days before" if precursor.lead_days is not None else ""
    said = _per_cent(precursor.announced)
    false = precursor.false_per_node_month or 0.0
    return (
        f"{at}: {figures}. They announced {said} of the faults{lead};"
        f" {false:.3f} false flags per node and month."
    )


def summary_text(found: Precursors, fewest: int, least: int) -> str:
    """Whether any counter announces faults."""
    nodes = f"{found.num_nodes:,} node{'s' * (found.num_nodes != 1)} with telemetry"
    faults = f"{found.num_faults:,} fault{'s' * (found.num_faults != 1)} of {nodes}"
    if not found.counters:
        return (
            f"Whether a counter announces faults cannot be told: {faults}; the record needs"
            f" {least} in each half of its time, and has {fewest} in one."
        )
    paying = [_name_of(one.counter) for one in found.counters if one.pays]
    if not paying:
        return f"No counter of this fleet announces faults: {faults}."
    return f"Growth of {' and of '.join(paying)} announces faults here: {faults}."
