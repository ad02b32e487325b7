"""The table of kinds: a name, the function that makes it, where it can happen, how often."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.field.incident import Incident


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of incident."""

    name: str
    make: Callable[[Incident], None]
    category: str
    weight: float = 1.0
    vendor: str | None = None
    only: str | None = None  # platforms, comma separated


KINDS: dict[str, Kind] = {}


def kind(
    name: str, category: str, weight: float = 1.0, vendor: str | None = None,
    only: str | None = None,
) -> Callable[[Callable[[Incident], None]], Callable[[Incident], None]]:  # fmt: skip
    """Register a maker under a name."""

    def keep(make: Callable[[Incident], None]) -> Callable[[Incident], None]:
        KINDS[name] = Kind(name, make, category, weight, vendor, only)
        return make

    return keep
