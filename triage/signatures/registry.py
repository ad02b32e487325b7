"""All signatures, in the order in which they are tried: the specific before the general.

To add a signature: one entry in its family's TOML file. To add a family: such a file, and
one line in ``order.toml``; a function in ``readers.py`` of its folder where a line needs code.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from triage.domain.toml_tables import read_toml
from triage.signatures.load import load
from triage.signatures.signature import Reading, Signature

_ORDER: Final = read_toml("triage.signatures", "order")


@dataclass(frozen=True, slots=True)
class Match:
    """A signature found in a line, where, and what it read there."""

    signature: Signature
    found: re.Match[str]
    reading: Reading


def load_families() -> tuple[tuple[Signature, ...], ...]:
    """The signatures of each file."""
    return tuple(load(file) for files in _ORDER.values() for file in files)


@cache
def load_all_signatures() -> tuple[Signature, ...]:
    """Every signature, first the one that is tried first."""
    return tuple(one for family in load_families() for one in family)


@cache
def _map_by_literal() -> dict[str, tuple[int, ...]]:
    """Literal -> indices into :func:`load_all_signatures`, ascending."""
    table: dict[str, list[int]] = {}
    for index, one in enumerate(load_all_signatures()):
        for text in one.literals:
            table.setdefault(text, []).append(index)
    return {text: tuple(indices) for text, indices in table.items()}


def find_first(candidates: Iterable[Signature], text: str, after: Sequence[str]) -> Match | None:
    """The first of ``candidates`` that ``text`` matches, with the lines behind it that it wants."""
    for signature in candidates:
        found = signature.pattern.search(text)
        if found is None:
            continue
        if signature.read is None:
            return Match(signature, found, Reading())
        reading = signature.read(found, after[: signature.context])
        if reading is not None:
            return Match(signature, found, reading)
    return None


def match(line: str, after: Sequence[str] = ()) -> Match | None:
    """The first signature that ``line`` (with the lines ``after`` it) matches, None for none."""
    lowered = line.lower()
    table = _map_by_literal()
    found = {index for text, indices in table.items() if text in lowered for index in indices}
    ours = load_all_signatures()
    return find_first([ours[index] for index in sorted(found)], line, after)
