"""What became of a file of telemetry: how much was read, and what was not, with its place."""

from dataclasses import dataclass, field

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """Counts of one file. ``skipped`` is reason -> (lines, the first of them, from 1).

    ``zoneless`` counts times that print no zone; they are read as UTC.
    """

    lines: int = 0
    samples: int = 0
    zoneless: int = 0
    skipped: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def skip(self, why: str, count: int, first_line: int) -> None:
        """Count lines that were not used, for ``why``."""
        if count:
            known, first = self.skipped.get(why, (0, first_line))
            self.skipped[why] = (known + count, min(first, first_line))
