"""What a hostile body for the fleet is, and how many are made of a good one."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

MIB = 1 << 20

CHECKS = "/v1/fleet/checks"

TELEMETRY = "/v1/fleet/telemetry"

IMPORT = "/v1/fleet/import"

ENDED = "/v1/hooks/job-ended"

RAW = (CHECKS, TELEMETRY, IMPORT)

# Of nodes and clusters that nobody else has.
QUERY = {
    CHECKS: "?node=h0&cluster=hostile",
    TELEMETRY: "?node=h0&cluster=hostile",
    IMPORT: "?cluster=hostile",
    ENDED: "",
}

NOW = datetime.now(UTC).replace(microsecond=0)

YEARS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z")

NUMBERS = (
    "NaN",
    "-NaN",
    "inf",
    "-Infinity",
    "1e308",
    "-1e308",
    "1e309",
    "9" * 400,
    "-0",
    "1e-320",
    "0x" + "f" * 16,
    "0x" + "f" * 40,
    "1_000",
    "١٢",
    "-1",
    "1e15",
    "",
)

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "x" * 5000,
    "\ud800",
    [],
    {},
    [[[]]],
    {"a": {"b": []}},
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    ["n0", 7, None],
    "n[0-99999999]",
    "n[",
    "n[9-0]",
    1 << 63,
    -(1 << 63) - 1,
    1e-320,
)

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class FleetBody:
    """One request; ``heavy`` ones have many MB when they are made, or when they are read."""

    name: str
    path: str
    make: Callable[[], bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    heavy: bool = False


def body(name: str, route: str, data: bytes | str | Callable[[], bytes], **more: Any) -> FleetBody:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    make = data if callable(data) else lambda: data
    path = route + more.pop("query", QUERY[route])
    return FleetBody(f"{route.rpartition('/')[2]}/{name}", path, make, **more)


def lies(good: Any) -> Iterator[tuple[str, Any]]:
    """The value with each of its parts in turn as something that it cannot be."""
    for path in paths_of(good):
        for number, odd in enumerate(ODD):
            found = deepcopy(good)
            inside = found
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = odd
            yield f"{'.'.join(map(str, path))}-{number}", found


def paths_of(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*before, key)
            yield from paths_of(inside, (*before, key))


def together(
    name: str, route: str, values: list[str], size: int = 40, **more: Any
) -> Iterator[FleetBody]:
    """Values that may stand in one body, line by line, some at a time."""
    for start in range(0, len(values), size):
        lines = "\n".join(values[start : start + size])
        yield body(f"{name}-{start}", route, lines + "\n", **more)
