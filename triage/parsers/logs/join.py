"""What single logs gave, as the evidence of one incident.

Logs may be read at different times and places; nothing here depends on the order in
which they come. Templates alone need all logs at once: which words vary shows only
when the shapes of all lines lie beside each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from triage.domain.evidence import Evidence
from triage.domain.live.look import Look
from triage.domain.report import Refused
from triage.parsers.logs.logset import LogFile, LogSet
from triage.parsers.telemetry.samples import TelemetryFile

# Counting every line's shape, for the odd node, takes as long again as reading for signatures:
# it is done where all logs together, decompressed, have no more bytes than this.
MOST_COUNTED_BYTES: Final = 256 << 20

Mask = tuple[bytes, int, int, int]
"""A template mask: its text, how many lines, the first and the last of them."""


@dataclass(slots=True)
class Outcome:
    """What one log gave; ``size_bytes`` is decompressed.

    ``masks`` are empty for a log that was too large to count, or where nobody asked.
    ``uncounted`` lines had no room among the masks. ``telemetry`` is set where the file was no log.
    """

    file: LogFile
    rows: list[Evidence] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    size_bytes: int = 0
    uncounted: int = 0
    telemetry: TelemetryFile | None = None
    looks: tuple[Look, ...] = ()


def join_logs(outcomes: Iterable[Outcome], refused: Iterable[Refused] = ()) -> LogSet:
    """The evidence of all logs, undated, in the order of artifact and line.

    Templates are filled in where masks were kept and all logs together stay within
    :data:`MOST_COUNTED_BYTES`. The outcomes stay as they are.
    """
    ordered = sorted(outcomes, key=lambda one: one.file.artifact)
    result = LogSet(
        files=[one.file for one in ordered],
        evidence=[row for one in ordered for row in one.rows],
        refused=sorted(refused, key=lambda one: (one.artifact, one.why)),
        telemetry=[one.telemetry for one in ordered if one.telemetry is not None],
        looks=[look for one in ordered for look in one.looks],
    )
    _with_nodes_of_collections(result)
    masked = any(one.masks or one.uncounted for one in ordered)
    if masked and sum(one.size_bytes for one in ordered) <= MOST_COUNTED_BYTES:
        _fill_templates(result, ordered)
    return result


# "sosreport-gpu-17-2026-03-14-abc/hostname"; "etc/hostname" beside "sos_commands" says the same.
_HOST_FILES: Final = ("hostname", "etc/hostname", "sos_commands/host/hostname")


def _with_nodes_of_collections(logs: LogSet) -> None:
    """Give what lies in a node's collection (a sosreport) that node, by its file ``hostname``."""
    named = {
        file.artifact: file.node
        for file in logs.files
        if file.node is not None and file.artifact.endswith("hostname") and file.lines == 1
    }
    homes: dict[str, str] = {}
    for artifact, node in sorted(named.items(), key=lambda at: -len(at[0])):
        for name in _HOST_FILES:
            if artifact == name or artifact.endswith(f"/{name}"):
                homes[artifact[: len(artifact) - len(name)]] = node
    collected = {
        folder: node
        for folder, node in homes.items()
        if any(file.artifact.startswith(f"{folder}sos_commands/") for file in logs.files)
    }
    if not collected:
        return

    def home_of(artifact: str) -> str | None:
        return next((node for at, node in collected.items() if artifact.startswith(at)), None)

    logs.files = [
        replace(file, node=home_of(file.artifact)) if file.node is None else file
        for file in logs.files
    ]
    logs.evidence = [
        replace(row, node=home_of(row.artifact)) if row.node is None else row
        for row in logs.evidence
    ]


def _fill_templates(result: LogSet, outcomes: Sequence[Outcome]) -> None:
    from triage.signatures.templates import build_templates, count_templates

    named = build_templates({text for one in outcomes for text, *_ in one.masks})
    result.files = [
        replace(one.file, templates=count_templates(one.masks, named), notes=_list_notes(one))
        for one in outcomes
    ]
    result.templates = {found.id: found.text for found in named.values()}


def _list_notes(outcome: Outcome) -> tuple[str, ...]:
    if not outcome.uncounted:
        return outcome.file.notes
    return (*outcome.file.notes, f"{outcome.uncounted:,} lines of too many templates")
