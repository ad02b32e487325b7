"""Samples of what public checkers of nodes print, and what they are read as.

They lie below ``tests/data/checkers/TOOL/`` and are called ``OUTCOME-NAME.EXT``, where OUTCOME is
``pass``, ``warn``, ``fail`` or ``unknown``: what somebody who reads the file would say of the node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from triage.domain.health import Outcome
from triage.formats.format import Head
from triage.formats.health.reading import Checks
from triage.formats.registry import identify_checks, identify_stream

FOLDER: Final = Path(__file__).parents[1] / "data" / "checkers"
OUTCOMES: Final = ("pass", "warn", "fail", "unknown")
NODE: Final = "n3"


@dataclass(frozen=True, slots=True)
class Sample:
    """One output of a tool; ``wanted`` is one of :data:`OUTCOMES`."""

    tool: str
    name: str
    wanted: str
    path: Path

    @property
    def data(self) -> bytes:
        """What the tool printed."""
        return self.path.read_bytes()


def samples() -> list[Sample]:
    """All samples, by tool and name."""
    paths = sorted(path for path in FOLDER.glob("*/*") if path.is_file())
    return [
        Sample(path.parent.name, path.name, path.stem.partition("-")[0], path) for path in paths
    ]


def read_checks(data: bytes) -> Checks | None:
    """The results in it, as they are taken in from a node; None where it is no report."""
    row = identify_checks(data)
    return None if row is None else row.checks(data, "sample", node=NODE)


def read_as(data: bytes, name: str = "sample") -> str | None:
    """The format of it where it lies in an incident's folder."""
    head = Head(data, name)
    row = identify_stream(head)
    return None if row is None else row.name


def outcome_of(checks: Checks | None) -> str:
    """What a file says as a whole: the worst of its results; nothing good where a part is lost.

    A file in which nothing passed, and one that breaks off, says nothing about the node.
    """
    found = set() if checks is None else {one.outcome for one in checks.results}
    if Outcome.FAIL in found:
        return "fail"
    if checks is None or checks.num_not_understood or not found - {Outcome.SKIPPED}:
        return "unknown"
    return "warn" if Outcome.WARN in found else "pass"


def with_colours(data: bytes) -> bytes:
    """As a terminal is told to colour the words that matter."""
    for word in (b"FAIL", b"Fail", b"ERROR", b"error"):
        data = data.replace(word, b"\x1b[1;31m" + word + b"\x1b[0m")
    return data


def with_other_node(data: bytes) -> bytes:
    return data.replace(b"gpu-17", b"lab-a-0042").replace(b"n3", b"rack9-node1")


CHANGES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "carriage returns": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "colours": with_colours,
    "another node": with_other_node,
    "lines before": lambda data: b"\n" + data,
    "byte-order mark": lambda data: b"\xef\xbb\xbf" + data,
    "lines behind": lambda data: data + b"\n\n",
    "no last line end": lambda data: data.rstrip(b"\r\n"),
}
"""Changes that alter nothing of what a report says."""
