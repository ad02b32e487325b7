"""One file of telemetry among the files of an incident: what it came down to."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it is compiled, and an upload only looks at forms
    from triage.parsers.telemetry.grid import Grid


class Form(StrEnum):
    """How a file of telemetry is written."""

    EXPOSITION = "exposition"
    QUERY_RESULT = "query_result"
    TABLE = "table"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class TelemetryFile:
    """``grid`` is None where not one sample could be used. ``zoneless`` says that its times print
    no zone and were read as UTC. ``gpus`` are (node, GPU, UUID) as labels say, of a file that was
    read just now; a stored extract has none.
    """

    artifact: str
    form: Form
    samples: int
    zoneless: bool
    grid: "Grid | None"
    gpus: tuple[tuple[str, str, str], ...] = ()

    def in_zone(self, ahead_ns: int) -> "TelemetryFile":
        """The same with times that were printed ``ahead_ns`` ahead of UTC."""
        if not self.zoneless or self.grid is None or not ahead_ns:
            return self
        grid = replace(self.grid, start_ns=self.grid.start_ns - ahead_ns)
        return replace(self, grid=grid, zoneless=False)
