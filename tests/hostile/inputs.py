"""Hostile and merely odd files, by name: every way in that we know of, each made from a seed.

``everything()`` lists them; ``make(marker)`` gives the bytes, and a payload that were ever
run would create the file ``marker``. ``wants`` is what reading has to come to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

Wants = Literal["refused", "read", "partial", "any"]
# The rows of ``light``: making all inputs takes a second, too long to find what there is to test.
ROWS = (
    "code", "hash", "memo", "flood", "length", "shared", "nesting", "integer", "stop", "stack",
    "type", "missing", "extreme", "text", "groups", "cut", "damage", "json", "packed", "tar",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hostile:
    """One file. ``says`` is a part of the reason, where it is refused or partial."""

    row: str
    case: str
    make: Callable[[str], bytes]
    wants: Wants = "refused"
    says: str = ""
    heavy: bool = False
    """Takes more than a few MB or a tenth of a second."""

    @property
    def name(self) -> str:
        return f"{self.row}/{self.case}"


def hostile(
    row: str, case: str, data: bytes | Callable[[], bytes], wants: Wants = "refused",
    says: str = "", heavy: bool = False,
) -> Hostile:  # fmt: skip
    """An input that needs no marker; a function is called when the bytes are wanted."""

    def make(_: str) -> bytes:
        return data if isinstance(data, bytes) else data()

    return Hostile(row, case, make, wants, says, heavy)


@cache
def everything() -> tuple[Hostile, ...]:
    """All inputs that are the bytes of one file."""
    from tests.hostile import damage, fields, json_texts, opcodes, packed, payloads

    parts = (payloads, opcodes, fields, damage, json_texts, packed)
    return tuple(one for part in parts for one in part.inputs())


@cache
def light() -> dict[str, list[Hostile]]:
    """The inputs that are not heavy, by row."""
    found: dict[str, list[Hostile]] = {}
    for one in everything():
        if not one.heavy:
            found.setdefault(one.row, []).append(one)
    return found
