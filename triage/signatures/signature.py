"""What one shape of log line means.

A signature is found anywhere in a line: envelopes and prefixes differ, the
payload does not. It carries its own proof: real-shaped lines that it must
match (``matches``) and lines that come close and mean something else (``near_misses``).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait


class Scope(StrEnum):
    """Whose words a signature is about."""

    KERNEL = "kernel"  # an echo of it in a job log is weak evidence
    JOB = "job"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a line says where it says more than its signature does; None leaves the default.

    ``fields`` under the name of a field that named groups fill (``node``, ``rank``,
    ``local_rank``, ``cuda_device``, ``pid``) fills that field too: a table names
    them lines below the one that matched. ``text`` is quoted in the place of a line that says
    too little.
    """

    category: Category | None = None
    also: tuple[Category, ...] | None = None
    role: EvidenceRole | None = None
    code: int | None = None
    parent_code: int | None = None
    gpu: str | None = None
    peer: str | None = None
    blame: Blame | None = None
    weak: bool | None = None
    signature: str | None = None
    traits: frozenset[Trait] | None = None
    text: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


Read = Callable[["re.Match[str]", Sequence[str]], Reading | None]
"""From the match and the lines behind it to what the line says; None: not one of these."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One shape of line.

    ``literals`` are lower-case ASCII; a line without any of them cannot match (the scan compares
    without case). ``pattern`` is searched in the decoded line, cut to a few KiB; it must take time
    linear in the line. Named groups ``gpu``, ``node``, ``rank``, ``local_rank``, ``cuda_device``,
    ``pid``, ``code``, ``parent_code`` and ``peer`` fill the fields of that name; others go to
    ``Evidence.fields``. ``read`` may refine the reading from the match and the ``context`` lines
    behind it, or say None: not one of these. ``each`` keeps every occurrence as a row of its own
    (tables and identities), otherwise lines that differ in numbers alone become one row with a
    count. Of ``quiet`` ones a log may hold millions that say no more than a few: behind the first
    thousands, all of the same words become one row, and of those that are ``each``, too, one in a
    hundred is read. Lines of ``as_one`` ones are readings of one state: of one part they are one
    row, whatever their numbers; ``quiet`` and ``as_one`` together
    are told apart by their words alone from the first line on. Of ``floods`` ones a node may print
    thousands an hour that name a GPU and a code: behind the first hundreds of an hour those of one
    GPU and code become one row. ``traits`` say what the joining of evidence asks besides the
    category.
    """

    id: str
    kind: Kind
    role: EvidenceRole
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    source: str
    matches: tuple[str, ...]
    near_misses: tuple[str, ...] = ()
    category: Category | None = None
    also: tuple[Category, ...] = ()
    blame: Blame = Blame.SELF
    weak: bool = False
    scope: Scope = Scope.ANY
    context: int = 0
    each: bool = False
    quiet: bool = False
    as_one: bool = False
    floods: bool = False
    traits: frozenset[Trait] = frozenset()
    read: Read | None = None
