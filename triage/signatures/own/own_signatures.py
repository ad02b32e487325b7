"""A team's own signatures as plain values: what is compiled of them, and how they travel.

They come before ours, since a team knows its cluster, and what they silence of ours becomes noise.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final

from triage.domain.category import Action, Category
from triage.domain.evidence import OWN_ACTION, OWN_FAMILY, SILENCED, Blame, EvidenceRole, Kind
from triage.domain.packing import Packing
from triage.signatures.numbers import parse_small_number
from triage.signatures.own.pattern import compile_pattern
from triage.signatures.registry import load_all_signatures
from triage.signatures.severity import USUAL_SEVERITY, grade_reading
from triage.signatures.signature import Read, Reading, Scope, Signature


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """One own signature, as its file gives it and checked; ``file`` and ``line`` are where."""

    name: str
    pattern: str
    literals: tuple[str, ...]
    role: EvidenceRole
    kind: Kind
    scope: Scope
    matches: tuple[str, ...]
    near_misses: tuple[str, ...]
    category: Category | None = None
    also: tuple[Category, ...] = ()
    blame: Blame = Blame.SELF
    action: Action | None = None
    severity: str | None = None
    weak: bool = False
    file: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """Its id in rows and reasons: ``local.NAME``."""
        return f"{OWN_FAMILY}.{self.name}"

    def signature(self) -> Signature:
        """The same, compiled. Raises :class:`PatternFault`."""
        names = {one.name for one in fields(self)} & {one.name for one in fields(Signature)}
        return Signature(
            id=self.id,
            source=self.file,
            read=self.read(),
            **{
                **{name: getattr(self, name) for name in names},
                "pattern": compile_pattern(self.pattern),
            },
        )

    def read(self) -> Read:
        """Adds severity, and the next step where the entry names one."""
        severity = self.severity
        if severity is None and self.scope is Scope.KERNEL:
            severity = USUAL_SEVERITY[self.role]
        grade = grade_reading(severity or "", None)
        step = {} if self.action is None else {OWN_ACTION: str(self.action)}

        def reading_of(match: "re.Match[str]", after: Sequence[str]) -> Reading | None:
            reading = grade(match, after)
            return reading and replace(reading, fields={**reading.fields, **step})

        return reading_of


@dataclass(frozen=True, slots=True)
class Silence:
    """One of our signatures that is noise here, of one ``code`` or of all, and why."""

    signature: str
    reason: str
    code: int | None = None
    matches: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """What the file calls it: ``nvidia.xid:43``."""
        return self.signature if self.code is None else f"{self.signature}:{self.code}"


@dataclass(frozen=True)
class OwnSignatures:
    """All own signatures of a reader, in the order in which they are tried.

    ``label`` says which set it is, as :func:`make_label` does: what was read with it bears it.
    """

    entries: tuple[OwnEntry, ...] = ()
    silences: tuple[Silence, ...] = ()
    label: str = ""

    def __bool__(self) -> bool:
        return bool(self.entries or self.silences)

    def to_bytes(self) -> bytes:
        """For :func:`own_from_bytes`; empty where there are none. Equal sets give equal bytes."""
        if not self:
            return b""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode("ascii")

    def signatures(self) -> tuple[Signature, ...]:
        """Own ones, then ours, of which the silenced ones are noise."""
        own = tuple(one.signature() for one in self.entries)
        quiet: dict[str, list[Silence]] = {}
        for silence in self.silences:
            quiet.setdefault(silence.signature, []).append(silence)
        ours = (
            replace(one, read=_apply_silences(one, quiet[one.id])) if one.id in quiet else one
            for one in load_all_signatures()
        )
        return (*own, *ours)


NO_OWN: Final = OwnSignatures()
_ENTRY: Final = Packing(OwnEntry)
_SILENCE: Final = Packing(Silence)
# Files that a label names.
_MOST_FILES: Final = 3


def make_label(entries: Sequence[OwnEntry], silences: Sequence[Silence]) -> str:
    """``3f2a9c81d0e4 (own.toml, board.toml)``: the digest of all that decides how a line is
    read, and the files.

    Examples, and the lines on which entries stand, are no part of the digest.
    """
    read = [asdict(replace(one, file="", line=0, matches=(), near_misses=())) for one in entries]
    quiet = [asdict(replace(one, file="", line=0, matches=())) for one in silences]
    digest = hashlib.sha256(json.dumps([read, quiet], sort_keys=True).encode()).hexdigest()
    files = dict.fromkeys([*(one.file for one in entries), *(one.file for one in silences)])
    names = [one.rpartition("/")[2] for one in files]
    more = [f"{len(names) - _MOST_FILES} more"] if len(names) > _MOST_FILES else []
    return f"{digest[:12]} ({', '.join([*names[:_MOST_FILES], *more])})"


def _apply_silences(one: Signature, silences: Sequence[Silence]) -> Read:
    """The reading of ``one`` that says noise, with the reason, where a silence is about it."""
    reasons = {silence.code: silence.reason for silence in silences}

    def reading_of(match: "re.Match[str]", after: Sequence[str]) -> Reading | None:
        reading = Reading() if one.read is None else one.read(match, after)
        if reading is None:
            return None
        code = reading.code
        if code is None:
            code = parse_small_number(match.groupdict().get("code"))
        reason = reasons.get(code, reasons.get(None))
        if reason is None:
            return reading
        return replace(
            reading,
            role=EvidenceRole.NOISE,
            category=Category.NONE,
            also=(),
            blame=Blame.NOBODY,
            weak=True,
            traits=frozenset(),
            fields={**reading.fields, SILENCED: reason},
        )

    return reading_of


def own_from_bytes(data: bytes) -> OwnSignatures:
    """What :meth:`OwnSignatures.to_bytes` wrote; it was checked before."""
    if not data:
        return NO_OWN
    raw = json.loads(data)
    return OwnSignatures(
        tuple(_ENTRY.decode([one[name] for name in _ENTRY.names]) for one in raw["entries"]),
        tuple(_SILENCE.decode([one[name] for name in _SILENCE.names]) for one in raw["silences"]),
        raw["label"],
    )
