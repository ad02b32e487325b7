"""What became of a file of telemetry: how much was read, and what was not, with its place."""

import re
from dataclasses import dataclass, field
from typing import Final

from triage.domain.patterns import compile_re

_MOST_GPUS: Final = 1 << 18
_UUID: Final = compile_re(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(slots=True)
class GpuHomes:
    """UUID -> (node, GPU as series name it), as labels say; None where two nodes have it.

    The node is empty where no label names one.
    """

    of_uuid: dict[str, tuple[str, str] | None] = field(default_factory=dict)

    def add(self, uuid: str | None, node: str | None, gpu: str | None) -> None:
        """A series of this node and GPU names a UUID; what is none is left out."""
        if uuid is None or _UUID.fullmatch(uuid) is None:
            return
        here = (node or "", "" if gpu is None or gpu == uuid else gpu)
        if uuid not in self.of_uuid and len(self.of_uuid) < _MOST_GPUS:
            self.of_uuid[uuid] = here
        elif (before := self.of_uuid.get(uuid)) is not None and before[0] != here[0]:
            self.of_uuid[uuid] = None


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
    gpus: GpuHomes = field(default_factory=GpuHomes)

    def skip(self, why: str, count: int, first_line: int) -> None:
        """Count lines that were not used, for ``why``."""
        if count:
            known, first = self.skipped.get(why, (0, first_line))
            self.skipped[why] = (known + count, min(first, first_line))
