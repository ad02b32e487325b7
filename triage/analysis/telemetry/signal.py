"""Signal: what one detector of telemetry says of a part, before it is weighed."""

from dataclasses import dataclass

from triage.analysis.telemetry.panels import Seat
from triage.domain.category import Category
from triage.domain.evidence import Kind


@dataclass(frozen=True, slots=True)
class Signal:
    """A claim with its time: ``since_ns`` to ``until_ns``, known to ``error_ns``.

    ``name`` is the signature (``telemetry.throttle``). ``seat`` is None where no node is to
    blame; then ``nodes`` are those that it reaches. ``firm`` claims need no other source.
    ``severity`` is as of lines about hardware. ``text`` is a sentence without its full stop.
    """

    name: str
    kind: Kind
    category: Category
    seat: Seat | None
    since_ns: int
    until_ns: int
    error_ns: int
    text: str
    artifact: str
    also: tuple[Category, ...] = ()
    firm: bool = False
    severity: str = ""
    nodes: tuple[str, ...] = ()


def format_clock_time(ns: int) -> str:
    """``13:08``, in UTC."""
    minutes = ns // 60_000_000_000
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
