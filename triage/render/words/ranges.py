"""Ranges: many ranks or node names in a few characters.

``0-4,6,8-63`` for ranks; ``n[0-7],login1`` for node names, the way Slurm writes them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from triage.domain.patterns import compile_re

# n12, gpu-007: what counts up, and how wide it is written. Longer numbers are not counters.
_COUNTED = compile_re(r"(?P<stem>.*?)(?P<number>[0-9]{1,9})", re.DOTALL)


def group_runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """``numbers``, in any order and with repeats, as ascending (first, last) runs."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def condense(numbers: Iterable[int], *, max_chars: int | None = None) -> str:
    """``0-4,6,8-63``; past ``max_chars`` it ends in ``... and N more`` (N numbers).

    At least one run is always shown. Nothing gives an empty text.
    """
    parts = [(_format_span(first, last), last - first + 1) for first, last in group_runs(numbers)]
    return _join_bounded(parts, max_chars)


def name_ranks(ranks: Collection[int], *, max_chars: int | None = None) -> str:
    """``rank 3``, ``ranks 0-4,6``; an empty text for no rank."""
    noun = "rank" if len(ranks) == 1 else "ranks"
    return f"{noun} {condense(ranks, max_chars=max_chars)}" if ranks else ""


def condense_names(names: Iterable[str], *, max_chars: int | None = None) -> str:
    """``n[0-7],login1``; names that only count up share one bracket.

    Names keep their order of first number within a stem, stems are sorted.
    """
    parts: list[tuple[str, int]] = []
    counted = set(map(_split_counted, set(names)))
    # Beside n08 and n09, n10 counts on in two digits.
    padded = {(stem, width) for stem, width, _ in counted if width > 1}
    alike = (
        (
            stem,
            len(str(number)) if width == 1 and (stem, len(str(number))) in padded else width,
            number,
        )
        for stem, width, number in counted
    )
    for (stem, width), members in groupby(sorted(alike), key=lambda m: m[:2]):
        numbers = [number for _, _, number in members]
        if width == 0:
            parts.append((stem, 1))
            continue
        spans = [_format_span(first, last, width) for first, last in group_runs(numbers)]
        inside = ",".join(spans)
        bracket = f"{stem}{inside}" if len(numbers) == 1 else f"{stem}[{inside}]"
        parts.append((bracket, len(numbers)))
    return _join_bounded(parts, max_chars)


def _split_counted(name: str) -> tuple[str, int, int]:
    """(stem, written width, number); width 0 for a name without a number at its end."""
    match = _COUNTED.fullmatch(name)
    if match is None:
        return name, 0, 0
    number = match["number"]
    padded = len(number) if number.startswith("0") and len(number) > 1 else 1
    return match["stem"], padded, int(number)


def _format_span(first: int, last: int, width: int = 1) -> str:
    return f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"


def _join_bounded(parts: Sequence[tuple[str, int]], max_chars: int | None) -> str:
    whole = ",".join(text for text, _ in parts)
    if max_chars is None or len(whole) <= max_chars or len(parts) < 2:
        return whole
    total = sum(count for _, count in parts)
    shown, used, kept = [parts[0][0]], parts[0][1], len(parts[0][0])
    for text, count in parts[1:]:
        tail = len(f" ... and {total - used - count} more")
        if kept + 1 + len(text) + tail > max_chars:
            break
        shown.append(text)
        used, kept = used + count, kept + 1 + len(text)
    return f"{','.join(shown)} ... and {total - used} more"
