"""Own signatures are checked by what ours are, and beside ours: none may take what is common.

What is checked is certain: no clock is read, so that a file that was taken once is taken again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from triage.domain.evidence import EvidenceRole
from triage.errors import UsageError
from triage.signatures.checks import (
    has_literal,
    list_literal_faults,
    list_proof_faults,
    read_alone,
    split,
)
from triage.signatures.own.faults import FaultySignatures, SignatureFault
from triage.signatures.own.file import MAX_BYTES, MAX_ENTRIES, OwnFile, read_file
from triage.signatures.own.own_signatures import (
    NO_OWN,
    OwnEntry,
    OwnSignatures,
    Silence,
    make_label,
)
from triage.signatures.own.pattern import PatternFault
from triage.signatures.registry import Match, load_all_signatures, match
from triage.signatures.signature import Signature

_SHORTEST_LITERAL: Final = 4
# Of the lines that our own signatures bring as proofs: a literal, or a pattern, that is in more
# of them is no sign of anything.
_MOST_LITERAL: Final = 0.02
_MOST_LINES: Final = 0.02
_MOST_NOISE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Checked:
    """One entry that was checked: how many of its examples it hits, and which of ours had them."""

    id: str
    file: str
    line: int
    num_hits: int
    num_missed: int
    before: tuple[str, ...]


def own_from_path(path: str | Path) -> OwnSignatures:
    """The own signatures of a file, or of all ``*.toml`` of a folder.

    Raises :class:`UsageError` where it cannot be read, :class:`FaultySignatures` with all that is
    wrong.
    """
    return own_from_files(read_files_below(Path(path)))


def read_files_below(path: Path) -> dict[str, bytes]:
    """Name -> bytes of the file, or of the ``*.toml`` of the folder. Raises :class:`UsageError`."""
    try:
        if not path.is_dir():
            return {str(path): _read_head(path)}
        found = {str(one): _read_head(one) for one in sorted(path.glob("*.toml"))}
    except OSError as error:
        raise UsageError(f"cannot read signatures from {path}: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path} holds no file *.toml with signatures")
    return found


def _read_head(path: Path) -> bytes:
    """Enough of a file to read it, or to see that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def own_from_files(files: Mapping[str, bytes]) -> OwnSignatures:
    """The own signatures of these files, name -> bytes, in the order given.

    Raises :class:`FaultySignatures`.
    """
    return check_from_files(files)[0]


def check_from_files(files: Mapping[str, bytes]) -> tuple[OwnSignatures, tuple[Checked, ...]]:
    """As :func:`own_from_files`, with what was found of each entry."""
    read = [read_file(name, data) for name, data in files.items()]
    faults = [fault for one in read for fault in one.faults]
    entries = tuple(entry for one in read for entry in one.entries)
    silences = tuple(silence for one in read for silence in one.silences)
    faults += _find_excess_entries(read)
    faults += _find_repeated_names(entries, silences)
    signatures: list[tuple[OwnEntry, Signature]] = []
    for entry in entries:
        try:
            signatures.append((entry, entry.signature()))
        except PatternFault as error:
            faults.append(SignatureFault(entry.file, entry.line, f"{entry.name}: {error}"))
    own = [one for _, one in signatures]
    for entry, one in signatures:
        faults += [
            SignatureFault(entry.file, entry.line, f"{entry.name}: {why}")
            for why in _list_signature_faults(one, own)
        ]
    for silence in silences:
        faults += [
            SignatureFault(silence.file, silence.line, f"silence of {silence.id}: {why}")
            for why in _list_silence_faults(silence)
        ]
    if faults:
        raise FaultySignatures(faults)
    rows = [_make_checked(entry, one.matches) for entry, one in signatures]
    rows += [_make_checked(silence, silence.matches) for silence in silences]
    label = make_label(entries, silences)
    return OwnSignatures(entries, silences, label) if rows else NO_OWN, tuple(rows)


def _find_excess_entries(files: Sequence[OwnFile]) -> Iterator[SignatureFault]:
    total = 0
    for file in files:
        total += len(file.entries) + len(file.silences)
        if total > MAX_ENTRIES:
            yield SignatureFault(
                file.name, 1, f"with it there are {total:,} entries, of at most {MAX_ENTRIES}"
            )
            return


def _find_repeated_names(
    entries: Sequence[OwnEntry], silences: Sequence[Silence]
) -> Iterator[SignatureFault]:
    """Names that two entries bear."""
    seen: dict[str, OwnEntry | Silence] = {}
    everything: list[OwnEntry | Silence] = [*entries, *silences]
    for one in everything:
        first = seen.setdefault(one.id, one)
        if first is not one:
            what = f"the name {one.name!r}" if isinstance(one, OwnEntry) else f"{one.id!r}"
            yield SignatureFault(
                one.file, one.line, f"{what} was given before: {first.file}:{first.line}"
            )


def _list_signature_faults(one: Signature, own: Sequence[Signature]) -> Iterator[str]:
    """What is wrong with an own signature that can be compiled."""

    def first(line: str, _after: Sequence[str]) -> Signature | None:
        return next((other for other in own if read_alone(other, line) is not None), None)

    yield from list_literal_faults(one)
    for literal in one.literals:
        if len(literal.strip()) < _SHORTEST_LITERAL:
            yield f"the literal {literal!r} is too short to be rare; give longer literals"
        elif _compute_share(literal in line for line in _load_lowered_lines()) > _MOST_LITERAL:
            yield f"the literal {literal!r} is in too many lines of logs; give rarer literals"
    yield from list_proof_faults(one, first)
    found = [_is_taking_line(one, line) for line in _load_proof_lines()]
    if _compute_share(found) > _MOST_LINES:
        yield f"the pattern matches {sum(found):,} of {len(found):,} known lines: it tells nothing"
    if one.role in (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE):
        noise = [_is_taking_line(one, line) for line in _load_noise_lines()]
        if _compute_share(noise) > _MOST_NOISE:
            yield f"the pattern matches {sum(noise):,} of {len(noise):,} lines known as harmless"


def _is_taking_line(one: Signature, line: str) -> bool:
    return has_literal(one, line) and read_alone(one, line) is not None


def _compute_share(found: Iterable[bool]) -> float:
    listed = list(found)
    return sum(listed) / max(1, len(listed))


def _list_silence_faults(silence: Silence) -> Iterator[str]:
    """Which of its examples another signature has, or another code."""
    for line in silence.matches:
        winner = match(*split(line))
        if winner is None or winner.signature.id != silence.signature:
            by = "nothing" if winner is None else winner.signature.id
            yield f"the example {line[:80]!r} is taken by {by}"
        elif silence.code is not None and _find_printed_code(winner) != silence.code:
            yield f"the example {line[:80]!r} has the code {_find_printed_code(winner)}"


def _find_printed_code(winner: Match) -> int | None:
    if winner.reading.code is not None:
        return winner.reading.code
    printed = winner.found.groupdict().get("code")
    return int(printed) if printed and printed.isdecimal() else None


def _make_checked(one: OwnEntry | Silence, hits: Sequence[str]) -> Checked:
    before = [winner.signature.id for hit in hits if (winner := match(*split(hit))) is not None]
    missed = len(one.near_misses) if isinstance(one, OwnEntry) else 0
    name = one.id if isinstance(one, OwnEntry) else f"silence {one.id}"
    return Checked(name, one.file, one.line, len(hits), missed, tuple(dict.fromkeys(before)))


@cache
def _load_proof_lines() -> tuple[str, ...]:
    """The first lines of all proofs of ours: what logs hold, of many kinds."""
    return tuple(
        split(text)[0] for one in load_all_signatures() for text in (*one.matches, *one.near_misses)
    )


@cache
def _load_lowered_lines() -> tuple[str, ...]:
    return tuple(line.lower() for line in _load_proof_lines())


@cache
def _load_noise_lines() -> tuple[str, ...]:
    """Those of them that are known and harmless."""
    return tuple(
        split(text)[0]
        for one in load_all_signatures()
        if one.role is EvidenceRole.NOISE
        for text in one.matches
    )
