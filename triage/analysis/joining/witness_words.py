"""Who says so, and when: the terms of the sum that stand for what was printed or measured.

Features tell witnesses apart by what they are worth: a machine, the job, or one that needs
another source. People ask which file it was: telemetry, a check and a kernel log are all
machines.
"""

from collections.abc import Sequence
from typing import Final

from triage.analysis.facts.stop import Stop
from triage.analysis.joining.features import classify_witness
from triage.analysis.joining.hypothesis import Hypothesis
from triage.domain.evidence import Evidence, RowOrigin

_WHEN: Final = {
    "at": "at the time of the stop",
    "before": "up to an hour before the stop",
    "stale": "but long before the stop",
    "after": "but only after the stop",
    "undated": "and no clock tells when",
    "teardown": "but only after the job was given up",
    "boot": "but while its machine started",
}
_LOGS: Final = {"kernel": "kernel log", "job": "job log", "weak": "log"}
# So they stand in a list of several.
_ORDER: Final = ("kernel log", "job log", "log", "telemetry", "health check")


def describe_witness(feature: str, cause: Hypothesis, stop: Stop) -> str | None:
    """What ``kernel_at`` and its like, or ``both_sources``, mean for this place.

    None for every other feature.
    """
    grave = [row for row in cause.rows if not row.is_mild]
    if feature == "both_sources":
        machines, jobs = (
            _list_file_kinds([row for row in grave if classify_witness(row) == sort], sort)
            for sort in ("kernel", "job")
        )
        return f"{_join_names([f'the {name}' for name in machines + jobs])} agree"
    sort, _, when = feature.partition("_")
    if sort not in _LOGS or when not in _WHEN:
        return None
    rows = [row for row in grave if classify_witness(row) == sort and stop.of(row) == when]
    files = _list_file_kinds(rows, sort)
    verb = "say" if len(files) > 1 else "says"
    comma = "" if when == "at" else ","
    needs = ", which needs another source," if sort == "weak" else ""
    return f"{_join_names([f'its {name}' for name in files])}{needs} {verb} so{comma} {_WHEN[when]}"


def _list_file_kinds(rows: Sequence[Evidence], sort: str) -> list[str]:
    """The sorts of files that hold these rows."""
    files = {
        str(row.origin)
        if row.origin in (RowOrigin.TELEMETRY, RowOrigin.HEALTH_CHECK)
        else _LOGS[sort]
        for row in rows
    }
    return sorted(files, key=_ORDER.index) or [_LOGS[sort]]


def _join_names(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
