"""Summary of a collection for a person: a line for each bundle, and notes that say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.collectors.artifact import DUMP, JOB_LOG, KERNEL_LOG
from triage.collectors.bundle import one_line
from triage.collectors.credentials import hide_tokens
from triage.collectors.send import ACCEPTED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triage.collectors.artifact import Skipped
    from triage.collectors.collect import Bundle, Listed, Outcome

__all__ = ["lines_of", "list_lines", "note_lines"]

MAX_NOTES = 12
MAX_MEMBERS = 5


def lines_of(outcome: Outcome) -> list[str]:
    """The notes, then one line per bundle; the last line is the one to read."""
    lines = note_lines(outcome.notes)
    lines.extend(outcome.trouble)
    taken = [size for answer, size in outcome.older if answer.kind == ACCEPTED]
    if taken:
        lines.append(f"sent {_many(len(taken), 'bundle')} of earlier: {_size(sum(taken))}")
    lines.extend(f"of earlier: {answer.text}" for answer, _ in outcome.older if answer.text)
    for bundle in outcome.bundles:
        lines.extend(_members(bundle))
        lines.append(_bundle_line(bundle, outcome))
    if not outcome.bundles and not outcome.older and not outcome.trouble:
        lines.append("nothing to send")
    if outcome.waiting and not any(bundle.answer.kind != ACCEPTED for bundle in outcome.bundles):
        lines.append(f"{_many(outcome.waiting, 'bundle')} still in {outcome.spool}")
    return [hide_tokens(line) for line in lines]


def note_lines(notes: Iterable[Skipped]) -> list[str]:
    """One line per reason, with the first path and how many more."""
    by_why: dict[str, list[str]] = {}
    for note in notes:
        by_why.setdefault(note.why, []).append(note.path)
    lines = [
        f"{one_line(paths[0])}{f' and {len(paths) - 1} more' if paths[1:] else ''}: {one_line(why)}"
        for why, paths in by_why.items()
    ]
    if len(lines) > MAX_NOTES:
        lines[MAX_NOTES:] = [f"{len(lines) - MAX_NOTES} more notes, left out here"]
    return lines


def list_lines(rows: Iterable[Listed]) -> list[str]:
    """A dry run: size, name in the bundle and path, or why a file is left out."""
    lines = []
    for row in rows:
        path = one_line(row.artifact.path)
        if row.why:
            lines.append(f"{'-':>14}  {row.artifact.member}  {path}: {row.why}")
        else:
            place = "  (shared)" if row.artifact.shared else ""
            lines.append(f"{row.size_bytes:>14,}  {row.artifact.member}  {path}{place}")
    return lines


def _bundle_line(bundle: Bundle, outcome: Outcome) -> str:
    what = _counts_text(bundle.packed.counts)
    answer = bundle.answer
    if answer.kind == ACCEPTED:
        size = f": {_size(bundle.size_bytes)} in {outcome.seconds:.1f} s"
        incident = f"; incident {answer.incident}" if answer.incident else ""
        return f"sent {what}{size}{incident}"
    if answer.kind == REFUSED:
        return f"refused, {what}: {answer.text}"
    return f"not sent, {what}: {answer.text}; kept in {outcome.spool} for the next collect"


def _members(bundle: Bundle) -> list[str]:
    refused = bundle.answer.refused
    lines = [f"not taken by the service: {name}: {why}" for name, why in refused[:MAX_MEMBERS]]
    if len(refused) > MAX_MEMBERS:
        lines.append(f"not taken by the service: {len(refused) - MAX_MEMBERS} more")
    return lines


def _counts_text(counts: Mapping[str, int]) -> str:
    words = []
    for kind in (DUMP, KERNEL_LOG, JOB_LOG):
        number = counts.get(kind, 0)
        if number:
            words.append(kind if kind == KERNEL_LOG and number == 1 else _many(number, kind))
    return ", ".join(words)


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    if number < 1_000_000:
        return f"{number / 1e3:.1f} kB"
    return f"{number / 1e6:.1f} MB"
