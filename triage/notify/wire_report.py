"""Wire report: a verdict and its suspects, read out of the report's wire form.

Reports of earlier releases lie in the database, so a field that is absent, or of another
type, counts as empty, and never stops a message.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Action, Category, Role, VerdictKind
from triage.notify.message import Message, Wire
from triage.render.words.answer import restart_headline

__all__ = [
    "Reason",
    "WireSuspect",
    "WireVerdict",
    "read_restart",
    "read_suspects",
    "read_verdict",
    "top_suspects",
    "verdict_and_suspects",
]

# A message that names more than a few suspects helps nobody.
MAX_TOP: Final = 3


@dataclass(frozen=True, slots=True)
class WireVerdict:
    """The fields of a verdict that messages use; ``at`` is RFC 3339 text."""

    kind: str
    category: str
    confidence: float
    summary: str
    action: str
    cordon: tuple[str, ...]
    at: str | None

    @property
    def healthy(self) -> bool:
        """Nothing stopped: there is nobody to wake."""
        return self.kind == VerdictKind.HEALTHY or self.category == Category.NONE


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason with its place; ``line`` counts from 1, None for a dump."""

    text: str
    artifact: str | None
    line: int | None

    @property
    def place(self) -> str:
        """``kernel.log:8``, ``fr/rank_3``, or nothing."""
        if self.artifact is None:
            return ""
        return self.artifact if self.line is None else f"{self.artifact}:{self.line}"

    @property
    def sentence(self) -> str:
        """The text, with its place in brackets where it has one."""
        return f"{self.text} ({self.place})" if self.place else self.text


@dataclass(frozen=True, slots=True)
class WireSuspect:
    """One suspect; ``node`` is None where no map of ranks to nodes is known."""

    node: str | None
    ranks: tuple[int, ...]
    gpus: tuple[str, ...]
    category: str
    score: float
    role: str
    because: tuple[Reason, ...]


def verdict_and_suspects(message: Message) -> tuple[WireVerdict | None, tuple[WireSuspect, ...]]:
    """Verdict and suspects of ``message``, the best first."""
    return read_verdict(message.verdict), read_suspects(message.suspects)


def read_verdict(wire: Wire | None) -> WireVerdict | None:
    """The verdict; None where there is none yet."""
    if not wire:
        return None
    return WireVerdict(
        kind=_text(wire.get("kind")) or str(VerdictKind.INCONCLUSIVE),
        category=_text(wire.get("category")) or str(Category.NCCL_TIMEOUT),
        confidence=_number(wire.get("confidence")),
        summary=_text(wire.get("summary")) or "",
        action=_text(wire.get("action")) or str(Action.INVESTIGATE),
        cordon=_texts(wire.get("cordon")),
        at=_text(wire.get("at")),
    )


def read_restart(message: Message) -> str:
    """What to do with the job and why, in words; empty where nothing is known."""
    wire = message.restart or {}
    decision, left = _text(wire.get("decision")), wire.get("retries_left")
    if decision is None:
        return ""
    times = left if isinstance(left, int) else 0
    head = restart_headline(decision, _texts(wire.get("exclude")), times)
    return f"{head}: {_text(wire.get('why')) or 'no reason is known'}"


def read_suspects(wires: Iterable[Wire]) -> tuple[WireSuspect, ...]:
    """The suspects, in the report's order."""
    return tuple(
        WireSuspect(
            node=_text(wire.get("node")),
            ranks=tuple(rank for rank in _items(wire.get("ranks")) if isinstance(rank, int)),
            gpus=_texts(wire.get("gpus")),
            category=_text(wire.get("category")) or "",
            score=_number(wire.get("score")),
            role=_text(wire.get("role")) or str(Role.POSSIBLE),
            because=tuple(
                _reason(reason)
                for reason in _items(wire.get("because"))
                if isinstance(reason, Mapping)
            ),
        )
        for wire in wires
    )


def top_suspects(suspects: tuple[WireSuspect, ...]) -> tuple[WireSuspect, ...]:
    """The best three that may be the origin; those the cause only names come last."""
    origins = [suspect for suspect in suspects if suspect.role != Role.AFFECTED]
    return tuple(origins[:MAX_TOP])


def _reason(wire: Mapping[object, object]) -> Reason:
    line = wire.get("line")
    return Reason(
        text=_text(wire.get("text")) or "",
        artifact=_text(wire.get("artifact")),
        line=line if isinstance(line, int) else None,
    )


def _items(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in _items(value) if isinstance(item, str))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
