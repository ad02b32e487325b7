"""Filters of the templates: how pages word times, sizes and ranks, and colour causes."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.evidence import EvidenceRole
from triage.domain.patterns import compile_re
from triage.domain.states import ArtifactState, IncidentState
from triage.domain.wire import format_iso_utc
from triage.render.words.clean import format_one_line
from triage.render.words.moments import format_relative

_OPEN: Final = "open"
_FAMILIES: Final = {
    "gpu": (
        Category.GPU, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP, Category.GPU_THERMAL,
        Category.NVLINK, Category.SDC,
    ),
    "network": (Category.NIC, Category.NETWORK),
    "storage": (Category.SSD, Category.STORAGE),
    "host": (
        Category.POWER, Category.CHASSIS, Category.IO_BOARD, Category.CPU, Category.HOST_MEMORY,
        Category.HOST_MAINTENANCE, Category.HOST_STALL, Category.HOST_OOM,
    ),
    "software": (
        Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK, Category.COLLECTIVE_MISMATCH,
        Category.GPU_OOM, Category.NUMERICAL, Category.DEPENDENCY,
    ),
}  # fmt: skip
"""One colour a family, on every page; the word stands beside it. All others are ``open``."""
_FAMILY: Final = {category: family for family, group in _FAMILIES.items() for category in group}
_STAMP: Final = compile_re(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?Z)")
_UNDATED: Final = Markup('<span class="soft">undated</span>')
_UNITS: Final = ("B", "KiB", "MiB", "GiB")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def get_category_family(category: str | None) -> str:
    """The family of a category's name; ``open`` where no cause is known."""
    return _FAMILY.get(Category(category), _OPEN) if category in set(Category) else _OPEN


def _format_when(at: datetime | str | None, *, ago: bool = True) -> Markup:
    """A time in UTC; a script adds how long ago that is."""
    moment = _convert_to_utc(at)
    if moment is None:
        return _UNDATED
    mark = " data-ago" if ago else ""
    return Markup('<time datetime="{}"{}>{} UTC</time>').format(
        format_iso_utc(moment), Markup(mark), moment.strftime("%Y-%m-%d %H:%M:%S")
    )


def format_timed(sentence: str) -> Markup:
    """One of our own sentences, its times as :func:`when` writes them; never a log line."""
    return Markup("").join(
        _format_timed_part(part) for part in _STAMP.split(format_one_line(sentence))
    )


def _format_timed_part(part: str) -> str:
    try:
        return _format_when(part, ago=False) if _STAMP.fullmatch(part) else part
    except ValueError:  # the 31st of February
        return part


def _format_clock(at: datetime | str | None) -> Markup:
    """The time with its milliseconds, for rows of one log."""
    moment = _convert_to_utc(at)
    if moment is None:
        return _UNDATED
    text = moment.strftime("%m-%d %H:%M:%S.%f")[:-3]
    return Markup('<time datetime="{}">{}</time>').format(format_iso_utc(moment), text)


def _convert_to_utc(at: datetime | str | None) -> datetime | None:
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return None if moment is None else moment.astimezone(UTC)


def _format_size(num_bytes: int) -> str:
    """``4.2 MiB``."""
    value, unit = float(num_bytes), _UNITS[0]
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{num_bytes:,} B" if unit == _UNITS[0] else f"{value:,.1f} {unit}"


def _format_age(since: datetime, now: datetime) -> str:
    """``3 min``, ``2 h``: how long something has stood there."""
    seconds = max(0, int((now - since).total_seconds()))
    for unit_s, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds // unit_s} {unit}"
    return f"{seconds} s"


def _format_raw_line(text: str) -> Markup:
    """A line of a file with its blanks; characters that do not show are written out."""
    parts = text.replace("\r", " ").expandtabs(8).split(" ")
    return escape(" ".join(format_one_line(part) for part in parts))


def _mark_found(line: str, text: str) -> Markup:
    """A line with what was searched for marked, where it stands there."""
    shown, wanted = format_one_line(line), format_one_line(text)
    at = shown.casefold().find(wanted.casefold())
    if at < 0 or len(shown.casefold()) != len(shown):
        return escape(shown)
    parts = shown[:at], shown[at : at + len(wanted)], shown[at + len(wanted) :]
    return Markup("{}<mark>{}</mark>{}").format(*parts)


def _build_raw_address(incident_id: str, artifact: str | None, line: int | None) -> str | None:
    """Where a reason or a row can be read in its file; None where no file is named."""
    if not artifact:
        return None
    query = urlencode({"file": artifact} | ({} if line is None else {"line": line}))
    mark = "" if line is None else f"#L{line}"
    return f"/incidents/{quote(incident_id)}/raw?{query}{mark}"


def build_node_address(node: str) -> str:
    """The page of a node."""
    return f"/nodes/{quote(node, safe='')}"


def encode_kept_filters(filters: Mapping[str, str], **more: str) -> str:
    """Filters as a query, without those that were left blank."""
    return urlencode({name: value for name, value in {**filters, **more}.items() if value})


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "when": _format_when,
    "timed": format_timed,
    "from_stop": format_relative,
    "clock": _format_clock,
    "size": _format_size,
    "age": _format_age,
    # The last part of a file's name, with the node's folder where it says one.
    "short_name": lambda artifact: "/".join(PurePosixPath(artifact).parts[-2:]),
    "raw_line": _format_raw_line,
    "marked": _mark_found,
    "family": get_category_family,
    "urlencode_kept": encode_kept_filters,
    "words": lambda name: str(name).replace("_", " "),
}
GLOBALS: Final[Mapping[str, Any]] = {
    "raw_address": _build_raw_address,
    "node_address": build_node_address,
    "LLAMA3_ROW": LLAMA3_ROW,
    "CATEGORIES": list(Category),
    "STATES": list(IncidentState),
    "FILE_STATES": list(ArtifactState),
    "ROLES": list(EvidenceRole),
}
