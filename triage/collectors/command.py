"""The command of a node: options in, one line on stderr out.

Exit status: 0 sent, or safe in the spool; 1 with ``--strict`` when the service does not
have everything; 2 wrong usage. An epilogue is never held up, and never fails by it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from triage.collectors.artifact import DUMP, JOB_LOG, KERNEL_LOG, Deadline
from triage.collectors.bundle import one_line
from triage.collectors.capture import end_all, end_process_at
from triage.collectors.collect import collect, listing
from triage.collectors.credentials import hide_tokens
from triage.collectors.files import parse_literals
from triage.collectors.options import (
    OPTIONS,
    SHARED,
    Misuse,
    Options,
    convert_values,
    make_parser,
)
from triage.collectors.send import ACCEPTED, REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from triage.collectors.artifact import Skipped
    from triage.collectors.collect import Bundle, Listed, Outcome

_ABOUT = "Send this node's dumps, kernel log and job logs of one job to the service."
_NICENESS = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv``, the process's own when None; its exit status."""
    try:
        options = list_options(parser().parse_args(argv))
    except Misuse as error:
        return _misused(error)
    return run(options, os.environ)


def run(options: Options, environment: Mapping[str, str]) -> int:
    """Collect, and say on stderr what became of it; the exit status.

    Ends this whole process where a call still hangs after the deadline.
    """
    os.umask(0o077)  # copies of logs and dumps are for this user alone
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(ValueError):  # not the main thread: somebody else's process
        signal.signal(signal.SIGTERM, _terminated)
    deadline = Deadline(options.deadline_s)
    late = end_process_at(deadline, 1 if options.strict else 0)
    try:
        if options.dry_run:
            rows, notes = listing(options, environment)
            _say(_note_lines(notes))
            sys.stdout.write("".join(f"{line}\n" for line in _list_lines(rows)))
            return 0
        outcome = collect(options, environment, deadline)
    except Misuse as error:
        return _misused(error)
    finally:
        late.cancel()
        end_all()
    _say(_format_outcome(outcome))
    return 1 if options.strict and not outcome.complete else 0


def parser() -> argparse.ArgumentParser:
    """The options; the same as those of ``triage collect``."""
    return make_parser("triage collect", _ABOUT, __doc__.partition("\n\n")[2], OPTIONS)


def list_options(given: argparse.Namespace) -> Options:
    """The arguments as :class:`Options`. Raises :class:`Misuse` for a value that cannot be."""
    values = convert_values(OPTIONS, vars(given))
    if values["shared"] not in SHARED:
        raise Misuse(f"--shared is one of {', '.join(SHARED)}")
    literals = parse_literals(values.pop("literal"), [*values["fr"], *values["logs"]])
    compress = not values.pop("no_compress")
    return Options(**values, compress=compress, literals=literals)


def _misused(error: Misuse) -> int:
    _say([hide_tokens(str(error))])
    return 2


def _say(lines: Sequence[str]) -> None:
    with suppress(OSError):
        sys.stderr.write("".join(f"triage collect: {line}\n" for line in lines))
        sys.stderr.flush()


def _terminated(_number: int, _frame: object) -> NoReturn:
    """Leave by way of all ``finally``: commands are ended, partial files removed."""
    sys.exit(128 + signal.SIGTERM)


_MAX_NOTES = 12
_MAX_MEMBERS = 5


def _format_outcome(outcome: Outcome) -> list[str]:
    """The notes, then one line per bundle; the last line is the one to read."""
    lines = _note_lines(outcome.notes)
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


def _note_lines(notes: Iterable[Skipped]) -> list[str]:
    """One line per reason, with the first path and how many more."""
    by_why: dict[str, list[str]] = {}
    for note in notes:
        by_why.setdefault(note.why, []).append(note.path)
    lines = [
        f"{one_line(paths[0])}{f' and {len(paths) - 1} more' if paths[1:] else ''}: {one_line(why)}"
        for why, paths in by_why.items()
    ]
    if len(lines) > _MAX_NOTES:
        lines[_MAX_NOTES:] = [f"{len(lines) - _MAX_NOTES} more notes, left out here"]
    return lines


def _list_lines(rows: Iterable[Listed]) -> list[str]:
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
    lines = [f"not taken by the service: {name}: {why}" for name, why in refused[:_MAX_MEMBERS]]
    if len(refused) > _MAX_MEMBERS:
        lines.append(f"not taken by the service: {len(refused) - _MAX_MEMBERS} more")
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
