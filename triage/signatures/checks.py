"""What every signature has to keep, ours and a team's own: literals that a scan can look for, and
its proof.

Faults are sentences without a name; whoever asks knows of which signature they are.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from triage.signatures.signature import Reading, Signature

SHORTEST: Final = 3
"""Characters of a literal, at least."""
COMMON: Final = frozenset(
    {"error", "warn", "warning", "failed", "fail", "info", "gpu", "rank", "node", "timeout"}
)
"""Words of every log: as literals they would find every line."""

_First = Callable[[str, Sequence[str]], Signature | None]
"""From a line and the lines behind it to the signature that takes it."""


def split(text: str) -> tuple[str, list[str]]:
    """The line of a proof, and the lines behind it."""
    first, *after = text.split("\n")
    return first, after


def has_literal(one: Signature, line: str) -> bool:
    """Whether the scan would look at ``line`` for ``one``."""
    lowered = line.lower()
    return any(literal in lowered for literal in one.literals)


def read_alone(one: Signature, text: str) -> Reading | None:
    """What ``one`` reads in ``text`` where no other signature is asked."""
    line, after = split(text)
    if not has_literal(one, line):
        return None
    found = one.pattern.search(line)
    if found is None:
        return None
    return Reading() if one.read is None else one.read(found, after)


def list_literal_faults(one: Signature) -> Iterator[str]:
    """Why the scan cannot look for the literals of ``one``."""
    if not one.literals:
        yield "it has no literal, and the scan looks for nothing else"
    for literal in one.literals:
        if not literal.isascii() or literal != literal.lower() or "\n" in literal:
            yield f"the literal {literal!r} is not lower-case ASCII of one line"
        if len(literal) < SHORTEST:
            yield f"the literal {literal!r} has fewer than {SHORTEST} characters"
        if literal.strip() in COMMON:
            yield f"the literal {literal!r} is a word of every log"
    if len(set(one.literals)) != len(one.literals):
        yield "a literal is given twice"


def list_proof_faults(one: Signature, first: _First) -> Iterator[str]:
    """Which lines ``one`` has to match and does not, or has to miss and does not.

    ``first`` says which of all signatures takes a line: of its own lines it must be ``one``.
    """
    if not one.matches:
        yield "it has no line that it matches (matches)"
    if not one.near_misses:
        yield "it has no line that comes near and is missed (near_misses)"
    for hit in one.matches:
        line, after = split(hit)
        if not has_literal(one, line):
            yield (
                f"the example {_shorten_text(hit)} has none of its literals:"
                f" {', '.join(one.literals)}"
            )
        elif read_alone(one, hit) is None:
            yield f"the example {_shorten_text(hit)} is not matched"
        elif (winner := first(line, after)) is not one:
            by = "nothing" if winner is None else winner.id
            yield f"the example {_shorten_text(hit)} is taken by {by}, which comes before it"
    for near in one.near_misses:
        if read_alone(one, near) is not None:
            yield f"the near miss {_shorten_text(near)} is matched"


def _shorten_text(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
