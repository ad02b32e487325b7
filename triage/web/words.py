"""How values are worded on pages: times, sizes, ranks, and which family a cause belongs to."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.evidence import EvidenceRole
from triage.domain.report import iso_utc
from triage.domain.states import ArtifactState, IncidentState
from triage.render.words.belief import belief
from triage.render.words.clean import cut, one_line
from triage.render.words.ranges import condense, condense_names

__all__ = ["FILTERS", "GLOBALS", "family", "kept", "node_address"]

_GPU, _NETWORK, _STORAGE, _HOST, _SOFTWARE, _OPEN = (
    "gpu", "network", "storage", "host", "software", "open"
)  # fmt: skip
_FAMILY: Final[Mapping[Category, str]] = {
    Category.GPU: _GPU, Category.GPU_HBM: _GPU, Category.GPU_SRAM: _GPU, Category.GPU_GSP: _GPU,
    Category.GPU_THERMAL: _GPU, Category.NVLINK: _GPU, Category.SDC: _GPU,
    Category.NIC: _NETWORK, Category.NETWORK: _NETWORK,
    Category.SSD: _STORAGE, Category.STORAGE: _STORAGE,
    Category.POWER: _HOST, Category.CHASSIS: _HOST, Category.IO_BOARD: _HOST,
    Category.CPU: _HOST, Category.HOST_MEMORY: _HOST, Category.HOST_MAINTENANCE: _HOST,
    Category.HOST_STALL: _HOST, Category.HOST_OOM: _HOST,
    Category.SOFTWARE_USER: _SOFTWARE, Category.SOFTWARE_FRAMEWORK: _SOFTWARE,
    Category.COLLECTIVE_MISMATCH: _SOFTWARE, Category.GPU_OOM: _SOFTWARE,
    Category.NUMERICAL: _SOFTWARE, Category.DEPENDENCY: _SOFTWARE,
    Category.NCCL_TIMEOUT: _OPEN, Category.STRAGGLER: _OPEN, Category.NONE: _OPEN,
}  # fmt: skip
"""One colour a family, on every page; the word stands beside it."""
_UNITS: Final = ("B", "KiB", "MiB", "GiB")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def family(category: str | None) -> str:
    """The family of a category's name; ``open`` where no cause is known."""
    return _FAMILY.get(Category(category), _OPEN) if category in set(Category) else _OPEN


def when(at: datetime | str | None, *, ago: bool = True) -> Markup:
    """A time in UTC; a script adds how long ago that is."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    if moment is None:
        return Markup('<span class="soft">undated</span>')
    moment = moment.astimezone(UTC)
    mark = " data-ago" if ago else ""
    return Markup('<time datetime="{}"{}>{} UTC</time>').format(
        iso_utc(moment), Markup(mark), moment.strftime("%Y-%m-%d %H:%M:%S")
    )


def clock(at: datetime | str | None) -> Markup:
    """The time with its milliseconds, for rows of one log."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    if moment is None:
        return Markup('<span class="soft">undated</span>')
    text = moment.astimezone(UTC).strftime("%m-%d %H:%M:%S.%f")[:-3]
    return Markup('<time datetime="{}">{}</time>').format(iso_utc(moment), text)


def size(num_bytes: int) -> str:
    """``4.2 MiB``."""
    value, unit = float(num_bytes), _UNITS[0]
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{num_bytes:,} B" if unit == _UNITS[0] else f"{value:,.1f} {unit}"


def age(since: datetime, now: datetime) -> str:
    """``3 min``, ``2 h``: how long something has stood there."""
    seconds = max(0, int((now - since).total_seconds()))
    for unit_s, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds // unit_s} {unit}"
    return f"{seconds} s"


def count(number: int, noun: str) -> str:
    """``1 rank``, ``16,384 ranks``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def raw_line(text: str) -> Markup:
    """A line of a file as it stands there: its blanks are kept, what is not seen is written out."""
    parts = text.replace("\r", " ").expandtabs(8).split(" ")
    return escape(" ".join(one_line(part) for part in parts))


def raw_address(incident_id: str, artifact: str | None, line: int | None) -> str | None:
    """Where a reason or a row can be read in its file; None where no file is named."""
    if not artifact:
        return None
    query = urlencode({"file": artifact} | ({} if line is None else {"line": line}))
    mark = "" if line is None else f"#L{line}"
    return f"/incidents/{quote(incident_id)}/raw?{query}{mark}"


def node_address(node: str) -> str:
    """The page of a node."""
    return f"/nodes/{quote(node, safe='')}"


def kept(asked: Mapping[str, str], **more: str) -> str:
    """Filters as a query, without those that were left blank."""
    return urlencode({name: value for name, value in {**asked, **more}.items() if value})


# The answer of 16,384 ranks has dozens of lists of thousands, and is shown again and again.
@lru_cache(maxsize=512)
def short_ranks(ranks: tuple[int, ...], most: int = 120) -> str:
    """Ranks as spans, in at most so many characters."""
    return condense(ranks, max_chars=most)


@lru_cache(maxsize=64)
def short_names(names: tuple[str, ...], most: int = 200) -> str:
    """Names of nodes in brackets, in at most so many characters."""
    return condense_names(names, max_chars=most)


def short_name(artifact: str) -> str:
    """The last part of a file's name, with the node's folder where it says one."""
    parts = PurePosixPath(artifact).parts
    return "/".join(parts[-2:])


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "when": when,
    "clock": clock,
    "size": size,
    "age": age,
    "count": count,
    "belief": belief,
    "ranks": short_ranks,
    "names": short_names,
    "cut": lambda text, most: cut(one_line(text), most),
    "short_name": short_name,
    "raw_line": raw_line,
    "family": family,
    "urlencode_kept": kept,
    "words": lambda name: str(name).replace("_", " "),
    "number": lambda value: f"{value:,}",
}
GLOBALS: Final[Mapping[str, Any]] = {
    "raw_address": raw_address,
    "node_address": node_address,
    "LLAMA3_ROW": LLAMA3_ROW,
    "CATEGORIES": list(Category),
    "STATES": list(IncidentState),
    "FILE_STATES": list(ArtifactState),
    "ROLES": list(EvidenceRole),
}
